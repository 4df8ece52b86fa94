//! The option table as JSON, for programs that ask for options or order tests.

use serde_json::{Value, json};
use tapeline_dialect::Personality;

use super::entry::methods;
use crate::cli::options::table::usable;
use crate::cli::order::identifier;
use crate::cli::parse::Arity;
use crate::cli::spec::{OptionId, OptionSpec, Remote, ValueKind};

/// `{"schema": "tapeline-form/1", "version", "groups": [...], "options": [...]}`.
pub(crate) fn document() -> String {
    let mut groups: Vec<&str> = Vec::new();
    let mut options = Vec::new();
    // Programs that show a test elsewhere give that one; it is not for people.
    let asked = usable(Personality::Native).filter(|spec| spec.id != OptionId::Rendered);
    for spec in asked {
        if !groups.contains(&spec.group.title()) {
            groups.push(spec.group.title());
        }
        options.push(option(spec));
    }
    let form = json!({
        "schema": "tapeline-form/1",
        "version": env!("CARGO_PKG_VERSION"),
        "groups": groups,
        "options": options,
    });
    // A tree of texts and numbers always is JSON.
    serde_json::to_string_pretty(&form).unwrap_or_default()
}

fn option(spec: &OptionSpec) -> Value {
    let letter = spec.short.map(|letter| letter.to_string());
    let (kind, choices, refused) = match spec.remote {
        Remote::Yes(ValueKind::Choice(words)) => ("choice", Some(words), None),
        Remote::Yes(kind) => (name(kind), None, None),
        Remote::No(why) => (name_of_arity(spec.arity), None, Some(why)),
    };
    json!({
        "id": identifier(spec),
        "letter": letter,
        "group": spec.group.title(),
        "kind": kind,
        "choices": choices,
        "value": (spec.arity != Arity::Switch).then_some(spec.value_name),
        "value_needed": spec.arity == Arity::Required,
        "client": spec.sides.client,
        "server": spec.sides.server,
        "methods": methods().filter(|word| spec.methods.include(word)).collect::<Vec<_>>(),
        "help": spec.help,
        "details": spec.details,
        "refused": refused,
    })
}

const fn name(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Switch => "switch",
        ValueKind::Bytes => "bytes",
        ValueKind::Rate => "rate",
        ValueKind::Seconds => "seconds",
        ValueKind::Millis => "milliseconds",
        ValueKind::Percent => "percent",
        ValueKind::Count => "count",
        ValueKind::Port => "port",
        ValueKind::Host => "host",
        ValueKind::Networks => "networks",
        ValueKind::Choice(_) => "choice",
        ValueKind::Text => "text",
    }
}

/// What nobody elsewhere may give has no kind.
const fn name_of_arity(arity: Arity) -> &'static str {
    match arity {
        Arity::Switch => "switch",
        Arity::Required | Arity::Optional => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_every_option_once_and_says_what_may_be_ordered() {
        let form: Value = serde_json::from_str(&document()).expect("JSON");
        let options = form["options"].as_array().expect("options");
        // All but what programs alone give.
        assert_eq!(options.len(), usable(Personality::Native).count() - 1);
        let mut ids: Vec<&str> = options
            .iter()
            .map(|one| one["id"].as_str().expect("a name"))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), options.len());
        let of = |id: &str| {
            let mut options = options.iter();
            options.find(|one| one["id"] == id).expect("an option")
        };
        assert_eq!(of("time")["kind"], "seconds");
        assert_eq!(of("time")["letter"], "t");
        assert_eq!(of("pacing")["choices"], json!(["spin", "sleep"]));
        assert_eq!(of("udp")["kind"], "switch");
        assert_eq!(of("udp")["value"], Value::Null);
        assert_eq!(of("output")["refused"], "it names a file");
        assert_eq!(of("time")["refused"], Value::Null);
        assert_eq!(
            (&of("daemon")["client"], &of("daemon")["server"]),
            (&json!(false), &json!(true))
        );
    }
}
