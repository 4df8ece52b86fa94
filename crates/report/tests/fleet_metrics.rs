//! The dashboard and the page of a fleet's metrics name what its metrics have.
#![cfg(feature = "prometheus")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tapeline_report::prometheus::{FleetMetrics, FleetState, PairNumbers};

/// The names of a fleet's metrics begin so.
const PREFIXES: [&str; 2] = ["tapeline_fleet_", "tapeline_mesh_"];

/// All metrics, each with its labels.
fn known() -> BTreeMap<String, BTreeSet<String>> {
    let mut metrics = FleetMetrics::new("lab");
    let numbers = PairNumbers {
        rate: Some(1e9),
        rtt: Some(0.01),
        lost_ratio: Some(0.0),
    };
    metrics.measured("fra1", "osl1", numbers, 10);
    let state = FleetState {
        hosts: BTreeMap::from([("free", 1)]),
        jobs: BTreeMap::from([("queued", 1)]),
        ended: BTreeMap::from([("done", 1)]),
        spooled: 1,
        given_up: 1,
        results: BTreeMap::from([("new", 1)]),
    };
    let text = metrics.text(&state);
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let known: BTreeMap<_, _> = samples.flat_map(selectors).collect();
    assert_eq!(known.len(), 10, "{text}");
    known
}

/// The metrics that a text names, each with the labels in its braces.
fn selectors(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let starts = PREFIXES
        .iter()
        .flat_map(|prefix| text.match_indices(prefix));
    let selector = |(start, _): (usize, &str)| {
        let rest = &text[start..];
        let name = &rest[..rest.find(|letter| !is_name(letter)).unwrap_or(rest.len())];
        let braces = rest[name.len()..].strip_prefix('{');
        let braces = braces.and_then(|braces| braces.split_once('}'));
        let labels = braces.map_or("", |(labels, _)| labels).split(',');
        let labels = labels.map(|label| label.split(['=', '!']).next().unwrap_or_default());
        let labels = labels.filter(|label| !label.is_empty()).map(str::to_owned);
        (name.to_owned(), labels.collect())
    };
    starts.map(selector).collect()
}

/// The labels by which a query groups, or whose values it lists.
fn grouped(query: &str) -> Vec<&str> {
    let by = query.split("by (").skip(1);
    let by = by.filter_map(|rest| rest.split(')').next());
    let listed = query.strip_prefix("label_values(");
    let listed = listed.and_then(|rest| rest.trim_end_matches(')').rsplit_once(", "));
    by.chain(listed.map(|(_, label)| label)).collect()
}

/// All strings below the members with these names.
fn strings<'a>(value: &'a Value, names: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| strings(value, names, found)),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if names.contains(&name.as_str()) => found.push(text),
                    _ => strings(value, names, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_dashboard_queries_metrics_and_labels_that_there_are() {
    let board = include_str!("../../../packaging/grafana/tapeline-fleet.json");
    let board: Value = serde_json::from_str(board).expect("JSON");
    let mut queries = Vec::new();
    strings(&board, &["expr", "definition", "query"], &mut queries);
    queries.retain(|query| *query != "prometheus");
    let known = known();
    let mut used = BTreeSet::new();
    for query in queries {
        let selectors = selectors(query);
        assert!(!selectors.is_empty(), "no metric in {query}");
        for (name, labels) in selectors {
            let there = known.get(&name);
            let there = there.unwrap_or_else(|| panic!("{name} of {query}"));
            let grouped = grouped(query).into_iter().map(str::to_owned);
            for label in labels.into_iter().chain(grouped) {
                assert!(there.contains(&label), "{label} of {query}");
            }
            used.insert(name);
        }
    }
    assert_eq!(used, known.into_keys().collect(), "a metric is not shown");
}

#[test]
fn the_legends_of_the_dashboard_name_labels_that_there_are() {
    let board = include_str!("../../../packaging/grafana/tapeline-fleet.json");
    let board: Value = serde_json::from_str(board).expect("JSON");
    let known = known();
    for target in board["panels"].as_array().expect("panels").iter() {
        for target in target["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            let legend = target["legendFormat"].as_str().expect("a legend");
            for label in legend.split("{{").skip(1) {
                let label = label.split("}}").next().unwrap_or_default();
                let (name, _) = &selectors(query)[0];
                assert!(known[name].contains(label), "{label} of {legend}");
            }
        }
    }
}

#[test]
fn every_metric_is_documented_with_its_labels() {
    let page = include_str!("../../../docs/metrics.md");
    let documented: BTreeMap<_, _> = selectors(page).into_iter().collect();
    assert_eq!(documented, known());
}
