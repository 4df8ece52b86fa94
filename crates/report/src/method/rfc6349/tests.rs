use tapeline_stats::rfc6349::{BottleneckLayer, IdealRate, PathFinding, minimum_window};

use super::super::page::{MethodHead, PageStyle};
use super::super::pass::{PassLimit, judge};
use super::super::phase::Direction;
use super::super::result::MethodResult;
use super::*;

const BASELINE: f64 = 20.1;

fn run(
    phase: RunPhase,
    percent: Option<f64>,
    rate: f64,
    round_trip: f64,
    resent: u64,
) -> TransferRun {
    let bytes = (rate / 8.0 * 10.0) as u64;
    let window = percent.map(|percent| (125_625.0 * percent / 100.0) as u64);
    TransferRun {
        phase,
        connections: 1,
        window_percent: percent,
        window_asked_bytes: window,
        window_used_bytes: Some(window.unwrap_or(189_000)),
        seconds: 10.0,
        bytes,
        bits_per_second: rate,
        expected_bits_per_second: Some(48.25e6),
        ttr: Some(48.25e6 / rate),
        transmitted_bytes: Some(bytes + resent * 1448),
        retransmitted_bytes: Some(resent * 1448),
        retransmitted_segments: Some(resent),
        efficiency_percent: Some(100.0 - resent as f64 * 1448.0 / bytes as f64 * 100.0),
        rtt_mean_ms: Some(round_trip),
        rtt_source: Some(RoundTripSource::TcpInfo),
        buffer_delay_percent: Some((round_trip / BASELINE - 1.0) * 100.0),
        congestion_control: Some("cubic".into()),
        ..TransferRun::default()
    }
}

fn direction(way: Direction, rate: f64) -> DirectionResult {
    let ideal = |headers| IdealRate::new(rate, BottleneckLayer::Ip, 1500, headers);
    let bdp = rate * BASELINE / 1e3;
    let full = run(RunPhase::Full, None, 47.9e6, 27.8, 11);
    let mut of = DirectionResult {
        path_mtu_bytes: Some(1500),
        path_mtu_exact: true,
        bottleneck: Some(Bottleneck {
            bits_per_second: rate,
            layer: "ip",
            source: BottleneckSource::Measured,
        }),
        bdp_bits: Some(bdp),
        minimum_window_bytes: Some(minimum_window(bdp)),
        ideal: Some(Ideal {
            frames_per_second: ideal(52).packets_per_second,
            header_bytes: 52,
            bits_per_second: ideal(52).bits_per_second,
            bits_per_second_rfc: ideal(40).bits_per_second,
        }),
        light_load_loss_percent: Some(0.0),
        headline: full.headline(),
        runs: vec![
            run(RunPhase::Window, Some(25.0), 12.4e6, 20.2, 0),
            run(RunPhase::Window, Some(50.0), 24.8e6, 20.2, 0),
            run(RunPhase::Window, Some(75.0), 37.1e6, 20.3, 0),
            run(RunPhase::Window, Some(100.0), 48.0e6, 21.4, 0),
            full,
        ],
        ..DirectionResult::default()
    };
    of.conclude(PathFinding::Filled, way, Some(BASELINE));
    of
}

pub(crate) fn result() -> Rfc6349Result {
    Rfc6349Result {
        mtu: None,
        rtt: Some(IdleRoundTrip {
            baseline_ms: BASELINE,
            p50_ms: 20.2,
            p95_ms: 20.4,
            probes: 50,
            source: RoundTripSource::Probes,
        }),
        congestion_control: Some("cubic".into()),
        run_seconds: Some(10.0),
        up: Some(direction(Direction::Up, 49.98e6)),
        down: Some(direction(Direction::Down, 49.97e6)),
        simultaneous: Some(Simultaneous {
            up: Some(run(RunPhase::Simultaneous, None, 46.8e6, 32.4, 30)),
            down: Some(run(RunPhase::Simultaneous, None, 46.4e6, 33.0, 40)),
        }),
    }
}

fn head() -> MethodHead {
    MethodHead {
        method: "rfc6349",
        standard: "RFC 6349",
        host: "192.0.2.10".into(),
        address: Some([192, 0, 2, 10].into()),
        ..MethodHead::default()
    }
}

#[track_caller]
fn page(result: &Rfc6349Result, head: &MethodHead) -> String {
    let page = result.page(head, &PageStyle::default());
    for line in page.lines() {
        assert!(line.len() <= 80 && line.is_ascii(), "{line}");
    }
    page
}

#[test]
fn the_page_of_a_clean_path() {
    let expected = "\
rfc6349 to 192.0.2.10, TCP cubic, 10 s runs (RFC 6349: 30 s or more)

                          up      down
path MTU                1500      1500   bytes
round trip, idle             20.10       ms (median 20.20, 50 probes)
bottleneck             49.98     49.97   Mbit/s, IP layer, measured by UDP
bandwidth x delay      125.6     125.5   kB must be in flight to fill the path
ideal TCP rate         48.25     48.24   Mbit/s (1448 of 1500 bytes are data)
loss at light load         0         0   % of datagrams

up, Mbit/s, ms            window expected measured     RTT  resent
   25 % of BDP           31.4 kB     48.2     12.4    20.2       0  ###
   50 % of BDP           62.8 kB     48.2     24.8    20.2       0  ######
   75 % of BDP           94.2 kB     48.2     37.1    20.3       0  #########
  100 % of BDP          125.6 kB";
    let page = page(&result(), &head());
    let mut got = page.lines();
    for line in expected.lines().take(13) {
        assert_eq!(got.next(), Some(line), "{page}");
    }
    let expected = "\
                          up      down   both at once     pass
transfer time ratio     1.01      1.01    1.03   1.04    <= 1.15   PASS
TCP efficiency       99.97 %   99.97 %   99.93  99.90    >= 99 %   PASS
buffer delay            38 %      38 %      61     64   <= 100 %   PASS

One TCP connection fills this path. Its queue adds 7.70 ms at full load, which
is unobtrusive.
";
    assert!(page.ends_with(expected), "{page}");
}

#[test]
fn what_is_not_known_is_said_and_never_zero() {
    let mut result = result();
    result.simultaneous = None;
    if let Some(down) = &mut result.down {
        down.headline.efficiency_percent = None;
        down.path_mtu_bytes = None;
        down.path_mtu_exact = false;
        for run in &mut down.runs {
            run.retransmitted_segments = None;
            run.rtt_mean_ms = None;
        }
    }
    let text = page(&result, &head());
    assert!(
        text.contains("TCP efficiency       99.97 %         -"),
        "{text}"
    );
    assert!(text.contains("-: not known with this peer"), "{text}");
    assert!(text.contains("1500         -   bytes"), "{text}");
    assert_eq!(result.criterion("efficiency"), None);
    let limit = |name: &str, limit: f64| {
        let mut criteria = Rfc6349Result::CRITERIA.iter();
        let criterion = *criteria.find(|one| one.name == name).expect("a criterion");
        PassLimit { criterion, limit }
    };
    let limits = [limit("efficiency", 90.0), limit("ttr", 1.15)];
    let judged = judge(&limits, |name| result.criterion(name));
    assert_eq!([judged[0].passed, judged[1].passed], [false, true]);
    result.up = None;
    result.down = None;
    assert!(page(&result, &head()).contains("not known with this peer"));
}

#[test]
fn typed_limits_take_the_place_of_the_defaults() {
    let result = result();
    let criterion = Rfc6349Result::CRITERIA[0];
    let mut head = head();
    let limits = [PassLimit {
        criterion,
        limit: 1.001,
    }];
    head.pass = judge(&limits, |name| result.criterion(name));
    let text = page(&result, &head);
    assert!(text.contains("<= 1.001   FAIL"), "{text}");
    assert_eq!(result.criterion("ttr"), Some(48.25e6 / 47.9e6));
}

#[test]
fn one_direction_without_a_bottleneck() {
    let mut result = result();
    result.down = None;
    result.simultaneous = None;
    let up = result.up.as_mut().expect("measured");
    up.bottleneck = None;
    up.bdp_bits = None;
    up.minimum_window_bytes = None;
    up.ideal = None;
    up.light_load_loss_percent = None;
    up.runs.retain(|run| run.phase == RunPhase::Full);
    up.runs[0].ttr = None;
    up.runs[0].expected_bits_per_second = None;
    up.headline.ttr = None;
    up.conclude(PathFinding::NoRatio, Direction::Up, Some(BASELINE));
    let text = page(&result, &head());
    assert!(
        text.contains("bottleneck              not known with this peer"),
        "{text}"
    );
    assert!(
        text.contains("The bottleneck is not known, so there is no ratio."),
        "{text}"
    );
    assert!(!text.contains("down"), "{text}");
}

#[test]
fn a_row_for_each_run_and_three_quantities_for_each_direction() {
    let result = result();
    let table = result.csv();
    assert_eq!(table.rows.len(), 12);
    assert!(
        table
            .rows
            .iter()
            .all(|row| row.len() == table.columns.len())
    );
    let names: Vec<String> = result
        .quantities()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(
        names,
        [
            "ttr.up",
            "efficiency.up",
            "buffer_delay.up",
            "ttr.down",
            "efficiency.down",
            "buffer_delay.down"
        ]
    );
    // Rate against window, rate and round trip over time.
    assert_eq!(result.charts().len(), 6);
    assert!(!result.host_limited());
}

#[test]
fn findings_that_differ_are_told_by_direction() {
    let mut result = result();
    let up = result.up.as_mut().expect("measured");
    up.headline.ttr = Some(1.6);
    up.light_load_loss_percent = Some(0.1);
    up.runs.push(TransferRun {
        connections: 4,
        ..run(RunPhase::Connections, None, 44e6, 22.0, 300)
    });
    up.conclude(PathFinding::LossAtLightLoad, Direction::Up, Some(BASELINE));
    let verdict = result.verdict();
    assert_eq!(
        verdict,
        "Up: 0.100 % of packets are lost even at light load: line errors or a faulty segment. One \
         connection with cubic reaches 47.9 Mbit/s; four together reach 44.0 Mbit/s.\n\
         Down: One TCP connection fills this path. Its queue adds 7.70 ms at full load, which is \
         unobtrusive."
    );
}
