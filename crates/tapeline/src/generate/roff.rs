//! A manual page as roff source (man macros, `groff_man(7)`).

use crate::cli::options::table::all;
use crate::explain::wrap;

/// Widest source line, columns.
const WIDTH: usize = 78;

/// Source of a page, built from top to bottom.
#[derive(Debug)]
pub(crate) struct Page {
    source: String,
}

impl Page {
    /// A page of section 1.
    pub(crate) fn new(name: &str, date: &str, version: &str) -> Self {
        let title = name.to_ascii_uppercase();
        Self {
            // Names of options and variables are not to be torn apart.
            source: format!(".TH {title} 1 {date} \"{version}\" \"User Commands\"\n.nh\n.ad l\n"),
        }
    }

    /// A section.
    pub(crate) fn section(&mut self, title: &str) {
        self.line(&format!(".SH {}", quoted(title)));
    }

    /// A section in a section.
    pub(crate) fn subsection(&mut self, title: &str) {
        self.line(&format!(".SS {}", quoted(title)));
    }

    /// The line of the name section.
    pub(crate) fn name(&mut self, name: &str, purpose: &str) {
        self.section("NAME");
        self.line(&format!("{name} \\- {purpose}"));
    }

    /// The synopsis: one line of marked text for each way of calling.
    pub(crate) fn synopsis(&mut self, calls: &[&str]) {
        self.section("SYNOPSIS");
        for (index, words) in calls.iter().enumerate() {
            if index > 0 {
                self.line(".br");
            }
            self.line(&marked(words));
        }
    }

    /// A paragraph of marked text; the first one below a title needs no space above.
    pub(crate) fn paragraph(&mut self, text: &str) {
        if !self.at_title() {
            self.line(".PP");
        }
        self.text(text);
    }

    /// A term and what is said of it.
    pub(crate) fn item(&mut self, term: &str, text: &str) {
        self.line(".TP");
        self.line(&marked(term));
        self.text(text);
    }

    /// A command as it is typed, with what it does.
    pub(crate) fn example(&mut self, purpose: &str, command: &str) {
        self.paragraph(purpose);
        for line in [".PP", ".RS 4", ".EX"] {
            self.line(line);
        }
        self.line(&literal(command));
        for line in [".EE", ".RE"] {
            self.line(line);
        }
    }

    /// The source.
    pub(crate) fn finish(self) -> String {
        self.source
    }

    fn at_title(&self) -> bool {
        let last = self.source.lines().last().unwrap_or_default();
        last.starts_with(".SH") || last.starts_with(".SS")
    }

    fn text(&mut self, text: &str) {
        for line in wrap(&marked(text), 0, WIDTH) {
            let control = line.starts_with(['.', '\'']);
            self.line(&format!("{}{line}", if control { "\\&" } else { "" }));
        }
    }

    fn line(&mut self, line: &str) {
        self.source.push_str(line);
        self.source.push('\n');
    }
}

fn quoted(title: &str) -> String {
    if title.contains(' ') {
        format!("\"{title}\"")
    } else {
        title.to_owned()
    }
}

/// Text that is to be typed: every hyphen is a minus sign, nothing is broken or interpreted.
fn literal(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Running text with options in bold (`-u`, `--len`) and values in italics (`HOST`, `BYTES`).
fn marked(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(marked_word).collect();
    words.join(" ")
}

fn marked_word(word: &str) -> String {
    let start = word.find(|c: char| !"([\"'|".contains(c)).unwrap_or(0);
    let (before, rest) = word.split_at(start);
    let end = rest
        .rfind(|c: char| !".,;:)]\"'|".contains(c))
        .map_or(0, |last| {
            last + rest[last..].chars().next().map_or(1, char::len_utf8)
        });
    let (core, after) = rest.split_at(end);
    let before = before.replace('\\', "\\e");
    let after = after.replace('\\', "\\e");
    let is_option = core.len() > 1
        && core.starts_with('-')
        && core[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    if is_option {
        let (name, value) = match core.find(['[', '=']) {
            Some(at) => core.split_at(at),
            None => (core, ""),
        };
        let name = literal(name);
        return format!("{before}\\fB{name}\\fR{}{after}", value_of(value));
    }
    if is_placeholder(core) {
        return format!("{before}\\fI{}\\fR{after}", literal(core));
    }
    format!("{before}{}{after}", core.replace('\\', "\\e"))
}

/// `[=BYTES]`, `=FILE`: punctuation stays upright.
fn value_of(value: &str) -> String {
    let Some(start) = value.find(|c: char| !"[=".contains(c)) else {
        return value.to_owned();
    };
    let (before, rest) = value.split_at(start);
    let (name, after) = match rest.strip_suffix(']') {
        Some(name) if !name.contains('[') => (name, "]"),
        _ => (rest, ""),
    };
    format!("{before}\\fI{}\\fR{after}", literal(name))
}

/// Whether the word, or what it begins with, is a value's name in the option table.
fn is_placeholder(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let first = bare.split(['[', '%', ':', ',']).next().unwrap_or_default();
    let named = |value: &str| {
        value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|part| part == first)
    };
    let capitals = first.len() > 1 && first.chars().all(|c| c.is_ascii_uppercase());
    capitals && (first == "OPTIONS" || all().any(|spec| named(spec.value_name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_bold_and_values_italic() {
        assert_eq!(
            marked("with -c HOST, or --len=BYTES."),
            "with \\fB\\-c\\fR \\fIHOST\\fR, or \\fB\\-\\-len\\fR=\\fIBYTES\\fR."
        );
        assert_eq!(
            marked("(--bounceback[=COUNT])"),
            "(\\fB\\-\\-bounceback\\fR[=\\fICOUNT\\fR])"
        );
        assert_eq!(marked("one-way - 3"), "one-way - 3");
        assert_eq!(marked("a\\b"), "a\\eb");
    }

    #[test]
    fn a_line_of_text_is_no_request() {
        let mut page = Page::new("x", "2026-01-01", "x 1");
        page.section("S");
        page.paragraph(".hidden and 'quoted");
        assert!(page.finish().ends_with("\n\\&.hidden and 'quoted\n"));
    }
}
