//! What was asked for, option by option, before anything is cross-checked.

use std::time::Duration;

use tapeline_base::{BitRate, Clock, Pace, Tos, WallTime};
use tapeline_dialect::Personality;
use tapeline_sys::SystemClock;

use crate::plan::{Life, Supervision};
use crate::presentation::{Presentation, TextStyle};
use crate::values::Endpoint;

use super::access::AccessSettings;
use super::bounceback::BouncebackSettings;
use super::latency::LatencySettings;
use super::load::LoadSettings;
use super::peer::PeerSettings;
use super::repeat::RepeatSettings;
use super::route::RouteSettings;
use super::schedule::ScheduleSettings;
use super::shape::ShapeSettings;
use super::tcp::TcpSettings;

/// The job that the options chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Undecided,
    Client,
    Server,
    Trial,
    Exporter,
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

/// The options' values.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) personality: Personality,
    pub(crate) mode: Mode,
    pub(crate) host: Option<String>,
    /// `try`'s operand.
    pub(crate) trial_host: Option<String>,
    /// Those of `exporter`.
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
            trial_host: None,
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

    /// The datagram or write length in bytes, with the default of the transport; of a chain
    /// of lengths the largest.
    pub(crate) fn effective_length(&self) -> u32 {
        let chain = self.shape.chain.as_ref();
        let largest = chain.and_then(|chain| chain.lengths.iter().copied().max());
        self.length
            .or(largest)
            .unwrap_or(match (self.udp, self.v6) {
                (false, _) => 131_072,
                (true, false) => 1470,
                (true, true) => 1450,
            })
    }
}
