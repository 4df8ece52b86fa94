//! The result for programs, and its criteria.

use super::result::{TryDirection, TryResult};
use super::{advice, page};
use crate::method::figure::{CsvTable, Quantity, cell};
use crate::method::page::{MethodHead, PageStyle};
use crate::method::pass::{Bound, Criterion};
use crate::method::phase::Direction;
use crate::method::result::MethodResult;

const CRITERIA: &[Criterion] = &[
    Criterion {
        name: "down",
        unit: "Mbit/s",
        bound: Bound::AtLeast,
        default: None,
    },
    Criterion {
        name: "up",
        unit: "Mbit/s",
        bound: Bound::AtLeast,
        default: None,
    },
    Criterion {
        name: "loaded",
        unit: "ms",
        bound: Bound::AtMost,
        default: None,
    },
    Criterion {
        name: "loss",
        unit: "percent",
        bound: Bound::AtMost,
        default: None,
    },
];

impl MethodResult for TryResult {
    const CRITERIA: &'static [Criterion] = CRITERIA;

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        page::lay_out(self, head, style)
    }

    fn verdict(&self) -> String {
        self.judge()
            .advice
            .map(|advice| advice::text(self, advice))
            .unwrap_or_default()
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&[
            "direction",
            "bits_per_second",
            "idle_p50_ms",
            "loaded_p50_ms",
            "loaded_p95_ms",
            "bufferbloat_grade",
            "idle_loss_percent",
            "loaded_loss_percent",
            "jitter_ms",
            "mtu_bytes",
            "limited_by",
        ]);
        for direction in [Direction::Down, Direction::Up] {
            let Some(way) = self.direction(direction) else {
                continue;
            };
            let (datagrams, mtu) = match direction {
                Direction::Up => (&self.idle.up, self.mtu.up_bytes),
                Direction::Down => (&self.idle.down, self.mtu.down_bytes),
            };
            table.push(vec![
                direction.word().to_owned(),
                cell(way.bits_per_second),
                cell(self.idle.p50_ms),
                cell(way.loaded_p50_ms),
                cell(way.loaded_p95_ms),
                cell(way.bufferbloat_grade),
                cell(datagrams.loss_percent),
                cell(way.loss_percent),
                cell(datagrams.jitter_ms),
                cell(mtu),
                cell(way.limited_by),
            ]);
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let mut quantities = vec![Quantity::new("idle", self.idle.p50_ms, "ms")];
        for direction in [Direction::Down, Direction::Up] {
            let Some(way) = self.direction(direction) else {
                continue;
            };
            let mtu = match direction {
                Direction::Up => self.mtu.up_bytes,
                Direction::Down => self.mtu.down_bytes,
            };
            let mut add = |name: &str, value, unit| {
                quantities.push(Quantity::new(format!("{name}.{direction}"), value, unit));
            };
            add("rate", way.bits_per_second, "bits_per_second");
            add("loaded", way.loaded_p50_ms, "ms");
            add("loss", way.loss_percent, "percent");
            add("mtu", mtu.map(f64::from), "bytes");
        }
        quantities
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let megabits = |way: &Option<TryDirection>| Some(way.as_ref()?.bits_per_second? / 1e6);
        match name {
            "down" => megabits(&self.down),
            "up" => megabits(&self.up),
            "loaded" => self.worse(|way| way.loaded_p50_ms),
            "loss" => {
                let idle = [(&self.up, &self.idle.up), (&self.down, &self.idle.down)];
                let idle = idle.into_iter().filter(|(wanted, _)| wanted.is_some());
                let idle: Option<Vec<f64>> =
                    idle.map(|(_, datagrams)| datagrams.loss_percent).collect();
                let idle = idle?.into_iter().reduce(f64::max)?;
                Some(self.worse(|way| way.loss_percent)?.max(idle))
            }
            _ => None,
        }
    }

    fn host_limited(&self) -> bool {
        let ways = [&self.up, &self.down].into_iter().flatten();
        ways.into_iter().any(TryDirection::is_host_limited)
    }
}
