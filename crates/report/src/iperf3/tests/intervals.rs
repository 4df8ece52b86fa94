//! Intervals of a test: of several streams, late, cut short, or none.

use std::collections::HashMap;
use std::time::Duration;

use super::super::Iperf3Json;
use super::super::json::Json;
use super::scenario::{changed, document, style, tag};
use super::support::{rendered, values};
use crate::model::{Event, Phase, Subject};

#[test]
fn a_test_without_intervals_is_one_long_interval() {
    let reported = document(&changed(
        "tcp-P4.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    ));
    let intervals = reported.at("intervals").items();
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].at("streams").items().len(), 4);
    assert_eq!(
        intervals[0].at("sum.bytes"),
        reported.at("end.sum_sent.bytes")
    );
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
    // A short one is reported too: it has data.
    for event in &mut events {
        if let Event::TestStart(start) = event {
            start.interval = Some(Duration::from_secs(10));
        }
    }
    let short = values(&rendered(Iperf3Json::documents(style()), &events).stdout).remove(0);
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
            // The second stream reports no interval.
            seen.push(row.subject);
            row.subject == seen[0]
        }
        _ => true,
    });
    let document = document(&events);
    let intervals = document.at("intervals").items().iter();
    let reported: u64 = intervals.map(|one| one.at("sum.packets").count()).sum();
    assert_eq!(reported, document.at("end.sum_sent.packets").count());
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
fn streams_that_have_ended_have_their_place_in_later_intervals() {
    for name in [
        "tcp-P4.json",
        "tcp-bidir.json",
        "udp-P2.json",
        "udp-bidir.json",
    ] {
        let reference = document(&changed(name, |_| true));
        let mut last = Duration::ZERO;
        changed(name, |event| {
            if let Event::Row(row) = event {
                last = last.max(row.span.start);
            }
            true
        });
        // All but the first stream end an interval early.
        let mut reported = HashMap::new();
        let shorter = document(&changed(name, |event| {
            let Event::Row(row) = event else { return true };
            let Subject::Flow(flow) = row.subject else {
                return true;
            };
            if flow == tag(1) {
                return true;
            }
            let bytes = reported.entry(flow).or_insert(0);
            if row.phase == Phase::Total {
                (row.bytes, row.span.end) = (*bytes, last);
                return true;
            }
            let kept = last > row.span.start + row.span.length() / 2;
            *bytes += if kept { row.bytes } else { 0 };
            kept
        }));
        let at = reference.at("intervals").items().len() - 1;
        let [theirs, ours] = [&reference, &shorter].map(|d| d.at(&format!("intervals.{at}")));
        let streams = ours.at("streams").items();
        assert_eq!(streams.len(), theirs.at("streams").items().len(), "{name}");
        for silent in &streams[1..] {
            assert_eq!(silent.at("bytes").count(), 0, "{name}");
            let [theirs, longest] = [silent, &streams[0]].map(|one| one.at("seconds").float());
            assert!((theirs - longest).abs() < 1e-3, "{name}: {theirs} s");
        }
        let keys = |sum: &Json| -> Vec<String> {
            let entries = sum.object().entries().iter();
            entries.map(|(key, _)| key.clone()).collect()
        };
        for (key, sum) in theirs.object().entries().iter().skip(1) {
            assert_eq!(keys(ours.at(key)), keys(sum), "{name} {key}");
        }
    }
}

#[test]
fn an_interval_behind_a_late_end_begins_at_that_end() {
    for (name, late_one) in [
        ("tcp-bidir.json", tag(1)),
        ("tcp-bidir.json", tag(2)),
        ("udp-bidir.json", tag(1)),
        ("udp-bidir.json", tag(2)),
    ] {
        let mut last = Duration::ZERO;
        changed(name, |event| {
            if let Event::Row(row) = event {
                last = last.max(row.span.start);
            }
            true
        });
        let late = last + Duration::from_millis(50);
        // One stream ends just behind the boundary of the last interval.
        let mut reported = 0;
        let document = document(&changed(name, |event| {
            let Event::Row(row) = event else { return true };
            if row.subject != Subject::Flow(late_one) {
                return true;
            }
            if row.phase == Phase::Total {
                (row.bytes, row.span.end) = (reported, late);
                return true;
            }
            if row.span.end > late {
                return false;
            }
            if row.span.end + row.span.length() / 2 > last {
                row.span.end = late;
            }
            reported += row.bytes;
            true
        }));
        let intervals = document.at("intervals").items();
        let [.., before, behind] = intervals else {
            panic!("{name}: {} intervals", intervals.len());
        };
        for sum in ["sum", "sum_bidir_reverse"] {
            let [end, start] = [before.at(sum).at("end"), behind.at(sum).at("start")];
            assert!((end.float() - late.as_secs_f64()).abs() < 1e-6, "{name}");
            assert!((start.float() - end.float()).abs() < 1e-6, "{name}");
        }
    }
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
