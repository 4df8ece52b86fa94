//! Lines of numbers.

use tapeline_base::FormatLetter;

use super::amounts::{Amount, Loss};
use super::document::SumFigures;
use super::figure;
use crate::model::{Measure, Row, Span, TestTransport};

/// Dashes between blocks of rows.
pub(crate) const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";

/// What begins a row: the number of its socket or `SUM`, and the role in tests of both
/// directions.
#[derive(Clone, Debug)]
pub(crate) struct Label(String);

impl Label {
    pub(crate) fn stream(socket: u64, role: &str) -> Self {
        Self(format!("[{socket:3}]{role}"))
    }

    pub(crate) fn sum(role: &str) -> Self {
        Self(format!("[SUM]{role}"))
    }

    pub(crate) fn is_sum(&self) -> bool {
        self.0.starts_with("[SUM]")
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// What is common to the rows of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub(crate) format: FormatLetter,
    pub(crate) transport: TestTransport,
    /// Data flows both ways.
    pub(crate) both: bool,
}

impl Columns {
    fn head(self, label: &Label, span: Span, amount: Amount) -> String {
        format!(
            "{} {}  {}s  {}s/sec",
            label.text(),
            figure::span(span),
            figure::volume(amount.bytes),
            figure::rate(amount, self.format)
        )
    }

    fn title(self, columns: &str) -> String {
        let role = if self.both { "[Role]" } else { "" };
        let title =
            format!("[ ID]{role} Interval           Transfer     Bitrate         {columns}");
        title.trim_end().to_owned()
    }

    /// Over interval rows; `sends` says whether any row is a sender's, `receives` a receiver's.
    pub(crate) fn interval_title(self, sends: bool, receives: bool) -> String {
        self.title(match (self.transport, sends) {
            (TestTransport::Udp, true) if !receives => "Total Datagrams",
            (TestTransport::Udp, _) => "Jitter    Lost/Total Datagrams",
            (_, true) => "Retr  Cwnd",
            (_, false) => "",
        })
    }

    /// Over the summary.
    pub(crate) fn summary_title(self, retransmits: bool) -> String {
        self.title(match (self.transport, retransmits) {
            (TestTransport::Udp, _) => "Jitter    Lost/Total Datagrams",
            (_, true) => "Retr",
            (_, false) => "",
        })
    }

    /// A stream's interval.
    pub(crate) fn interval(self, label: &Label, row: &Row, omitted: bool) -> String {
        let head = self.head(label, row.span, Amount::from_row(row));
        let note = note(omitted);
        match &row.measure {
            Measure::TcpSend(send) if send.retransmits.is_some() => {
                let retransmits = send.retransmits.unwrap_or(0);
                let state = send.state.unwrap_or_default();
                let window = figure::volume(state.window_bytes().unwrap_or(0));
                format!("{head}  {retransmits:3}   {window}s       {note}")
            }
            Measure::UdpSend(send) => self.datagrams(&head, send.writes, note),
            Measure::UdpReceive(receive) => {
                format!(
                    "{head}  {}  {note}",
                    figure::loss(Loss::from_receive(receive))
                )
            }
            _ => bare(&head, note),
        }
    }

    /// An interval of all streams in a direction.
    pub(crate) fn interval_sum(
        self,
        label: &Label,
        span: Span,
        rows: &[&Row],
        omitted: bool,
    ) -> String {
        let amount = Amount {
            seconds: span.length().as_secs_f64(),
            bytes: rows.iter().map(|row| row.bytes).sum(),
        };
        let head = self.head(label, span, amount);
        let note = note(omitted);
        let figures = SumFigures::from_rows(rows);
        match (figures.retransmits, figures.sent, figures.loss) {
            (Some(retransmits), _, _) => format!("{head}  {retransmits:3}             {note}"),
            (_, Some(packets), _) => self.datagrams(&head, packets, note),
            (_, _, Some(loss)) => format!("{head}  {}  {note}", figure::loss(loss)),
            _ => bare(&head, note),
        }
    }

    fn datagrams(self, head: &str, count: u64, note: &str) -> String {
        let gap = if self.both { "          " } else { "" };
        format!("{head} {gap} {count}  {note}")
    }

    /// What a sender counted over the whole test.
    pub(crate) fn sender(self, label: &Label, amount: Amount, detail: Detail) -> String {
        let head = self.head(label, whole(amount), amount);
        match detail {
            Detail::Retransmits(count) if label.is_sum() => {
                format!("{head}  {count:3}             sender")
            }
            Detail::Retransmits(count) => format!("{head}  {count:3}            sender"),
            Detail::Datagrams(loss) => format!("{head}  {}  sender", figure::loss(loss)),
            Detail::None => bare(&head, "sender"),
        }
    }

    /// What a receiver counted over the whole test.
    pub(crate) fn receiver(self, label: &Label, amount: Amount, loss: Option<Loss>) -> String {
        let head = self.head(label, whole(amount), amount);
        match loss {
            Some(loss) => format!("{head}  {}  receiver", figure::loss(loss)),
            None => bare(&head, "receiver"),
        }
    }
}

/// What stands behind a sender's rate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    /// Nothing is known.
    None,
    /// Segments.
    Retransmits(u64),
    /// Datagrams.
    Datagrams(Loss),
}

fn whole(amount: Amount) -> Span {
    Span {
        start: std::time::Duration::ZERO,
        end: std::time::Duration::try_from_secs_f64(amount.seconds).unwrap_or_default(),
    }
}

fn note(omitted: bool) -> &'static str {
    if omitted { "(omitted)" } else { "" }
}

fn bare(head: &str, note: &str) -> String {
    format!("{head}                  {note}")
}
