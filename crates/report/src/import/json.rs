//! JSON of unknown origin: its documents, and parts of them, within bounds of depth and memory.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::Fault;

/// Arrays and objects within each other.
const MAX_DEPTH: usize = 64;
/// Values of a part that is taken into memory, where each takes up to 350 bytes.
const MAX_VALUES: usize = 200_000;

/// The arrays and objects of a file, one after the other; those of an array that is the file are its elements.
#[derive(Debug)]
pub(crate) struct Documents<'a> {
    file: &'a [u8],
    at: usize,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'a> {
    pub(crate) at: usize,
    pub(crate) text: &'a [u8],
}

impl Document<'_> {
    /// Where a fault of its text is in the file.
    pub(crate) fn offset(&self, error: &serde_json::Error) -> usize {
        let before = error.line().saturating_sub(1);
        let lines = self
            .text
            .split_inclusive(|byte| *byte == b'\n')
            .take(before);
        self.at + lines.map(<[u8]>::len).sum::<usize>()
    }
}

impl<'a> Documents<'a> {
    pub(crate) fn new(file: &'a [u8]) -> Self {
        let start = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        Self {
            file,
            at: file.len() - start.len(),
        }
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Document<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let between = |byte: &u8| byte.is_ascii_whitespace() || b"[],".contains(byte);
        let blanks = self.file[self.at..].iter().take_while(|byte| between(byte));
        self.at += blanks.count();
        if self.at == self.file.len() {
            return None;
        }
        let at = self.at;
        let length = match length(&self.file[at..]) {
            Ok(length) => length,
            Err(why) => {
                self.at = self.file.len();
                return Some(Err(Fault::new(at, why)));
            }
        };
        self.at += length;
        let text = &self.file[at..self.at];
        Some(Ok(Document { at, text }))
    }
}

/// Walks over tokens outside of strings.
fn structure(text: &[u8], mut each: impl FnMut(usize, u8) -> bool) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (true, _) => {}
            (false, byte) => {
                if !each(at, *byte) {
                    return;
                }
            }
        }
    }
}

/// Bytes of the object at the beginning.
fn length(text: &[u8]) -> Result<usize, String> {
    if text.first() != Some(&b'{') {
        return Err(super::error::UNKNOWN.to_owned());
    }
    let (mut depth, mut deepest, mut end) = (0_usize, 0, None);
    structure(text, |at, byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => return true,
        }
        deepest = deepest.max(depth);
        if depth == 0 {
            end = Some(at + 1);
        }
        depth > 0 && depth <= MAX_DEPTH
    });
    match end {
        Some(end) => Ok(end),
        None if deepest > MAX_DEPTH => Err(format!("more than {MAX_DEPTH} levels of JSON")),
        None => Err("the JSON ends within a document".to_owned()),
    }
}

/// A part in memory.
pub(crate) fn value(part: &RawValue) -> Result<Value, String> {
    bounded(part.get())
}

/// A text in memory.
pub(crate) fn bounded(text: &str) -> Result<Value, String> {
    let mut values = 1;
    structure(text.as_bytes(), |_, byte| {
        values += usize::from(b",[{".contains(&byte));
        values <= MAX_VALUES
    });
    if values > MAX_VALUES {
        return Err(format!(
            "more than {MAX_VALUES} values in a part of the document"
        ));
    }
    serde_json::from_str(text).map_err(|error| said(&error))
}

/// Gives the elements of an array to a function until it finds a fault.
pub(crate) fn elements<'a>(
    array: &'a RawValue,
    each: &mut dyn FnMut(&'a RawValue) -> Result<(), String>,
) -> Result<(), String> {
    let mut json = serde_json::Deserializer::from_str(array.get());
    Elements(each)
        .deserialize(&mut json)
        .map_err(|error| said(&error))
}

struct Elements<'f, 'a>(&'f mut dyn FnMut(&'a RawValue) -> Result<(), String>);

impl<'a> DeserializeSeed<'a> for Elements<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for Elements<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(element) = array.next_element()? {
            (self.0)(element).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}

/// Gives the members of an object to a function.
pub(crate) fn members<'a>(
    object: &'a [u8],
    each: &mut dyn FnMut(&str, &'a RawValue),
) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_slice(object);
    Members(each).deserialize(&mut json)?;
    json.end()
}

struct Members<'f, 'a>(&'f mut dyn FnMut(&str, &'a RawValue));

impl<'a> DeserializeSeed<'a> for Members<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Members<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some((name, value)) = object.next_entry::<Cow<'_, str>, _>()? {
            (self.0)(&name, value);
        }
        Ok(())
    }
}

/// The members of a document that tell what it is, and its parts. Of two with one name the first counts: iperf3
/// writes several errors, of which later ones follow from it.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) schema: Option<&'a RawValue>,
    pub(crate) start: Option<&'a RawValue>,
    pub(crate) intervals: Option<&'a RawValue>,
    pub(crate) end: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) event: Option<&'a RawValue>,
    pub(crate) test: Option<&'a RawValue>,
    pub(crate) at: Option<&'a RawValue>,
    pub(crate) data: Option<&'a RawValue>,
    pub(crate) series: Option<&'a RawValue>,
    pub(crate) runs: Option<&'a RawValue>,
}

impl<'a> Parts<'a> {
    /// Of the text of a document.
    pub(crate) fn new(text: &'a [u8]) -> serde_json::Result<Self> {
        let mut parts = Self::default();
        members(text, &mut |name, value| {
            let part = match name {
                "schema" => &mut parts.schema,
                "start" => &mut parts.start,
                "intervals" => &mut parts.intervals,
                "end" => &mut parts.end,
                "error" => &mut parts.error,
                "event" => &mut parts.event,
                "test" => &mut parts.test,
                "at" => &mut parts.at,
                "data" => &mut parts.data,
                "series" => &mut parts.series,
                "runs" => &mut parts.runs,
                _ => return,
            };
            part.get_or_insert(value);
        })?;
        Ok(parts)
    }
}

/// What is wrong, without the place, which is one within a part.
pub(crate) fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = text.rfind(" at line ").unwrap_or(text.len());
    text[..place].to_owned()
}

/// A count; some programs write large ones with an exponent.
pub(crate) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let whole = value.as_f64().filter(|number| number.fract() == 0.0)?;
        (0.0..9e18).contains(&whole).then_some(whole as u64)
    })
}

/// A number that is not negative.
pub(crate) fn positive(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| *number >= 0.0)
}

/// A text.
pub(crate) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
