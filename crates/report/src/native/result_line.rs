//! The lines of a result: one fact each, behind a label, never wrapped.

use super::paint::Paint;
use crate::model::{Trust, TrustLevel, TrustReason};
use crate::style::Terminal;

/// Columns of a label.
pub(crate) const LABEL: usize = 13;
/// No line is longer, whatever the terminal's width.
const WIDTH: usize = 80;
/// Columns of what stands behind a label.
pub(crate) const ROOM: usize = WIDTH - LABEL;

/// `Round trip   21.7 ms median`.
pub(crate) fn fact(label: &str, value: &str, paint: Paint) -> String {
    format!("{label:<LABEL$}{}", paint.bold(value))
}

/// `Trust        good: both ends counted`; with as many reasons as there is room for.
pub(crate) fn trust(trust: &Trust, terminal: Terminal) -> String {
    let paint = Paint::new(terminal.colour);
    let word = trust.level.word();
    let painted = match trust.level {
        TrustLevel::Good => paint.green(word),
        TrustLevel::HostLimited | TrustLevel::Partial => paint.yellow(word),
        TrustLevel::Poor => paint.red(word),
    };
    let room = ROOM - word.len() - 2;
    let reasons = reasons(&trust.reasons, room);
    format!("{:<LABEL$}{painted}: {reasons}", "Trust")
}

/// The first reason, and those after it that fit; names of warnings where they fit too.
fn reasons(reasons: &[TrustReason], room: usize) -> String {
    let mut text = String::new();
    for reason in reasons {
        let gap = if text.is_empty() { "" } else { "; " };
        let plain = format!("{gap}{}", reason.text);
        if !text.is_empty() && text.len() + plain.len() > room {
            break;
        }
        text.push_str(&plain);
        let name = reason.warning_id.map(|id| format!(" [{id}]"));
        text.extend(name.filter(|name| text.len() + name.len() <= room));
    }
    text
}
