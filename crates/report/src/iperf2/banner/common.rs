//! Lines that the banners of both ends have.

use std::time::Duration;

use tapeline_base::{FormatLetter, Transport, format_quantity};
use tapeline_stats::HistogramShape;

use crate::model::{BufferSize, CongestionControl, SegmentSize};
use crate::render::{Output, tame};
use crate::style::Style;

/// Dashes above and below a banner.
pub(crate) const RULE: &str = "------------------------------------------------------------";

pub(crate) fn congestion_line(
    plain: &str,
    asked: &str,
    congestion: &CongestionControl,
    style: &Style,
    out: &mut Output,
) {
    let name = tame(&congestion.name);
    match &congestion.requested {
        Some(requested) => out.line(&format!(
            "TCP congestion control {asked} {requested} using {name}"
        )),
        None if style.enhanced => out.line(&format!("TCP congestion control {plain} {name}")),
        None => {}
    }
}

pub(crate) fn segment_size_line(size: Option<SegmentSize>, out: &mut Output) {
    match size {
        Some(SegmentSize::Measured(bytes)) => out.line(&format!("MSS size {bytes} bytes")),
        Some(SegmentSize::Requested(bytes)) => {
            out.line(&format!("MSS req size {bytes} bytes (per TCP_MAXSEG)"));
        }
        None => {}
    }
}

pub(crate) fn buffer(transport: Transport, buffer: BufferSize, style: &Style) -> String {
    let what = match transport {
        Transport::Tcp => "TCP window",
        Transport::Udp => "UDP buffer",
    };
    let format = if style.format.in_bytes() == FormatLetter::PLAIN_BYTES {
        FormatLetter::PLAIN_BYTES
    } else {
        FormatLetter::BYTES
    };
    let note = match buffer.requested {
        None | Some(0) => " (default)".to_owned(),
        Some(requested) if requested == buffer.actual => String::new(),
        Some(requested) => format!(
            " (WARNING: requested {})",
            format_quantity(requested as f64, style.format.in_bytes())
        ),
    };
    let actual = format_quantity(buffer.actual as f64, format);
    format!("{what} size: {actual}{note}")
}

pub(crate) fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

/// Bytes without a multiple: `131072 Byte`.
pub(crate) fn plain_bytes(bytes: u64) -> String {
    format_quantity(bytes as f64, FormatLetter::PLAIN_BYTES)
}

pub(crate) fn transmit_delay_line(delay: Option<Duration>, out: &mut Output) {
    if let Some(delay) = delay {
        out.line(&format!(
            "Socket option of TCP_TX_DELAY set to {:.3} milliseconds",
            delay.as_secs_f64() * 1e3
        ));
    }
}

/// `bin-width=0.100 ms, bins=100000`.
pub(crate) fn bins(shape: &HistogramShape) -> String {
    format!(
        "bin-width={:.3} ms, bins={}",
        shape.width_ns as f64 / 1e6,
        shape.bins
    )
}
