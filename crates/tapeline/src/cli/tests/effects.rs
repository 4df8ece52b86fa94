//! What every option changes in the plan.

use std::collections::HashSet;

use tapeline_base::WallTime;
use tapeline_dialect::{
    AddressSteps, AffinityPlan, FairQueuePlan, FrameMean, HistogramPlan, IsochronousPlan,
    LoadDirection, Precision, RequestResponsePlan, StartTime, WaitMode, WorkingLoad,
};

use super::*;
use crate::cli::options::table::all;
use crate::cli::spec::{Availability, OptionId as Id, OptionSpec};
use crate::presentation::Color;
use tapeline_report::Amount;

/// What a client's options change: a line behind `-c h` and a look at the plan.
type ClientEffect = (Id, &'static str, fn(&ClientPlan) -> bool);

#[rustfmt::skip]
const CLIENT_EFFECTS: &[ClientEffect] = &[
    (Id::Client, "", |p| p.host == "h" && p.device.is_none()),
    (Id::Client, "-c h%eth0", |p| p.host == "h" && p.device.as_deref() == Some("eth0")),
    (Id::Client, "-c fe80::1%eth0", |p| p.host == "fe80::1%eth0" && p.device.is_none()),
    (Id::Udp, "-u", |p| p.transport == Transport::Udp),
    (Id::V4, "-4", |p| p.family == Family::V4),
    (Id::V6, "-6", |p| p.family == Family::V6),
    (Id::Ipv6Domain, "-V", |p| p.family == Family::V6),
    (Id::Port, "-p 7", |p| p.ports == (7, 7) && p.parallel == 1),
    (Id::Port, "-p 7-9", |p| p.ports == (7, 9) && p.parallel == 3),
    (Id::Port, "-p 7-9 -P 5", |p| p.ports == (7, 11) && p.parallel == 5),
    (Id::Port, "-p 7-9 -P 2", |p| p.ports == (7, 9) && p.parallel == 3),
    (Id::Port, "-p 7-7 -P 2", |p| p.ports == (7, 8) && p.parallel == 2),
    (Id::Bind, "-B 10.0.0.1", |p| bind_is(p, "10.0.0.1", None)),
    (Id::Bind, "-B 10.0.0.1:6000", |p| bind_is(p, "10.0.0.1", Some(6000))),
    (Id::Bind, "-B [::1]:6000", |p| bind_is(p, "::1", Some(6000))),
    (Id::ListenPort, "-d -L 6001", |p| arrangement(p) == Arrangement::Dual { listen_port: 6001 }),
    (Id::DualTest, "-d -p 7", |p| arrangement(p) == Arrangement::Dual { listen_port: 7 }),
    (Id::Tradeoff, "-r", |p| arrangement(p) == Arrangement::Tradeoff { listen_port: 5001 }),
    (Id::Tradeoff, "-d -r", |p| arrangement(p) == Arrangement::Tradeoff { listen_port: 5001 }),
    (Id::Reverse, "-R", |p| arrangement(p) == Arrangement::Reverse),
    (Id::FullDuplex, "--full-duplex", |p| arrangement(p) == Arrangement::FullDuplex),
    (Id::FullDuplex, "--full-duplex -u", |p| !p.udp_fin),
    (Id::Time, "-t 1.5", |p| p.limit == Limit::Time(Duration::from_millis(1500))),
    (Id::Time, "-t 0", |p| p.limit == Limit::Never),
    (Id::Time, "-t 1e300", |p| p.limit == Limit::Never),
    (Id::Time, "-t 0.005", |p| p.limit == Limit::Time(Duration::from_millis(5))),
    (Id::Time, "-n 5 -t 2", |p| p.limit == Limit::Time(Duration::from_secs(2))),
    (Id::Num, "-n 100K", |p| p.limit == Limit::Bytes(Bytes(102_400))),
    (Id::Num, "-t 2 -n 5", |p| p.limit == Limit::Bytes(Bytes(5))),
    (Id::Bandwidth, "-b 10m", |p| p.pace == Some(Pace::Bits(BitRate(10_000_000)))),
    (Id::Bandwidth, "-u -b 2kpps", |p| p.pace == Some(Pace::Packets(PacketRate(2000)))),
    (Id::Bandwidth, "-b 10m,1m", |p| p.pace == Some(Pace::Bits(BitRate(10_000_000))) && p.shape == Shape::Variable { deviation: BitRate(1_000_000) }),
    (Id::Bandwidth, "-b 10m,", |p| p.pace == Some(Pace::Bits(BitRate(10_000_000))) && p.shape == Shape::Steady),
    (Id::Bandwidth, "-u -l 1000 -b 100pps,10pps", |p| p.pace == Some(Pace::Bits(BitRate(800_000))) && p.shape == Shape::Variable { deviation: BitRate(80_000) }),
    (Id::Bandwidth, "-u -b 0", |p| p.pace == Some(Pace::Bits(BitRate(0)))),
    (Id::Len, "-l 8K", |p| p.length == Some(8192)),
    (Id::Len, "-u -l <256|0.1,0.9<1470|0.5,0.5", |p| p.length.is_none() && matches!(&p.shape, Shape::Markov(c) if c.lengths == [256, 1470] && c.transitions == [[0.1, 0.9], [0.5, 0.5]])),
    (Id::Parallel, "-P 4", |p| p.parallel == 4),
    (Id::Interval, "-i 0.5", |p| p.interval == Some(Duration::from_millis(500))),
    (Id::Interval, "-i 0.0123456", |p| p.interval == Some(Duration::from_micros(12346))),
    (Id::Interval, "-i 0.001", |p| p.interval == Some(Duration::from_millis(5))),
    (Id::Interval, "-i f", |p| p.interval.is_none() && p.latency.by_frame && p.enhanced),
    (Id::NoConnectSync, "--no-connect-sync", |p| !p.connect_sync),
    (Id::ConnectRetryTime, "--connect-retry-time 3", |p| retry_is(p, 3000, 1000)),
    (Id::ConnectRetryTimer, "--connect-retry-timer 0.001", |p| retry_is(p, 10_000, 10)),
    (Id::ConnectRetryTimer, "--connect-retry-timer 2 --connect-retry-time 9", |p| retry_is(p, 9000, 2000)),
    (Id::IgnoreShutdown, "--ignore-shutdown", |p| p.ignore_shutdown),
    (Id::NoUdpFin, "-u --no-udp-fin", |p| !p.udp_fin),
    (Id::Window, "-w 64K", |p| p.socket.window == Some(65_536)),
    (Id::Window, "-w 0", |p| p.socket.window.is_none()),
    (Id::PrintMss, "-m", |p| p.socket.show_segment_size && p.socket.segment_size.is_none()),
    (Id::Mss, "-M 1000", |p| p.socket.show_segment_size && p.socket.segment_size == Some(1000)),
    (Id::NoDelay, "-N", |p| p.socket.nodelay),
    (Id::Tos, "-S ef", |p| p.socket.tos == Some(Tos(0xb8)) && p.socket.tos_by_user),
    (Id::Tos, "-S 0x20", |p| p.socket.tos == Some(Tos(0x20))),
    (Id::Dscp, "--dscp 46", |p| p.socket.tos == Some(Tos(0xb8)) && !p.socket.tos_by_user),
    (Id::Dscp, "-S 0x20 --dscp 46", |p| p.socket.tos == Some(Tos(0xb8)) && p.socket.tos_by_user),
    (Id::TcpCongestion, "-Z reno", |p| p.socket.congestion.as_deref() == Some("reno")),
    (Id::TcpCongestion, "--linux-congestion reno", |p| p.socket.congestion.as_deref() == Some("reno")),
    (Id::TcpCca, "--tcp-cca reno", |p| p.socket.congestion.as_deref() == Some("reno")),
    (Id::Ttl, "-T 255", |p| p.socket.ttl == Some(255)),
    (Id::PeerDetect, "-X", |p| p.peer_detect),
    (Id::Compatibility, "-C", |p| p.compatibility),
    (Id::Tos, "-S ef -S none", |p| p.host == "h" && p.socket.tos.is_none()),
    (Id::Bounceback, "--bounceback", |p| exchange_is(p, 100, 100, Some((10, 1000))) && p.socket.nodelay && p.enhanced && p.interval == Some(Duration::from_secs(1))),
    (Id::Bounceback, "--bounceback=5 -l 300", |p| exchange_is(p, 300, 300, Some((5, 1000)))),
    (Id::Bounceback, "--bounceback --burst-period 0.5", |p| exchange_is(p, 100, 100, Some((10, 500))) && p.shape == Shape::Steady),
    (Id::BouncebackPeriod, "--bounceback --bounceback-period 0", |p| exchange_is(p, 100, 100, None) && (p.personality == Native) == p.interval.is_some()),
    (Id::BouncebackPeriod, "--bounceback=3 --bounceback-period 0.2", |p| exchange_is(p, 100, 100, Some((3, 200)))),
    (Id::BouncebackHold, "--bounceback --bounceback-hold 2.5", |p| exchange(p).is_some_and(|e| e.hold == Duration::from_micros(2500))),
    (Id::BouncebackRequest, "--bounceback --bounceback-request 200", |p| exchange_is(p, 200, 200, Some((10, 1000)))),
    (Id::BouncebackReply, "--bounceback --bounceback-request 200 --bounceback-reply 1K", |p| exchange_is(p, 200, 1024, Some((10, 1000)))),
    (Id::BouncebackNoQuickAck, "--bounceback --bounceback-no-quickack", |p| exchange(p).is_some_and(|e| !e.quickack)),
    (Id::BouncebackTxDelay, "--bounceback --bounceback-txdelay 1.5", |p| p.start == StartTime::After(Duration::from_millis(1500))),
    (Id::TxDelayTime, "--txdelay-time 2", |p| p.start == StartTime::After(Duration::from_secs(2)) && !p.enhanced),
    (Id::TxStartTime, "--txstart-time 1000000000.5", |p| p.start == StartTime::At(WallTime::from_nanos(1_000_000_000_500_000_000)) && p.enhanced),
    (Id::ConnectOnly, "--connect-only", |p| p.workload == ClientWorkload::ConnectOnly { count: None, report_each: true } && p.limit == Limit::Time(Duration::from_secs(10))),
    (Id::ConnectOnly, "--connect-only=3", |p| p.workload == ClientWorkload::ConnectOnly { count: Some(3), report_each: true } && p.limit == Limit::Never),
    (Id::ReportExclude, "--connect-only=3 -x C", |p| p.workload == ClientWorkload::ConnectOnly { count: Some(3), report_each: false }),
    (Id::ConnectOnly, "--connect-only=0 -t 5", |p| p.workload == ClientWorkload::ConnectOnly { count: None, report_each: true } && p.limit == Limit::Time(Duration::from_secs(5))),
    (Id::Ipg, "-u --ipg 0.01", |p| p.pace == Some(Pace::Gap(Duration::from_millis(10)))),
    (Id::Ipg, "-u --isochronous --ipg 0.00005", |p| p.pace == Some(Pace::Gap(Duration::from_micros(50))) && matches!(p.shape, Shape::Isochronous(_))),
    (Id::Isochronous, "-u --isochronous", |p| frames_are(p, 60.0, FrameMean::Bits(20e6), 0.0) && p.enhanced),
    (Id::Isochronous, "--isochronous=30:1m,100k", |p| frames_are(p, 30.0, FrameMean::Bits(1e6), 1e5)),
    (Id::Isochronous, "-u --isochronous=2:25p", |p| frames_are(p, 2.0, FrameMean::Packets(25.0), 0.0)),
    (Id::BurstPeriod, "-u --burst-period 0.2", |p| burst_is(p, 200, 1 << 20) && p.enhanced),
    (Id::BurstPeriod, "-u --burst-period 0.2 -b 1m", |p| burst_is(p, 200, 25_000)),
    (Id::BurstPeriod, "-u --burst-period 0.2 -b 100pps -l 1000", |p| burst_is(p, 200, 20_000)),
    (Id::BurstSize, "-u --burst-size 100k", |p| burst_is(p, 1000, 100_000)),
    (Id::BurstSize, "-u --burst-size 100k -b 1m", |p| burst_is(p, 800, 100_000)),
    (Id::BurstSize, "--burst-size 2M", |p| burst_is(p, 1000, 2 << 20)),
    (Id::BurstSize, "--burst-period 0.5 --burst-size 2M", |p| burst_is(p, 500, 2 << 20)),
    (Id::NearCongestion, "--near-congestion", |p| p.shape == Shape::NearCongestion { factor: 0.5 }),
    (Id::NearCongestion, "--near-congestion=2", |p| p.shape == Shape::NearCongestion { factor: 2.0 }),
    (Id::RandomSeed, "--set-rand-seed 5", |p| p.seed == Some(5)),
    (Id::FileInput, "-F /dev/null", |p| p.payload == Payload::File("/dev/null".into()) && p.limit == Limit::Never),
    (Id::StdinInput, "-I", |p| p.payload == Payload::StandardInput),
    (Id::StdinInput, "-I -t 3", |p| p.payload == Payload::StandardInput && p.limit == Limit::Time(Duration::from_secs(3))),
    (Id::UdpL4s, "-u --udp-l4s", |p| p.l4s && p.shape == Shape::Steady),
    (Id::UdpL4sVideo, "-u --udp-l4s-video=30:1m", |p| p.l4s && frames_are(p, 30.0, FrameMean::Bits(1e6), 0.0)),
    (Id::TripTimes, "--trip-times", |p| p.latency.trip_times && p.enhanced),
    (Id::TripTimes, "-u --trip-times", |p| p.latency.trip_times && !p.enhanced),
    (Id::TripTimes, "-u --trip-times -R", |p| p.latency.trip_times && p.enhanced),
    (Id::WriteTimes, "--tcp-write-times", |p| p.latency.write_times && p.enhanced),
    (Id::Histograms, "--histograms", |p| p.latency.histograms == Some(HistogramPlan::default()) && p.latency.write_times && p.enhanced),
    (Id::Histograms, "--histograms=1m,50,1,99 -R", |p| p.latency.histograms.is_some_and(|h| h.width == Duration::from_millis(1) && h.bins == 50) && !p.latency.write_times),
    (Id::Histograms, "--udp-histograms", |p| p.latency.histograms.is_some()),
    (Id::QuickAck, "--tcp-quickack", |p| p.socket.quickack),
    (Id::TxDelay, "--tcp-tx-delay 1.5", |p| p.socket.transmit_delay == Some(Duration::from_micros(1500)) && p.enhanced),
    (Id::WritePrefetch, "--tcp-write-prefetch 4K", |p| p.socket.write_prefetch == Some(4096) && p.enhanced),
    (Id::WritePrefetch, "--trip-times --tcp-write-prefetch 0", |p| p.latency.trip_times && p.socket.write_prefetch.is_none()),
    (Id::LocalOnly, "--local-only", |p| p.socket.local_only),
    (Id::LocalOnly, "--local-only=1", |p| p.socket.local_only),
    (Id::FqRate, "--fq-rate 10m", |p| p.socket.fair_queue == Some(FairQueuePlan { rate: BitRate(10_000_000), step: None })),
    (Id::FqRateStep, "--fq-rate-step 5m", |p| p.socket.fair_queue == Some(FairQueuePlan { rate: BitRate(5_000_000), step: Some((BitRate(5_000_000), Duration::from_secs(1))) }) && p.enhanced),
    (Id::FqRateStepInterval, "--fq-rate 1m --fq-rate-step 5m --fq-rate-step-interval 0.5", |p| p.socket.fair_queue.is_some_and(|f| f.rate == BitRate(1_000_000) && f.step == Some((BitRate(5_000_000), Duration::from_millis(500))))),
    (Id::Realtime, "-z", |p| p.realtime),
    (Id::WorkingLoad, "--working-load", |p| load_is(p, LoadDirection::Both, 1, None) && p.enhanced),
    (Id::WorkingLoad, "--working-load=down,4", |p| load_is(p, LoadDirection::Down, 4, None)),
    (Id::WorkingLoadCca, "--working-load=up --working-load-cca reno", |p| load_is(p, LoadDirection::Up, 1, Some("reno"))),
    (Id::IncrDstIp, "--incr-dstip", |p| p.steps == AddressSteps { destination_address: true, ..AddressSteps::default() }),
    (Id::IncrDstPort, "--incr-dstport", |p| p.steps == AddressSteps { destination_port: true, ..AddressSteps::default() }),
    (Id::IncrSrcIp, "-B 10.0.0.1 --incr-srcip", |p| p.steps == AddressSteps { source_address: true, ..AddressSteps::default() }),
    (Id::IncrSrcPort, "-B 10.0.0.1:7 --incr-srcport", |p| p.steps == AddressSteps { source_port: true, ..AddressSteps::default() }),
    (Id::Port, "-p 7-9", |p| p.steps.destination_port),
    (Id::PermitKey, "--permit-key=abcd", |p| p.permit_key.as_ref().is_some_and(|key| key.as_bytes() == b"abcd")),
    (Id::SyncTransferId, "--sync-transfer-id", |p| p.sync_transfer_id),
    (Id::L2Checks, "-u --l2checks", |p| p.l2_checks),
    (Id::Enhanced, "-e", |p| p.enhanced),
];

fn exchange(plan: &ClientPlan) -> Option<RequestResponsePlan> {
    match plan.workload {
        ClientWorkload::RequestResponse(exchange) => Some(exchange),
        _ => None,
    }
}

/// Sizes and the burst, with its period in milliseconds.
fn exchange_is(plan: &ClientPlan, request: u32, response: u32, burst: Option<(u32, u64)>) -> bool {
    let burst = burst.map(|(count, period)| (count, Duration::from_millis(period)));
    exchange(plan).is_some_and(|exchange| {
        (exchange.request, exchange.response, exchange.burst) == (request, response, burst)
    })
}

fn frames_are(plan: &ClientPlan, frames_per_second: f64, mean: FrameMean, deviation: f64) -> bool {
    plan.shape
        == Shape::Isochronous(IsochronousPlan {
            frames_per_second,
            mean,
            deviation,
        })
}

/// Period in milliseconds, size in bytes.
fn burst_is(plan: &ClientPlan, period: u64, size: u64) -> bool {
    let (period, size) = (Duration::from_millis(period), Bytes(size));
    plan.shape == Shape::Burst { period, size }
}

fn load_is(
    plan: &ClientPlan,
    direction: LoadDirection,
    flows: usize,
    congestion: Option<&str>,
) -> bool {
    let congestion = congestion.map(str::to_owned);
    plan.working_load
        == Some(WorkingLoad {
            direction,
            flows,
            congestion,
        })
}

fn bind_is(plan: &ClientPlan, host: &str, port: Option<u16>) -> bool {
    plan.bind
        .as_ref()
        .is_some_and(|bind| bind.host == host && bind.port == port)
}

fn retry_is(plan: &ClientPlan, total: u64, every: u64) -> bool {
    let (total, every) = (Duration::from_millis(total), Duration::from_millis(every));
    plan.retry == Some(RetryPlan { total, every })
}

type ServerEffect = (Id, &'static str, fn(&ServerPlan) -> bool);

#[rustfmt::skip]
const SERVER_EFFECTS: &[ServerEffect] = &[
    (Id::Server, "", |p| p.ports == (5001, 5001) && p.only_from.is_none() && p.time.is_none()),
    (Id::Udp, "-u", |p| p.transports == ServedTransports::Udp),
    (Id::V4, "-4", |p| p.family == Family::V4),
    (Id::V6, "-6", |p| p.family == Family::V6),
    (Id::Ipv6Domain, "-V", |p| p.family == Family::V6),
    (Id::Port, "-p 7-9", |p| p.ports == (7, 9)),
    (Id::Port, "-p 0", |p| p.ports == (0, 0)),
    (Id::Bind, "-B 10.0.0.1%eth0", |p| p.bind.as_ref().is_some_and(|b| b.device.as_deref() == Some("eth0"))),
    (Id::SingleClient, "-1", |p| p.single_client && !p.single_udp),
    (Id::SingleUdp, "-U", |p| p.single_udp && p.single_client && p.transports == ServedTransports::Udp),
    (Id::Time, "-t 3", |p| p.time == Some(Duration::from_secs(3))),
    (Id::Time, "-t 0", |p| p.time.is_none()),
    (Id::Bandwidth, "-b 10m", |p| p.pace == Some(Pace::Bits(BitRate(10_000_000)))),
    (Id::Len, "-l 8K", |p| p.length == Some(8192)),
    (Id::Parallel, "-P 2", |p| p.connections == Some(2)),
    (Id::Interval, "-i 1", |p| p.interval == Some(Duration::from_secs(1))),
    (Id::Window, "-w 64K", |p| p.socket.window == Some(65_536)),
    (Id::Mss, "-M 1000", |p| p.socket.segment_size == Some(1000)),
    (Id::NoDelay, "-N", |p| p.socket.nodelay),
    (Id::Tos, "-S cs1", |p| p.socket.tos == Some(Tos(0x20)) && p.reflected_tos.is_none()),
    (Id::TosOverride, "--tos-override af11", |p| p.reflected_tos == Some(Tos(0x28))),
    (Id::TcpCongestion, "-Z reno", |p| p.socket.congestion.as_deref() == Some("reno")),
    (Id::Interval, "-i f", |p| p.latency.by_frame),
    (Id::SsmHost, "-u -B 232.1.1.1 -H 10.0.0.9", |p| p.bind.as_ref().is_some_and(|b| b.group_source == Some("10.0.0.9".parse().unwrap()))),
    (Id::Histograms, "--histograms=2m,9", |p| p.latency.histograms.is_some_and(|h| h.bins == 9) && p.enhanced),
    (Id::JitterHistograms, "-u --jitter-histograms", |p| p.latency.jitter_histograms == Some(Duration::from_micros(100)) && p.enhanced),
    (Id::JitterHistograms, "-u --jitter-histograms=50", |p| p.latency.jitter_histograms == Some(Duration::from_micros(50))),
    (Id::QuickAck, "--tcp-quickack", |p| p.socket.quickack),
    (Id::SkipRxCopy, "--skip-rx-copy", |p| p.socket.skip_receive_copy && p.enhanced),
    (Id::RxWindowClamp, "--tcp-rx-window-clamp 4K", |p| p.socket.window_clamp == Some(4096)),
    (Id::TxDelay, "--tcp-tx-delay 2", |p| p.socket.transmit_delay == Some(Duration::from_millis(2))),
    (Id::TapDevice, "-u --tap-dev", |p| p.tap_device.as_deref() == Some("tap0") && p.enhanced),
    (Id::TapDevice, "-u --tap-dev=tap7", |p| p.tap_device.as_deref() == Some("tap7")),
    (Id::L2Checks, "-u --l2checks", |p| p.l2_checks),
    (Id::Realtime, "-z", |p| p.realtime),
    (Id::WorkingLoad, "-u --working-load", |p| p.working_load),
    (Id::PermitKey, "--permit-key=abcd", |p| key_is(p, "abcd", Some(20))),
    (Id::PermitKey, "--permit-key", |p| p.permit_key.as_ref().is_some_and(|key| key.key.as_bytes().len() >= 24)),
    (Id::PermitKeyTimeout, "--permit-key=abcd --permit-key-timeout 5", |p| key_is(p, "abcd", Some(5))),
    (Id::PermitKeyTimeout, "--permit-key=abcd --permit-key-timeout 0", |p| key_is(p, "abcd", None)),
    (Id::TestExchangeTimeout, "--test-exchange-timeout 3", |p| p.exchange_timeout == Some(Duration::from_secs(3))),
    (Id::TestExchangeTimeout, "--test-exchange-timeout 0", |p| p.exchange_timeout == Some(Duration::ZERO)),
    (Id::SumDstIp, "--sum-dstip", |p| p.sum_by_destination),
    (Id::Enhanced, "-e", |p| p.enhanced),
];

#[test]
fn networks_are_trusted_by_name() {
    let limits = |options: &str| server(Native, &format!("-s {options}")).0.limits.trusted;
    let foreign = "192.0.2.7".parse().expect("an address");
    assert!(!limits("").contain(foreign) && limits("").contain("127.0.0.1".parse().expect("one")));
    assert!(limits("--trust any").contain(foreign));
    assert!(limits("--trust 2001:db8::/32,192.0.2.0/24").contain(foreign));
    assert_eq!(limits("--trust none"), tapeline_dialect::Networks::none());
}

fn key_is(plan: &ServerPlan, key: &str, seconds: Option<u64>) -> bool {
    plan.permit_key.as_ref().is_some_and(|known| {
        known.key.as_bytes() == key.as_bytes() && known.lifetime == seconds.map(Duration::from_secs)
    })
}

type OutputEffect = (Id, &'static str, fn(&Presentation) -> bool);

#[rustfmt::skip]
const OUTPUT_EFFECTS: &[OutputEffect] = &[
    (Id::Enhanced, "-e", |p| p.enhanced),
    (Id::Format, "-f M", |p| p.format == FormatLetter::new('M')),
    (Id::ReportStyle, "-y C", |p| p.style == TextStyle::Csv && p.exclude.connections && p.exclude.settings),
    (Id::ReportStyle, "-y csv", |p| p.style == TextStyle::Csv),
    (Id::ReportExclude, "-x c", |p| p.exclude.connections && !p.exclude.data),
    (Id::ReportExclude, "-x DM", |p| p.exclude.data && p.exclude.sums && !p.exclude.settings),
    (Id::ReportExclude, "-x sV", |p| p.exclude.settings && p.exclude.server_reports),
    (Id::SumOnly, "--sum-only", |p| p.sum_only),
    (Id::HideIps, "--hide-ips", |p| p.hide_addresses),
    (Id::Utc, "--utc", |p| p.utc),
    (Id::Output, "-o /tmp/x", |p| p.output_file.as_deref() == Some("/tmp/x".as_ref())),
];

#[test]
fn every_option_has_its_effect_under_both_names() {
    for personality in [Iperf2, Native] {
        for (id, text, holds) in CLIENT_EFFECTS {
            let (plan, _) = client(personality, &format!("-c h {text}"));
            assert!(holds(&plan), "{personality:?} {id:?} {text}: {plan:?}");
        }
        for (id, text, holds) in SERVER_EFFECTS {
            let (plan, _) = server(personality, &format!("-s {text}"));
            assert!(holds(&plan), "{personality:?} {id:?} {text}: {plan:?}");
        }
        for (id, text, holds) in OUTPUT_EFFECTS {
            let (_, shown) = client(personality, &format!("-c h {text}"));
            assert!(holds(&shown), "{personality:?} {id:?} {text}: {shown:?}");
        }
    }
}

#[test]
fn no_effect_is_there_without_its_option() {
    for personality in [Iperf2, Native] {
        let (plain, shown) = client(personality, "-c other");
        let (plain_server, _) = server(personality, "-s -p 6");
        let server_defaults = ["", "-p 0", "-t 0", "-4"];
        for (id, text, holds) in CLIENT_EFFECTS {
            assert!(!holds(&plain) || *text == "-w 0", "{id:?} {text}");
        }
        for (id, text, holds) in SERVER_EFFECTS {
            assert!(
                !holds(&plain_server) || server_defaults.contains(text),
                "{id:?} {text}"
            );
        }
        for (id, text, holds) in OUTPUT_EFFECTS {
            assert!(!holds(&shown), "{id:?} {text}");
        }
    }
}

#[test]
fn every_option_is_tested() {
    let tested: HashSet<Id> = CLIENT_EFFECTS
        .iter()
        .map(|(id, ..)| *id)
        .chain(SERVER_EFFECTS.iter().map(|(id, ..)| *id))
        .chain(OUTPUT_EFFECTS.iter().map(|(id, ..)| *id))
        .chain([
            Id::Help,
            Id::Version,
            Id::Awdl,
            Id::SuggestWindowSize,
            Id::ReportStructs,
            Id::Daemon,
            // Below.
            Id::FastSampling,
            // In `peer.rs`.
            Id::Peer,
            Id::Omit,
            Id::ConnectTimeout,
            Id::MaxTests,
            Id::OneAtATime,
            Id::NoPeerResults,
            Id::NoLatencyProbes,
            // Below.
            Id::Tui,
            // In `history.rs`.
            Id::Save,
            Id::NoSave,
            Id::Tag,
            Id::History,
            Id::HistorySize,
            Id::Retention,
            // In `repeat.rs`.
            Id::Repeat,
            Id::Precision,
            Id::RepeatPause,
            Id::RepeatCsv,
            // Known to one name only: below.
            Id::Trust,
            // In `third_party.rs`.
            Id::From,
            Id::Via,
            Id::ServeOn,
            Id::Rendered,
            // In `flows.rs`.
            Id::Flow,
            Id::Flows,
            // In `configuration.rs`.
            Id::Config,
            Id::PrintConfig,
            Id::ReadyFd,
            Id::PermitKeyFile,
            Id::User,
            Id::Allow,
            Id::Deny,
            Id::Limit,
            // Below.
            Id::Quiet,
            Id::Brief,
            Id::Color,
            Id::Json,
            Id::JsonStream,
            Id::DocumentCsv,
            Id::FailIfHostLimited,
            Id::Exclusive,
            Id::Html,
            Id::Metrics,
            Id::ZeroCopy,
            Id::Pacing,
            Id::Wait,
            Id::Affinity,
        ])
        .collect();
    // Those of methods are tested in `methods.rs`, and beside each method's options.
    let of_jobs = |spec: &&OptionSpec| spec.sides.client || spec.sides.server;
    let listed = all().filter(|spec| spec.availability == Availability::Available);
    for spec in listed.filter(of_jobs) {
        assert!(tested.contains(&spec.id), "{:?} has no test", spec.id);
    }
}

#[test]
fn the_amount_and_the_colours_of_the_text_are_chosen() {
    let shown = |text: &str| client(Native, &format!("-c h {text}")).1;
    assert_eq!(shown("").amount, Amount::Usual);
    assert_eq!(shown("-q").amount, Amount::Quiet);
    assert_eq!(shown("--quiet").amount, Amount::Quiet);
    assert_eq!(shown("--brief").amount, Amount::Brief);
    assert_eq!(shown("").color, Color::Auto);
    assert_eq!(shown("--color always").color, Color::Always);
    assert_eq!(shown("--color=never").color, Color::Never);
    let wrong = line(Native, "-c h --color sometimes");
    assert!(said(&wrong)[0].contains("needs auto, always or never"));
    assert_eq!(wrong.outcome, Err(ExitCode::Usage));
    assert_eq!(server(Native, "-s -q").1.amount, Amount::Quiet);
}

#[test]
fn zero_copy_is_an_option_of_tapeline_alone() {
    let asked = |personality, text: &str| client(personality, text).0.socket.zero_copy;
    assert!(asked(Native, "-c h --zero-copy"));
    assert!(!asked(Native, "-c h"));
    assert!(!asked(Iperf2, "-c h --zero-copy"));
    assert!(server(Native, "-s --zero-copy").0.socket.zero_copy);
    let over_udp = line(Native, "-c h -u --zero-copy");
    assert!(over_udp.outcome.is_err());
    assert!(said(&over_udp)[0].contains("--zero-copy needs TCP"));
}

/// Under the name iperf a capital letter is what iperf 2 makes of it: bits times 1024, or bytes.
#[test]
fn rates_are_decimal_in_either_case_under_the_own_name() {
    let bits = |personality, text: &str| match client(personality, &format!("-c h {text}")).0.pace {
        Some(Pace::Bits(BitRate(bits))) => bits,
        other => panic!("{text}: {other:?}"),
    };
    let paced = |personality, text: &str| {
        let plan = client(personality, &format!("-c h {text}")).0;
        plan.socket.fair_queue.expect(text)
    };
    let frames = |personality, text: &str| client(personality, &format!("-c h -u {text}")).0;
    for text in ["-b 50M", "-b 50m", "-u -b 50M", "-u -b 50000K", "-b 0.05G"] {
        assert_eq!(bits(Native, text), 50_000_000, "{text}");
    }
    assert_eq!(bits(Iperf2, "-u -b 50M"), 52_428_800);
    let varied = client(Native, "-c h -u -b 10M,1M").0.shape;
    let deviation = BitRate(1_000_000);
    assert_eq!(varied, Shape::Variable { deviation });
    let pace = client(Native, "-c h -u -b 2Kpps").0.pace;
    assert_eq!(pace, Some(Pace::Packets(PacketRate(2000))));
    assert_eq!(paced(Native, "--fq-rate 1M").rate, BitRate(1_000_000));
    assert_eq!(paced(Iperf2, "--fq-rate 1M").rate, BitRate(8_000_000));
    let step = paced(Native, "--fq-rate-step 5M").step.expect("a step");
    assert_eq!(step.0, BitRate(5_000_000));
    let text = "--isochronous=30:1M,100K";
    let mean = FrameMean::Bits;
    assert!(frames_are(&frames(Native, text), 30.0, mean(1e6), 1e5));
    assert!(frames_are(&frames(Iperf2, text), 30.0, mean(8e6), 8e5));
    let limits = server(
        Native,
        "-s --limit rate=100M --limit unverified-rate=5M --limit bytes=1M",
    );
    let limits = limits.0.limits;
    assert_eq!(limits.rate, Some(BitRate(100_000_000)));
    assert_eq!(limits.unverified_rate, BitRate(5_000_000));
    assert_eq!(limits.bytes, Some(Bytes(1 << 20)));
    let refused = line(Native, "-c h -b 10x");
    let words = "unknown unit \"x\" in \"10x\" (use k, M, G: 10M is 10 Mbit/s)";
    assert!(said(&refused)[0].ends_with(words), "{:?}", said(&refused));
}

#[test]
fn a_limit_of_a_host_fails_where_that_is_wanted() {
    let asked = |text: &str| {
        client(Native, &format!("-c h {text}"))
            .1
            .fail_if_host_limited
    };
    assert!(asked("--fail-if-host-limited"));
    assert!(!asked(""));
}

#[test]
fn an_exclusive_test_has_a_lock() {
    let file = |text: &str| client(Native, &format!("-c h {text}")).1.exclusive;
    assert_eq!(file(""), None);
    assert_eq!(file("--exclusive=f"), Some("f".into()));
    assert_eq!(
        file("--exclusive"),
        Some("/var/lib/tapeline/spool/lock".into())
    );
}

#[test]
fn results_go_to_programs_in_several_forms_at_once() {
    let shown = |text: &str| client(Native, &format!("-c h {text}")).1;
    let json = shown("--json");
    assert_eq!(json.style, TextStyle::Document(DocumentForm::Json));
    let both = shown("--json=/tmp/a --csv=/tmp/b");
    assert_eq!(both.style, TextStyle::Native);
    let files = [
        (DocumentForm::Json, "/tmp/a"),
        (DocumentForm::Csv, "/tmp/b"),
    ];
    let files = files.map(|(form, path)| DocumentFile {
        form,
        path: path.into(),
    });
    assert_eq!(both.files, files);
    let page = shown("--html /tmp/a");
    assert_eq!(page.style, TextStyle::Native);
    assert_eq!(page.files[0].form, DocumentForm::Html);
    let mixed = shown("--json-stream --csv=/tmp/b");
    assert_eq!(mixed.style, TextStyle::Document(DocumentForm::Stream));
    for wrong in [
        "--json --csv",
        "--json -y C",
        "-f iperf3-json --json",
        "--json=",
        "--json=/tmp/a --csv=/tmp/a",
    ] {
        let outcome = line(Native, &format!("-c h {wrong}")).outcome;
        assert_eq!(outcome, Err(ExitCode::Usage), "{wrong}");
    }
}

#[test]
#[cfg(feature = "tui")]
fn a_view_has_the_terminal_for_itself() {
    let (plan, shown) = client(Native, "-c h --tui");
    assert!(shown.view);
    assert_eq!(plan.interval, Some(Duration::from_millis(250)));
    assert!(server(Native, "-s --tui").1.view);
    let documents = client(Native, "-c h --tui --json=/tmp/a").0.interval;
    assert_eq!(documents, Some(Duration::from_secs(1)));
    assert_eq!(client(Native, "-c h --tui -i 0").0.interval, None);
    assert!(client(Native, "-c h --tui --json -o /tmp/a").1.view);
    for wrong in ["-c h --tui --json", "-s --tui -D", "-c h --csv --tui"] {
        let outcome = line(Native, wrong).outcome;
        assert_eq!(outcome, Err(ExitCode::Usage), "{wrong}");
    }
}

#[test]
#[cfg(feature = "prometheus")]
fn metrics_have_an_address_and_a_port() {
    let shown = |text: &str| server(Native, text).1.metrics;
    assert_eq!(shown("-s"), None);
    for address in [":9578", "localhost:9578", "[::1]:0"] {
        let line = format!("-s --metrics {address}");
        assert_eq!(shown(&line).as_deref(), Some(address));
    }
    for wrong in [
        "-s --metrics 9578",
        "-s --metrics localhost",
        "-s --metrics localhost:http",
        "-s --metrics localhost:70000",
        "-c h --metrics :9578",
        "try --metrics :9578",
        "exporter --json",
        "exporter -s",
    ] {
        assert_eq!(line(Native, wrong).outcome, Err(ExitCode::Usage), "{wrong}");
    }
    let exporter = |text: &str| match line(Native, text).outcome {
        Ok(Plan::Exporter(plan)) => (plan.address, plan.targets),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(
        exporter("exporter"),
        ("localhost:9579".to_owned(), Vec::new())
    );
    assert_eq!(
        exporter("exporter foo --metrics :1 bar"),
        (":1".to_owned(), vec!["foo".to_owned(), "bar".to_owned()])
    );
}

#[test]
fn reports_have_intervals_unless_told_otherwise() {
    let interval = |text: &str| client(Native, &format!("-c h {text}")).0.interval;
    assert_eq!(interval("-i 0"), None);
    assert_eq!(interval("--connect-only"), None);
    assert_eq!(interval(""), Some(Duration::from_secs(1)));
    assert_eq!(server(Native, "-s").0.interval, None);
    assert_eq!(client(Iperf2, "-c h").0.interval, None);
    assert_eq!(interval("--json"), Some(Duration::from_secs(1)));
    assert_eq!(
        interval("--csv=/tmp/x -i 0.5"),
        Some(Duration::from_millis(500))
    );
    assert_eq!(interval("--json -i 0"), None);
    assert_eq!(interval("--json --connect-only"), None);
    let served = server(Native, "-s --json-stream").0.interval;
    assert_eq!(served, Some(Duration::from_secs(1)));
}

#[test]
fn a_sender_spins_unless_told_to_sleep() {
    let precision = |text: &str| client(Native, text).0.precision;
    assert_eq!(precision("-c h -u"), Precision::Precise);
    assert_eq!(precision("-c h -u --pacing spin"), Precision::Precise);
    assert_eq!(precision("-c h -u --pacing sleep"), Precision::Economical);
    // The words of before are accepted, and shown nowhere.
    assert_eq!(precision("-c h -u --pacing precise"), Precision::Precise);
    assert_eq!(
        precision("-c h -u --pacing economical"),
        Precision::Economical
    );
    let resolution = line(Native, "-c h -u --pacing lazy");
    assert!(said(&resolution)[0].contains("neither spin nor sleep"));
    assert_eq!(resolution.outcome, Err(ExitCode::Usage));
}

#[test]
fn a_thread_waits_as_its_end_chose() {
    let mode = |text: &str| client(Native, text).0.techniques;
    for (line, wait, yield_spins) in [
        ("-c h", WaitMode::Auto, true),
        ("-c h --wait auto", WaitMode::Auto, true),
        ("-c h --wait spin", WaitMode::Spin, false),
        ("-c h --wait yield", WaitMode::Yield, false),
        ("-c h --bounceback --wait=sleep", WaitMode::Sleep, false),
    ] {
        let techniques = mode(line);
        assert_eq!(techniques.wait(), wait, "{line}");
        assert_eq!(techniques.yield_spins(), yield_spins, "{line}");
    }
    let resolution = line(Native, "-c h --wait idle");
    assert!(said(&resolution)[0].contains("none of auto, spin, yield, sleep"));
    assert_eq!(resolution.outcome, Err(ExitCode::Usage));
}

#[test]
fn an_end_chooses_its_cpu_and_a_client_the_servers_too() {
    let chosen = |own, peer| AffinityPlan { own, peer };
    for (line, affinity) in [
        ("-c h", chosen(None, None)),
        ("-c h --affinity 3", chosen(Some(3), None)),
        ("-c h --affinity=0,2 -R", chosen(Some(0), Some(2))),
        ("-c h -u --affinity ,7", chosen(None, Some(7))),
        ("-c h --bounceback --affinity 1", chosen(Some(1), None)),
    ] {
        assert_eq!(client(Native, line).0.affinity, affinity, "{line}");
    }
    assert_eq!(server(Native, "-s --affinity 1").0.affinity, Some(1));
    for (bad, why) in [
        ("-c h --affinity x", "needs a CPU"),
        ("-c h --affinity 1024", "needs a CPU"),
        ("-c h --affinity 1,", "needs a CPU"),
        ("-c h --affinity ,", "needs a CPU"),
        ("-s --affinity 1,2", "a server has one CPU"),
        ("-c h --bounceback --affinity 1,2", "only tests of streams"),
        ("-c h --no-peer-results --affinity 1,2", "does not learn"),
    ] {
        let resolution = line(Native, bad);
        assert!(
            said(&resolution)[0].contains(why),
            "{bad}: {:?}",
            said(&resolution)
        );
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{bad}");
    }
}

#[test]
fn refused_options_give_their_reason() {
    for (line_of, iperf, native) in [
        (
            "-s --remove",
            "ERROR: option --remove is for the service on Windows",
            "Windows",
        ),
        (
            "-s --tun-dev=tun9",
            "ERROR: tun devices not yet supported",
            "--tap-dev",
        ),
        (
            "-c h --tun-dev",
            "ERROR: tun devices not yet supported",
            "--tap-dev",
        ),
    ] {
        let resolution = line(Iperf2, line_of);
        assert!(said(&resolution)[0].starts_with(iperf), "{line_of}");
        assert_eq!(resolution.outcome, Err(ExitCode::Failure), "{line_of}");
        let resolution = line(Native, line_of);
        assert!(said(&resolution)[0].contains(native), "{line_of}");
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{line_of}");
    }
    let refused: Vec<Id> = all()
        .filter(|spec| spec.availability == Availability::Refused)
        .map(|spec| spec.id)
        .collect();
    assert_eq!(refused, [Id::Remove, Id::TunDevice]);
}

#[test]
fn fast_sampling_is_a_build_of_iperf() {
    let (plan, plain) = client(Iperf2, "-c h -i 0.0001");
    assert_eq!(plain.build, Build::Plain);
    assert_eq!(plan.interval, Some(Duration::from_millis(5)));
    // Whichever is given first.
    for text in [
        "-c h --fast-sampling -i 0.00001",
        "-c h -i 0.00001 --fast-sampling",
    ] {
        let (plan, shown) = client(Iperf2, text);
        assert_eq!(shown.build, Build::FastSampling, "{text}");
        assert_eq!(plan.interval, Some(Duration::from_micros(100)), "{text}");
        assert_eq!(
            said(&line(Iperf2, text)),
            ["WARNING: interval too small, increasing to 0.1000 milliseconds."]
        );
    }
    let set = with_variables(Iperf2, "-c h", &["IPERF_FASTSAMPLING=1"]);
    let Ok(Plan::Client(_, shown, _)) = set.outcome else {
        panic!("{:?}", set.outcome);
    };
    assert_eq!(shown.build, Build::FastSampling);
    assert_eq!(
        said(&line(Native, "-c h --fast-sampling")),
        ["error: --fast-sampling is an option of the name iperf alone (tapeline --as iperf)"]
    );
    let set = with_variables(Native, "-c h", &["IPERF_FASTSAMPLING=1"]);
    assert_eq!(set.messages, []);
}
