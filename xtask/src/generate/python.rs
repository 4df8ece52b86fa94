//! The Python classes of a report, made from its schema.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::shell::Result;

/// Where the classes are.
const FILE: &str = "packaging/python/src/tapeline/report.py";
/// What they are made from.
const SCHEMA: &str = "docs/schema/tapeline-report-1.json";
/// Longest line.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Made from docs/schema/tapeline-report-1.json by cargo xtask generate: changes here do not last.
\"\"\"The result of a test: the members of `tapeline-report/1` as classes.

Unknown values are None, never 0. Members that a newer program adds are in `Report.raw` alone.
\"\"\"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Mapping, Optional, Sequence

from .page import Shown
";

/// Words of the language, which no member can have as its name.
const KEYWORDS: [&str; 8] = [
    "from", "class", "import", "pass", "global", "is", "lambda", "async",
];

/// Writes them.
///
/// # Errors
/// The schema cannot be read, or holds a form that has no class.
pub(crate) fn write() -> Result<()> {
    std::fs::write(FILE, made()?).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}");
    Ok(())
}

/// Compares what is published with what the schema says.
///
/// # Errors
/// They differ.
pub(crate) fn check() -> Result<()> {
    let published =
        std::fs::read_to_string(Path::new(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    if published != made()? {
        return Err(format!(
            "{FILE} is not what {SCHEMA} says: run cargo xtask generate"
        ));
    }
    Ok(())
}

fn made() -> Result<String> {
    let text = std::fs::read_to_string(SCHEMA).map_err(|error| format!("{SCHEMA}: {error}"))?;
    let schema = serde_json::from_str(&text).map_err(|error| format!("{SCHEMA}: {error}"))?;
    module(&schema)
}

fn module(schema: &Value) -> Result<String> {
    let mut text = HEAD.to_owned();
    let none = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&none);
    for (name, definition) in definitions {
        if let Some(words) = constants(definition) {
            let words = words.join(", ");
            let _ = write!(text, "\n{name} = Literal[{words}]\n");
            docstring(&mut text, "", definition);
        }
    }
    for (name, definition) in definitions {
        if constants(definition).is_none() {
            class(&mut text, name, None, definition, definitions)?;
        }
    }
    class(&mut text, "Report", Some("Shown"), schema, definitions)?;
    Ok(text)
}

/// The words of a definition that is one of several, as the language writes them.
fn constants(definition: &Value) -> Option<Vec<String>> {
    let all = definition["oneOf"].as_array()?;
    all.iter().map(|one| word(&one["const"])).collect()
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::String(text) => Some(format!("\"{text}\"")),
        _ => None,
    }
}

/// A class with its members, and how it is made of what was read.
fn class(
    text: &mut String,
    name: &str,
    base: Option<&str>,
    definition: &Value,
    definitions: &Map<String, Value>,
) -> Result<()> {
    let members = definition["properties"].as_object();
    let members = members.ok_or_else(|| format!("{name} has no members"))?;
    let required = definition["required"].as_array();
    let required = required.map(Vec::as_slice).unwrap_or_default();
    let bases = base.map(|base| format!("({base})")).unwrap_or_default();
    let _ = write!(text, "\n\n@dataclass(frozen=True)\nclass {name}{bases}:\n");
    docstring(text, "    ", definition);
    let mut made = String::new();
    for (member, form) in members {
        let attribute = attribute(member);
        let mut read = Form::of(form, definitions)
            .ok_or_else(|| format!("{name}.{member} has a form that no class has: {form}"))?;
        // One that a transport does not have is absent.
        read.is_optional |= !required.iter().any(|name| name == member);
        let _ = write!(text, "\n    {attribute}: {}\n", read.annotation());
        docstring(text, "    ", form);
        let _ = writeln!(made, "            {attribute}={},", read.reading(member));
    }
    let _ = write!(
        text,
        "\n    @classmethod\n    def from_json(cls, value: Mapping[str, Any]) -> {name}:\n        \
         \"\"\"Takes what the program printed.\"\"\"\n        \
         {}cls(\n{made}        )\n",
        match base {
            Some(_) => "report = ",
            None => "return ",
        }
    );
    if base.is_some() {
        text.push_str("        report.remember(value)\n        return report\n");
    }
    Ok(())
}

fn attribute(member: &str) -> String {
    match KEYWORDS.contains(&member) {
        true => format!("{member}_"),
        false => member.to_owned(),
    }
}

/// The description, in lines of the module's width.
fn docstring(text: &mut String, indent: &str, definition: &Value) {
    let Some(description) = definition["description"].as_str() else {
        return;
    };
    let description = description.replace('\\', "\\\\");
    let mut lines = vec![format!("{indent}\"\"\"")];
    for word in description.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        let begins = lines.last().is_some_and(|line| line.ends_with("\"\"\""));
        if line + 1 + word.chars().count() + 3 > WIDTH && !begins {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if !line.ends_with("\"\"\"") && *line != indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let _ = writeln!(text, "{}\"\"\"", lines.join("\n"));
}

/// What a member is.
struct Form {
    what: What,
    /// It may be none.
    is_optional: bool,
}

enum What {
    /// A value of the language.
    Plain(String),
    /// Values of a list.
    List(String),
    /// Of a class.
    Of(String),
    /// A list of them.
    ListOf(String),
}

impl Form {
    fn of(form: &Value, definitions: &Map<String, Value>) -> Option<Self> {
        if let Some(choice) = form["anyOf"].as_array() {
            let [one, none] = &choice[..] else {
                return None;
            };
            let is_null = none["type"] == "null";
            let one = Self::of(one, definitions).filter(|_| is_null)?;
            return Some(Self {
                is_optional: true,
                ..one
            });
        }
        if let Some(reference) = form["$ref"].as_str() {
            let name = reference.strip_prefix("#/$defs/")?;
            let what = match constants(definitions.get(name)?) {
                Some(_) => What::Plain(name.to_owned()),
                None => What::Of(name.to_owned()),
            };
            return Some(Self {
                what,
                is_optional: false,
            });
        }
        let types: Vec<&str> = match &form["type"] {
            Value::String(one) => vec![one],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        let is_optional = types.contains(&"null");
        let what = match *types.first()? {
            "string" => match form["enum"].as_array() {
                Some(words) => {
                    let words = words.iter().filter(|one| !one.is_null());
                    let words: Option<Vec<String>> = words.map(word).collect();
                    What::Plain(format!("Literal[{}]", words?.join(", ")))
                }
                None => What::Plain("str".to_owned()),
            },
            "integer" => What::Plain("int".to_owned()),
            "number" => What::Plain("float".to_owned()),
            "boolean" => What::Plain("bool".to_owned()),
            "array" => match Self::of(&form["items"], definitions)?.what {
                What::Of(name) => What::ListOf(name),
                What::Plain(name) => What::List(name),
                What::List(_) | What::ListOf(_) => return None,
            },
            _ => return None,
        };
        Some(Self { what, is_optional })
    }

    fn annotation(&self) -> String {
        let name = match &self.what {
            What::Plain(name) | What::Of(name) => name.clone(),
            What::List(name) | What::ListOf(name) => format!("Sequence[{name}]"),
        };
        match self.is_optional {
            true => format!("Optional[{name}]"),
            false => name,
        }
    }

    /// How it is read; a member that is absent is none, and a list that is absent has nothing.
    fn reading(&self, member: &str) -> String {
        let there = format!("value[\"{member}\"]");
        let got = format!("value.get(\"{member}\")");
        match (&self.what, self.is_optional) {
            (What::Plain(_), true) => got,
            (What::Plain(_), false) => there,
            (What::Of(name), true) => {
                format!("{name}.from_json({there}) if {got} is not None else None")
            }
            (What::Of(name), false) => format!("{name}.from_json({there})"),
            (What::List(_), true) => format!("tuple({there}) if {got} is not None else None"),
            (What::List(_), false) => format!("tuple({got} or ())"),
            (What::ListOf(name), true) => format!(
                "tuple({name}.from_json(one) for one in {there}) if {got} is not None else None"
            ),
            (What::ListOf(name), false) => {
                format!("tuple({name}.from_json(one) for one in {got} or ())")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_become_attributes_with_their_types() {
        let schema = json!({
            "description": "A result.",
            "required": ["from", "ends"],
            "properties": {
                "from": {"type": "string", "description": "Where."},
                "rate": {"type": ["number", "null"]},
                "jitter": {"type": "number"},
                "ends": {"type": "array", "items": {"$ref": "#/$defs/End"}},
                "way": {"anyOf": [{"$ref": "#/$defs/Way"}, {"type": "null"}]},
            },
            "$defs": {
                "End": {"properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]},
                "Way": {"oneOf": [{"const": "up"}, {"const": "down"}]},
            },
        });
        let text = module(&schema).expect("a module");
        for line in [
            "Way = Literal[\"up\", \"down\"]\n",
            "class End:\n\n    bytes: int\n",
            "class Report(Shown):\n    \"\"\"A result.\"\"\"\n",
            "    from_: str\n    \"\"\"Where.\"\"\"\n",
            "    rate: Optional[float]\n",
            "    jitter: Optional[float]\n",
            "    ends: Sequence[End]\n",
            "    way: Optional[Way]\n",
            "from_=value[\"from\"],\n",
            "rate=value.get(\"rate\"),\n",
            "ends=tuple(End.from_json(one) for one in value.get(\"ends\") or ()),\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_form_without_a_class_is_an_error() {
        let schema = json!({"properties": {"x": {"type": "object"}}});
        let error = module(&schema).expect_err("no class");
        assert!(error.contains("Report.x"), "{error}");
    }

    #[test]
    fn descriptions_are_broken_into_lines() {
        let mut text = String::new();
        let long = "word ".repeat(40);
        docstring(&mut text, "    ", &json!({ "description": long }));
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(text.lines().count() > 2, "{text}");
        assert_eq!(text.split_whitespace().count(), 40, "{text}");
    }
}
