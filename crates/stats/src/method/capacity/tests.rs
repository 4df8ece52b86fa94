use tapeline_base::SplitMix64;

use super::*;

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn search() -> LoadSearch {
    LoadSearch::new(LoadTable::up_to(None), LoadRules::default())
}

/// Errors, delay variation in milliseconds (-1: not known), and the row behind the report.
/// The rows come from the pseudo code of the method, in another program.
#[rustfmt::skip]
const SCRIPT: [(u64, f64, usize); 200] = [
    (0, 0.0, 10), (0, 0.0, 20), (0, 0.0, 30), (0, 0.0, 40), (0, 0.0, 50),
    (10, 29.0, 60), (10, 29.0, 70), (0, 30.0, 70), (0, 90.0, 70), (10, 90.0, 70),
    (3, -1.0, 70), (0, -1.0, 70), (11, 0.0, 69), (0, 91.0, 68), (0, 0.0, 78),
    (11, 0.0, 77), (500, -1.0, 76), (5, 50.0, 76), (0, 20.0, 86), (0, 0.0, 96),
    (0, 0.0, 106), (0, 0.0, 116), (0, 0.0, 126), (0, 0.0, 136), (0, 0.0, 146),
    (0, 0.0, 156), (0, 0.0, 166), (0, 0.0, 176), (0, 0.0, 186), (0, 0.0, 196),
    (0, 0.0, 206), (0, 0.0, 216), (0, 0.0, 226), (0, 0.0, 236), (0, 0.0, 246),
    (0, 0.0, 256), (0, 0.0, 266), (0, 0.0, 276), (0, 0.0, 286), (0, 0.0, 296),
    (0, 0.0, 306), (0, 0.0, 316), (0, 0.0, 326), (0, 0.0, 336), (0, 0.0, 346),
    (0, 0.0, 356), (0, 0.0, 366), (0, 0.0, 376), (0, 0.0, 386), (0, 0.0, 396),
    (0, 0.0, 406), (0, 0.0, 416), (0, 0.0, 426), (0, 0.0, 436), (0, 0.0, 446),
    (0, 0.0, 456), (0, 0.0, 466), (0, 0.0, 476), (0, 0.0, 486), (0, 0.0, 496),
    (0, 0.0, 506), (0, 0.0, 516), (0, 0.0, 526), (0, 0.0, 536), (0, 0.0, 546),
    (0, 0.0, 556), (0, 0.0, 566), (0, 0.0, 576), (0, 0.0, 586), (0, 0.0, 596),
    (0, 0.0, 606), (0, 0.0, 616), (0, 0.0, 626), (0, 0.0, 636), (0, 0.0, 646),
    (0, 0.0, 656), (0, 0.0, 666), (0, 0.0, 676), (0, 0.0, 686), (0, 0.0, 696),
    (0, 0.0, 706), (0, 0.0, 716), (0, 0.0, 726), (0, 0.0, 736), (0, 0.0, 746),
    (0, 0.0, 756), (0, 0.0, 766), (0, 0.0, 776), (0, 0.0, 786), (0, 0.0, 796),
    (0, 0.0, 806), (0, 0.0, 816), (0, 0.0, 826), (0, 0.0, 836), (0, 0.0, 846),
    (0, 0.0, 856), (0, 0.0, 866), (0, 0.0, 876), (0, 0.0, 886), (0, 0.0, 896),
    (0, 0.0, 906), (0, 0.0, 916), (0, 0.0, 926), (0, 0.0, 936), (0, 0.0, 946),
    (0, 0.0, 956), (0, 0.0, 966), (0, 0.0, 976), (0, 0.0, 986), (0, 0.0, 996),
    (0, 0.0, 1000), (0, 0.0, 1001), (0, 0.0, 1002), (0, 0.0, 1003), (0, 0.0, 1004),
    (0, 0.0, 1005), (0, 0.0, 1006), (0, 0.0, 1007), (0, 0.0, 1008), (11, 5.0, 1007),
    (11, 5.0, 1006), (11, 5.0, 1005), (11, 5.0, 1004), (0, 0.0, 1005), (0, 0.0, 1006),
    (0, 0.0, 1007), (0, 95.0, 1006), (0, 95.0, 1005), (0, 95.0, 1004), (0, 95.0, 1003),
    (0, 95.0, 1002), (0, 95.0, 1001), (0, 95.0, 1000), (0, 95.0, 999), (0, 0.0, 1000),
    (0, 0.0, 1001), (0, 0.0, 1002), (0, 0.0, 1003), (20, 10.0, 1002), (20, 10.0, 1001),
    (20, 10.0, 1000), (20, 10.0, 999), (20, 10.0, 998), (20, 10.0, 997), (20, 10.0, 996),
    (20, 10.0, 995), (20, 10.0, 994), (20, 10.0, 993), (20, 10.0, 992), (20, 10.0, 991),
    (20, 10.0, 990), (20, 10.0, 989), (20, 10.0, 988), (20, 10.0, 987), (20, 10.0, 986),
    (20, 10.0, 985), (20, 10.0, 984), (20, 10.0, 983), (20, 10.0, 982), (20, 10.0, 981),
    (20, 10.0, 980), (20, 10.0, 979), (20, 10.0, 978), (20, 10.0, 977), (20, 10.0, 976),
    (20, 10.0, 975), (20, 10.0, 974), (20, 10.0, 973), (0, 45.0, 973), (0, 45.0, 973),
    (0, 45.0, 973), (0, 0.0, 974), (0, 0.0, 975), (0, 0.0, 976), (0, 0.0, 977),
    (0, 0.0, 978), (0, 0.0, 979), (11, 100.0, 978), (10, 90.0, 978), (10, 29.9, 979),
    (0, 30.0, 979), (12, -1.0, 978), (0, -1.0, 978), (11, 0.0, 977), (0, 0.0, 978),
    (0, 0.0, 979), (11, 0.0, 978), (0, 0.0, 979), (0, 0.0, 980), (11, 0.0, 979),
    (0, 0.0, 980), (0, 0.0, 981), (11, 0.0, 980), (0, 0.0, 981), (0, 0.0, 982),
    (11, 0.0, 981), (0, 0.0, 982), (0, 0.0, 983), (11, 0.0, 982), (0, 0.0, 983),
];

/// The same below the upper rows: fast mode, the fall back, slow mode to the ground and up again.
#[rustfmt::skip]
const SLOW: [usize; 79] = [
    10, 20, 30, 40, 50, 60, 59, 58, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 37, 36, 35, 34, 33,
    32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,
    7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 11, 11, 10, 10, 9, 9, 8, 8,
];

#[test]
fn the_table_has_the_rates_of_rfc_9097() {
    let table = LoadTable::up_to(None);
    for (row, rate) in [
        (0, 500_000),
        (1, 1_000_000),
        (1000, 1_000_000_000),
        (1001, 1_100_000_000),
        (1090, 10_000_000_000),
        (1091, 11_000_000_000),
        (1180, 100_000_000_000),
        (5000, 100_000_000_000),
    ] {
        assert_eq!(table.rate(row), BitRate(rate), "row {row}");
    }
    assert_eq!(LoadTable::up_to(Some(BitRate(1000))).rate(0), BitRate(1000));
    let last = |limit| LoadTable::up_to(Some(BitRate(limit))).last();
    let limits = [
        1,
        999_999,
        1_000_000,
        25_900_000,
        1_000_000_000,
        1_199_999_999,
    ];
    assert_eq!(limits.map(last), [0, 0, 1, 25, 1000, 1001]);
}

#[test]
fn two_hundred_reports_by_the_law() {
    let mut search = search();
    for (number, (errors, variation, row)) in SCRIPT.into_iter().enumerate() {
        search.judge(errors, (variation >= 0.0).then_some(variation));
        assert_eq!(search.row(), row, "report {number}");
    }
}

#[test]
fn slow_mode_falls_back_once_and_climbs_by_one() {
    let good = (0, 0.0);
    let bad = (11, 0.0);
    let mut script = vec![good; 6];
    script.extend([bad; 3]);
    script.extend([good; 10]);
    script.extend([bad; 40]);
    script.extend([good; 12]);
    script.extend([(0, 91.0), (0, 90.0)].repeat(4));
    let mut search = search();
    for (number, ((errors, variation), row)) in script.into_iter().zip(SLOW).enumerate() {
        search.judge(errors, Some(variation));
        assert_eq!(search.row(), row, "report {number}");
    }
}

/// A report at this time with so many lost in all.
fn status(at: u64, lost: u64) -> LoadStatus {
    LoadStatus {
        elapsed: millis(at),
        lost,
        round_trip: Some(millis(20)),
        ..LoadStatus::default()
    }
}

#[test]
fn reports_are_differences_and_old_ones_are_ignored() {
    let mut search = search();
    search.report(&status(50, 5));
    search.report(&status(100, 15));
    assert_eq!(search.row(), 20);
    search.report(&status(150, 26));
    assert_eq!(search.row(), 19);
    // Came late, and again.
    search.report(&status(100, 15));
    search.report(&status(150, 26));
    assert_eq!(search.row(), 19);
    // Late datagrams filled gaps.
    search.report(&status(200, 3));
    assert_eq!(search.row(), 29);
}

#[test]
fn delay_is_what_is_above_the_smallest_round_trip() {
    let mut search = search();
    let mut at = 0;
    let mut report = |round_trip| {
        at += 50;
        search.report(&LoadStatus {
            round_trip,
            ..status(at, 0)
        });
        search.row()
    };
    assert_eq!(report(Some(millis(40))), 10);
    assert_eq!(report(Some(millis(20))), 20);
    assert_eq!(report(Some(millis(50))), 20);
    assert_eq!(report(Some(millis(111))), 19);
    assert_eq!(report(None), 19);
    assert_eq!(report(Some(millis(49))), 29);
}

#[test]
fn options_of_the_law() {
    let rules = LoadRules {
        count_reordering: true,
        one_way: true,
        ..LoadRules::default()
    };
    let mut search = LoadSearch::new(LoadTable::up_to(Some(BitRate(12_000_000))), rules);
    let mut status = LoadStatus {
        elapsed: millis(50),
        delay_variation: Some(millis(1)),
        ..LoadStatus::default()
    };
    search.report(&status);
    assert_eq!(search.row(), 10);
    status.elapsed = millis(100);
    search.report(&status);
    assert_eq!(search.row(), 12);
    (status.elapsed, status.reordered, status.duplicates) = (millis(150), 6, 5);
    search.report(&status);
    assert_eq!(search.row(), 11);
}

#[test]
fn a_host_freezes_the_row() {
    let mut slow = search();
    slow.report(&status(50, 0));
    // One report's hiccup is made up for.
    slow.sent(30, 50.0);
    slow.sent(70, 50.0);
    slow.sent(48, 50.0);
    assert_eq!(slow.host_limit(), None);
    for _ in 0..3 {
        slow.sent(400, 500.0);
    }
    assert_eq!(slow.host_limit(), Some(HostLimit::Sender));
    slow.report(&status(100, 0));
    assert_eq!(slow.row(), 10);
    // The first reason stays.
    slow.report(&LoadStatus {
        socket_drops: Some(1),
        ..status(110, 1)
    });
    assert_eq!(slow.host_limit(), Some(HostLimit::Sender));
    assert!(!slow.is_still_rising(millis(1000)));
    // It was held up, and keeps the row from then on.
    for _ in 0..10 {
        assert_eq!(slow.host_limit(), Some(HostLimit::Sender));
        slow.sent(500, 500.0);
    }
    assert_eq!(slow.host_limit(), None);
    slow.report(&status(150, 0));
    assert_eq!(slow.row(), 20);
}

#[test]
fn drops_of_the_receivers_socket_freeze_the_row() {
    let mut search = search();
    let mut report = |number: u64, drops| {
        search.report(&LoadStatus {
            socket_drops: Some(drops),
            ..status(number * 50, drops)
        });
        (search.row(), search.host_limit())
    };
    assert_eq!(report(1, 0), (10, None));
    assert_eq!(report(2, 0), (20, None));
    // They are no losses of the path: the row does not fall.
    for number in 3..20 {
        assert_eq!(report(number, number * 30), (20, Some(HostLimit::Receiver)));
    }
    // It was held up, and keeps up from then on.
    for number in 20..29 {
        assert_eq!(report(number, 600), (20, Some(HostLimit::Receiver)));
    }
    assert_eq!(report(29, 600), (20, Some(HostLimit::Receiver)));
    assert_eq!(report(30, 600), (30, None));
}

#[test]
fn a_search_that_only_climbs_has_not_found_its_end() {
    let mut search = search();
    for number in 1..=200 {
        // Congestion by accident in the second second.
        let lost = if number < 30 {
            0
        } else {
            (number.min(34) - 29) * 20
        };
        search.report(&status(number * 50, lost));
    }
    assert_eq!(search.slow_since(), Some(millis(1600)));
    assert!(search.is_still_rising(millis(1000)));
    search.report(&status(10_050, 500));
    assert!(!search.is_still_rising(millis(1000)));
}

/// A drop-tail queue behind a link of a known rate, in virtual time, fed with a fluid.
struct Path {
    /// Bits per second at the IP layer.
    rate: f64,
    /// Bits.
    limit: f64,
    queued: f64,
    round_trip: f64,
    /// Probability of loss without congestion.
    random_loss: f64,
    /// Largest noise of a round trip, seconds.
    noise: f64,
}

/// What the receiver saw of ten seconds of a search over a path: the maximum and the search.
fn run(path: &mut Path, seed: u64, seconds: u64) -> (CapacityMaximum, LoadSearch) {
    const PACKET: f64 = 10_000.0;
    let mut random = SplitMix64::new(seed);
    let mut search = search();
    let mut cut = SubIntervals::new(millis(1000));
    let mut total = LoadStatus::default();
    // Reports travel for a round trip until the load that they order arrives.
    let mut under_way = Vec::new();
    let steps = seconds * 20;
    let mut arrived = 0.0;
    for number in 1..=steps {
        let now = number as f64 * 0.05;
        let rate = search.rate().0 as f64;
        let offered = rate * 0.05;
        let passes = (path.rate * 0.05).min(path.queued + offered);
        let left = path.queued + offered - passes;
        let dropped = (left - path.limit).max(0.0);
        path.queued = left.min(path.limit);
        let expected = passes / PACKET * path.random_loss;
        let at_random = (expected + random.fraction()).floor() * PACKET;
        arrived += passes - at_random;
        let delay = path.queued / path.rate + path.round_trip + random.fraction() * path.noise;
        total.elapsed = millis(number * 50);
        total.datagrams = (arrived / PACKET) as u64;
        total.bytes = total.datagrams * 1222;
        total.lost += ((dropped + at_random) / PACKET).round() as u64;
        total.round_trip = Some(Duration::from_secs_f64(delay));
        cut.report(&total);
        under_way.push((now + path.round_trip, total));
        let due: Vec<_> = under_way.extract_if(.., |(due, _)| *due <= now).collect();
        for (_, status) in due {
            search.report(&status);
        }
    }
    cut.finish();
    (cut.maximum(28).expect("sub-intervals"), search)
}

#[test]
fn a_thousand_simulated_paths_are_found() {
    let mut random = SplitMix64::new(9097);
    for seed in 0..1000 {
        let rate = 20e6 * 25_f64.powf(random.fraction());
        let mut path = Path {
            rate,
            limit: rate * (0.002 + 0.2 * random.fraction()),
            queued: 0.0,
            round_trip: 0.001 + 0.1 * random.fraction(),
            random_loss: if random.chance(0.3) { 1e-4 } else { 0.0 },
            noise: 0.004 * random.fraction(),
        };
        let shallow = path.limit / rate;
        let (maximum, search) = run(&mut path, seed, 20);
        let error = maximum.ip_rate / rate - 1.0;
        let case = format!(
            "seed {seed}: {rate:.0} bit/s, queue {shallow:.3} s, found {:.0}, row {}",
            maximum.ip_rate,
            search.row()
        );
        assert!((-0.02..0.02).contains(&error), "{case}");
    }
}

#[test]
fn random_loss_below_the_threshold_does_not_lower_the_capacity() {
    for seed in 0..20 {
        let mut path = Path {
            rate: 50e6,
            limit: 64.0 * 1024.0 * 8.0,
            queued: 0.0,
            round_trip: 0.02,
            random_loss: 1e-3,
            noise: 0.0,
        };
        let (maximum, search) = run(&mut path, seed, 10);
        assert!((maximum.ip_rate / 50e6 - 1.0).abs() < 0.02, "{maximum:?}");
        assert!((45..60).contains(&search.row()), "{}", search.row());
        assert!(!search.is_still_rising(millis(1000)));
    }
}

#[test]
fn sub_intervals_have_their_actual_length() {
    let mut cut = SubIntervals::new(millis(1000));
    let status = |at, datagrams, lost, trip| LoadStatus {
        elapsed: millis(at),
        datagrams,
        bytes: datagrams * 1222,
        lost,
        round_trip: Some(millis(trip)),
        delay_variation: Some(millis(trip - 20)),
        ..LoadStatus::default()
    };
    assert_eq!(cut.report(&status(500, 400, 0, 20)), None);
    let first = cut.report(&status(1040, 1040, 10, 30)).expect("complete");
    assert_eq!((first.start, first.length), (Duration::ZERO, millis(1040)));
    assert!((first.ip_rate(28) - 1000.0 * 1250.0 * 8.0).abs() < 1e-6);
    assert_eq!(first.round_trip, Some((millis(20), millis(30))));
    let (least, mean, most) = first.delay_variation.expect("delays");
    assert_eq!((least, most), (0.0, 0.01));
    assert!((mean - 0.005).abs() < 1e-12);
    assert!((first.loss_ratio().expect("sent") - 10.0 / 1050.0).abs() < 1e-12);
    // Old reports are no second ones.
    assert_eq!(cut.report(&status(1000, 1000, 10, 30)), None);
    // Late ones filled all gaps: no negative loss.
    let second = cut.report(&status(2000, 3000, 4, 25)).expect("complete");
    assert_eq!((second.lost, second.loss_ratio()), (-6, Some(0.0)));
    assert_eq!(second.length, millis(960));
    cut.report(&status(2400, 3100, 4, 25));
    cut.finish();
    assert_eq!(cut.all().len(), 2);
    // The second began late and is short: it has no rate of its own.
    let maximum = cut.maximum(28).expect("a maximum");
    let both = maximum.interval;
    assert_eq!((both.start, both.length), (Duration::ZERO, millis(2000)));
    assert_eq!((both.datagrams, both.lost), (3000, 4));
    assert_eq!(both.round_trip, Some((millis(20), millis(30))));
    let [fast, rest] = cut.bimodal(1, 28);
    assert_eq!(fast.map(|one| one.interval), Some(first));
    assert_eq!(rest.map(|one| one.interval), Some(both));
    assert_eq!(cut.bimodal(9, 28)[1], None);
}

/// Whatever stands still on the way lets go of what it held back at once.
#[test]
fn a_pause_of_the_path_raises_no_maximum() {
    for pause in [3, 40, 480, 990, 1500, 3200] {
        for begin in [1900, 2300, 2990] {
            let mut cut = SubIntervals::new(Duration::from_secs(1));
            let held_back = begin..begin + pause;
            // 10,000 datagrams a second, reported as they arrive, twenty times a second.
            for at in (50..10_000).step_by(50) {
                if held_back.contains(&at) {
                    continue;
                }
                let _ = cut.report(&LoadStatus {
                    elapsed: Duration::from_millis(at),
                    datagrams: at * 10,
                    bytes: at * 10 * 1222,
                    ..LoadStatus::default()
                });
                if at < held_back.start && at + 50 >= held_back.start {
                    // The last report before the pause's end comes with the first datagram behind it.
                    let _ = cut.report(&LoadStatus {
                        elapsed: Duration::from_millis(held_back.end),
                        datagrams: held_back.start * 10,
                        bytes: held_back.start * 10 * 1222,
                        ..LoadStatus::default()
                    });
                }
            }
            cut.finish();
            let maximum = cut.maximum(28).expect("a maximum");
            let rate = maximum.ip_rate / 1e6;
            assert!(
                (99.0..=101.0).contains(&rate),
                "{pause} ms at {begin}: {maximum:?}"
            );
        }
    }
}

#[test]
fn layers_of_a_rate() {
    assert!((layer_rate(50e6, 1250, 18) - 50.72e6).abs() < 1.0);
    assert!((layer_rate(50e6, 1250, 38) - 51.52e6).abs() < 1.0);
}
