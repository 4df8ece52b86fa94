use super::advice::shaped;
use super::result::*;
use crate::method::page::{MethodHead, PageStyle};
use crate::method::result::MethodResult;

fn direction(rate: f64, p50: f64, p95: f64) -> TryDirection {
    TryDirection {
        bits_per_second: Some(rate),
        load_seconds: Some(6.0),
        source: Some("probes"),
        samples: Some(290),
        loaded_p50_ms: Some(p50),
        loaded_p95_ms: Some(p95),
        loss_percent: Some(0.0),
        limited_by: Some("network"),
        confidence: Some("high"),
        ..TryDirection::default()
    }
}

/// The path of the specification's page.
fn example() -> TryResult {
    let mut result = TryResult {
        connect_ms: Some(20.4),
        idle: TryIdle {
            source: Some("probes"),
            samples: Some(125),
            min_ms: Some(20.2),
            p50_ms: Some(21.0),
            p95_ms: Some(22.0),
            up: TryDatagrams::new(Some(250), Some(0), Some(0.4)),
            down: TryDatagrams::new(Some(250), Some(0), Some(0.3)),
            reason: None,
        },
        up: Some(TryDirection {
            loss_percent: Some(1.2),
            ..direction(9.6e6, 402.0, 430.0)
        }),
        down: Some(direction(93.8e6, 34.0, 36.0)),
        mtu: TryMtu {
            up_bytes: Some(1492),
            down_bytes: Some(1492),
            exact: true,
            ..TryMtu::default()
        },
        ..TryResult::default()
    };
    result.conclude();
    result
}

fn head() -> MethodHead {
    MethodHead {
        method: "try",
        host: "192.0.2.10".into(),
        address: Some([192, 0, 2, 10].into()),
        peer: Some("tapeline 0.2.0".into()),
        seconds: 18.6,
        ..MethodHead::default()
    }
}

fn page(result: &TryResult) -> String {
    let page = result.page(&head(), &PageStyle::default());
    assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    assert!(page.is_ascii(), "{page}");
    page
}

#[test]
fn the_page_is_that_of_the_specification() {
    let result = example();
    assert_eq!(result.bufferbloat_grade, Some("D"));
    assert_eq!(result.advice_id, Some("queue"));
    let words = [result.uses.web, result.uses.calls, result.uses.games];
    assert_eq!(words, [Some("fair"), Some("poor"), Some("poor")]);
    let expected = "\
tapeline try 192.0.2.10 (tapeline 0.2.0 there), IPv4, 18.6 s

  download     93.8 Mbit/s   latency 21 ms idle -> 34 ms loaded   bufferbloat A
  upload       9.60 Mbit/s   latency 21 ms idle -> 402 ms loaded  bufferbloat D
  packet loss 0 of 250 up, 0 of 250 down idle; 1.20 % while uploading
  jitter      0.400 ms up, 0.300 ms down
  path MTU    1492 (PPPoE or similar)

  web, downloads   fair while something uploads: answers take 0.4 s longer
  video calls      poor while something uploads: answers take 0.4 s longer
  games            poor while something uploads: answers take 0.4 s longer

The weak point is the queue for outgoing traffic: it holds 0.381 s of data. A
router with smart queue management (fq_codel, CAKE) set to about 9 Mbit/s
upstream would remove it.
limited by: network (high confidence)
";
    assert_eq!(page(&result), expected);
    assert!(result.verdict().starts_with("The weak point is"));
}

#[test]
fn what_a_peer_cannot_tell_is_not_claimed() {
    let mut result = TryResult {
        idle: TryIdle {
            min_ms: Some(20.2),
            p50_ms: Some(20.4),
            p95_ms: Some(21.0),
            samples: Some(20),
            source: Some("bounce_back"),
            up: TryDatagrams::new(Some(250), Some(1), Some(0.2)),
            ..TryIdle::default()
        },
        up: Some(direction(9.6e6, 30.0, 40.0)),
        down: Some(TryDirection {
            loaded_p50_ms: None,
            loaded_p95_ms: None,
            loss_percent: None,
            samples: None,
            limited_by: None,
            confidence: None,
            ..direction(93.8e6, 0.0, 0.0)
        }),
        mtu: TryMtu {
            up_bytes: Some(1500),
            exact: true,
            ..TryMtu::default()
        },
        ..TryResult::default()
    };
    result.conclude();
    assert_eq!(result.bufferbloat_grade, None);
    assert_eq!(result.uses.calls, None);
    assert_eq!(result.advice_id, Some("nothing").filter(|_| false));
    let page = page(&result);
    for said in [
        "latency under load not known with this peer",
        "1 of 250 up, down not known with this peer idle",
        "0.200 ms up, down not known with this peer",
        "1500 up, down not known with this peer",
        "video calls      not known with this peer",
        "limited by: up network (high confidence)",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
}

#[test]
fn a_part_that_fails_has_its_line() {
    let mut result = example();
    result.down = Some(TryDirection {
        reason: Some("connection reset by peer".into()),
        ..TryDirection::default()
    });
    result.idle = TryIdle {
        p50_ms: Some(21.0),
        reason: Some("UDP is blocked".into()),
        ..TryIdle::default()
    };
    result.mtu = TryMtu {
        reason: Some("UDP is blocked".into()),
        ..TryMtu::default()
    };
    result.conclude();
    let page = page(&result);
    for said in [
        "download    not measured: connection reset by peer",
        "packet loss not measured: UDP is blocked",
        "path MTU    not measured: UDP is blocked",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert_eq!(result.uses.web, None);
}

#[test]
fn a_short_load_has_no_grade_and_says_so() {
    let mut short = TryDirection {
        load_seconds: Some(3.0),
        ..direction(9.6e6, 30.0, 40.0)
    };
    short.compare(Some(20.0));
    assert_eq!(
        (short.increase_ms, short.bufferbloat_grade),
        (Some(10.0), None)
    );
    let reason = short.reason.expect("a reason");
    assert!(reason.contains("lasted 3.00 s, 5 s are needed"), "{reason}");
}

#[test]
fn advice_is_in_words() {
    let mut result = example();
    let up = result.up.as_mut().expect("up");
    up.limited_by = Some("sender_cpu");
    result.conclude();
    assert_eq!(
        result.verdict(),
        "This computer (its CPU), not the network, limited the upload."
    );
    assert!(result.host_limited());
    let down = result.down.as_mut().expect("down");
    (down.limited_by, down.confidence) = (Some("sender_cpu"), Some("medium"));
    let verdict = result.verdict();
    assert!(verdict.starts_with("The server (its CPU)"), "{verdict}");
    for (rate, expected) in [
        (0.5e6, "475 kbit/s"),
        (1e6, "950 kbit/s"),
        (2e6, "1.9 Mbit/s"),
        (9.6e6, "9 Mbit/s"),
        (48.2e6, "45 Mbit/s"),
        (938e6, "890 Mbit/s"),
    ] {
        assert_eq!(shaped(rate), expected, "{rate}");
    }
}

#[test]
fn criteria_take_the_worse_direction() {
    let result = example();
    assert_eq!(result.criterion("down"), Some(93.8));
    assert_eq!(result.criterion("up"), Some(9.6));
    assert_eq!(result.criterion("loaded"), Some(402.0));
    assert_eq!(result.criterion("loss"), Some(1.2));
    assert_eq!(result.csv().rows.len(), 2);
    let names: Vec<String> = result
        .quantities()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names.len(), 9, "{names:?}");
}
