//! Recorded runs, and looking into what renderers say.

use std::fs;
use std::path::PathBuf;

use super::super::json::{Json, Object};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// A file of the recorded runs.
pub(crate) fn golden(name: &str) -> String {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.push("tests/golden/iperf3");
    path.push(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of all recorded files that end so.
pub(crate) fn names(suffix: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/iperf3");
    let entries = fs::read_dir(path).expect("recorded runs");
    let names = entries.map(|entry| entry.expect("entry").file_name());
    let names = names.map(|name| name.into_string().expect("a name"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(suffix)).collect();
    names.sort();
    names
}

/// What a renderer says to events.
pub(crate) fn rendered(mut renderer: impl Renderer, events: &[Event]) -> Output {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

/// All values of a text.
pub(crate) fn values(text: &str) -> Vec<Json> {
    let mut rest = text.trim_start();
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (value, after) = Json::parse(rest).unwrap_or_else(|| panic!("no JSON: {rest}"));
        values.push(value);
        rest = after;
    }
    values
}

/// Looking into values.
impl Json {
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(object) => {
                let mut entries = object.entries().iter();
                entries.find(|(name, _)| name == key).map(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// The value at a path of keys and numbers of elements, separated by dots.
    pub(crate) fn at(&self, path: &str) -> &Json {
        path.split('.').fold(self, |value, key| {
            let found = match value {
                Self::Array(values) => key.parse().ok().and_then(|at: usize| values.get(at)),
                _ => value.get(key),
            };
            found.unwrap_or_else(|| panic!("no {path} in {}", self.indented()))
        })
    }

    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Self::Array(values) => values,
            other => panic!("no array: {other:?}"),
        }
    }

    pub(crate) fn object(&self) -> &Object {
        match self {
            Self::Object(object) => object,
            other => panic!("no object: {other:?}"),
        }
    }

    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Integer(value) => *value as f64,
            Self::Number(value) => *value,
            other => panic!("no number: {other:?}"),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Integer(value) => u64::try_from(*value).expect("a count"),
            other => panic!("no count: {other:?}"),
        }
    }

    pub(crate) fn small(&self) -> u32 {
        u32::try_from(self.count()).expect("a small count")
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }
}
