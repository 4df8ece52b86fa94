//! Several runs of one test in tapeline's own text.

use tapeline_base::Transport::Tcp;
use tapeline_report::{
    Amount, DirectedQuantity, Event, ExcludedRun, ExclusionReason, FlowDirection, NativeText,
    Notice, Output, Quantity, Renderer, Repetition, RunResult, RunValue, Series, Spread, Style,
    Subject, Terminal, Trust, TrustLevel, TrustReason,
};
use tapeline_stats::{Certainty, LimitedBy};

use crate::scenario::{client, connected, row, tag, tcp_send, total};

const FORWARD: Option<FlowDirection> = Some(FlowDirection::Forward);

fn value(quantity: Quantity, number: f64) -> RunValue {
    RunValue {
        quantity,
        direction: FORWARD,
        number,
    }
}

fn trust(level: TrustLevel, reason: &str) -> Option<Trust> {
    Some(Trust {
        level,
        reasons: vec![TrustReason {
            text: reason.to_owned(),
            warning_id: None,
        }],
    })
}

fn result(megabits: f64, retransmits: f64, rtt: f64) -> RunResult {
    RunResult {
        values: vec![
            value(Quantity::BitsPerSecond, megabits * 1e6),
            value(Quantity::Retransmits, retransmits),
            value(Quantity::RttMeanMs, rtt),
        ],
        limit: Some((LimitedBy::Network, Certainty::High)),
        trust: trust(TrustLevel::Good, "both ends counted"),
        fault: None,
    }
}

fn spread(values: &[f64], counted: &[f64], half_width: Option<f64>) -> Spread {
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    let squares = counted.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    let bounds = half_width.map(|half| (mean - half, mean + half));
    Spread {
        kind: DirectedQuantity {
            quantity: Quantity::BitsPerSecond,
            direction: FORWARD,
        },
        runs: counted.len() as u64,
        mean: Some(mean),
        deviation: half_width.map(|_| (squares / (counted.len() - 1) as f64).sqrt()),
        min: counted.iter().copied().reduce(f64::min),
        max: counted.iter().copied().reduce(f64::max),
        ci_lower: bounds.map(|(lower, _)| lower),
        ci_upper: bounds.map(|(_, upper)| upper),
        ci_width_percent: half_width.map(|half| 200.0 * half / mean),
        values: values.iter().copied().map(Some).collect(),
    }
}

fn series(runs: u32, spread: Spread) -> Series {
    Series {
        runs,
        max_runs: runs,
        confidence_percent: 95.0,
        requested_width_percent: None,
        precise_enough: None,
        interrupted: false,
        excluded: Vec::new(),
        quantities: vec![spread],
    }
}

/// A client's run with a total, and what it came to.
fn run(run: u32, most: u32, result: RunResult) -> Vec<Event> {
    let begins = Repetition::Begins {
        run,
        least: most,
        most,
    };
    vec![
        Event::Repetition(begins),
        client(Tcp, 1),
        connected(1, Tcp),
        Event::Row(total(row(
            Subject::Flow(tag(1)),
            (0, 5000),
            588_000_000,
            tcp_send(10, 41),
        ))),
        Event::Repetition(Repetition::Ends(Box::new(result))),
    ]
}

fn over(series: Series) -> Event {
    Event::Repetition(Repetition::Over(Box::new(series)))
}

fn render(style: Style, events: &[Event]) -> Output {
    let style = Style { utc: true, ..style };
    let mut renderer = NativeText::new(style, Terminal::default());
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fn three() -> Vec<Event> {
    let mut events = run(1, 3, result(941.0, 41.0, 47.4));
    events.extend(run(2, 3, result(943.0, 38.0, 46.9)));
    events.extend(run(3, 3, result(939.0, 44.0, 47.8)));
    let rates = [941e6, 943e6, 939e6];
    // 4.3027 is Student's t of two degrees of freedom.
    let half = 4.302_652_729_749_464 * 2e6 / 3f64.sqrt();
    events.push(over(series(3, spread(&rates, &rates, Some(half)))));
    events
}

#[test]
fn a_run_is_a_row_and_all_have_one_result() {
    let shown = render(Style::default(), &three()).stdout;
    let golden = include_str!("../golden/native/repeat.txt");
    let (banner, rest) = shown.split_at(shown.len() - golden.len().min(shown.len()));
    assert_eq!(rest, golden, "{shown}");
    assert_eq!(banner.matches("server.example").count(), 1, "{banner}");
    assert!(banner.contains("3 runs"), "{banner}");
}

#[test]
fn runs_are_told_in_full_to_those_who_want_more() {
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let shown = render(style, &three()).stdout;
    for head in ["run 1/3\n", "\nrun 2/3\n", "\nrun 3/3\n"] {
        assert!(shown.contains(head), "{shown}");
    }
    assert_eq!(shown.matches("server.example").count(), 3, "{shown}");
    assert!(
        shown.ends_with(include_str!("../golden/native/repeat.txt")),
        "{shown}"
    );
}

#[test]
fn excluded_runs_are_named_and_do_not_count() {
    let slow = RunResult {
        limit: Some((LimitedBy::SenderCpu, Certainty::Low)),
        trust: trust(TrustLevel::HostLimited, "the network may be faster"),
        ..result(470.0, 0.0, 2.1)
    };
    let mut events = run(1, 3, slow.clone());
    events.extend(run(2, 3, result(943.0, 38.0, 46.9)));
    events.extend(run(3, 3, slow));
    events.push(Event::Notice(Notice::Interrupted));
    events.push(over(Series {
        max_runs: 5,
        interrupted: true,
        requested_width_percent: Some(1.0),
        precise_enough: Some(false),
        excluded: vec![ExcludedRun {
            run: 1,
            reason: ExclusionReason::WarmUp,
        }],
        ..series(
            3,
            spread(&[470e6, 943e6, 470e6], &[943e6, 470e6], Some(3e9)),
        )
    }));
    let out = render(Style::default(), &events);
    let (_, end) = out.stdout.split_once("run 1 excluded").expect("a line");
    assert_eq!(
        end,
        ": warm-up (470 Mbit/s)\n\
         \n\
         Throughput   706 Mbit/s mean of 2 runs, 95 % confidence interval 0 to 3706\n\
         Spread       47.3 % standard deviation, 470 to 943; the interval is 849 % wide\n\
         Limited by   network (high confidence) in 1 of 2 runs, sender's CPU in 1\n\
         Trust        partial: interrupted after 3 of 5 runs; the network may be faster\n"
    );
    let warning = "warning: after 3 runs the confidence interval is 849 % of the mean wide, not the requested 1.00 % [confidence-not-reached]\n";
    assert!(out.stderr.ends_with(warning), "{}", out.stderr);
}

#[test]
fn one_run_has_no_interval() {
    let mut events = run(1, 3, result(941.0, 41.0, 47.4));
    events.push(over(series(1, spread(&[941e6], &[941e6], None))));
    let shown = render(Style::default(), &events).stdout;
    let lines = "\nThroughput   941 Mbit/s in 1 run, no confidence interval\n\
                 Limited by   network (high confidence) in 1 of 1 runs\n\
                 Trust        partial: 1 of 1 runs count\n";
    assert!(shown.ends_with(lines), "{shown}");
}

#[test]
fn runs_that_did_not_take_place_have_no_row_and_no_result() {
    let begins = Repetition::Begins {
        run: 1,
        least: 4,
        most: 4,
    };
    let events = [
        Event::Repetition(begins),
        Event::Repetition(Repetition::Ends(Box::default())),
        over(Series {
            excluded: vec![ExcludedRun {
                run: 1,
                reason: ExclusionReason::Failed,
            }],
            quantities: Vec::new(),
            ..series(1, spread(&[1.0], &[1.0], None))
        }),
    ];
    assert_eq!(render(Style::default(), &events).stdout, "");
}

#[test]
fn a_longer_limit_of_a_later_run_leaves_the_columns_where_they_are() {
    let mut events = run(1, 2, result(941.0, 41.0, 47.4));
    let longest = RunResult {
        limit: Some((LimitedBy::SendBuffer, Certainty::High)),
        ..result(420.0, 0.0, 2.1)
    };
    events.extend(run(2, 2, longest));
    let shown = render(Style::default(), &events).stdout;
    let place = |line: &str| shown.lines().find_map(|one| one.find(line));
    let header = place("trust");
    assert!(header.is_some(), "{shown}");
    let rows = shown.lines().filter_map(|line| line.find("good"));
    assert_eq!(rows.map(Some).collect::<Vec<_>>(), [header; 2], "{shown}");
    assert!(shown.contains("send buffer (-w)  good"), "{shown}");
}

#[test]
fn each_direction_has_its_lines() {
    let ways = [Some(FlowDirection::Forward), Some(FlowDirection::Reverse)];
    let both = RunResult {
        values: ways
            .map(|direction| RunValue {
                direction,
                ..value(Quantity::BitsPerSecond, 915e6)
            })
            .into(),
        ..result(0.0, 0.0, 0.0)
    };
    let mut events = run(1, 2, both.clone());
    events.extend(run(2, 2, both));
    let one = spread(&[915e6; 2], &[915e6; 2], Some(4e6));
    events.push(over(Series {
        quantities: ways
            .map(|direction| Spread {
                kind: DirectedQuantity {
                    direction,
                    ..one.kind
                },
                ..one.clone()
            })
            .into(),
        ..series(2, one.clone())
    }));
    let shown = render(Style::default(), &events).stdout;
    let header = "   run  to Mbit/s  from Mbit/s  limited by        trust\n";
    assert!(shown.contains(header), "{shown}");
    let line = "\nThroughput   from server: 915 Mbit/s mean of 2 runs, 95 % CI 911 to 919\n";
    assert!(shown.contains(line), "{shown}");
    let (_, rest) = shown.split_once("\n\n").expect("a table");
    assert!(rest.lines().all(|line| line.len() <= 80), "{rest}");
}

#[test]
fn a_quiet_series_is_its_result_alone() {
    let style = Style {
        amount: Amount::Quiet,
        ..Style::default()
    };
    let shown = render(style, &three()).stdout;
    let labels: Vec<&str> = shown.lines().map(|line| line[..10].trim()).collect();
    assert_eq!(
        labels,
        ["Throughput", "Spread", "Limited by", "Trust"],
        "{shown}"
    );
}

#[test]
fn a_brief_series_is_one_line_of_means() {
    let style = Style {
        amount: Amount::Brief,
        ..Style::default()
    };
    let mut events = three();
    let Some(Event::Repetition(Repetition::Over(series))) = events.last_mut() else {
        unreachable!("the end of a series")
    };
    series.excluded.push(ExcludedRun {
        run: 1,
        reason: ExclusionReason::WarmUp,
    });
    assert_eq!(
        render(style, &events).stdout,
        "tapeline host=server.example proto=tcp dir=to-server mbps=940.8 bytes=588000000 seconds=5.00 \
         lost_pct=- retrans=41 rtt_idle_ms=- rtt_load_ms=- limited_by=network confidence=high \
         trust=good runs=2 mbps_ci_low=936.0 mbps_ci_high=946.0\n"
    );
}
