//! Every sample is what the published schema says.

use serde_json::{Map, Value};

use super::{file, forms, samples};

fn schema() -> Value {
    let text = std::fs::read_to_string(file("docs/schema/tapeline-report-1.json"));
    serde_json::from_str(&text.expect("the published schema")).expect("JSON")
}

/// What of a value the schema does not allow, as paths and reasons. Knows the keywords that the
/// generator uses, and takes members that the schema does not name for wrong.
pub(crate) struct Check<'a> {
    root: &'a Value,
    wrong: Vec<String>,
}

impl<'a> Check<'a> {
    pub(crate) fn of(root: &'a Value, value: &Value) -> Vec<String> {
        let mut check = Self {
            root,
            wrong: Vec::new(),
        };
        check.value(root, value, "$");
        check.wrong
    }

    fn value(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        for (keyword, wanted) in schema {
            match keyword.as_str() {
                "$ref" => {
                    let target = self.target(wanted);
                    self.value(target, value, path);
                }
                "type" => self.kind(wanted, value, path),
                "enum" => self.say(among(wanted, value), value, path),
                "const" => self.say(wanted == value, value, path),
                "minimum" => {
                    let least = value.as_f64().zip(wanted.as_f64());
                    self.say(least.is_none_or(|(is, least)| is >= least), value, path);
                }
                "maximum" => {
                    let most = value.as_f64().zip(wanted.as_f64());
                    self.say(most.is_none_or(|(is, most)| is <= most), value, path);
                }
                "anyOf" | "oneOf" => self.any(wanted, value, path),
                "required" => {
                    for name in wanted.as_array().into_iter().flatten() {
                        let name = name.as_str().unwrap_or_default();
                        let there = value.as_object().is_none_or(|map| map.contains_key(name));
                        self.say(there, value, &format!("{path}.{name} (missing)"));
                    }
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(wanted, item, &format!("{path}[{index}]"));
                    }
                }
                "properties" => self.members(schema, value, path),
                "$schema" | "$id" | "$defs" | "title" | "description" | "format" => {}
                other => self.wrong.push(format!("{path}: unknown keyword {other}")),
            }
        }
    }

    fn say(&mut self, holds: bool, value: &Value, path: &str) {
        if !holds {
            self.wrong.push(format!("{path}: {value}"));
        }
    }

    fn target(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let target = pointer.and_then(|pointer| self.root.pointer(pointer));
        target.expect("a definition")
    }

    fn kind(&mut self, wanted: &Value, value: &Value, path: &str) {
        let is = |kind: &str| match kind {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => false,
        };
        let holds = match wanted {
            Value::String(kind) => is(kind),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
            _ => false,
        };
        self.say(holds, value, path);
    }

    fn any(&mut self, wanted: &'a Value, value: &Value, path: &str) {
        let mut reasons = Vec::new();
        for schema in wanted.as_array().into_iter().flatten() {
            let mut check = Check {
                root: self.root,
                wrong: Vec::new(),
            };
            check.value(schema, value, path);
            // Members of the others are known to the whole.
            check.wrong.retain(|reason| !reason.ends_with("(unknown)"));
            if check.wrong.is_empty() {
                return;
            }
            reasons.extend(check.wrong);
        }
        self.wrong.extend(reasons);
    }

    fn members(&mut self, schema: &'a Map<String, Value>, value: &Value, path: &str) {
        let mut known = Vec::new();
        self.names(schema, &mut known);
        for (name, member) in value.as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            match schema["properties"].get(name) {
                Some(schema) => self.value(schema, member, &path),
                None if known.contains(&name.as_str()) => {}
                None => self.wrong.push(format!("{path} (unknown)")),
            }
        }
    }

    /// Members of an object, those of alternatives among them.
    fn names(&self, schema: &'a Map<String, Value>, known: &mut Vec<&'a str>) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            known.extend(properties.keys().map(String::as_str));
        }
        for part in ["anyOf", "oneOf"] {
            let parts = schema.get(part).and_then(Value::as_array);
            for one in parts.into_iter().flatten().filter_map(Value::as_object) {
                self.names(one, known);
            }
        }
    }
}

fn among(wanted: &Value, value: &Value) -> bool {
    wanted.as_array().is_some_and(|known| known.contains(value))
}

#[test]
fn samples_are_what_the_schema_says() {
    let schema = schema();
    for sample in samples::all() {
        let [(_, json), (_, lines), _] = forms(&sample);
        let documents = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
        let mut documents: Vec<Value> = documents.map(|one| one.expect("JSON")).collect();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            match line["event"].as_str() {
                Some("end") => documents.push(line["data"].clone()),
                Some("interval") => {
                    let interval = &schema["$defs"]["Interval"];
                    let wrong = {
                        let mut check = Check {
                            root: &schema,
                            wrong: Vec::new(),
                        };
                        check.value(interval, &line["data"], "$");
                        check.wrong
                    };
                    assert_eq!(wrong, Vec::<String>::new(), "{}", sample.name);
                }
                _ => {}
            }
        }
        assert!(documents.len() >= 2, "{}", sample.name);
        for document in documents {
            let wrong = Check::of(&schema, &document);
            assert_eq!(wrong, Vec::<String>::new(), "{}", sample.name);
        }
    }
}

#[test]
fn the_check_finds_what_is_wrong() {
    let schema = schema();
    let sample = samples::all().remove(0);
    let [(_, json), ..] = forms(&sample);
    let good: Value = serde_json::from_str(&json).expect("JSON");
    let broken = |change: fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        Check::of(&schema, &document).len()
    };
    assert_eq!(broken(|_| {}), 0);
    assert_eq!(broken(|d| d["streams"][0]["id"] = "1".into()), 1);
    assert_eq!(broken(|d| d["streams"][0]["id"] = (-1).into()), 1);
    assert_eq!(broken(|d| d["streams"][0]["direction"] = "up".into()), 3);
    assert_eq!(broken(|d| d["streams"][0]["colour"] = 1.into()), 1);
    assert_eq!(broken(|d| d["verdict"]["limited_by"] = "luck".into()), 2);
    assert_eq!(
        broken(|d| {
            d["test"].as_object_mut().map(|test| test.remove("role"));
        }),
        1
    );
}
