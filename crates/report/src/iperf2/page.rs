//! What all lines of one process share.

use tapeline_base::{FlowTag, WallTime};

use crate::calendar::Calendar;
use crate::render::tame;
use crate::style::Style;

/// Choices of the reader, the calendar, and how flows are named.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) style: Style,
    calendar: Calendar,
    /// `--permit-key` of this process: flows are named by it.
    key: Option<String>,
    /// This process is a server.
    pub(crate) serves: bool,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            calendar: Calendar::new(style.utc),
            key: None,
            serves: false,
        }
    }

    /// Names flows by this key from now on.
    pub(crate) fn key(&mut self, key: &str) {
        self.key = Some(tame(key));
    }

    /// `[  1] `, or `[ *1] ` for data that flows against the connection; with a permit key
    /// `[key(1)] ` and `[key(*1)] `.
    pub(crate) fn flow(&self, tag: FlowTag) -> String {
        let id = tag.id.0;
        match (&self.key, tag.reversed) {
            (Some(key), false) => format!("[{key}({id})] "),
            (Some(key), true) => format!("[{key}(*{id})] "),
            (None, false) => plain(tag),
            (None, true) if id < 10 => format!("[ *{id}] "),
            (None, true) => format!("[*{id}] "),
        }
    }

    /// `2026-11-20 23:05:56.108 (UTC)`, without milliseconds in basic output.
    pub(crate) fn date(&self, at: WallTime) -> String {
        self.calendar.date(at, self.style.enhanced)
    }

    /// The same with milliseconds in any case.
    pub(crate) fn exact_date(&self, at: WallTime) -> String {
        self.calendar.date(at, true)
    }

    /// `2026-11-20 23:05:56`.
    pub(crate) fn bare_date(&self, at: WallTime) -> String {
        self.calendar.bare_date(at)
    }

    /// The date of a CSV row; precise ones have a zone and microseconds.
    pub(crate) fn compact(&self, at: WallTime, precise: bool) -> String {
        self.calendar.compact(at, precise)
    }
}

/// `[  1] ` whatever the direction and key: some lines show neither.
pub(crate) fn plain(tag: FlowTag) -> String {
    format!("[{:>3}] ", tag.id.0)
}

/// Events that iperf 2 has no lines for: what two tapelines send each other, and several runs.
macro_rules! beyond_iperf2 {
    () => {
        $crate::model::Event::PeerFound { .. }
            | $crate::model::Event::PeerProgress(_)
            | $crate::model::Event::PeerResults(_)
            | $crate::model::Event::NoPeerResults(_)
            | $crate::model::Event::Clocks(_)
            | $crate::model::Event::OneWayDelay(_)
            | $crate::model::Event::LoadedLatency(_)
            | $crate::model::Event::Repetition(_)
            | $crate::model::Event::Processor(_)
            | $crate::model::Event::Probes(_)
            | $crate::model::Event::OfFlow(_)
            | $crate::model::Event::TestOver(_)
    };
}

pub(crate) use beyond_iperf2;

#[cfg(test)]
mod tests {
    use tapeline_base::FlowId;

    use super::*;

    fn tag(id: u32, reversed: bool) -> FlowTag {
        FlowTag {
            id: FlowId(id),
            reversed,
        }
    }

    #[test]
    fn names_keep_their_width_until_they_cannot() {
        let page = Page::new(Style::default());
        let name = |id, reversed| page.flow(tag(id, reversed));
        assert_eq!(name(1, false), "[  1] ");
        assert_eq!(name(12, false), "[ 12] ");
        assert_eq!(name(1, true), "[ *1] ");
        assert_eq!(name(12, true), "[*12] ");
        assert_eq!(name(1234, false), "[1234] ");
    }

    #[test]
    fn a_permit_key_names_the_flows_but_not_all_lines() {
        let mut page = Page::new(Style::default());
        page.key("se\u{7}cret");
        assert_eq!(page.flow(tag(1, false)), "[se?cret(1)] ");
        assert_eq!(page.flow(tag(12, true)), "[se?cret(*12)] ");
        assert_eq!(plain(tag(1, true)), "[  1] ");
    }
}
