//! What a shell can offer as an option's value.

use tapeline_base::Tos;

use crate::cli::iperf3::{options, quantity};
use crate::cli::spec::{OptionId as Id, OptionSpec, Remote, ValueKind};

/// Where Linux lists the congestion controls that are loaded.
pub(crate) const CONGESTION_CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Values to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// None: a number, or a text of the user's own.
    Nothing,
    /// One of these words.
    Words(Vec<&'static str>),
    /// The name of a file.
    Files,
    /// A name in [`CONGESTION_CONTROLS`].
    CongestionControls,
    /// A host's name.
    Hosts,
    /// A network device.
    Devices,
}

/// The candidates for an option's value.
pub(crate) fn candidates(spec: &OptionSpec) -> Candidates {
    let words = |words: &[&'static str]| Candidates::Words(words.to_vec());
    if let Remote::Yes(ValueKind::Choice(choice)) = spec.remote {
        return words(choice);
    }
    match spec.id {
        Id::ReportExclude => words(&["C", "D", "M", "S", "V"]),
        Id::Tos | Id::TosOverride => Candidates::Words(Tos::names().collect()),
        Id::Dscp => Candidates::Words(
            Tos::names()
                .filter(|name| Tos::parse(name).is_ok_and(|tos| tos.dscp() > 0 && tos.ecn() == 0))
                .collect(),
        ),
        Id::WorkingLoad => words(&["up", "down", "bidir"]),
        Id::Retention => words(&["warn", "prune"]),
        Id::TcpCongestion | Id::TcpCca | Id::WorkingLoadCca => Candidates::CongestionControls,
        Id::FileInput
        | Id::Output
        | Id::Json
        | Id::JsonStream
        | Id::DocumentCsv
        | Id::Html
        | Id::Flows
        | Id::History
        | Id::Config => Candidates::Files,
        Id::Client | Id::SsmHost => Candidates::Hosts,
        Id::TapDevice | Id::TunDevice => Candidates::Devices,
        _ => Candidates::Nothing,
    }
}

/// The same for an option of iperf3.
pub(crate) fn candidates_iperf3(spec: &options::Spec) -> Candidates {
    use crate::cli::iperf3::options::Id;
    match spec.id {
        Id::Format => Candidates::Words(vec!["k", "m", "g", "t", "K", "M", "G", "T"]),
        Id::Dscp => Candidates::Words(
            Tos::names()
                .filter(|name| quantity::dscp(name).is_some())
                .collect(),
        ),
        Id::Debug => Candidates::Words(vec!["1", "2", "3", "4"]),
        Id::Congestion => Candidates::CongestionControls,
        Id::File | Id::PidFile | Id::LogFile => Candidates::Files,
        Id::PublicKey | Id::PrivateKey | Id::AuthorizedUsers => Candidates::Files,
        Id::Client => Candidates::Hosts,
        Id::BindDevice => Candidates::Devices,
        _ => Candidates::Nothing,
    }
}
