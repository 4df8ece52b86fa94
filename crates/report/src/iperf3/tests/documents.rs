//! Every recorded document, rendered again.

use tapeline_base::Role;

use super::super::json::{Json, Object};
use super::super::{Iperf3Json, Iperf3Style};
use super::events::events;
use super::support::{golden, names, rendered, values};

fn style(document: &Json) -> Iperf3Style {
    Iperf3Style {
        version: document.at("start.version").text().to_owned(),
        system_info: document.at("start.system_info").text().to_owned(),
        ..Iperf3Style::default()
    }
}

fn role(name: &str) -> Role {
    if name.contains(".server.") {
        Role::Server
    } else {
        Role::Client
    }
}

/// Recorded documents by name, without events.
fn documents() -> Vec<(String, Role, Json)> {
    let plain = |name: &String| !name.contains("stream") || name.contains("full-output");
    let names = names(".json").into_iter().filter(plain);
    let found = names.flat_map(|name| {
        let all = values(&golden(&name)).into_iter();
        let all = all.filter(|value| value.get("event").is_none());
        let all = all.map(without_repetition);
        let documents: Vec<_> = all.map(|one| (name.clone(), role(&name), one)).collect();
        documents
    });
    found.collect()
}

/// After the peer was ended by a signal, the reference reports its last interval twice.
fn without_repetition(document: Json) -> Json {
    let mut document = document.object().clone();
    if let Some(Json::Array(intervals)) = entry(&mut document, "intervals") {
        intervals.dedup();
    }
    document.into()
}

/// What the reference says and we do not: numbers of its own sockets, and the rate of a test that was refused.
fn adapted(name: &str, document: &Json) -> Json {
    let mut document = document.object().clone();
    let mut sockets = Vec::new();
    if let Some(Json::Object(start)) = entry(&mut document, "start")
        && let Some(Json::Array(connected)) = entry(start, "connected")
    {
        let lines = connected.iter();
        sockets = lines.map(|line| line.at("socket").count()).collect();
    }
    let mut document = Json::Object(document);
    renumber(&mut document, &sockets);
    if name.starts_with("err-bitrate-limit.server") {
        let start = document.at("start").object().entries().to_vec();
        let mut kept = Object::new();
        for (key, value) in start.into_iter().filter(|(key, _)| key != "target_bitrate") {
            kept.set(&key, value);
        }
        if let Json::Object(object) = &mut document {
            object.set("start", kept);
        }
    }
    document
}

fn entry<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Json> {
    let mut entries = object.entries_mut().iter_mut();
    entries
        .find(|(name, _)| name == key)
        .map(|(_, value)| value)
}

fn renumber(value: &mut Json, sockets: &[u64]) {
    match value {
        Json::Array(values) => values.iter_mut().for_each(|one| renumber(one, sockets)),
        Json::Object(object) => {
            for (key, value) in object.entries_mut() {
                if key == "server_output_json" {
                    continue;
                }
                if key == "socket" {
                    let at = sockets.iter().position(|known| *known == value.count());
                    *value = Json::from(5 + 2 * at.expect("a known socket") as u64);
                } else {
                    renumber(value, sockets);
                }
            }
        }
        _ => {}
    }
}

/// Keys, their order, types and values.
fn assert_alike(name: &str, path: &str, ours: &Json, theirs: &Json) {
    match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => {
            let keys = |object: &Object| -> Vec<String> {
                let entries = object.entries().iter();
                entries.map(|(key, _)| key.clone()).collect()
            };
            assert_eq!(keys(a), keys(b), "{name}: keys of {path}");
            for ((key, a), (_, b)) in a.entries().iter().zip(b.entries()) {
                assert_alike(name, &format!("{path}.{key}"), a, b);
            }
        }
        (Json::Array(a), Json::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{name}: elements of {path}");
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                assert_alike(name, &format!("{path}.{at}"), a, b);
            }
        }
        (Json::Integer(_) | Json::Number(_), Json::Integer(_) | Json::Number(_)) => {
            let (a, b) = (ours.float(), theirs.float());
            let near = (a - b).abs() <= tolerance(name) * a.abs().max(b.abs());
            assert!(near || is_ours(path), "{name}: {path} {a} {b}");
        }
        (a, b) => assert_eq!(a, b, "{name}: {path}"),
    }
}

/// Times of the reference are rounded to 24 bits, and shifted after an omitted start.
fn tolerance(name: &str) -> f64 {
    // The datagram that was lost at the very end is counted here.
    if name.starts_with("udp-loss.json") {
        1e-3
    } else {
        1e-4
    }
}

/// Values that the reference takes from another end or another clock than the ones next to them.
fn is_ours(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or_default();
    let peer_window = path.contains(".sender.") && (key.starts_with("max_") || key.contains("rtt"));
    let receiver = path.contains(".receiver.") && key == "seconds";
    let start = key == "start" && path.contains("intervals");
    let both = path.contains(".end.sum.") || path.contains(".end.sum_bidir_reverse.");
    // A server divides by what the sender counted, which it does not know.
    let share = path.ends_with(".udp.lost_percent");
    peer_window || receiver || start || share || (both && (key == "end" || key == "seconds"))
}

#[test]
fn recorded_documents_are_rendered_alike() {
    let documents = documents();
    assert!(documents.len() > 45, "{}", documents.len());
    for (name, role, recorded) in documents {
        let events = events(&recorded, role);
        let out = rendered(Iperf3Json::documents(style(&recorded)), &events);
        assert_eq!(out.stderr, "", "{name}");
        let ours = values(&out.stdout);
        assert_eq!(ours.len(), 1, "{name}");
        assert_alike(&name, "", &ours[0], &adapted(&name, &recorded));
    }
}

#[test]
fn windows_and_round_trips_of_an_own_sender_are_the_references() {
    for name in [
        "tcp.json",
        "tcp-P4.json",
        "tcp-omit1.json",
        "client-sigint.json",
    ] {
        let recorded = values(&golden(name)).remove(0);
        let out = rendered(
            Iperf3Json::documents(style(&recorded)),
            &events(&recorded, Role::Client),
        );
        let ours = values(&out.stdout).remove(0);
        let streams = ours.at("end.streams").items().iter();
        for (ours, theirs) in streams.zip(recorded.at("end.streams").items()) {
            for key in [
                "max_snd_cwnd",
                "max_snd_wnd",
                "max_rtt",
                "min_rtt",
                "mean_rtt",
            ] {
                let path = format!("sender.{key}");
                assert_eq!(ours.at(&path), theirs.at(&path), "{name} {key}");
            }
        }
    }
}

#[test]
fn documents_have_the_layout_of_the_reference() {
    // Numbers may differ in their last digits; everything else is the same, byte for byte.
    let shape = |text: &str| -> String {
        let mut shape = String::new();
        for letter in text.chars() {
            match letter {
                '0'..='9' if shape.ends_with('#') => {}
                '0'..='9' => shape.push('#'),
                '.' | '-' if shape.ends_with('#') => {}
                other => shape.push(other),
            }
        }
        shape
    };
    for name in [
        "tcp.json",
        "tcp-bidir-P2.json",
        "udp-bidir.json",
        "err-busy.json",
    ] {
        let text = golden(name);
        let recorded = values(&text).remove(0);
        let out = rendered(
            Iperf3Json::documents(style(&recorded)),
            &events(&recorded, Role::Client),
        );
        assert_eq!(shape(&out.stdout), shape(&text), "{name}");
    }
}

#[test]
fn recorded_streams_are_rendered_alike() {
    let names = names(".json").into_iter();
    let mut reported_streams = 0;
    for name in names.filter(|name| name.contains("stream")) {
        let recorded = values(&golden(&name));
        if recorded[0].get("event").is_none() {
            continue;
        }
        reported_streams += 1;
        let full = name.contains("full-output") && !name.contains("server");
        let document = gathered(&recorded);
        let mut style = Iperf3Style {
            full_output: full,
            ..Iperf3Style::default()
        };
        if let Some(version) = document.at("start").get("version") {
            style.version = version.text().to_owned();
            style.system_info = document.at("start.system_info").text().to_owned();
        }
        let out = rendered(Iperf3Json::stream(style), &events(&document, role(&name)));
        let ours = values(&out.stdout);
        assert_eq!(ours.len(), recorded.len(), "{name}");
        let lines = out.stdout.lines().take_while(|line| *line != "{").count();
        assert_eq!(lines, ours.len() - usize::from(full), "{name}: lines");
        let again = adapted(&name, &gathered(&ours));
        assert_alike(&name, "", &again, &adapted(&name, &document));
        for (a, b) in ours.iter().zip(&recorded) {
            assert_eq!(a.get("event"), b.get("event"), "{name}");
        }
        if full {
            assert_eq!(ours.last().expect("a document"), &gathered(&ours));
        }
    }
    assert!(reported_streams >= 9, "{reported_streams}");
}

/// The document that the events of a stream make up.
fn gathered(events: &[Json]) -> Json {
    let of = |name: &str| {
        let events = events.iter();
        let named = events.filter(|event| event.get("event").is_some_and(|n| n.text() == name));
        named
            .map(|event| event.at("data").clone())
            .collect::<Vec<_>>()
    };
    let empty = || Object::new().with("connected", Vec::new());
    let start = of("start").pop().unwrap_or_else(|| empty().into());
    let mut document = Object::new()
        .with("start", start)
        .with("intervals", of("interval"))
        .with("end", of("end").pop().expect("an end"));
    for key in ["error", "server_output_text", "server_output_json"] {
        if let Some(value) = of(key).pop() {
            document.set(key, value);
        }
    }
    document.into()
}
