//! JSON in the layout that iperf3 prints.

use std::fmt::Write as _;

/// A value. Keys keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// Nothing, and numbers that are none.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any number.
    Number(f64),
    /// A string.
    Text(String),
    /// Values in order.
    Array(Vec<Json>),
    /// Named values in order.
    Object(Object),
    /// A value that was written before, with the indentation of its place.
    Written(String),
}

/// Named values in order; no name comes twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Object {
    /// No values.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With one more value.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.set(key, value);
        self
    }

    /// Adds a value, or replaces the one of that name.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Json>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    #[cfg(test)]
    pub(crate) fn entries_mut(&mut self) -> &mut Vec<(String, Json)> {
        &mut self.0
    }

    /// The values with their names.
    pub(crate) fn entries(&self) -> &[(String, Json)] {
        &self.0
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u16> for Json {
    fn from(value: u16) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<Json>> for Json {
    fn from(value: Vec<Json>) -> Self {
        Self::Array(value)
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

impl Json {
    /// Over many lines, indented with tabs; no newline at the end.
    pub(crate) fn indented(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out
    }

    /// The same as a part of a value, so deep within it.
    pub(crate) fn indented_at(&self, depth: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(depth));
        out.shrink_to_fit();
        out
    }

    /// On one line, without white space.
    pub(crate) fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// `depth` is that of the value where lines are indented.
    fn write(&self, out: &mut String, depth: Option<usize>) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Integer(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Number(value) => out.push_str(&number(*value)),
            Self::Text(text) => write_text(out, text),
            Self::Array(values) => {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push_str(if depth.is_some() { ", " } else { "," });
                    }
                    value.write(out, depth.map(|depth| depth + 1));
                }
                out.push(']');
            }
            Self::Object(object) => write_object(out, object, depth),
            Self::Written(text) => out.push_str(text),
        }
    }
}

fn write_object(out: &mut String, object: &Object, depth: Option<usize>) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n('\t', depth));
    };
    out.push('{');
    for (index, (key, value)) in object.entries().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if let Some(depth) = depth {
            line(out, depth + 1);
        }
        write_text(out, key);
        out.push(':');
        if depth.is_some() {
            out.push('\t');
        }
        value.write(out, depth.map(|depth| depth + 1));
    }
    if let Some(depth) = depth {
        line(out, depth);
    }
    out.push('}');
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// 15 significant digits where those say the same number, else 17.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let short = general(value, 15);
    let same = short.parse::<f64>().is_ok_and(|read| {
        let size = read.abs().max(value.abs());
        (read - value).abs() <= size * f64::EPSILON
    });
    if same { short } else { general(value, 17) }
}

/// A number as C's `%.{digits}g` writes it.
pub(crate) fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let last = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= last {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!(
            "{}e{sign}{:02}",
            without_trailing_zeros(mantissa),
            exponent.abs()
        );
    }
    let decimals = usize::try_from(last - 1 - exponent).unwrap_or(0);
    without_trailing_zeros(&format!("{value:.decimals$}")).to_owned()
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Deepest nesting that [`Json::parse`] follows.
const DEEPEST: usize = 64;

impl Json {
    /// Reads one value and what follows it; `None` when it is none, or nested too deeply.
    pub(crate) fn parse(text: &str) -> Option<(Self, &str)> {
        Reader { rest: text }
            .value(0)
            .map(|(value, rest)| (value, rest.trim_start()))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(mut self, depth: usize) -> Option<(Json, &'a str)> {
        let value = self.next(depth)?;
        Some((value, self.rest))
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' => self.text().map(Json::Text),
            _ if self.take("null") => Some(Json::Null),
            _ if self.take("true") => Some(Json::Bool(true)),
            _ if self.take("false") => Some(Json::Bool(false)),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        let mut object = Object::new();
        self.take("{");
        if self.take("}") {
            return Some(object.into());
        }
        loop {
            self.rest = self.rest.trim_start();
            let key = self.text()?;
            if !self.take(":") {
                return None;
            }
            object.set(&key, self.next(depth + 1)?);
            if self.take("}") {
                return Some(object.into());
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        let mut values = Vec::new();
        self.take("[");
        if self.take("]") {
            return Some(values.into());
        }
        loop {
            values.push(self.next(depth + 1)?);
            if self.take("]") {
                return Some(values.into());
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let digits = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
        let length = self
            .rest
            .find(|letter| !digits(letter))
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        match number.parse() {
            Ok(whole) => Some(Json::Integer(whole)),
            Err(_) => number.parse().ok().map(Json::Number),
        }
    }

    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.strip_prefix('"')?.chars();
        loop {
            match letters.next()? {
                '"' => break,
                '\\' => text.push(match letters.next()? {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => escaped(&mut letters)?,
                    other => other,
                }),
                other => text.push(other),
            }
        }
        self.rest = letters.as_str();
        Some(text)
    }
}

/// The letter of a `\u` escape, which may need two.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<char> {
    let mut unit = || {
        let mut value = 0;
        for _ in 0..4 {
            value = value * 16 + letters.next()?.to_digit(16)?;
        }
        Some(value)
    };
    let high = unit()?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high);
    }
    let mut after = letters.clone();
    let paired = after.next() == Some('\\') && after.next() == Some('u');
    if !paired {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    *letters = after;
    let mut low = 0;
    for _ in 0..4 {
        low = low * 16 + letters.next()?.to_digit(16)?;
    }
    let pair = (0xdc00..0xe000)
        .contains(&low)
        .then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
    Some(
        pair.and_then(char::from_u32)
            .unwrap_or(char::REPLACEMENT_CHARACTER),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fifteen_digits_where_those_do() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(40_000_000.0), "40000000");
        assert_eq!(number(1.000765), "1.000765");
        assert_eq!(number(1.000_764_966_011_047_4), "1.0007649660110474");
        assert_eq!(number(0.1 + 0.2), "0.3");
        assert_eq!(number(1.7e-5), "1.7e-05");
        assert_eq!(number(-2.5), "-2.5");
        assert_eq!(number(1.25e20), "1.25e+20");
        assert_eq!(number(f64::NAN), "null");
        assert_eq!(number(f64::INFINITY), "null");
    }

    #[test]
    fn shortened_numbers_are_those_of_c() {
        assert_eq!(general(34.354, 2), "34");
        assert_eq!(general(0.5, 2), "0.5");
        assert_eq!(general(100.0, 2), "1e+02");
        assert_eq!(general(99.6, 2), "1e+02");
        assert_eq!(general(0.000_05, 2), "5e-05");
        assert_eq!(general(0.0, 2), "0");
    }

    #[test]
    fn objects_are_indented_and_arrays_are_not() {
        let inner = Object::new().with("a", 1u32).with("b", "x\n\u{1}\"");
        let value: Json = Object::new()
            .with("list", vec![inner.clone().into(), inner.into()])
            .with("none", Vec::new())
            .with("empty", Object::new())
            .into();
        let text = value.indented();
        assert_eq!(
            text,
            "{\n\t\"list\":\t[{\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\"x\\n\\u0001\\\"\"\n\t\t}, \
             {\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\"x\\n\\u0001\\\"\"\n\t\t}],\n\t\"none\":\t[],\n\
             \t\"empty\":\t{\n\t}\n}"
        );
        assert_eq!(
            value.compact(),
            r#"{"list":[{"a":1,"b":"x\n\u0001\""},{"a":1,"b":"x\n\u0001\""}],"none":[],"empty":{}}"#
        );
        assert_eq!(Json::parse(&text), Some((value.clone(), "")));
        assert_eq!(Json::parse(&value.compact()), Some((value, "")));
    }

    #[test]
    fn a_name_comes_once() {
        let object = Object::new().with("error", "a").with("error", "b");
        assert_eq!(object.entries().len(), 1);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "", "{", "[1,", "{\"a\"}", "\"", "\"\\u12", "nul", "--", "[1 2]",
        ] {
            assert_eq!(Json::parse(text), None, "{text}");
        }
        assert_eq!(Json::parse(&"[".repeat(1_000_000)), None);
        let (text, _) = Json::parse("\"\\ud83d\\ude00 \\ud83d\"").expect("text");
        assert_eq!(text, Json::Text("\u{1f600} \u{fffd}".to_owned()));
    }
}
