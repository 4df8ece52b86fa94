//! A gate's rules, from a file in TOML.

use std::collections::BTreeMap;
use std::path::Path;

use tapeline_report::QuantityInfo;
use tapeline_report::comparison::Side;
use tapeline_report::gate::{Condition, Gate, Margin, Outcome, Rule, read_value};
use toml::de::{DeTable, DeValue};

use crate::cli::values::nearest_of;

/// Files beyond this are none of ours, bytes.
const LONGEST: usize = 1 << 20;

/// What a file says. The runs of its baselines are not there yet.
///
/// # Errors
/// A sentence that names the file, and the line where one is wrong.
pub(crate) fn read(path: &Path) -> Result<Gate, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("gate {name}: {}", tapeline_sys::reason(&error)))?;
    if text.len() > LONGEST {
        return Err(format!("gate {name}: longer than 1 MiB"));
    }
    parse(&name, &text)
}

/// The same of a text.
pub(crate) fn parse(name: &str, text: &str) -> Result<Gate, String> {
    let source = Source { name, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.fault(at, error.message())
    })?;
    let mut gate = Gate {
        at_least: 1,
        host_limited: Some(Outcome::Undecided),
        rules: Vec::new(),
    };
    for (key, value) in table.get_ref() {
        let at = key.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("runs", DeValue::Table(runs)) => {
                for (key, value) in runs {
                    let at = key.span().start;
                    if key.get_ref() != "at_least" {
                        return Err(source.fault(at, "runs has at_least alone"));
                    }
                    let number = scalar(value.get_ref()).and_then(|text| text.parse().ok());
                    let number = number.filter(|number| (1..=1000).contains(number));
                    gate.at_least = number
                        .ok_or_else(|| source.fault(at, "at_least is a number from 1 to 1000"))?;
                }
            }
            ("host_limited", value) => {
                gate.host_limited = match scalar(value).as_deref() {
                    Some("undecided") => Some(Outcome::Undecided),
                    Some("fail") => Some(Outcome::Fail),
                    Some("ignore") => None,
                    _ => {
                        let said = "host_limited is \"undecided\", \"fail\" or \"ignore\"";
                        return Err(source.fault(at, said));
                    }
                };
            }
            ("rule", DeValue::Array(rules)) => {
                for rule in rules {
                    let DeValue::Table(table) = rule.get_ref() else {
                        return Err(source.fault(at, "a rule is a table: [[rule]]"));
                    };
                    gate.rules.push(source.rule(rule.span().start, table)?);
                }
            }
            ("rule", _) => return Err(source.fault(at, "a rule is a table: [[rule]]")),
            ("runs", _) => return Err(source.fault(at, "runs is a table: { at_least = 5 }")),
            (other, _) => {
                let known = ["runs", "host_limited", "rule"];
                return Err(source.fault(at, &unknown("a gate", other, &known)));
            }
        }
    }
    if gate.rules.is_empty() {
        return Err(format!("{name}: a gate needs at least one [[rule]]"));
    }
    Ok(gate)
}

/// A file's text, in which errors have their line.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

/// What a rule may have.
const MEMBERS: [&str; 7] = [
    "quantity",
    "direction",
    "where",
    "at_least",
    "at_most",
    "no_worse_than",
    "by",
];

impl Source<'_> {
    fn fault(&self, at: usize, sentence: &str) -> String {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        format!("{}:{line}: {sentence}", self.name)
    }

    fn rule(&self, at: usize, table: &DeTable<'_>) -> Result<Rule, String> {
        // Each member with its place.
        let mut members: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        let mut only = BTreeMap::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            let Some(known) = MEMBERS.iter().find(|known| **known == name) else {
                return Err(self.fault(at, &unknown("a rule", name, &MEMBERS)));
            };
            match value.get_ref() {
                DeValue::Table(wanted) if name == "where" => only = self.wanted(wanted)?,
                value => {
                    let text = scalar(value).filter(|_| name != "where");
                    let said = format!("{name} is neither a text nor a number");
                    let text = text.ok_or_else(|| self.fault(at, &said))?;
                    members.insert(known, (at, text));
                }
            }
        }
        let Some((place, name)) = members.remove("quantity") else {
            return Err(self.fault(at, "a rule needs a quantity"));
        };
        let quantity = QuantityInfo::find(&name).ok_or_else(|| {
            let names = tapeline_report::QUANTITIES.iter().map(|info| info.name);
            let near = nearest_of(&name, names);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            self.fault(place, &format!("there is no quantity \"{name}\"{hint}"))
        })?;
        let limits = ["at_least", "at_most", "no_worse_than"].map(|name| members.remove(name));
        let by = members.remove("by");
        let value = |name: &str, (at, text): (usize, String)| {
            read_value(&text, quantity.dimension).map_err(|unfit| {
                self.fault(at, &format!("{name}: \"{text}\" is no {}", unfit.wanted))
            })
        };
        let condition = match (limits, by) {
            ([Some(limit), None, None], None) => Condition::AtLeast(value("at_least", limit)?),
            ([None, Some(limit), None], None) => Condition::AtMost(value("at_most", limit)?),
            ([None, None, Some((_, baseline))], Some((at, written))) => {
                let by = Margin::read(&written, quantity).map_err(|unfit| {
                    self.fault(at, &format!("by: \"{written}\" is no {}", unfit.wanted))
                })?;
                Condition::NoWorseThan {
                    runs: Side {
                        name: baseline.clone(),
                        ..Side::default()
                    },
                    baseline,
                    by,
                    written,
                }
            }
            ([None, None, Some((at, _))], None) => {
                return Err(self.fault(at, "no_worse_than needs by, such as by = \"3%\""));
            }
            _ => {
                let said = "a rule has one of at_least, at_most, and no_worse_than with by";
                return Err(self.fault(at, said));
            }
        };
        let direction = members.remove("direction");
        if let Some((at, direction)) = &direction
            && !["forward", "reverse", "round_trip"].contains(&direction.as_str())
        {
            let said = format!("\"{direction}\" is none of forward, reverse, round_trip");
            return Err(self.fault(*at, &said));
        }
        Ok(Rule {
            quantity,
            direction: direction.map(|(_, direction)| direction),
            only,
            condition,
        })
    }

    fn wanted(&self, table: &DeTable<'_>) -> Result<BTreeMap<String, String>, String> {
        let mut wanted = BTreeMap::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            let known = Rule::WHERE.map(|(member, _)| member);
            if !known.contains(&name) {
                return Err(self.fault(at, &unknown("where", name, &known)));
            }
            let text = scalar(value.get_ref());
            let text = text.ok_or_else(|| self.fault(at, &format!("{name} is no text")))?;
            wanted.insert(name.to_owned(), text);
        }
        Ok(wanted)
    }
}

/// A text or a number, as it was written.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn unknown(what: &str, name: &str, known: &[&'static str]) -> String {
    match nearest_of(name, known.iter().copied()) {
        Some(near) => format!("{what} has no {name}; did you mean {near}?"),
        None => format!("{what} has no {name}; it has {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: &str = "\
runs = { at_least = 5 }
host_limited = \"fail\"
[[rule]]
quantity = \"rate\"
direction = \"reverse\"
where = { to_host = \"db1\" }
at_least = \"900M\"
[[rule]]
quantity = \"latency_increase\"
at_most = \"30ms\"
[[rule]]
quantity = \"rate\"
no_worse_than = \"baseline:main\"
by = \"3%\"
";

    #[test]
    fn rules_are_read() {
        let gate = parse("gate.toml", GATE).expect("a gate");
        assert_eq!((gate.at_least, gate.host_limited), (5, Some(Outcome::Fail)));
        let [rate, increase, baseline] = &gate.rules[..] else {
            panic!("{gate:?}");
        };
        assert_eq!(rate.direction.as_deref(), Some("reverse"));
        assert_eq!(rate.only["to_host"], "db1");
        assert!(matches!(rate.condition, Condition::AtLeast(limit) if limit == 900e6));
        assert!(matches!(increase.condition, Condition::AtMost(limit) if limit == 30.0));
        let Condition::NoWorseThan { baseline, by, .. } = &baseline.condition else {
            panic!("{baseline:?}");
        };
        assert_eq!(
            (baseline.as_str(), *by),
            ("baseline:main", Margin::Share(0.03))
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let broken = |from: &str, to: &str| {
            let text = GATE.replace(from, to);
            assert_ne!(text, GATE, "{from}");
            parse("gate.toml", &text).expect_err(to)
        };
        for (from, to, said) in [
            ("900M", "900X", "gate.toml:7: at_least: \"900X\" is no rate"),
            (
                "\"latency_increase\"",
                "\"rat\"",
                "gate.toml:9: there is no quantity \"rat\"; did you mean rate?",
            ),
            ("by = \"3%\"\n", "", "gate.toml:13: no_worse_than needs by"),
            (
                "by = \"3%\"",
                "by = \"3\"",
                "gate.toml:14: by: \"3\" is no percentage",
            ),
            ("at_most = \"30ms\"\n", "", "gate.toml:8: a rule has one of"),
            (
                "at_least = 5",
                "at_least = 0",
                "gate.toml:1: at_least is a number",
            ),
            ("\"fail\"", "\"no\"", "gate.toml:2: host_limited is"),
            ("to_host", "host", "gate.toml:6: where has no host"),
            ("\"reverse\"", "\"up\"", "gate.toml:5: \"up\" is none of"),
            ("host_limited", "hosts", "gate.toml:2: a gate has no hosts"),
            (
                "[[rule]]\nquantity = \"rate\"\ndirection",
                "[[rule]]\nquantiti = \"rate\"\ndirection",
                "gate.toml:4: a rule has no quantiti; did you mean quantity?",
            ),
        ] {
            let error = broken(from, to);
            assert!(error.starts_with(said), "{error}");
        }
        assert_eq!(
            parse("g", "runs = { at_least = 2 }\n").expect_err("no rule"),
            "g: a gate needs at least one [[rule]]"
        );
        assert!(parse("g", "x = [").expect_err("TOML").starts_with("g:1: "));
        assert!(
            read(Path::new("/no/such/gate.toml"))
                .expect_err("none")
                .starts_with("gate /no/such")
        );
    }
}
