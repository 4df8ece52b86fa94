//! A form for each option that may be ordered.

use std::time::SystemTime;

use super::*;
use crate::cli::options::table::usable;
use crate::cli::parse::Arity;
use crate::cli::spec::{Remote, ValueKind};
use tapeline_dialect::Personality;

/// A form with one option, and with what that option needs beside it.
pub(crate) struct Sample {
    pub(crate) spec: &'static OptionSpec,
    pub(crate) form: Form,
}

/// Every option that may be ordered, for each job that it applies to, with a value and, where it can be,
/// without.
pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for spec in usable(Personality::Native) {
        let Remote::Yes(kind) = spec.remote else {
            continue;
        };
        let sides = [
            (FormJob::Client, spec.sides.client),
            (FormJob::Server, spec.sides.server),
        ];
        for (job, _) in sides.into_iter().filter(|(_, applies)| *applies) {
            if (job, spec.id) == (FormJob::Server, OptionId::Server) {
                continue;
            }
            // The client chooses.
            let is_bare = (job, spec.id) == (FormJob::Server, OptionId::WorkingLoad);
            let with_value =
                (spec.arity != Arity::Switch && !is_bare).then(|| value(spec.id, kind));
            // It must know the server's.
            let is_told = (job, spec.id) == (FormJob::Client, OptionId::PermitKey);
            let without = (spec.arity != Arity::Required && !is_told).then_some(None);
            for value in with_value.map(Some).into_iter().chain(without) {
                let name = order::identifier(spec);
                let mut options = vec![GivenOption { name, value }];
                for one in companions(job, spec.id).options() {
                    if one.name != options[0].name {
                        options.push(one.clone());
                    }
                }
                let form = Form::new(job, options);
                samples.push(Sample { spec, form });
            }
        }
    }
    samples
}

fn value(id: OptionId, kind: ValueKind) -> String {
    if id == OptionId::TxStartTime {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        return (now.expect("a time after 1970").as_secs() + 1800).to_string();
    }
    usual_value(id, kind).to_owned()
}

fn usual_value(id: OptionId, kind: ValueKind) -> &'static str {
    match (id, kind) {
        (OptionId::Client, _) => "192.0.2.1",
        (OptionId::Isochronous | OptionId::UdpL4sVideo, _) => "30:5m,1m",
        (OptionId::NearCongestion, _) => "0.25",
        (OptionId::WorkingLoad, _) => "up,2",
        (OptionId::WorkingLoadCca | OptionId::TcpCongestion | OptionId::TcpCca, _) => "cubic",
        (OptionId::Histograms, _) => "100u,1000,5,95",
        (OptionId::JitterHistograms, _) => "50",
        (OptionId::Tos | OptionId::TosOverride, _) => "cs1",
        (OptionId::Dscp, _) => "10",
        (OptionId::PermitKey, _) => "it's secret",
        (OptionId::Limit, _) => "tests=16",
        (OptionId::Flow, _) => "up: -u -b 1m",
        (OptionId::ReportExclude, _) => "CD",
        (OptionId::Rendered, _) => "text,csv",
        (OptionId::SsmHost, _) => "192.0.2.7",
        (OptionId::Bind, _) => "192.0.2.9",
        (OptionId::Mss, _) => "1400",
        (OptionId::Len, _) => "1400",
        (OptionId::BurstSize, _) => "2M",
        (OptionId::BouncebackRequest | OptionId::BouncebackReply, _) => "200",
        (OptionId::BouncebackPeriod | OptionId::Interval, _) => "0.5",
        (OptionId::Ipg, _) => "0.01",
        (_, ValueKind::Switch) => "",
        (_, ValueKind::Bytes) => "64K",
        (_, ValueKind::Rate) => "10m",
        (_, ValueKind::Seconds) => "2",
        (_, ValueKind::Millis | ValueKind::Percent) => "5",
        (_, ValueKind::Count) => "3",
        (_, ValueKind::Port) => "6001",
        (_, ValueKind::Host) => "192.0.2.9",
        (_, ValueKind::Networks) => "192.0.2.0/24",
        (_, ValueKind::Choice(words)) => words[0],
        (_, ValueKind::Text) => panic!("{id:?} needs a value of its own"),
    }
}

/// What an option needs beside it.
fn companions(job: FormJob, id: OptionId) -> Form {
    use OptionId as Id;
    let words = match (job, id) {
        (FormJob::Server, Id::SsmHost) => "udp bind=232.1.1.1",
        (FormJob::Server, Id::PermitKeyTimeout) => "permit-key=secret",
        (FormJob::Server, Id::SingleUdp | Id::JitterHistograms) => "udp",
        (FormJob::Server, _) => "",
        (_, Id::V6 | Id::Ipv6Domain) => "client=2001:db8::1",
        (_, Id::RxWindowClamp) => "client=192.0.2.1 reverse",
        (_, Id::ListenPort) => "client=192.0.2.1 dualtest",
        (_, Id::IncrSrcIp) => "client=192.0.2.1 bind=192.0.2.9 parallel=2",
        (_, Id::IncrSrcPort) => "client=192.0.2.1 bind=192.0.2.9:6000 parallel=2",
        (_, Id::NoUdpFin | Id::Ipg | Id::Pacing | Id::UdpL4s | Id::UdpL4sVideo) => {
            "client=192.0.2.1 udp"
        }
        (_, Id::ConnectRetryTimer) => "client=192.0.2.1 connect-retry-time=9",
        (_, Id::ConnectRetryTime) => "client=192.0.2.1 connect-retry-timer=1",
        (
            _,
            Id::BouncebackPeriod
            | Id::BouncebackHold
            | Id::BouncebackRequest
            | Id::BouncebackReply
            | Id::BouncebackNoQuickAck,
        ) => "client=192.0.2.1 bounceback=10",
        (_, Id::BouncebackTxDelay | Id::WorkingLoadCca) => {
            "client=192.0.2.1 bounceback=10 working-load=up,2"
        }
        (_, Id::WorkingLoad) => "client=192.0.2.1 bounceback=10",
        (_, Id::BurstPeriod) => "client=192.0.2.1 burst-size=1M",
        (_, Id::BurstSize) => "client=192.0.2.1 burst-period=1",
        (_, Id::FqRateStep) => "client=192.0.2.1 fq-rate=10m",
        (_, Id::FqRateStepInterval) => "client=192.0.2.1 fq-rate=10m fq-rate-step=1m",
        (_, Id::RepeatPause) => "client=192.0.2.1 repeat=2",
        (_, Id::Omit) => "client=192.0.2.1 peer=iperf3",
        _ => "client=192.0.2.1",
    };
    described(job, words)
}
