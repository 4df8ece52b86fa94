//! The lines of a file.

use std::borrow::Cow;

/// Bytes of a line that can be one of a program that is known.
const MAX_LINE: usize = 4096;

/// The lines of a file, without their ends.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    file: &'a [u8],
    at: usize,
}

/// A line.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// Where it begins.
    pub(crate) at: usize,
    /// Empty where it is too long.
    pub(crate) text: Cow<'a, str>,
}

impl<'a> Lines<'a> {
    pub(crate) const fn new(file: &'a [u8]) -> Self {
        Self { file, at: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.file.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        let at = self.at;
        self.at += length + 1;
        let bytes = rest[..length].trim_ascii_end();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let bytes = if bytes.len() > MAX_LINE { &[] } else { bytes };
        Some(Line {
            at,
            text: String::from_utf8_lossy(bytes),
        })
    }
}
