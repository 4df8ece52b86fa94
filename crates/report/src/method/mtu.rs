//! `tapeline mtu`: the largest packet that a path carries in each direction.

use std::net::IpAddr;

use serde::Serialize;

use super::figure::{CsvTable, Quantity, cell};
use super::page::{MethodHead, PageStyle};
use super::pass::{Bound, Criterion};
use super::phase::Direction;
use super::result::MethodResult;

/// Where the column of the segment size ends on the page.
const PAGE_COLUMNS: usize = 74;
/// Packets above this length are no reason for longer segments.
const MOST_SEGMENT: u32 = 16_000;
/// Room for what routers said.
const ICMP_COLUMNS: usize = 36;

/// What path MTU discovery by ICMP comes to (RFC 1191, RFC 8201), held against what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MtuIcmp {
    /// Packets as long as the interface sends pass.
    NotNeeded,
    /// A router reported its link's MTU, and that passes.
    Received,
    /// A router reported an MTU that does not pass, or more than 8 bytes less than what passes.
    Wrong,
    /// Longer packets vanish without a report: a black hole.
    Blocked,
    /// The system knew a smaller MTU before the first packet.
    Cached,
}

/// Whether datagrams of twice the path MTU arrive in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MtuFragments {
    /// They arrive.
    Pass,
    /// They do not, while short ones do.
    Blocked,
    /// It cannot be told: short ones were lost, too, or nothing was tried.
    Unknown,
}

/// A size that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MtuTrial {
    /// Which way it went.
    pub direction: Direction,
    /// Bytes of the IP packet.
    pub packet_bytes: u32,
    /// Packets of this size that were sent; `null` where the other end counted them.
    pub sent: Option<u32>,
    /// Those that arrived and, where this end sent them, whose answers came back.
    pub arrived: u32,
}

/// What is known of a direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MtuDirection {
    /// The largest IP packet that arrives unfragmented; `null` when that is not known.
    pub mtu_bytes: Option<u32>,
    /// `mtu_bytes` is that to the byte.
    pub exact: bool,
    /// The path carries at least so much, where more is not known.
    pub at_least: Option<u32>,
    /// MTU of the sending end's interface.
    pub interface_mtu_bytes: Option<u32>,
    /// Segment size that TCP sends with: payload of a packet, without the options that each has.
    pub mss_bytes: Option<u32>,
    /// Something on the way made TCP's segments smaller than the path needs.
    pub mss_clamped: Option<bool>,
    /// Path MTU as the sending end's TCP believes it.
    pub tcp_path_mtu_bytes: Option<u32>,
    /// What ICMP would have led to; `null` where that cannot be told.
    pub icmp: Option<MtuIcmp>,
    /// The MTU that a router reported, or that the system knew.
    pub icmp_mtu_bytes: Option<u32>,
    /// The router.
    pub icmp_from: Option<IpAddr>,
    /// Whether fragments arrive; `null` when that was not tried.
    pub fragments: Option<MtuFragments>,
    /// Packets sent.
    pub probes_sent: Option<u32>,
    /// Packets that arrived, as far as the sending end knows.
    pub probes_answered: Option<u32>,
    /// Loss, this way, of packets that any path carries.
    pub control_loss_percent: Option<f64>,
    /// Some size is lost although larger ones pass.
    pub size_dependent_loss: bool,
}

impl MtuDirection {
    /// What surely passes.
    #[must_use]
    pub fn passes(&self) -> Option<u32> {
        self.mtu_bytes.or(self.at_least)
    }
}

/// Whether TCP's segments are smaller than the path needs, without an interface that would explain it:
/// `None` when either is not known. A segment has 12 bytes less for time stamps.
#[must_use]
pub fn is_mss_clamped(mss: Option<u32>, passes: Option<u32>, is_v6: bool) -> Option<bool> {
    let headers = if is_v6 { 60 } else { 40 };
    // Of longer packets a system's own bounds are to be expected (Linux: half of the window).
    let passes = passes?.min(MOST_SEGMENT);
    Some(mss? + headers + 12 < passes)
}

/// The path MTU in each direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MtuResult {
    /// To the server; `null` when it was not asked for.
    pub up: Option<MtuDirection>,
    /// From the server.
    pub down: Option<MtuDirection>,
    /// The longest UDP payload that crosses unfragmented in all directions that were measured.
    pub safe_udp_payload_bytes: Option<u32>,
    /// Nothing of UDP arrived: what is known comes from TCP.
    pub tcp_only: bool,
    /// Packets are IPv6.
    pub ipv6: bool,
    /// Round trip of the probes.
    pub round_trip_ms: Option<f64>,
    /// The sizes that were tried.
    pub trials: Vec<MtuTrial>,
}

impl MtuResult {
    /// A direction, if it was asked for.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Option<&MtuDirection> {
        match direction {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }

    /// The place of a direction.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut Option<MtuDirection> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn directions(&self) -> impl Iterator<Item = (Direction, &MtuDirection)> {
        Direction::BOTH
            .into_iter()
            .filter_map(|direction| Some((direction, self.direction(direction)?)))
    }

    /// Bytes in front of a UDP payload.
    const fn udp_headers(&self) -> u32 {
        if self.ipv6 { 48 } else { 28 }
    }

    /// Bytes in front of a TCP payload, without options.
    const fn tcp_headers(&self) -> u32 {
        if self.ipv6 { 60 } else { 40 }
    }

    /// Enters what follows from both directions.
    pub fn conclude(&mut self) {
        let passes: Vec<Option<u32>> = self.directions().map(|(_, way)| way.passes()).collect();
        let least = passes.iter().copied().min().flatten();
        let least = least.filter(|_| passes.iter().all(Option::is_some));
        self.safe_udp_payload_bytes = least
            .filter(|_| !self.tcp_only)
            .map(|bytes| bytes.saturating_sub(self.udp_headers()));
    }

    fn row(&self, direction: Direction, way: &MtuDirection, missing: &str) -> String {
        let size = match (way.mtu_bytes, way.at_least) {
            (Some(bytes), _) if way.exact => format!("{bytes:>10}"),
            (Some(bytes), _) => format!("about {bytes}"),
            (None, Some(bytes)) => format!("at least {bytes}"),
            (None, None) if self.tcp_only => format!("{:>10}", "-"),
            (None, None) => missing.to_owned(),
        };
        let icmp = match (way.icmp, way.icmp_mtu_bytes, way.icmp_from) {
            (Some(MtuIcmp::NotNeeded), ..) => "not needed".to_owned(),
            (Some(MtuIcmp::Blocked), ..) => "blocked".to_owned(),
            (Some(MtuIcmp::Cached), Some(mtu), _) => format!("known before ({mtu})"),
            (Some(icmp), Some(mtu), from) => {
                let word = if icmp == MtuIcmp::Wrong {
                    "wrong"
                } else {
                    "received"
                };
                let long = from.map(|from| format!("{word} from {from} ({mtu})"));
                long.filter(|text| text.len() <= ICMP_COLUMNS)
                    .unwrap_or_else(|| format!("{word} ({mtu})"))
            }
            (Some(_), None, _) => "received".to_owned(),
            (None, ..) if way.passes().is_some() => missing.to_owned(),
            (None, ..) => String::new(),
        };
        let mss = way.mss_bytes.map_or("-".to_owned(), |mss| mss.to_string());
        let mut row = format!("  {:<10}{size:<18}{icmp}", direction.word());
        let gap = PAGE_COLUMNS.saturating_sub(row.len()).max(mss.len() + 1);
        row.push_str(&format!("{mss:>gap$}\n"));
        row
    }

    /// What is to be known beyond the table, a sentence or two each.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.tcp_only {
            remarks.push(self.remark_on_tcp());
        }
        if let (Some(up), Some(down)) = (&self.up, &self.down)
            && let (Some(there), Some(back)) = (up.mtu_bytes, down.mtu_bytes)
            && there != back
        {
            let (narrow, wide, path) = if there < back {
                ("there", "back", "outgoing")
            } else {
                ("back", "there", "incoming")
            };
            remarks.push(format!(
                "The way {narrow} is {} bytes narrower than the way {wide}: look for a tunnel on the \
                 {path} path.",
                there.abs_diff(back)
            ));
        }
        remarks.extend(self.remarks_on_black_holes());
        for (direction, way) in self.directions() {
            remarks.extend(self.remarks_on(direction, way));
        }
        remarks.extend(self.remark_on_payload());
        remarks
    }

    fn remark_on_tcp(&self) -> String {
        let known = self
            .up
            .as_ref()
            .and_then(|up| up.tcp_path_mtu_bytes)
            .map_or(String::new(), |bytes| {
                format!(" TCP believes that the path carries {bytes} bytes.")
            });
        format!("UDP does not pass, so no size could be tried.{known}")
    }

    fn remarks_on_black_holes(&self) -> Vec<String> {
        let holes: Vec<(Direction, u32)> = self
            .directions()
            .filter(|(_, way)| way.icmp == Some(MtuIcmp::Blocked))
            .filter_map(|(direction, way)| Some((direction, way.mtu_bytes?)))
            .collect();
        let same = match holes[..] {
            [(_, up), (_, down)] => up == down,
            _ => self.directions().count() == 1,
        };
        let text = |place: &str, bytes: u32| {
            format!(
                "Packets above {bytes} bytes vanish without notice{place}. TCP connections that \
                 negotiate a larger segment size will hang; lower the MTU or clamp the MSS to {}.",
                bytes.saturating_sub(self.tcp_headers())
            )
        };
        if same {
            return holes
                .first()
                .map(|&(_, bytes)| text("", bytes))
                .into_iter()
                .collect();
        }
        let remark = |&(direction, bytes): &(Direction, u32)| text(place(direction), bytes);
        holes.iter().map(remark).collect()
    }

    fn remarks_on(&self, direction: Direction, way: &MtuDirection) -> Vec<String> {
        let mut remarks = Vec::new();
        let place = place(direction);
        if let (Some(from), Some(mtu)) = (way.icmp_from, way.icmp_mtu_bytes) {
            match (way.icmp, way.passes()) {
                (Some(MtuIcmp::Wrong), Some(passes)) => remarks.push(format!(
                    "The router {from} reports {mtu} bytes, but {passes} pass{place}."
                )),
                _ if format!("received from {from} ({mtu})").len() > ICMP_COLUMNS => {
                    remarks.push(format!(
                        "The router that reports {mtu} bytes{place} is {from}."
                    ));
                }
                _ => {}
            }
        }
        if let (Some(MtuIcmp::Cached), Some(known), Some(passes)) =
            (way.icmp, way.icmp_mtu_bytes, way.passes())
            && known != passes
        {
            remarks.push(format!(
                "The sending system believed {known} bytes before, but {passes} pass{place}."
            ));
        }
        if way.size_dependent_loss {
            remarks.push(format!(
                "Some sizes are lost{place} although larger ones pass: packets may take several paths."
            ));
        }
        if let (Some(true), Some(mss), Some(passes)) =
            (way.mss_clamped, way.mss_bytes, way.passes())
        {
            remarks.push(format!(
                "TCP sends segments of {mss} bytes{place}, less than the {passes} bytes of a packet \
                 allow: something on the way clamps them."
            ));
        }
        if way.fragments == Some(MtuFragments::Blocked) {
            remarks.push(format!("Fragments do not arrive{place}."));
        }
        remarks
    }

    fn remark_on_payload(&self) -> Option<String> {
        let payload = self.safe_udp_payload_bytes?;
        let headers = self.udp_headers();
        let ways = if self.directions().count() == 2 {
            "cross in both directions"
        } else {
            "cross that way"
        };
        Some(format!(
            "Datagrams up to {payload} bytes ({payload} = {} - {headers}) {ways} without fragmentation.",
            payload + headers
        ))
    }
}

/// Where something happens.
const fn place(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => " on the way there",
        Direction::Down => " on the way back",
    }
}

impl MethodResult for MtuResult {
    const CRITERIA: &'static [Criterion] = &[Criterion {
        name: "mtu",
        unit: "bytes",
        bound: Bound::AtLeast,
        default: None,
    }];

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        let family = head
            .family()
            .map_or(String::new(), |family| format!(" ({family})"));
        let mut page = format!("path MTU to {}{family}\n", head.target());
        page.push_str(&format!(
            "{:12}largest packet    ICMP{:33}TCP MSS\n",
            "", ""
        ));
        for &direction in &head.directions {
            let nothing = MtuDirection::default();
            let way = self.direction(direction).unwrap_or(&nothing);
            page.push_str(&self.row(direction, way, head.missing()));
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            page.push('\n');
        }
        for remark in remarks {
            page.push_str(&style.paragraph(&remark));
        }
        page
    }

    fn verdict(&self) -> String {
        if self.tcp_only {
            return "UDP does not pass, so no size could be tried.".to_owned();
        }
        if let Some(hole) = self.remarks_on_black_holes().first() {
            let sentence = hole.split(". ").next().unwrap_or(hole);
            return format!("{sentence}.");
        }
        let sizes: Vec<String> = self
            .directions()
            .filter_map(|(direction, way)| Some((direction, way.exact, way.passes()?)))
            .map(|(direction, exact, bytes)| {
                let word = if exact { "" } else { "at least " };
                format!("{word}{bytes} bytes {direction}")
            })
            .collect();
        if sizes.is_empty() {
            return "No size could be measured.".to_owned();
        }
        format!("The path carries packets of {}.", sizes.join(", "))
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&["direction", "packet_bytes", "sent", "arrived"]);
        for trial in &self.trials {
            table.push(vec![
                trial.direction.word().to_owned(),
                trial.packet_bytes.to_string(),
                cell(trial.sent),
                trial.arrived.to_string(),
            ]);
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.directions()
            .map(|(direction, way)| {
                let bytes = way.mtu_bytes.map(f64::from);
                Quantity::new(format!("mtu.{direction}"), bytes, "bytes")
            })
            .collect()
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        if name != "mtu" {
            return None;
        }
        let passes: Option<Vec<u32>> = self.directions().map(|(_, way)| way.passes()).collect();
        passes?.into_iter().min().map(f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(directions: &[Direction]) -> MethodHead {
        MethodHead {
            host: "192.0.2.10".into(),
            address: Some(IpAddr::from([192, 0, 2, 10])),
            directions: directions.to_vec(),
            ..MethodHead::default()
        }
    }

    fn exact(bytes: u32, mss: u32, icmp: MtuIcmp) -> MtuDirection {
        MtuDirection {
            mtu_bytes: Some(bytes),
            exact: true,
            interface_mtu_bytes: Some(1500),
            mss_bytes: Some(mss),
            icmp: Some(icmp),
            ..MtuDirection::default()
        }
    }

    fn both(up: MtuDirection, down: MtuDirection) -> MtuResult {
        let mut result = MtuResult {
            up: Some(up),
            down: Some(down),
            ..MtuResult::default()
        };
        result.conclude();
        result
    }

    fn page(result: &MtuResult) -> String {
        let page = result.page(&head(&Direction::BOTH), &PageStyle::default());
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
        assert!(page.is_ascii(), "{page}");
        page
    }

    #[test]
    fn the_page_is_that_of_the_documentation() {
        let up = MtuDirection {
            icmp_mtu_bytes: Some(1400),
            icmp_from: Some(IpAddr::from([198, 51, 100, 1])),
            ..exact(1400, 1348, MtuIcmp::Received)
        };
        let result = both(up, exact(1500, 1448, MtuIcmp::NotNeeded));
        assert_eq!(
            page(&result),
            "path MTU to 192.0.2.10 (IPv4)\n\
             \x20           largest packet    ICMP                                 TCP MSS\n\
             \x20 up              1400        received from 198.51.100.1 (1400)       1348\n\
             \x20 down            1500        not needed                              1448\n\
             \n\
             The way there is 100 bytes narrower than the way back: look for a tunnel on the\n\
             outgoing path.\n\
             Datagrams up to 1372 bytes (1372 = 1400 - 28) cross in both directions without\n\
             fragmentation.\n"
        );
        assert_eq!(
            result.verdict(),
            "The path carries packets of 1400 bytes up, 1500 bytes down."
        );
    }

    #[test]
    fn a_black_hole_is_named_with_its_remedy() {
        let hole = || exact(1430, 1448, MtuIcmp::Blocked);
        let result = both(hole(), hole());
        let text = page(&result).replace('\n', " ");
        let warning = "Packets above 1430 bytes vanish without notice. TCP connections that \
                       negotiate a larger segment size will hang; lower the MTU or clamp the MSS \
                       to 1390.";
        assert!(text.contains(warning), "{text}");
        assert_eq!(text.matches("vanish").count(), 1, "{text}");
        assert_eq!(
            result.verdict(),
            "Packets above 1430 bytes vanish without notice."
        );
        let one = both(hole(), exact(1500, 1448, MtuIcmp::NotNeeded));
        assert!(page(&one).contains("vanish without notice on the way there. TCP"));
        let mut v6 = both(hole(), hole());
        v6.ipv6 = true;
        v6.conclude();
        assert_eq!(v6.safe_udp_payload_bytes, Some(1382));
        assert!(
            page(&v6)
                .replace('\n', " ")
                .contains("clamp the MSS to 1370.")
        );
    }

    #[test]
    fn what_is_not_known_is_said_and_is_no_number() {
        let down = MtuDirection {
            mss_bytes: Some(1448),
            ..MtuDirection::default()
        };
        let up = MtuDirection {
            at_least: Some(1400),
            ..MtuDirection::default()
        };
        let result = both(up, down);
        let page = page(&result);
        assert!(page.contains("at least 1400"), "{page}");
        assert!(
            page.contains("down      not known with this peer"),
            "{page}"
        );
        assert!(!page.contains("Datagrams up to"), "{page}");
        assert_eq!(result.criterion("mtu"), None);
        let values: Vec<_> = result
            .quantities()
            .into_iter()
            .map(|one| one.value)
            .collect();
        assert_eq!(values, [None, None]);
    }

    #[test]
    fn the_worse_direction_decides_a_criterion() {
        let result = both(
            exact(1492, 1440, MtuIcmp::Blocked),
            exact(1500, 1448, MtuIcmp::NotNeeded),
        );
        assert_eq!(result.criterion("mtu"), Some(1492.0));
        assert_eq!(result.criterion("other"), None);
        let up_only = MtuResult {
            down: None,
            ..result
        };
        assert_eq!(up_only.criterion("mtu"), Some(1492.0));
        assert_eq!(MtuResult::default().criterion("mtu"), None);
    }

    #[test]
    fn without_udp_the_view_of_tcp_remains() {
        let up = MtuDirection {
            mss_bytes: Some(1448),
            tcp_path_mtu_bytes: Some(1500),
            ..MtuDirection::default()
        };
        let mut result = MtuResult {
            tcp_only: true,
            ..both(up, MtuDirection::default())
        };
        result.conclude();
        let page = page(&result);
        assert!(page.contains("UDP does not pass"), "{page}");
        assert!(
            page.replace('\n', " ").contains("carries 1500 bytes"),
            "{page}"
        );
        assert_eq!(result.safe_udp_payload_bytes, None);
    }

    #[test]
    fn segments_are_clamped_only_beyond_what_time_stamps_take() {
        let clamped = |mss, is_v6| is_mss_clamped(Some(mss), Some(1500), is_v6);
        assert_eq!(clamped(1448, false), Some(false));
        assert_eq!(clamped(1447, false), Some(true));
        assert_eq!(clamped(1428, true), Some(false));
        assert_eq!(clamped(1427, true), Some(true));
        assert_eq!(is_mss_clamped(None, Some(1500), false), None);
    }

    #[test]
    fn a_long_address_gets_a_line_of_its_own() {
        let router: IpAddr = "2001:db8:1234:5678:9abc:def0:1234:5678"
            .parse()
            .expect("an address");
        let up = MtuDirection {
            icmp_mtu_bytes: Some(1400),
            icmp_from: Some(router),
            ..exact(1400, 1328, MtuIcmp::Received)
        };
        let page = page(&both(up, exact(1400, 1328, MtuIcmp::Blocked)));
        assert!(page.contains("received (1400) "), "{page}");
        assert!(
            page.replace('\n', " ").contains(&format!("is {router}.")),
            "{page}"
        );
    }

    #[test]
    fn trials_are_rows() {
        let mut result = both(
            exact(1492, 1440, MtuIcmp::Blocked),
            exact(1500, 1448, MtuIcmp::NotNeeded),
        );
        result.trials = vec![
            MtuTrial {
                direction: Direction::Up,
                packet_bytes: 1500,
                sent: Some(3),
                arrived: 0,
            },
            MtuTrial {
                direction: Direction::Down,
                packet_bytes: 1500,
                sent: None,
                arrived: 1,
            },
        ];
        assert_eq!(
            result.csv().text(None, true),
            "direction,packet_bytes,sent,arrived\nup,1500,3,0\ndown,1500,,1\n"
        );
    }
}
