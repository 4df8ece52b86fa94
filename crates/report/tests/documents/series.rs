//! Several runs of one test, in every form.

use serde_json::Value;
use tapeline_report::document::{
    DocumentCsv, DocumentStream, ReportTracker, SeriesCsv, Step, WholeDocument,
};
use tapeline_report::{Event, KeptRun, Repetition, Runs, StopRule, kept_series_page};

use super::samples::{self, Sample};
use super::schema::Check;
use super::{file, rendered};

/// Three runs of a sample; the last one was interrupted.
fn events(sample: &Sample) -> Vec<Event> {
    let mut runs = Runs::new(StopRule {
        least: 3,
        most: 5,
        width: Some(0.01),
    });
    let mut all = Vec::new();
    for run in 1..=3 {
        let mut tracker = ReportTracker::without_intervals(sample.run_info.clone());
        all.push(Event::Repetition(Repetition::Begins {
            run,
            least: 3,
            most: 5,
        }));
        let interrupt = Event::Notice(tapeline_report::Notice::Interrupted);
        let events = sample.events.iter().cloned();
        for event in events.chain((run == 3).then_some(interrupt)) {
            tracker.observe(&event);
            all.push(event);
        }
        let result = match tracker.finish().pop() {
            Some(Step::End { report, .. }) => runs.add(&report),
            other => panic!("{other:?}"),
        };
        all.push(Event::Repetition(Repetition::Ends(Box::new(result))));
    }
    let series = Box::new(runs.series(true));
    all.push(Event::Repetition(Repetition::Over(series)));
    all
}

/// Files of a series: their names and texts.
pub(crate) fn forms() -> [(&'static str, String); 5] {
    let sample = samples::all().remove(0);
    let events = events(&sample);
    let run_info = || sample.run_info.clone();
    [
        (
            "series.json",
            rendered(WholeDocument::json(run_info()), &events),
        ),
        (
            "series.ndjson",
            rendered(DocumentStream::new(run_info()), &events),
        ),
        (
            "series.csv",
            rendered(DocumentCsv::new(run_info()), &events),
        ),
        ("means.csv", rendered(SeriesCsv, &events)),
        (
            "series.html",
            rendered(WholeDocument::html(run_info()), &events),
        ),
    ]
}

#[test]
fn a_series_is_one_document_with_all_runs() {
    let [(_, json), ..] = forms();
    let document: Value = serde_json::from_str(&json).expect("one document");
    let schema = std::fs::read_to_string(file("docs/schema/tapeline-series-1.json"));
    let schema: Value = serde_json::from_str(&schema.expect("the published schema")).expect("JSON");
    assert_eq!(Check::of(&schema, &document), Vec::<String>::new());
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[0]["intervals"].as_array().map(Vec::len), Some(4));
    let series = &document["series"];
    assert_eq!(series["runs"], 3);
    assert_eq!(series["precise_enough"], true);
    assert_eq!(series["excluded"][0]["run"], 3);
    assert_eq!(series["excluded"][0]["reason"], "interrupted");
    let rate = &series["quantities"][0];
    assert_eq!(rate["quantity"], "bits_per_second");
    assert_eq!(rate["direction"], "forward");
    assert_eq!(
        (rate["runs"].as_u64(), &rate["mean"]),
        (Some(2), &rate["min"])
    );
    assert_eq!(rate["ci_width_percent"], 0.0);
}

#[test]
fn a_page_holds_all_runs() {
    let [(_, json), .., (_, page)] = forms();
    let (_, rest) = page.split_once("id=\"report\">").expect("the document");
    let (kept, _) = rest.split_once("</script>").expect("its end");
    let [kept, json] =
        [kept, &json].map(|text| -> Value { serde_json::from_str(text).expect("one document") });
    assert_eq!(kept, json);
    assert_eq!(page.matches("<html").count(), 1);
}

#[test]
fn a_stream_has_the_number_of_the_run_and_ends_with_the_series() {
    let [_, (_, lines), (_, csv), (_, means), _] = forms();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let ends = lines.iter().filter(|line| line["event"] == "end");
    let numbers: Vec<_> = ends.map(|line| line["test"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    let last = lines.last().expect("lines");
    assert_eq!(last["event"], "series");
    assert_eq!(last["data"]["runs"], Value::Array(Vec::new()));
    let tests: Vec<&str> = csv
        .lines()
        .skip(1)
        .filter_map(|row| row.split(',').next())
        .collect();
    assert_eq!(tests.len(), 12);
    assert_eq!((tests[0], tests[11]), ("1", "3"));
    let mut means = means.lines();
    assert!(
        means
            .next()
            .is_some_and(|line| line.starts_with("quantity,direction,runs,mean,"))
    );
    assert!(
        means
            .next()
            .is_some_and(|line| line.starts_with("bits_per_second,forward,2,"))
    );
}

#[test]
fn runs_that_were_kept_come_to_the_same_numbers() {
    let clients = samples::all().into_iter();
    for sample in clients.filter(|sample| sample.name != "udp-server") {
        let events = events(&sample);
        let told = rendered(WholeDocument::json(sample.run_info.clone()), &events);
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let runs = told["runs"].as_array().expect("runs").iter();
        let kept: Vec<KeptRun> = runs
            .map(|report| KeptRun {
                left_out: None,
                report: report.clone(),
            })
            .collect();
        let page = kept_series_page(&kept).expect("a page");
        let (_, rest) = page.split_once("id=\"report\">").expect("the document");
        let (kept, _) = rest.split_once("</script>").expect("its end");
        let kept: Value = serde_json::from_str(kept).expect("JSON");
        for member in ["quantities", "excluded", "runs", "confidence_percent"] {
            let name = &sample.name;
            assert_eq!(
                kept["series"][member], told["series"][member],
                "{name}: {member}"
            );
        }
        assert_eq!(kept["runs"], told["runs"]);
    }
}
