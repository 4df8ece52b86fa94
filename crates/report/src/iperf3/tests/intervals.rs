//! Intervals of a test: of several streams, late, cut short, or none.

use std::time::Duration;

use super::super::Iperf3Json;
use super::super::json::Json;
use super::scenario::{changed, document, style, tag};
use super::told;
use crate::model::{Event, Phase, Subject};

#[test]
fn a_test_without_intervals_is_one_long_interval() {
    let told = document(&changed(
        "tcp-P4.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    ));
    let intervals = told.at("intervals").items();
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].at("streams").items().len(), 4);
    assert_eq!(intervals[0].at("sum.bytes"), told.at("end.sum_sent.bytes"));
}

#[test]
fn intervals_wait_for_their_slowest_stream() {
    let all = changed("tcp-P4.json", |_| true);
    let reference = document(&all);
    // The rows of one stream come late, and all at once; those of another were dropped.
    let is_of = |event: &Event, id: u32| {
        matches!(event, Event::Row(row) if row.phase == Phase::Interval
            && row.subject == Subject::Flow(tag(id)))
    };
    let (late, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| is_of(e, 2));
    let at = others
        .iter()
        .position(|event| matches!(event, Event::Row(row) if row.phase == Phase::Total));
    let at = at.expect("a total");
    others.splice(at..at, late);
    assert_eq!(document(&others), reference);
    others.retain(|event| !is_of(event, 3));
    let fewer = document(&others);
    for interval in fewer.at("intervals").items() {
        assert_eq!(interval.at("streams").items().len(), 3);
    }
    assert_eq!(fewer.at("end"), &{
        let mut end = reference.at("end").clone();
        let stream = &mut end;
        unmeasured(stream, 2);
        end
    });
}

/// Windows of a stream without intervals are not known.
fn unmeasured(end: &mut Json, stream: usize) {
    let Json::Object(end) = end else { return };
    for (key, value) in end.entries_mut() {
        if let (true, Json::Array(streams)) = (key == "streams", value)
            && let Json::Object(both) = &mut streams[stream]
            && let Json::Object(sender) = &mut both.entries_mut()[0].1
        {
            for name in [
                "max_snd_cwnd",
                "max_snd_wnd",
                "max_rtt",
                "min_rtt",
                "mean_rtt",
            ] {
                sender.set(name, 0u32);
            }
        }
    }
}

#[test]
fn the_rest_of_a_datagram_sender_is_its_last_interval() {
    let start = |event: &mut Event| {
        if let Event::TestStart(start) = event {
            start.interval = Some(Duration::from_secs(1));
        }
    };
    let mut seen = 0;
    let mut events = changed("udp.json", |event| {
        start(event);
        let interval = matches!(event, Event::Row(row) if row.phase == Phase::Interval);
        seen += u32::from(interval);
        !interval || seen < 3
    });
    let document = document(&events);
    let last = document.at("intervals.2.streams.0");
    assert_eq!(last.at("packets").count(), 501);
    assert!((last.at("seconds").float() - 0.9947).abs() < 1e-4);
    // A short one is told too: it has data.
    for event in &mut events {
        if let Event::TestStart(start) = event {
            start.interval = Some(Duration::from_secs(10));
        }
    }
    let short = super::values(&told(Iperf3Json::documents(style()), &events).stdout).remove(0);
    let short = short.at("intervals").items();
    let bytes = |interval: &Json| interval.at("sum.bytes").count();
    assert_eq!(
        short.iter().map(bytes).sum::<u64>(),
        document.at("end.sum.bytes").count()
    );
}

#[test]
fn a_datagram_sender_that_ends_before_its_first_interval_is_in_it() {
    let mut seen = Vec::new();
    let events = changed("udp-P2.json", |event| match event {
        Event::Row(row) if row.phase == Phase::Interval => {
            // The second stream tells no interval.
            seen.push(row.subject);
            row.subject == seen[0]
        }
        _ => true,
    });
    let document = document(&events);
    let intervals = document.at("intervals").items().iter();
    let told: u64 = intervals.map(|one| one.at("sum.packets").count()).sum();
    assert_eq!(told, document.at("end.sum_sent.packets").count());
}

#[test]
fn last_intervals_of_streams_that_end_apart_are_one() {
    let mut flow = 0;
    let mut events = changed(
        "tcp-P4.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    );
    let rest: Vec<Event> = events
        .iter()
        .filter_map(|event| match event {
            Event::Row(row) if row.phase == Phase::Total => {
                flow += 1;
                let mut row = row.clone();
                row.phase = Phase::Interval;
                row.span.end = Duration::from_millis(flow * flow * 10);
                Some(Event::Row(row))
            }
            _ => None,
        })
        .collect();
    let first = events
        .iter()
        .position(|event| matches!(event, Event::Row(_)));
    let first = first.expect("a row");
    events.splice(first..first, rest);
    let intervals = document(&events).at("intervals").items().to_vec();
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].at("streams").items().len(), 4);
    assert!(
        (intervals[0].at("sum.end").float() - 0.16).abs() < 1e-9,
        "{}",
        intervals[0].indented()
    );
}

#[test]
fn a_test_that_omits_without_intervals_has_one_that_counts() {
    let events = changed(
        "tcp-omit1.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    );
    let document = document(&events);
    let intervals = document.at("intervals").items();
    let counted = intervals
        .iter()
        .filter(|one| !one.at("sum.omitted").is_true());
    let bytes: Vec<u64> = counted.map(|one| one.at("sum.bytes").count()).collect();
    assert_eq!(bytes, [document.at("end.sum_sent.bytes").count()]);
}
