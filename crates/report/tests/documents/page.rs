//! What a browser shows of pages: each point of how a page is drawn.

use serde_json::{Value, json};

use super::page_browser::{CALLS, cards, chart, list, numbers, seen, titles, whole_pages, words};

#[test]
fn every_page_is_drawn_whatever_is_unknown() {
    let Some(seen) = seen() else { return };
    let mut pages = 0;
    for (name, page) in seen.as_object().expect("pages") {
        if page.is_object() {
            pages += 1;
            let state = (&page["drawn"], &page["errors"], &page["unsound"]);
            assert_eq!(state, (&json!(true), &json!([]), &json!([])), "{name}");
        }
    }
    assert!(pages > 150, "{pages}");
}

#[test]
fn the_answer_is_a_headline_and_three_cards() {
    let Some(seen) = seen() else { return };
    let page = &seen["tcp"];
    assert_eq!(
        page["headlines"],
        json!(["939 Mbit/s received by 192.0.2.7"])
    );
    let text = page["text"].as_str().expect("text");
    assert!(
        text.contains("TCP to server · 1 stream · 5 s · cubic · server tapeline 0.1.0"),
        "{text}"
    );
    assert_eq!(
        cards(page),
        [
            "Limited by|good|network, high confidence|cwnd-limited 98 % of the time",
            "Latency under load|warn|B, +45.2 ms|2.10 ms idle, 47.3 ms under load",
            "Trust|good|good|both ends counted; neither host was the bottleneck",
        ]
    );
    let heads = |name: &str| words(&seen[name]["headlines"]).join("|");
    assert_eq!(heads("reverse"), "939 Mbit/s received from 192.0.2.7");
    assert_eq!(heads("server"), "939 Mbit/s received from 192.0.2.7");
    assert_eq!(
        heads("duplex"),
        "939 Mbit/s to 192.0.2.7|939 Mbit/s from 192.0.2.7"
    );
    assert_eq!(
        heads("tcp-client"),
        "1.88 Gbit/s to 192.0.2.2 (sender's count)"
    );
    assert_eq!(
        heads("udp-tapeline"),
        "9.90 Mbit/s received by 192.0.2.2, of 10.0 Mbit/s sent"
    );
    assert_eq!(
        heads("bounceback"),
        "0.042 ms round trip to 192.0.2.2, median"
    );
    assert_eq!(heads("connects"), "0.120 ms to connect to 192.0.2.2, mean");
    assert_eq!(heads("refused"), "No result");
    assert_eq!(cards(&seen["refused"]), Vec::<String>::new());
    assert!(words(&seen["refused"]["warnings"])[0].starts_with("error: "));
    assert_eq!(
        cards(&seen["duplex"])[0],
        "Limited by|good|to server: network, high confidence|cwnd-limited 98 % of the time\
        |from server: network, high confidence|cwnd-limited 98 % of the time"
    );
    assert!(seen["udp-tapeline"]["text"].as_str().is_some_and(|text| {
        text.contains(
        "Loss 0.999 % (17 of 1701), 12 in the network, 5 in the receiver's host · jitter 0.005 ms")
    }));
}

#[test]
fn the_table_has_the_mean_jitter_of_the_whole_test() {
    let Some(seen) = seen() else { return };
    let rows: Vec<String> = list(&seen["udp-tapeline"]["rows"])
        .iter()
        .map(|row| words(row).join("|"))
        .collect();
    let received = rows.iter().find(|row| row.contains("|received|"));
    assert!(
        received.is_some_and(|row| row.contains("|0.005|")),
        "{rows:?}"
    );
}

#[test]
fn limits_and_trust_stand_in_the_words_of_the_text() {
    let Some(seen) = seen() else { return };
    let first = |name: &str| cards(&seen[name]).first().cloned().unwrap_or_default();
    assert_eq!(
        first("your-b"),
        "Limited by|plain|your -b, high confidence|the requested 100 Mbit/s was sent"
    );
    assert!(first("fq-rate").starts_with("Limited by|plain|your --fq-rate, "));
    assert!(first("cpu").starts_with("Limited by|warn|sender's CPU, "));
    assert_eq!(
        cards(&seen["cpu"])[2],
        "Trust|warn|host-limited|the network may be faster; try -P 2 or a larger -l"
    );
    assert_eq!(
        words(&seen["cpu"]["warnings"]),
        ["warning: this host's CPU limits stream 1 [cpu-saturated]"]
    );
    // Trust gives the reason why a short test has no verdict.
    assert!(
        cards(&seen["short"])
            .iter()
            .all(|card| !card.starts_with("Limited by"))
    );
    assert_eq!(
        cards(&seen["short"]).last().map(String::as_str),
        Some("Trust|bad|poor|0.17 s of traffic is too short")
    );
    for (name, page) in whole_pages(seen) {
        let text = page["text"].as_str().expect("text");
        for word in [
            "requested_rate",
            "sender_cpu",
            "round_trip",
            "warm_up",
            "_ms",
            "bits_per",
        ] {
            assert!(!text.contains(word), "{word} in {name}: {text}");
        }
    }
}

#[test]
fn the_last_short_interval_is_no_fall() {
    let Some(seen) = seen() else { return };
    let throughput = chart(&seen["tcp"], "Throughput, Mbit/s");
    assert_eq!(
        throughput["label"],
        "Throughput, Mbit/s: sent 829 to 942, mean 919; received, whole test 939"
    );
    assert_eq!(throughput["x"], json!(["0", "1", "2", "3", "4", "5"]));
    let drained = chart(&seen["drained"], "Throughput, Mbit/s");
    assert_eq!(drained["label"], throughput["label"]);
    // A test of one interval has no course.
    assert_eq!(
        titles(&seen["short"]),
        ["Latency distribution % of samples up to a delay"]
    );
}

#[test]
fn zeros_are_a_sentence_and_counts_have_whole_ticks() {
    let Some(seen) = seen() else { return };
    assert!(!titles(&seen["quiet"]).contains(&"Retransmissions"));
    assert_eq!(
        words(&seen["quiet"]["sentences"]),
        ["Retransmissions: none."]
    );
    assert_eq!(
        chart(&seen["tcp"], "Retransmissions")["y"],
        json!(["0", "1", "2"])
    );
    assert_eq!(
        words(&seen["runs"]["sentences"])[0],
        "Retransmissions: 0 in each run."
    );
}

#[test]
fn axes_begin_at_0_unless_values_are_below_or_close_together() {
    let Some(seen) = seen() else { return };
    let low = |page: &str, title: &str| numbers(&chart(&seen[page], title)["y"])[0];
    assert_eq!(low("tcp", "Throughput, Mbit/s"), 0.0);
    assert!(low("quiet", "Throughput, Mbit/s") > 850.0);
    assert!(low("udp", "One-way delay, ms") < 0.0);
    assert!(low("runs", "One-way delay, ms") < 0.0);
    assert_eq!(low("runs", "Jitter, ms"), 0.0);
    for (name, page) in whole_pages(seen) {
        for chart in list(&page["charts"]) {
            for series in list(&chart["series"]) {
                assert_eq!(series["within"], true, "{name}: {chart}");
            }
        }
    }
}

#[test]
fn units_stand_in_titles_and_ticks_are_bare() {
    let Some(seen) = seen() else { return };
    assert_eq!(
        titles(&seen["tcp"]),
        [
            "Throughput, Mbit/s",
            "Latency, ms",
            "Retransmissions",
            "Congestion window, MiB",
            "CPU (100 % = one core), %",
            "Smoothed round trip (TCP), ms",
            "Latency distribution % of samples up to a delay",
        ]
    );
    for (_, page) in whole_pages(seen) {
        for chart in list(&page["charts"]) {
            assert_eq!(chart["cut"], false, "{chart}");
            assert!(
                numbers(&chart["y"]).len() > 1 && !numbers(&chart["x"]).is_empty(),
                "{chart}"
            );
        }
    }
}

#[test]
fn a_stream_has_one_colour_and_no_two_lines_share_one() {
    let Some(seen) = seen() else { return };
    for (name, page) in whole_pages(seen) {
        for chart in list(&page["charts"]) {
            let lines = list(&chart["series"])
                .iter()
                .filter(|series| series["shape"] != "band");
            let mut colours: Vec<&str> = lines
                .filter_map(|series| series["colour"].as_str())
                .collect();
            let count = colours.len();
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), count, "{name}: {chart}");
        }
    }
    // A stream's colour is the same in every chart, the order that of the numbers.
    let role = |title: &str| {
        let series = list(&chart(&seen["p8"], title)["series"]).iter();
        let streams = series.filter(|series| series["shape"] != "level");
        streams
            .take(8)
            .map(|series| series["role"].clone())
            .collect::<Vec<_>>()
    };
    let roles: Vec<Value> = (1..=8).map(|number| json!(format!("r-{number}"))).collect();
    for title in [
        "Throughput, Gbit/s",
        "Retransmissions",
        "Congestion window, MiB",
        "Smoothed round trip (TCP), ms",
    ] {
        assert_eq!(role(title), roles, "{title}");
        assert_eq!(
            words(&chart(&seen["p8"], title)["key"])[..2],
            ["stream 1", "stream 2"],
            "{title}"
        );
    }
    assert_eq!(
        words(&chart(&seen["duplex"], "Throughput, Mbit/s")["key"]),
        ["to server", "from server"]
    );
}

#[test]
fn extremes_are_a_band_in_the_colour_of_their_line() {
    let Some(seen) = seen() else { return };
    for (page, title) in [
        ("tcp", "Latency, ms"),
        ("p100", "Congestion window, MiB"),
        ("udp", "One-way delay, ms"),
    ] {
        let series = list(&chart(&seen[page], title)["series"]);
        let colour = |shape: &str| {
            let found = series.iter().find(|series| series["shape"] == shape);
            found.map(|series| &series["colour"])
        };
        assert!(colour("band").is_some(), "{title}");
        assert_eq!(colour("band"), colour("line"), "{title}");
    }
    // Many streams: their sum, and no hundred lines.
    for (page, most) in [("p100", 2), ("duplex-p100", 4)] {
        for chart in list(&seen[page]["charts"]) {
            assert!(list(&chart["series"]).len() <= most.max(3), "{chart}");
        }
    }
}

#[test]
fn the_cpu_is_drawn_once() {
    let Some(seen) = seen() else { return };
    for name in ["tcp", "p4", "udp-tapeline"] {
        let drawn = titles(&seen[name])
            .into_iter()
            .filter(|title| title.contains("CPU") || title.contains("rocessor"));
        assert_eq!(drawn.count(), 1, "{name}");
    }
    assert_eq!(
        words(&chart(&seen["tcp"], "CPU (100 % = one core), %")["key"]),
        ["client", "server"]
    );
}

#[test]
fn the_distribution_is_logarithmic_and_shows_idle_and_loaded() {
    let Some(seen) = seen() else { return };
    let title = "Latency distribution % of samples up to a delay";
    let drawn = chart(&seen["tcp"], title);
    assert_eq!(words(&drawn["key"]), ["idle", "under load"]);
    let at: Vec<f64> = list(&drawn["at"])
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let ticks = numbers(&drawn["x"]);
    let place = |value: f64| {
        at[ticks
            .iter()
            .position(|tick| *tick == value)
            .unwrap_or_else(|| panic!("no tick {value}: {ticks:?}"))]
    };
    let [decade, half] = [place(20.0) - place(2.0), place(20.0) - place(10.0)];
    assert!(
        (half / decade - 2f64.log10()).abs() < 0.01,
        "{ticks:?} {at:?}"
    );
    assert_eq!(
        words(&drawn["choices"]),
        [
            "Round trip of probes, ms",
            "One-way delay, ms",
            "Smoothed round trip (TCP), ms"
        ]
    );
    assert_eq!(words(&seen["tcp"]["switched"]["key"]), ["stream 1"]);
    assert!(
        seen["tcp"]["switched"]["label"]
            .as_str()
            .is_some_and(|label| label.contains("One-way delay, ms: stream 1 median 1.06"))
    );
}

#[test]
fn a_series_is_a_mean_with_its_interval_and_dots() {
    let Some(seen) = seen() else { return };
    let page = &seen["runs"];
    assert_eq!(
        page["headlines"],
        json!(["941 ± 5 Mbit/s to 192.0.2.7, mean of 3 runs"])
    );
    assert_eq!(page["title"], "941 ± 5 Mbit/s to 192.0.2.7");
    let rows: Vec<String> = list(&page["rows"])
        .iter()
        .map(|row| words(row).join("|"))
        .collect();
    assert!(
        rows.contains(&"Round trip|47.30 ± 0.02 ms|3|47.3|47.3".to_owned()),
        "{rows:?}"
    );
    assert!(
        rows.contains(&"1|470|0|47.4|0.100|0|network|good|warm-up".to_owned()),
        "{rows:?}"
    );
    assert_eq!(
        &cards(page)[..3],
        &[
            "Limited by|good|network, high confidence|in 3 of 3 runs",
            "Spread|plain|0.21 % standard deviation|939 to 943 Mbit/s",
            "Trust|good|good|3 of 4 runs count",
        ]
    );
    let drawn = chart(page, "Throughput, Mbit/s");
    let marks: Vec<(&str, u64)> = list(&drawn["series"])
        .iter()
        .map(|series| {
            (
                series["shape"].as_str().unwrap_or_default(),
                series["marks"].as_u64().unwrap_or(0),
            )
        })
        .collect();
    assert_eq!(
        marks,
        [("level", 0), ("level", 0), ("dots", 3), ("rings", 1)]
    );
    assert_eq!(drawn["x"], json!(["1", "2", "3", "4"]));
    assert_eq!(
        words(&drawn["swatches"]),
        ["dot", "ring", "fill", "stroke dashed"]
    );
    assert_eq!(
        words(&page["details"])[0],
        "Run 1: 470 Mbit/s, excluded: warm-up"
    );
}

#[test]
fn times_are_the_readers_and_titles_short() {
    let Some(seen) = seen() else { return };
    let page = &seen["tcp"];
    assert_eq!(page["time"], "22 Nov 2026, 21:40:20 GMT+9");
    assert_eq!(page["title"], "939 Mbit/s to 192.0.2.7");
    assert_eq!(seen["reverse"]["title"], "939 Mbit/s from 192.0.2.7");
    assert_eq!(seen["refused"]["title"], "No result from server.example");
    assert_eq!(
        words(&page["buttons"]),
        ["Copy command", "Save results as JSON"]
    );
    assert_eq!(
        page["command"],
        "tapeline -c 192.0.2.7 -t 5 --html run.html"
    );
    let rows: Vec<String> = list(&page["rows"])
        .iter()
        .map(|row| words(row).join("|"))
        .collect();
    assert_eq!(
        rows,
        [
            "stream||seconds|Mbit/s|MiB|retrans|CPU %",
            "stream 1|sent|5.00|940|561|41|12.0",
            "stream 1|received|5.01|939|561|-|9.00"
        ]
    );
}

#[test]
fn charts_have_texts_for_those_who_do_not_see_them() {
    let Some(seen) = seen() else { return };
    for (name, page) in whole_pages(seen) {
        for chart in list(&page["charts"]) {
            let label = chart["label"].as_str().expect("a label");
            assert_eq!(chart["role"], "img", "{name}: {label}");
            let (_, values) = label.split_once(": ").expect("values");
            assert!(
                values.contains(|letter: char| letter.is_ascii_digit()),
                "{name}: {label}"
            );
        }
    }
}

#[test]
fn pages_have_contrast_print_in_black_and_are_narrow() {
    let Some(seen) = seen() else { return };
    for (name, page) in whole_pages(seen) {
        for medium in ["light", "dark"] {
            let [text, lines] = ["text", "lines"].map(|part| {
                page[medium][part]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{name}, {medium}: {}", page[medium]))
            });
            assert!(
                text >= 4.5 && lines >= 3.0,
                "{name}, {medium}: {text} {lines}"
            );
        }
        assert_eq!(page["print"]["paper"], "rgb(255, 255, 255)", "{name}");
        assert_eq!(words(&page["print"]["inks"]), ["rgb(0, 0, 0)"], "{name}");
        assert!(
            page["width"].as_f64().is_some_and(|width| width <= 400.0),
            "{name}: {}",
            page["width"]
        );
    }
    assert_ne!(seen["tcp"]["light"]["paper"], seen["tcp"]["dark"]["paper"]);
}

#[test]
fn buttons_copy_the_command_and_save_the_document() {
    let Some(seen) = seen() else { return };
    let saved = &seen["tcp"]["saved"];
    assert_eq!(saved["name"], "tapeline.json");
    assert_eq!(saved["type"], "application/json");
    assert!(saved["size"].as_u64().is_some_and(|size| size > 5000));
    assert_eq!(
        saved["copied"],
        "tapeline -c 192.0.2.7 -t 5 --html run.html"
    );
    assert_ne!(saved["label"], "Copy command");
}

#[test]
fn hostile_text_stays_text() {
    let Some(seen) = seen() else { return };
    let page = &seen["hostile"];
    assert_eq!(page["scripts"], seen["tcp"]["scripts"]);
    assert!(
        page["text"]
            .as_str()
            .is_some_and(|text| text.contains("</script><img src=x onerror=alert(1)><b>"))
    );
    assert_eq!(page["time"], Value::Null);
}

#[test]
fn the_charts_own_functions() {
    let Some(seen) = seen() else { return };
    for (call, expected) in CALLS {
        assert_eq!(seen[format!("String({call})")], expected, "{call}");
    }
}
