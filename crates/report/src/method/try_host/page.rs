//! The page.

use tapeline_stats::{Fitness, PathUse, UseCause, UseMoment};

use super::result::{TryDatagrams, TryResult};
use crate::method::page::{MethodHead, PageStyle};
use crate::method::phase::Direction;
use crate::method::result::MethodResult;
use crate::native::{digits, hanging, limit_words};

/// Columns of the label of a line, with its indent.
const LABEL: usize = 14;
/// Columns of the label of a use.
const USE: usize = 19;
/// A path MTU that lines with PPPoE have.
const PPPOE: u32 = 1492;
/// The path MTU of Ethernet, which needs no remark.
const ETHERNET: u32 = 1500;

/// The page.
pub(crate) fn lay_out(result: &TryResult, head: &MethodHead, style: &PageStyle) -> String {
    let page = Page {
        result,
        head,
        style,
        text: String::new(),
    };
    page.lay_out()
}

/// The page while it is laid out.
struct Page<'a> {
    result: &'a TryResult,
    head: &'a MethodHead,
    style: &'a PageStyle,
    text: String,
}

impl Page<'_> {
    fn lay_out(mut self) -> String {
        self.title();
        self.loads();
        self.idle();
        self.mtu();
        self.uses();
        self.conclusion();
        self.text
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A value behind its label, in as many lines as it needs.
    fn fact(&mut self, label: &str, value: &str) {
        let head = format!("{:<LABEL$}", format!("  {label}"));
        for line in hanging(&head, value, self.style.width) {
            self.line(&line);
        }
    }

    fn title(&mut self) {
        let peer = self.head.peer.as_ref();
        let peer = peer.map_or_else(String::new, |peer| format!(" ({peer} there)"));
        let family = self.head.family();
        let family = family.map_or_else(String::new, |family| format!(", {family}"));
        let title = format!(
            "tapeline try {}{peer}{family}, {:.1} s",
            self.head.target(),
            self.head.seconds
        );
        let paragraph = self.style.paragraph(&title);
        self.text.push_str(&paragraph);
        self.text.push('\n');
    }

    fn loads(&mut self) {
        for (label, direction) in [("download", Direction::Down), ("upload", Direction::Up)] {
            let Some(way) = self.result.direction(direction) else {
                continue;
            };
            let Some(rate) = way.bits_per_second else {
                let said = match &way.reason {
                    Some(reason) => format!("not measured: {reason}"),
                    None => self.head.missing().to_owned(),
                };
                self.fact(label, &said);
                continue;
            };
            let rate = digits(rate / 1e6);
            let latency = match (self.result.idle.p50_ms, way.loaded_p50_ms) {
                (Some(idle), Some(loaded)) => {
                    let (idle, loaded) = (delay(idle), delay(loaded));
                    format!("latency {idle} ms idle -> {loaded} ms loaded")
                }
                (None, Some(loaded)) => format!("latency {} ms loaded", delay(loaded)),
                (_, None) => format!("latency under load {}", self.head.missing()),
            };
            let grade = way
                .bufferbloat_grade
                .map_or_else(String::new, |grade| format!("bufferbloat {grade}"));
            let head = format!("{:<LABEL$}", format!("  {label}"));
            self.line(&format!("{head}{rate:>5} Mbit/s   {latency:<35}  {grade}"));
            if let Some(reason) = &way.reason {
                let reason = reason.clone();
                self.fact("", &reason);
            }
        }
    }

    fn idle(&mut self) {
        let idle = &self.result.idle;
        let wanted = [
            (self.result.up.is_some(), "up", &idle.up),
            (self.result.down.is_some(), "down", &idle.down),
        ];
        let wanted = wanted.into_iter().filter(|(wanted, ..)| *wanted);
        let ways: Vec<(&str, &TryDatagrams)> = wanted
            .map(|(_, word, datagrams)| (word, datagrams))
            .collect();
        let missing = self.head.missing();
        let lost: Vec<String> = ways
            .iter()
            .map(
                |(word, datagrams)| match (datagrams.lost, datagrams.packets) {
                    (Some(lost), Some(packets)) => format!("{lost} of {packets} {word}"),
                    _ => format!("{word} {missing}"),
                },
            )
            .collect();
        let mut loss = if ways.iter().all(|(_, datagrams)| datagrams.lost.is_none()) {
            match &idle.reason {
                Some(reason) => format!("not measured: {reason}"),
                None => missing.to_owned(),
            }
        } else {
            format!("{} idle", lost.join(", "))
        };
        let loaded = [
            ("uploading", &self.result.up),
            ("downloading", &self.result.down),
        ];
        let loaded: Vec<String> = loaded
            .into_iter()
            .filter_map(|(word, way)| {
                let percent = way
                    .as_ref()?
                    .loss_percent
                    .filter(|percent| *percent > 0.0)?;
                Some(format!("{} % while {word}", digits(percent)))
            })
            .collect();
        if !loaded.is_empty() {
            loss.push_str(&format!("; {}", loaded.join(", ")));
        }
        self.fact("packet loss", &loss);
        if ways
            .iter()
            .any(|(_, datagrams)| datagrams.jitter_ms.is_some())
        {
            let jitter: Vec<String> = ways
                .iter()
                .map(|(word, datagrams)| match datagrams.jitter_ms {
                    Some(jitter) => format!("{} ms {word}", digits(jitter)),
                    None => format!("{word} {missing}"),
                })
                .collect();
            self.fact("jitter", &jitter.join(", "));
        }
    }

    fn mtu(&mut self) {
        let mtu = &self.result.mtu;
        let missing = self.head.missing();
        let size = |bytes: u32| {
            let about = if mtu.exact { "" } else { "about " };
            format!("{about}{bytes}")
        };
        let remark = match mtu.narrower() {
            Some(PPPOE) => " (PPPoE or similar)",
            Some(bytes) if bytes < ETHERNET => " (a tunnel or similar)",
            _ => "",
        };
        let said = match (mtu.up_bytes, mtu.down_bytes) {
            (Some(up), Some(down)) if up == down => format!("{}{remark}", size(up)),
            (Some(up), Some(down)) => {
                format!("{} up, {} down{remark}", size(up), size(down))
            }
            (Some(up), None) if self.result.down.is_none() => format!("{} up{remark}", size(up)),
            (None, Some(down)) if self.result.up.is_none() => {
                format!("{} down{remark}", size(down))
            }
            (Some(up), None) => format!("{} up{remark}, down {missing}", size(up)),
            (None, Some(down)) => format!("{} down{remark}, up {missing}", size(down)),
            (None, None) => match &mtu.reason {
                Some(reason) => format!("not measured: {reason}"),
                None => missing.to_owned(),
            },
        };
        self.fact("path MTU", &said);
    }

    fn uses(&mut self) {
        let judged = self.result.judge();
        self.text.push('\n');
        for (label, one) in [
            ("web, downloads", judged.web),
            ("video calls", judged.calls),
            ("games", judged.games),
        ] {
            let said = match one {
                Some(one) => use_words(&one),
                None => self.head.missing().to_owned(),
            };
            let head = format!("{:<USE$}", format!("  {label}"));
            for line in hanging(&head, &said, self.style.width) {
                self.line(&line);
            }
        }
    }

    fn conclusion(&mut self) {
        self.text.push('\n');
        let verdict = self.result.verdict();
        if !verdict.is_empty() {
            let paragraph = self.style.paragraph(&verdict);
            self.text.push_str(&paragraph);
        }
        let limits: Vec<(Direction, String)> = [Direction::Down, Direction::Up]
            .into_iter()
            .filter_map(|direction| {
                let (limit, confidence) = self.result.direction(direction)?.limit()?;
                let words = limit_words(limit);
                Some((direction, format!("{words} ({confidence} confidence)")))
            })
            .collect();
        let said = match limits.as_slice() {
            [(_, down), (_, up)] if down == up => down.clone(),
            [] => return,
            several => {
                let each = several
                    .iter()
                    .map(|(direction, words)| format!("{direction} {words}"));
                each.collect::<Vec<String>>().join(", ")
            }
        };
        let paragraph = self.style.paragraph(&format!("limited by: {said}"));
        self.text.push_str(&paragraph);
    }
}

/// `poor while something uploads: answers take 0.4 s longer`.
fn use_words(one: &PathUse) -> String {
    let fitness = one.fitness.name();
    let Some((cause, moment)) = one.cause else {
        let known = if one.is_complete {
            ""
        } else {
            ", by what this peer reports"
        };
        return format!("{fitness}{known}");
    };
    let why = match cause {
        UseCause::Delay(_, more) if one.fitness == Fitness::Good || more < 1.0 => String::new(),
        UseCause::Delay(_, more) if more >= 100.0 => {
            format!(": answers take {:.1} s longer", more / 1e3)
        }
        UseCause::Delay(_, more) => format!(": answers take {more:.0} ms longer"),
        UseCause::Loss(percent) => format!(": {} % of packets are lost", digits(percent)),
        UseCause::Jitter(millis) => format!(": delays vary by {} ms", digits(millis)),
        UseCause::Rate(rate) => format!(": {} Mbit/s down", digits(rate / 1e6)),
    };
    let when = match moment {
        UseMoment::Always => "",
        UseMoment::Uploading => " while something uploads",
        UseMoment::Downloading => " while something downloads",
    };
    format!("{fitness}{when}{why}")
}

/// Milliseconds in a line: whole from 10 on.
fn delay(millis: f64) -> String {
    if millis < 9.95 {
        format!("{millis:.1}")
    } else {
        format!("{millis:.0}")
    }
}
