//! What a rule has read: the values of each field, in their order.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::rule::{Plausible, Read, Rule};

/// The values of each field.
#[derive(Debug, Default)]
pub(crate) struct Reading(BTreeMap<String, Vec<Value>>);

/// Reads an output as a rule does.
pub(crate) fn read(rule: &Rule, output: &str) -> Result<Reading, String> {
    let mut reading = Reading::default();
    match rule.read {
        Read::Lines(expressions) => {
            for expression in expressions {
                reading.lines(expression, output);
            }
        }
        Read::Columns(width, names) => {
            for row in rows(output).filter(|row| row.len() == width) {
                for (name, place) in names {
                    reading.add(name, value(row[*place]));
                }
            }
        }
        Read::Headed => reading.headed(output),
        Read::Document => reading.paths(rule, &document(output)?),
        Read::Events => reading.paths(rule, &events(output)?),
    }
    Ok(reading)
}

fn rows(output: &str) -> impl Iterator<Item = Vec<&str>> {
    output.lines().map(|line| line.split(',').collect())
}

/// Nothing but one document is on the standard output.
fn document(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| error.to_string())
}

/// The data of the events of each name.
fn events(output: &str) -> Result<Value, String> {
    let mut named = Map::new();
    for line in output.lines() {
        let mut event = document(line)?;
        let name = event["event"].as_str().ok_or("no name")?.to_owned();
        let list = named
            .entry(name)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(event["data"].take());
        }
    }
    Ok(Value::Object(named))
}

/// `21.0 Mbits` is a number of bits, `0.5-1.0` the length of an interval, other words are texts.
fn value(text: &str) -> Value {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    if let Some(number) = number(text) {
        return number.into();
    }
    if let Some((begin, end)) = text.split_once('-')
        && let Some((begin, end)) = number(begin).zip(number(end))
    {
        return (end - begin).into();
    }
    let (amount, unit) = text.split_once(' ').unwrap_or((text, ""));
    let Some(amount) = number(amount) else {
        return text.into();
    };
    let base: f64 = if unit.contains("Byte") {
        1024.0
    } else {
        1000.0
    };
    let power = unit.chars().next().and_then(|letter| "KMGT".find(letter));
    (amount * base.powi(power.map_or(0, |power| power as i32 + 1))).into()
}

impl Reading {
    fn add(&mut self, field: &str, value: Value) {
        self.0.entry(field.to_owned()).or_default().push(value);
    }

    fn lines(&mut self, expression: &str, output: &str) {
        let expression = Regex::new(expression).expect("an expression");
        for found in expression.captures_iter(output) {
            for name in expression.capture_names().flatten() {
                if let Some(text) = found.name(name) {
                    self.add(name, value(text.as_str()));
                }
            }
        }
    }

    fn headed(&mut self, output: &str) {
        let mut names = Vec::new();
        for row in rows(output) {
            if row[0] == "time" {
                names = row;
            } else if row.len() == names.len() {
                for (name, text) in names.iter().zip(row) {
                    self.add(name, value(text));
                }
            }
        }
    }

    fn paths(&mut self, rule: &Rule, document: &Value) {
        for (path, plausible) in rule.fields {
            let mut found = Vec::new();
            collect(document, path, &mut found);
            match plausible {
                Plausible::Keys => {
                    let objects = found.into_iter().filter_map(Value::as_object);
                    for key in objects.flat_map(Map::keys).collect::<BTreeSet<_>>() {
                        self.add(&format!("{path}.{key}"), Value::Null);
                    }
                }
                _ => found
                    .into_iter()
                    .for_each(|value| self.add(path, value.clone())),
            }
        }
    }

    /// Whether every field has a value.
    pub(crate) fn is_complete(&self, rule: &Rule) -> bool {
        rule.fields
            .iter()
            .all(|(field, _)| self.0.contains_key(*field))
    }

    /// The first field whose values cannot be true.
    pub(crate) fn implausible(&self, rule: &Rule) -> Option<String> {
        rule.fields.iter().find_map(|(field, plausible)| {
            if let Plausible::Keys = plausible {
                let within = |name: &String| name.starts_with(&format!("{field}."));
                return (!self.0.keys().any(within)).then(|| format!("{field} has no keys"));
            }
            let Some(values) = self.0.get(*field) else {
                return Some(format!("{field} is not there"));
            };
            let is_wrong = !hold(values, *plausible);
            is_wrong.then(|| format!("{field} is not plausible: {values:?}"))
        })
    }

    /// The first field that is not there, or not as often as in `expected`.
    pub(crate) fn differs(&self, expected: &Self) -> Option<String> {
        let fields: BTreeSet<_> = self.0.keys().chain(expected.0.keys()).collect();
        fields.into_iter().find_map(|field| {
            let [ours, theirs] = [self, expected].map(|reading| reading.0.get(field));
            let count = |values: Option<&Vec<Value>>| values.map_or(0, Vec::len);
            (count(ours) != count(theirs)).then(|| {
                format!(
                    "{field} is read {} times, not {}: {ours:?}, not {theirs:?}",
                    count(ours),
                    count(theirs)
                )
            })
        })
    }
}

/// All values at a path; `*` stands for each element of an array.
fn collect<'a>(value: &'a Value, path: &str, found: &mut Vec<&'a Value>) {
    let (key, rest) = path
        .split_once('.')
        .map_or((path, None), |(key, rest)| (key, Some(rest)));
    let mut within = |value: &'a Value| match rest {
        Some(rest) => collect(value, rest, found),
        None => found.push(value),
    };
    match (key, value) {
        ("*", Value::Array(values)) => values.iter().for_each(within),
        _ => value.get(key).into_iter().for_each(&mut within),
    }
}

fn hold(values: &[Value], plausible: Plausible) -> bool {
    let numbers = || values.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
    let within = |least, most| {
        move |numbers: &Vec<f64>| numbers.iter().all(|number| (least..=most).contains(number))
    };
    match plausible {
        Plausible::Between(least, most) => {
            numbers().is_some_and(|numbers| within(least, most)(&numbers))
        }
        Plausible::Steady(least, most) => numbers().is_some_and(|numbers| {
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            within(least.max(mean / 2.0), most)(&numbers)
        }),
        Plausible::Text => values
            .iter()
            .all(|value| value.as_str().is_some_and(|text| !text.is_empty())),
        Plausible::Truth => values.iter().all(Value::is_boolean),
        Plausible::Keys => true,
    }
}
