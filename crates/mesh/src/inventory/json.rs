//! The JSON form of an inventory: what `ansible-inventory --list` writes, and an inventory that was written
//! as JSON.

use serde_json::{Map, Value};

use super::fault::InventoryError;
use super::groups::{ALL, HostGroups};
use super::range;

/// Whether a text is JSON at all; an INI may begin with a bracket, too.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') || serde_json::from_str::<Value>(text).is_ok()
}

/// Reads the text of a file.
pub(crate) fn read(file: &str, text: &str) -> Result<HostGroups, InventoryError> {
    let fault = |line, text| InventoryError {
        file: file.to_owned(),
        line,
        text,
    };
    let whole: Value = serde_json::from_str(text)
        .map_err(|error| fault(Some(error.line()), format!("that is no JSON: {error}")))?;
    let groups = whole.as_object().ok_or_else(|| {
        let text = "an inventory as JSON is an object of groups";
        fault(None, text.to_owned())
    })?;
    let mut reader = Reader::default();
    reader.read(groups).map_err(|text| fault(None, text))?;
    Ok(reader.inventory)
}

/// Groups within groups that are followed.
const DEEPEST: usize = 100;

#[derive(Default)]
struct Reader {
    inventory: HostGroups,
}

impl Reader {
    fn read(&mut self, groups: &Map<String, Value>) -> Result<(), String> {
        for (name, group) in groups.iter().filter(|(name, _)| *name != "_meta") {
            self.group(name, group, 0)?;
        }
        let hosts = groups.get("_meta").map(|meta| &meta["hostvars"]);
        for (host, variables) in hosts.and_then(Value::as_object).into_iter().flatten() {
            self.inventory.add(ALL, host);
            self.variables(host, variables);
        }
        Ok(())
    }

    fn group(&mut self, name: &str, group: &Value, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!(
                "groups are within each other more than {DEEPEST} times"
            ));
        }
        self.inventory.group(name);
        let fields = match group {
            Value::Null => return Ok(()),
            Value::Array(_) => return self.hosts(name, group),
            Value::Object(fields) => fields,
            _ => return Err(format!("the group \"{name}\" is no object")),
        };
        for (key, value) in fields {
            match key.as_str() {
                "hosts" => self.hosts(name, value)?,
                "children" => self.children(name, value, depth)?,
                "vars" => {
                    for (key, value) in value.as_object().into_iter().flatten() {
                        let variables = &mut self.inventory.group(name).variables;
                        variables.insert(key.clone(), shown(value));
                    }
                }
                other => {
                    return Err(format!(
                        "the group \"{name}\" has no key \"{other}\": hosts, children, vars"
                    ));
                }
            }
        }
        Ok(())
    }

    fn hosts(&mut self, group: &str, hosts: &Value) -> Result<(), String> {
        let all: Vec<(&str, Option<&Value>)> = match hosts {
            Value::Null => Vec::new(),
            Value::Array(names) => {
                let names = names.iter().map(|name| Some((name.as_str()?, None)));
                let names = names.collect::<Option<_>>();
                names.ok_or_else(|| format!("hosts of \"{group}\" are names"))?
            }
            Value::Object(hosts) => {
                let hosts = hosts.iter();
                hosts.map(|(name, of)| (name.as_str(), Some(of))).collect()
            }
            _ => return Err(format!("hosts of \"{group}\" are a list or an object")),
        };
        for (pattern, variables) in all {
            for name in range::names(pattern)? {
                self.inventory.add(group, &name);
                if let Some(variables) = variables {
                    self.variables(&name, variables);
                }
            }
        }
        Ok(())
    }

    fn children(&mut self, parent: &str, children: &Value, depth: usize) -> Result<(), String> {
        match children {
            Value::Null => {}
            Value::Array(names) => {
                for name in names {
                    let name = name.as_str();
                    let name = name.ok_or_else(|| format!("children of \"{parent}\" are names"))?;
                    self.inventory.group(name);
                    self.inventory
                        .group(parent)
                        .children
                        .insert(name.to_owned());
                }
            }
            Value::Object(groups) => {
                for (name, group) in groups {
                    self.group(name, group, depth + 1)?;
                    self.inventory.group(parent).children.insert(name.clone());
                }
            }
            _ => return Err(format!("children of \"{parent}\" are a list or an object")),
        }
        Ok(())
    }

    fn variables(&mut self, host: &str, variables: &Value) {
        for (name, value) in variables.as_object().into_iter().flatten() {
            self.inventory.set(host, name, shown(value));
        }
    }
}

/// A text without quotation marks, another value as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
