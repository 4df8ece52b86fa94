//! What a line of iperf3 means in tapeline's options.

use std::ffi::OsString;
use std::net::IpAddr;

use tapeline_base::{parse_amount, parse_rate};
use tapeline_remote::GivenOption;
use tapeline_wire::iperf3::{Direction, Protocol};

use super::model::{Form, FormJob};
use super::number::spelled;
use crate::cli::iperf3::job::UDP_RATE;
use crate::cli::iperf3::options::{self, Given, Id};
use crate::cli::iperf3::settings::{Role, Settings};

/// The form.
///
/// # Errors
/// What iperf3 says of the line, or the option that has no equivalent.
pub(crate) fn form(words: impl IntoIterator<Item = OsString>) -> Result<Form, String> {
    let given = options::given(words);
    let given: Vec<Given> = given.into_iter().collect::<Result<_, String>>()?;
    let mut settings = Settings::default();
    for one in &given {
        if let Some(why) = refusal(one) {
            return Err(format!(
                "iperf3's {} has no place in the form: {why}",
                named(one)
            ));
        }
        let fault = |fault: crate::cli::iperf3::fault::Fault| fault.complaint().to_owned();
        settings.apply(one).map_err(fault)?;
    }
    let checked = settings.check();
    checked.map_err(|fault| fault.complaint().trim_end_matches([':', ' ']).to_owned())?;
    match settings.role.clone() {
        Some(Role::Client { host }) => client(&settings, &host, &given),
        _ => server(&settings, &given),
    }
}

fn named(given: &Given) -> String {
    match given.spec.letter {
        Some(letter) => format!("-{letter} (--{})", given.spec.names[0]),
        None => format!("--{}", given.spec.names[0]),
    }
}

/// Why an option cannot be given.
fn refusal(given: &Given) -> Option<&'static str> {
    let why = match given.spec.id {
        Id::File
        | Id::PidFile
        | Id::LogFile
        | Id::PublicKey
        | Id::PrivateKey
        | Id::AuthorizedUsers => "it names a file",
        Id::BindDevice => "it names a device",
        Id::Client | Id::Bind if given.text().contains('%') => "it names a device",
        Id::Daemon => "what is ordered ends with the order",
        Id::Json | Id::JsonStream | Id::JsonStreamFull => "results go to who ordered them",
        Id::Help | Id::Version => "it prints a page and ends",
        Id::User | Id::TimeSkew | Id::Pkcs1Padding => {
            "tapeline's clients and servers know no logins"
        }
        Id::Verbose | Id::Debug | Id::Timestamps | Id::Title | Id::ExtraData | Id::ServerOutput => {
            "tapeline has a report of its own"
        }
        Id::Blocks => "tapeline counts bytes (-n), not blocks",
        Id::Bitrate if given.text().contains('/') => "tapeline has no bursts of so many packets",
        Id::BitrateLimit | Id::MaxDuration => {
            "tapeline's --limit is for clients that are not trusted"
        }
        Id::OneOff | Id::IdleTimeout => "tapeline's server goes on after a test",
        Id::Affinity
        | Id::FlowLabel
        | Id::RepeatingPayload
        | Id::Sctp
        | Id::SctpStreams
        | Id::SctpBind
        | Id::WideCounters
        | Id::PacingTimer
        | Id::ReceiveTimeout
        | Id::SendTimeout
        | Id::Keepalive
        | Id::Mptcp
        | Id::SkipReceiveCopy
        | Id::DontFragment
        | Id::SegmentOffload => "tapeline has no such option towards iperf3",
        _ => return None,
    };
    Some(why)
}

/// Collects options.
#[derive(Default)]
struct Options(Vec<GivenOption>);

impl Options {
    fn switch(&mut self, name: &str, is_given: bool) {
        if is_given {
            let name = name.to_owned();
            self.0.push(GivenOption { name, value: None });
        }
    }

    fn value(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.push(GivenOption::new(name, &value.to_string()));
        }
    }
}

/// What both ends have.
fn common(settings: &Settings, given: &[Given]) -> Options {
    let text = |id: Id| last(given, id);
    let mut options = Options::default();
    // Both together are neither.
    options.switch("4", settings.v4 && !settings.v6);
    options.switch("6", settings.v6 && !settings.v4);
    let interval = settings.interval.map_or(0.0, |every| every.as_secs_f64());
    options.value("interval", text(Id::Interval).map(|_| interval));
    options.value("format", settings.output.format);
    options
}

fn server(settings: &Settings, given: &[Given]) -> Result<Form, String> {
    let mut options = common(settings, given);
    options.value("port", Some(settings.port));
    options.value("bind", settings.bind.as_ref().map(|bind| &bind.host));
    Ok(Form::new(FormJob::Server, options.0))
}

fn client(settings: &Settings, host: &str, given: &[Given]) -> Result<Form, String> {
    let text = |id: Id| last(given, id);
    let asked = &settings.parameters;
    let udp = asked.protocol == Protocol::Udp;
    let bytes = |text: &str| parse_amount(text).ok()?.strict(text).ok();
    let bits = |text: &str| parse_rate(text).ok().map(|rate| rate.0);
    let mut options = common(settings, given);
    options.value("client", Some(host));
    options.value("peer", Some("iperf3"));
    options.value("port", text(Id::Port).map(|_| settings.port));
    options.value("bind", bind(settings)?);
    options.switch("udp", udp);
    options.switch("reverse", asked.direction == Direction::Reverse);
    options.switch("full-duplex", asked.direction == Direction::Bidirectional);
    let default = udp.then_some((UDP_RATE, String::new()));
    let rate = settings
        .rate
        .map(|rate| (rate, text(Id::Bitrate).unwrap_or_default()));
    let rate = rate.or(default);
    options.value(
        "bandwidth",
        rate.map(|(rate, text)| spelled(&text, rate, bits)),
    );
    options.value("time", settings.time);
    // iperf3 counts the streams together.
    let of_each = |all: u64| all.div_ceil(asked.parallel.max(1).into());
    let amount = settings.bytes.filter(|bytes| *bytes > 0).map(of_each);
    let spelled_size = |id: Id, size: u64| spelled(&text(id).unwrap_or_default(), size, bytes);
    options.value("num", amount.map(|size| spelled_size(Id::Bytes, size)));
    let length = asked
        .length
        .map(|length| spelled_size(Id::Length, length.into()));
    options.value("len", length);
    options.value("parallel", text(Id::Parallel).map(|_| asked.parallel));
    let window = asked
        .window
        .map(|window| spelled_size(Id::Window, window.into()));
    options.value("window", window);
    options.value("mss", asked.segment_size);
    options.switch("nodelay", asked.nodelay);
    let tos = given
        .iter()
        .rfind(|one| matches!(one.spec.id, Id::Tos | Id::Dscp));
    match tos.map(|tos| tos.spec.id) {
        Some(Id::Dscp) if asked.tos.is_multiple_of(4) => options.value("dscp", Some(asked.tos / 4)),
        Some(_) => options.value("tos", Some(asked.tos)),
        None => {}
    }
    options.value("tcp-congestion", asked.congestion.as_deref());
    options.switch("zero-copy", asked.zerocopy);
    options.value("omit", text(Id::Omit).map(|_| asked.omit));
    let pacing = Some(asked.pacing_rate).filter(|rate| *rate > 0);
    let pacing =
        pacing.map(|rate| spelled(&text(Id::FairQueueRate).unwrap_or_default(), rate, bits));
    options.value("fq-rate", pacing);
    let limit = text(Id::ConnectTimeout).and(settings.connect_timeout);
    options.value("connect-timeout", limit.map(|limit| limit.as_secs_f64()));
    Ok(Form::new(FormJob::Client, options.0))
}

/// `-B` and `--cport`.
fn bind(settings: &Settings) -> Result<Option<String>, String> {
    let address = settings.bind.as_ref().map(|bind| bind.host.as_str());
    let Some(port) = settings.client_port else {
        return Ok(address.map(str::to_owned));
    };
    let everywhere = match (settings.v4, settings.v6) {
        (true, false) => Some("0.0.0.0"),
        (false, true) => Some("::"),
        _ => None,
    };
    match address.or(everywhere) {
        Some(address) if matches!(address.parse(), Ok(IpAddr::V6(_))) => {
            Ok(Some(format!("[{address}]:{port}")))
        }
        Some(address) => Ok(Some(format!("{address}:{port}"))),
        None => Err(
            "iperf3's --cport has no place in the form without -B, -4 or -6: tapeline's own port \
                     stands behind an own address"
                .to_owned(),
        ),
    }
}

fn last(given: &[Given], id: Id) -> Option<String> {
    let one = given.iter().rfind(|one| one.spec.id == id);
    one.map(|one| one.text().to_owned())
}
