//! Help texts, made from the option table.

mod iperf2;
mod native;

use crate::plan::HelpPage;

/// Widest help, columns: longer lines are hard to read.
const WIDEST: usize = 100;
/// Narrowest layout that still has two columns.
const NARROWEST: usize = 60;

/// The terminal's width as far as the help uses it; 80 without a terminal.
pub(crate) fn terminal_width() -> usize {
    terminal_size::terminal_size()
        .map_or(80, |(width, _)| usize::from(width.0))
        .clamp(NARROWEST, WIDEST)
}

/// The text of a page without its last line end.
pub(crate) fn page(page: HelpPage, width: usize) -> String {
    match page {
        HelpPage::Iperf2 => iperf2::page(),
        HelpPage::Iperf3 => crate::iperf3::page(),
        HelpPage::Short => native::page(width, native::Detail::Short),
        HelpPage::Full => native::page(width, native::Detail::Full),
    }
}

/// Breaks a text at blanks into lines of at most `width` columns, `indent` of them blank.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.len() > indent && line.len() + 1 + word.len() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
