//! Documents of methods: what the published schema says, and every other form of them.

use serde_json::Value;
use tapeline_report::document::Peer;
use tapeline_report::method::{
    Bound, Criterion, Direction, FindRateResult, METHOD_SCHEMA, MethodDocument, MethodHead,
    MethodOutcome, MethodPage, MethodRuns, PageStyle, PassLimit, PhaseRecord, PhaseState, judge,
    series_text, text,
};
use tapeline_report::{StopRule, Warning};

use super::file;
use super::schema::Check;

/// A run of which a phase ran to its end, or none.
fn document(result: MethodOutcome, state: PhaseState) -> MethodDocument {
    let limit = PassLimit {
        criterion: Criterion {
            name: "up",
            unit: "Mbit/s",
            bound: Bound::AtLeast,
            default: None,
        },
        limit: 5.0,
    };
    MethodDocument {
        schema: METHOD_SCHEMA,
        version: "0.1.0".into(),
        command: "tapeline find-rate h".into(),
        method: "find-rate",
        standard: "RFC 9971",
        conforming: false,
        deviations: vec!["trials of 1 s".into()],
        peer: Peer::default(),
        started: "2026-11-22T12:40:20Z".into(),
        seconds: 3.5,
        complete: state == PhaseState::Done,
        interrupted: state != PhaseState::Done,
        phases: vec![PhaseRecord {
            name: "search",
            direction: Some(Direction::Up),
            planned_seconds: 3.0,
            seconds: Some(2.5),
            state,
            reason: None,
        }],
        pass: judge(&[limit], |_| None),
        verdict: result.verdict(),
        result,
        warnings: Vec::<Warning>::new(),
        error: None,
        tests: Vec::new(),
    }
}

fn schema(name: &str) -> Value {
    let text = std::fs::read_to_string(file(&format!("docs/schema/{name}.json")));
    serde_json::from_str(&text.expect("the published schema")).expect("JSON")
}

fn head() -> MethodHead {
    MethodHead {
        method: "find-rate",
        host: "h".into(),
        directions: vec![Direction::Up],
        ..MethodHead::default()
    }
}

#[test]
fn documents_are_what_the_published_schemas_say() {
    let run = document(FindRateResult::default().into(), PhaseState::Done);
    let value: Value = serde_json::from_str(&MethodPage::One(&run).json()).expect("JSON");
    assert_eq!(Check::of(&schema("tapeline-method-1"), &value), [""; 0]);
    let rule = StopRule {
        least: 2,
        most: 2,
        width: None,
    };
    let mut runs = MethodRuns::new(rule);
    runs.add(run.clone());
    assert!(!runs.is_enough());
    runs.add(document(
        FindRateResult::default().into(),
        PhaseState::Interrupted,
    ));
    assert!(runs.is_enough());
    let series = runs.finish(false).expect("runs");
    assert_eq!(series.series.excluded.len(), 1);
    let value: Value = serde_json::from_str(&MethodPage::Series(&series).json()).expect("JSON");
    let wrong = Check::of(&schema("tapeline-method-series-1"), &value);
    assert_eq!(wrong, [""; 0]);
    let shown = series_text(&series, &head());
    assert!(
        shown.contains("    2") && shown.contains("excluded"),
        "{shown}"
    );
    assert!(MethodPage::Series(&series).csv().starts_with("run,"));
}

#[test]
fn a_page_is_shown_once_a_phase_was_over() {
    let style = PageStyle::default();
    let run = document(FindRateResult::default().into(), PhaseState::Done);
    let shown = text(&run, &head(), &style);
    assert!(
        shown.ends_with("Pass         no: up not known, limit 5 Mbit/s\n"),
        "{shown}"
    );
    assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= 80));
    let nothing = document(FindRateResult::default().into(), PhaseState::Interrupted);
    assert_eq!(text(&nothing, &head(), &style), "");
}

#[test]
fn the_page_for_a_browser_holds_the_document_and_the_text() {
    let run = document(FindRateResult::default().into(), PhaseState::Done);
    let page = MethodPage::One(&run).html("a <b>page</b>".into());
    let (_, rest) = page.split_once("id=\"report\">").expect("the document");
    let (kept, _) = rest.split_once("</script>").expect("its end");
    let value: Value = serde_json::from_str(kept).expect("JSON");
    assert_eq!(value["schema"], METHOD_SCHEMA);
    assert_eq!(value["view"]["page"], "a <b>page</b>");
}
