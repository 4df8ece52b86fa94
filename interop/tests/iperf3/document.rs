//! What an end says of a test in JSON.

use serde_json::{Value, json};

/// One document, or the events of a test put together.
#[derive(Debug, Clone)]
pub(crate) struct Document(Value);

impl Document {
    /// The first document of an output that may begin with other lines.
    pub(crate) fn first(output: &str) -> Option<Self> {
        let begins = |line: &&str| *line == "{";
        let first = output.lines().find(begins)?;
        let at = first.as_ptr() as usize - output.as_ptr() as usize;
        let mut values = serde_json::Deserializer::from_str(&output[at..]).into_iter();
        values.next()?.ok().map(Self)
    }

    /// A document that has been read already.
    pub(crate) const fn new(value: Value) -> Self {
        Self(value)
    }

    /// The test that lines of events report, once they have reported its end.
    pub(crate) fn from_events(output: &str) -> Option<Self> {
        let mut document = json!({ "intervals": [] });
        for line in output.lines() {
            let mut event: Value = serde_json::from_str(line).ok()?;
            let data = event["data"].take();
            match event["event"].as_str()? {
                "interval" => document["intervals"].as_array_mut()?.push(data),
                name => document[name] = data,
            }
        }
        document.get("end").is_some().then_some(Self(document))
    }

    /// All of it.
    pub(crate) const fn value(&self) -> &Value {
        &self.0
    }

    /// The value at a path of keys and numbers of elements, separated by dots.
    pub(crate) fn at(&self, path: &str) -> Option<&Value> {
        look(&self.0, path)
    }

    /// The sums at the end.
    pub(crate) fn sums(&self) -> impl Iterator<Item = &Value> {
        let end = self.at("end").and_then(Value::as_object);
        let sums = end.into_iter().flatten();
        sums.filter(|(key, _)| key.starts_with("sum"))
            .map(|(_, sum)| sum)
    }

    /// The number at a path.
    pub(crate) fn number(&self, path: &str) -> Option<f64> {
        self.at(path)?.as_f64()
    }

    /// The elements of the array at a path; none where there is no array.
    pub(crate) fn items(&self, path: &str) -> &[Value] {
        let found = self.at(path).and_then(Value::as_array);
        found.map_or(&[], Vec::as_slice)
    }
}

/// The value at a path of keys and numbers of elements, separated by dots.
pub(crate) fn look<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    keys.try_fold(value, |value, key| match key.parse::<usize>() {
        Ok(at) => value.get(at),
        Err(_) => value.get(key),
    })
}

/// The number of a key, 0 where there is none.
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value.get(key).and_then(Value::as_f64).unwrap_or_default()
}
