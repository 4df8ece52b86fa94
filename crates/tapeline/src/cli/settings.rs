//! What was asked for, option by option, before anything is cross-checked.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::{BitRate, Clock, Endpoint, Pace, Tos, WallTime};
use tapeline_dialect::{
    AccountName, AddressSteps, AffinityPlan, HistogramPlan, IsochronousPlan, Limits, LoadDirection,
    MarkovChain, MaxTests, Payload, Personality, Precision, WaitMode,
};
use tapeline_method::{
    DirectionChoice, GivenBottleneck, Laboratory, ResponsivenessConstants, WindowShare,
};
use tapeline_report::method::PassLimit;
use tapeline_sys::SystemClock;

use crate::plan::{Life, Supervision};
use crate::presentation::{Presentation, TextStyle};

/// The job that the options chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Undecided,
    Client,
    Server,
    Trial,
    Exporter,
    /// The method of that word.
    Method(&'static str),
}

/// `-t` and `-n` share one place: the last one counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AskedLimit {
    /// Seconds; 0 and less are no limit.
    Seconds(f64),
    Bytes(u64),
}

/// `-b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedRate {
    Pace(Pace),
    /// A text that is no rate, kept for the rules (iperf only).
    Unusable(String),
    /// `mean,deviation`: a rate that varies around the mean.
    Variable {
        mean: Pace,
        deviation: BitRate,
    },
}

/// `-p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedPorts {
    pub(crate) first: u16,
    /// Present when a range was written.
    pub(crate) last: Option<u16>,
}

/// `-d` or `-r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondConnection {
    Dual,
    Tradeoff,
}

/// `--permit-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedKey {
    /// Without a value: a server makes one up.
    Any,
    Given {
        key: Vec<u8>,
        /// Where it was said, for errors.
        named: String,
    },
}

/// Who may test.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessSettings {
    pub(crate) key: Option<AskedKey>,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) exchange_timeout: Option<Duration>,
    pub(crate) sync_transfer_id: bool,
    /// What is granted to clients that the server does not know.
    pub(crate) limits: Limits,
    /// Whom the process belongs to when its sockets are open.
    pub(crate) account: Option<AccountName>,
}

/// Where packets come from and go to.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteSettings {
    pub(crate) steps: AddressSteps,
    pub(crate) ssm_host: Option<String>,
    pub(crate) tap_device: Option<String>,
    pub(crate) l2_checks: bool,
    pub(crate) sum_by_destination: bool,
}

/// Requests and responses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BouncebackSettings {
    pub(crate) asked: bool,
    /// Requests in a burst.
    pub(crate) burst: Option<u32>,
    pub(crate) period: Option<Duration>,
    pub(crate) hold: Duration,
    pub(crate) request: Option<u32>,
    pub(crate) reply: Option<u32>,
    pub(crate) no_quickack: bool,
    /// One of the options that only mean something with `--bounceback`.
    pub(crate) companion: Option<&'static str>,
}

/// Delays that are to be measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatencySettings {
    pub(crate) trip_times: bool,
    pub(crate) write_times: bool,
    pub(crate) histograms: Option<HistogramPlan>,
    pub(crate) jitter_histograms: Option<Duration>,
    pub(crate) by_frame: bool,
}

/// Flows beside the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadSettings {
    pub(crate) asked: Option<(LoadDirection, usize)>,
    /// A value stood behind `--working-load=`.
    pub(crate) valued: bool,
    pub(crate) congestion: Option<String>,
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Iperf2,
    Iperf3,
}

/// Peers of other protocols.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerSettings {
    pub(crate) protocol: Protocol,
    pub(crate) omit: u32,
    pub(crate) most: Option<MaxTests>,
    pub(crate) no_peer_results: bool,
    pub(crate) no_latency_probes: bool,
}

/// Several runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RepeatSettings {
    pub(crate) count: Option<u32>,
    /// As a share of the mean.
    pub(crate) width: Option<f64>,
    pub(crate) pause: Option<Duration>,
}

/// Results that stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistorySettings {
    pub(crate) save: bool,
    pub(crate) file: Option<PathBuf>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) bytes: Option<u64>,
    pub(crate) drops_runs: bool,
    /// `--no-save` was given.
    pub(crate) is_undone: bool,
    /// One of the options that only mean something with `--save`.
    pub(crate) companion: Option<&'static str>,
}

/// A method, as far as its options are not a client's.
#[derive(Clone, Debug, Default)]
pub(crate) struct MethodSettings {
    pub(crate) direction: Option<DirectionChoice>,
    pub(crate) limits: Vec<PassLimit>,
    pub(crate) budget: Option<u64>,
    pub(crate) only_plan: bool,
    /// `-l`, as typed.
    pub(crate) length: Option<String>,
    /// `--draft`.
    pub(crate) draft: ResponsivenessConstants,
    pub(crate) rfc6349: Rfc6349Settings,
    pub(crate) capacity: CapacitySettings,
    pub(crate) find_rate: FindRateSettings,
}

/// What only `rfc6349` is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rfc6349Settings {
    pub(crate) bottleneck: Option<GivenBottleneck>,
    pub(crate) windows: Option<Vec<WindowShare>>,
    pub(crate) no_simultaneous: bool,
}

/// What only `capacity` is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct CapacitySettings {
    pub(crate) bimodal: Option<usize>,
    pub(crate) sub_interval: Option<Duration>,
    pub(crate) feedback: Option<Duration>,
    pub(crate) low_ms: Option<f64>,
    pub(crate) upper_ms: Option<f64>,
    pub(crate) errors: Option<u64>,
    pub(crate) count_reordering: bool,
    pub(crate) one_way: bool,
}

/// What only `find-rate` is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct FindRateSettings {
    pub(crate) loss: Option<Vec<f64>>,
    pub(crate) resolution: Option<f64>,
    pub(crate) frames: Option<Vec<u32>>,
    pub(crate) laboratory: Option<Laboratory>,
    pub(crate) loss_curve: bool,
}

/// `--txstart-time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedStart {
    /// Seconds since 1970, and nanoseconds.
    At { seconds: u64, nanos: u32 },
    /// A number below zero.
    Negative,
}

impl AskedStart {
    /// The time of day; far ones end with the clock, in the year 2262.
    pub(crate) fn wall(self) -> WallTime {
        let nanos = match self {
            Self::At { seconds, nanos } => u128::from(seconds) * 1_000_000_000 + u128::from(nanos),
            Self::Negative => 0,
        };
        WallTime::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

/// `--connect-only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedConnects {
    /// Until the time is over.
    WhileTimeLasts,
    /// So many; 0 is no end.
    Count(u64),
}

/// When sending begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScheduleSettings {
    pub(crate) start: Option<AskedStart>,
    /// Seconds.
    pub(crate) delay: Option<f64>,
    pub(crate) connect_only: Option<AskedConnects>,
}

/// Shapes of traffic.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeSettings {
    pub(crate) burst_period: Option<Duration>,
    pub(crate) burst_size: Option<u64>,
    pub(crate) isochronous: Option<IsochronousPlan>,
    /// `--ipg`, seconds.
    pub(crate) gap: Option<f64>,
    pub(crate) near_congestion: Option<f64>,
    pub(crate) chain: Option<MarkovChain>,
    pub(crate) seed: Option<u64>,
    pub(crate) precision: Precision,
    pub(crate) payload: Payload,
    /// `--udp-l4s`, `--udp-l4s-video`.
    pub(crate) l4s: bool,
}

/// Details of sockets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpSettings {
    pub(crate) quickack: bool,
    pub(crate) skip_receive_copy: bool,
    pub(crate) zero_copy: bool,
    pub(crate) window_clamp: Option<u32>,
    pub(crate) transmit_delay: Option<Duration>,
    /// 0 is none, even where there would be one.
    pub(crate) write_prefetch: Option<u32>,
    pub(crate) local_only: bool,
    pub(crate) realtime: bool,
    pub(crate) wait: WaitMode,
    pub(crate) affinity: AffinityPlan,
    pub(crate) rate: Option<BitRate>,
    pub(crate) step: Option<BitRate>,
    pub(crate) step_interval: Option<Duration>,
}

/// The options' values.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) personality: Personality,
    pub(crate) mode: Mode,
    pub(crate) host: Option<String>,
    /// Operands of `exporter`.
    pub(crate) targets: Vec<String>,
    pub(crate) udp: bool,
    pub(crate) v4: bool,
    pub(crate) v6: bool,
    pub(crate) ports: Option<AskedPorts>,
    pub(crate) bind: Option<Endpoint>,
    pub(crate) listen_port: Option<u16>,
    pub(crate) single_client: bool,
    pub(crate) single_udp: bool,
    pub(crate) daemon: bool,
    pub(crate) limit: Option<AskedLimit>,
    pub(crate) rate: Option<AskedRate>,
    pub(crate) length: Option<u32>,
    pub(crate) parallel: Option<usize>,
    pub(crate) interval: Option<Duration>,
    pub(crate) interval_given: bool,
    pub(crate) no_connect_sync: bool,
    pub(crate) retry_total: Option<Duration>,
    /// `--connect-timeout`.
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) retry_every: Option<Duration>,
    pub(crate) ignore_shutdown: bool,
    pub(crate) no_udp_fin: bool,
    pub(crate) window: Option<u64>,
    pub(crate) segment_size: Option<u32>,
    pub(crate) show_segment_size: bool,
    pub(crate) nodelay: bool,
    pub(crate) tos: Option<Tos>,
    pub(crate) tos_by_user: bool,
    pub(crate) reflected_tos: Option<Tos>,
    pub(crate) reflected_tos_asked: bool,
    pub(crate) congestion: Option<String>,
    pub(crate) ttl: Option<i32>,
    pub(crate) reverse: bool,
    pub(crate) full_duplex: bool,
    pub(crate) second_connection: Option<SecondConnection>,
    pub(crate) compatibility: bool,
    pub(crate) peer_detect: bool,
    pub(crate) bounceback: BouncebackSettings,
    pub(crate) shape: ShapeSettings,
    pub(crate) schedule: ScheduleSettings,
    pub(crate) latency: LatencySettings,
    pub(crate) tcp: TcpSettings,
    pub(crate) load: LoadSettings,
    pub(crate) route: RouteSettings,
    pub(crate) access: AccessSettings,
    pub(crate) print_config: bool,
    pub(crate) supervision: Supervision,
    pub(crate) peer: PeerSettings,
    pub(crate) repeat: RepeatSettings,
    pub(crate) method: MethodSettings,
    pub(crate) history: HistorySettings,
    pub(crate) presentation: Presentation,
    /// The time of day, for options that name one.
    pub(crate) now: WallTime,
}

impl Settings {
    /// Nothing asked for yet.
    pub(crate) fn new(personality: Personality) -> Self {
        let style = match personality {
            Personality::Native => TextStyle::Native,
            Personality::Iperf2 => TextStyle::Iperf2Text,
        };
        Self {
            personality,
            mode: Mode::Undecided,
            host: None,
            targets: Vec::new(),
            udp: false,
            v4: false,
            v6: false,
            ports: None,
            bind: None,
            listen_port: None,
            single_client: false,
            single_udp: false,
            daemon: false,
            limit: None,
            rate: None,
            length: None,
            parallel: None,
            interval: None,
            interval_given: false,
            no_connect_sync: false,
            retry_total: None,
            connect_timeout: None,
            retry_every: None,
            ignore_shutdown: false,
            no_udp_fin: false,
            window: None,
            segment_size: None,
            show_segment_size: false,
            nodelay: false,
            tos: None,
            tos_by_user: false,
            reflected_tos: None,
            reflected_tos_asked: false,
            congestion: None,
            ttl: None,
            reverse: false,
            full_duplex: false,
            second_connection: None,
            compatibility: false,
            peer_detect: false,
            bounceback: BouncebackSettings::default(),
            shape: ShapeSettings::default(),
            schedule: ScheduleSettings::default(),
            latency: LatencySettings::default(),
            tcp: TcpSettings::default(),
            load: LoadSettings::default(),
            route: RouteSettings::default(),
            access: AccessSettings::default(),
            print_config: false,
            supervision: Supervision::default(),
            peer: PeerSettings::default(),
            repeat: RepeatSettings::default(),
            method: MethodSettings::default(),
            history: HistorySettings::default(),
            now: SystemClock.wall(),
            presentation: Presentation::new(style),
        }
    }

    /// Whether iperf 2's habits apply.
    pub(crate) fn iperf(&self) -> bool {
        self.personality == Personality::Iperf2
    }

    /// Where a server lives.
    pub(crate) fn life(&self) -> Life {
        if self.daemon {
            Life::Background
        } else {
            Life::Foreground
        }
    }

    /// How many of the arrangements that exclude each other were asked for.
    pub(crate) fn arrangements(&self) -> usize {
        usize::from(self.reverse)
            + usize::from(self.full_duplex)
            + usize::from(self.second_connection.is_some())
    }
}
