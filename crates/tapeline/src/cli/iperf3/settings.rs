//! Second stage: what the options say, checked one by one from left to right.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_dialect::{BindPlan, CONNECT_TIMEOUT, Keepalive, Precision};
use tapeline_wire::iperf3::{Direction, Offload, Parameters, Protocol, limits};

use super::fault::{Error, Fault};
use super::options::{End, Given, Id};
use super::quantity::{any_base, dscp, rate, seconds, size};
use crate::cli::values::atoi;

/// Which end the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client { host: String },
}

/// `-A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) own: u32,
    pub(crate) servers: Option<u32>,
}

/// Everything that was given.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) role: Option<Role>,
    /// What a client asks for; `-R` and `--bidir` are kept apart until both are known.
    pub(crate) parameters: Parameters,
    pub(crate) rate: Option<u64>,
    pub(crate) length: Option<f64>,
    pub(crate) time: Option<u32>,
    pub(crate) bytes: Option<u64>,
    pub(crate) blocks: Option<u64>,
    pub(crate) port: u16,
    pub(crate) client_port: Option<u16>,
    pub(crate) interval: Option<Duration>,
    pub(crate) bind: Option<BindPlan>,
    pub(crate) device: Option<String>,
    pub(crate) v4: bool,
    pub(crate) v6: bool,
    pub(crate) file: Option<PathBuf>,
    pub(crate) affinity: Option<Processors>,
    pub(crate) keepalive: Option<Keepalive>,
    pub(crate) receive_timeout: Option<Duration>,
    pub(crate) send_timeout: Option<Duration>,
    pub(crate) connect_timeout: Option<Duration>,
    /// How due times of datagrams are waited for.
    pub(crate) precision: Precision,
    pub(crate) daemon: bool,
    pub(crate) one_off: bool,
    pub(crate) rate_limit: Option<(u64, Duration)>,
    pub(crate) longest: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) login: Login,
    pub(crate) output: Output,
    /// An option of this end only was given.
    pub(crate) client_only: bool,
    pub(crate) server_only: bool,
    sctp_details: bool,
}

/// Options of logins, as given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) public_key: Option<PathBuf>,
    pub(crate) private_key: Option<PathBuf>,
    pub(crate) users: Option<PathBuf>,
    pub(crate) skew: Option<Duration>,
    pub(crate) pkcs1: bool,
}

/// Options of the output, as given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) format: Option<char>,
    pub(crate) verbose: bool,
    pub(crate) json: bool,
    pub(crate) stream: bool,
    pub(crate) full: bool,
    pub(crate) log: Option<PathBuf>,
    pub(crate) pid: Option<PathBuf>,
    pub(crate) timestamps: Option<String>,
    pub(crate) debug: u8,
}

/// Port of iperf3.
const DEFAULT_PORT: u16 = 5201;
/// Seconds of a day: the most that several options take.
const DAY: i32 = 86_400;

impl Default for Settings {
    fn default() -> Self {
        Self {
            role: None,
            parameters: Parameters::default(),
            rate: None,
            length: None,
            time: None,
            bytes: None,
            blocks: None,
            port: DEFAULT_PORT,
            client_port: None,
            interval: Some(Duration::from_secs(1)),
            bind: None,
            device: None,
            v4: false,
            v6: false,
            file: None,
            affinity: None,
            keepalive: None,
            receive_timeout: None,
            send_timeout: None,
            connect_timeout: Some(CONNECT_TIMEOUT),
            precision: Precision::Precise,
            daemon: false,
            one_off: false,
            rate_limit: None,
            longest: None,
            idle_timeout: None,
            login: Login::default(),
            output: Output::default(),
            client_only: false,
            server_only: false,
            sctp_details: false,
        }
    }
}

impl Settings {
    /// Carries out one option.
    ///
    /// # Errors
    /// The fault of its value.
    pub(crate) fn apply(&mut self, given: &Given) -> Result<(), Fault> {
        match given.spec.end {
            End::Both => {}
            End::Client => self.client_only = true,
            End::Server => self.server_only = true,
        }
        match given.spec.id {
            Id::Server if matches!(self.role, Some(Role::Client { .. })) => {
                return Err(Error::ServerAndClient.into());
            }
            Id::Server => self.role = Some(Role::Server),
            Id::Client if self.role == Some(Role::Server) => {
                return Err(Error::ServerAndClient.into());
            }
            Id::Client => {
                let (host, device) = host_and_device(given.text());
                self.device = device.or(self.device.take());
                self.role = Some(Role::Client { host });
            }
            id if self.switch(id) => {}
            id if self.text(id, given.text()) => {}
            id if self.number(id, given.text())? => {}
            id => self.pair(id, given.value.as_deref())?,
        }
        Ok(())
    }

    /// Options without a value; returns whether it is one.
    fn switch(&mut self, id: Id) -> bool {
        let parameters = &mut self.parameters;
        match id {
            Id::Daemon => self.daemon = true,
            Id::OneOff => self.one_off = true,
            Id::Verbose => self.output.verbose = true,
            Id::Json => self.output.json = true,
            Id::JsonStream => self.output.stream = true,
            Id::JsonStreamFull => self.output.full = true,
            Id::Udp => parameters.protocol = Protocol::Udp,
            Id::Reverse if parameters.direction == Direction::Forward => {
                parameters.direction = Direction::Reverse;
            }
            Id::NoDelay => parameters.nodelay = true,
            Id::Version4 => self.v4 = true,
            Id::Version6 => self.v6 = true,
            Id::ZeroCopy => parameters.zerocopy = true,
            Id::RepeatingPayload => parameters.repeating_payload = true,
            Id::ServerOutput => parameters.server_output = true,
            Id::WideCounters => {
                parameters.counters = tapeline_wire::iperf3::CounterWidth::Wide;
            }
            Id::Mptcp => parameters.mptcp = true,
            Id::SkipReceiveCopy => parameters.skip_receive_copy = true,
            Id::DontFragment => parameters.dont_fragment = true,
            Id::SegmentOffload => {
                parameters.offload = Some(Offload {
                    send: true,
                    receive: true,
                    ..Offload::default()
                });
            }
            Id::Pkcs1Padding => self.login.pkcs1 = true,
            Id::Sctp => parameters.protocol = Protocol::Sctp,
            Id::ForceFlush | Id::NoFairQueue => {}
            _ => return false,
        }
        true
    }

    /// Options whose value is a text; returns whether it is one.
    fn text(&mut self, id: Id, text: &str) -> bool {
        let owned = || text.to_owned();
        let path = || Some(PathBuf::from(text));
        match id {
            Id::Bind => {
                let (host, device) = host_and_device(text);
                self.device = device.or(self.device.take());
                self.bind = Some(BindPlan::address(&host));
            }
            Id::BindDevice => self.device = Some(owned()),
            Id::File => self.file = path(),
            Id::Title => self.parameters.title = Some(owned()),
            Id::ExtraData => self.parameters.extra_data = Some(owned()),
            Id::Congestion => self.parameters.congestion = Some(owned()),
            Id::PidFile => self.output.pid = path(),
            Id::LogFile => self.output.log = path(),
            Id::User => self.login.user = Some(owned()),
            Id::PublicKey => self.login.public_key = path(),
            Id::PrivateKey => self.login.private_key = path(),
            Id::AuthorizedUsers => self.login.users = path(),
            Id::SctpBind => self.sctp_details = true,
            _ => return false,
        }
        true
    }

    /// Options whose value is one number; returns whether it is one.
    fn number(&mut self, id: Id, text: &str) -> Result<bool, Fault> {
        let within = |from: i32, to: i32, error: Error| {
            let number = atoi(text);
            let fits = (from..=to).contains(&number);
            fits.then_some(number.unsigned_abs())
                .ok_or(Fault::from(error))
        };
        let time = |number: u32| Duration::from_secs(number.into());
        let millis = |number: u32| Duration::from_millis(number.into());
        let day = DAY * 1000;
        match id {
            Id::Port => self.port = port(text)?,
            Id::ClientPort => self.client_port = Some(port(text)?),
            Id::Time => self.time = Some(within(0, DAY, Error::Duration)?),
            Id::Omit => self.parameters.omit = within(0, 600, Error::Omit)?,
            Id::Parallel => self.parameters.parallel = within(1, 128, Error::Parallel)?,
            Id::SegmentSize => {
                let bytes = within(0, 32_767, Error::SegmentSize)?;
                self.parameters.segment_size = (bytes > 0).then_some(bytes);
            }
            Id::MaxDuration => {
                let longest = within(0, DAY, Error::Duration)?;
                self.longest = (longest > 0).then_some(time(longest));
            }
            Id::IdleTimeout => {
                self.idle_timeout = Some(time(within(1, DAY, Error::IdleTimeout)?));
            }
            Id::TimeSkew => {
                self.login.skew = Some(time(within(1, i32::MAX, Error::TimeSkew)?));
            }
            Id::ReceiveTimeout => {
                self.receive_timeout = Some(millis(within(100, day, Error::ReceiveTimeout)?));
            }
            Id::SendTimeout => {
                let limit = within(0, day, Error::SendTimeout)?;
                self.send_timeout = (limit > 0).then_some(millis(limit));
            }
            Id::Tos => {
                let tos = any_base(text).and_then(|number| u8::try_from(number).ok());
                self.parameters.tos = tos.ok_or(Error::Tos)?;
            }
            Id::Dscp => self.parameters.tos = dscp(text).ok_or(Error::Dscp)?,
            Id::FlowLabel => {
                let label = any_base(text).and_then(|number| u32::try_from(number).ok());
                let fits = |label: &u32| (1..=limits::MAX_FLOW_LABEL).contains(label);
                self.parameters.flow_label = Some(label.filter(fits).ok_or(Error::FlowLabel)?);
            }
            Id::Bytes => self.bytes = Some(amount(text)?),
            Id::Blocks => self.blocks = Some(amount(text)?),
            Id::Length => self.length = Some(size(text).map_err(|_| Fault::bad_unit(text))?),
            Id::Window => {
                let bytes = size(text).map_err(|_| Fault::bad_unit(text))?;
                if !(0.0..=f64::from(limits::MAX_WINDOW)).contains(&bytes) {
                    return Err(Error::Window.into());
                }
                self.parameters.window = (bytes >= 1.0).then_some(bytes as u32);
            }
            Id::FairQueueRate => self.parameters.pacing_rate = bits(text)?,
            // tapeline's own words, which are no numbers to 3.22.
            Id::PacingTimer if text == "precise" => self.precision = Precision::Precise,
            Id::PacingTimer if text == "economical" => self.precision = Precision::Economical,
            Id::PacingTimer => {
                let micros = amount(text)?;
                self.parameters.pacing_timer = u32::try_from(micros).unwrap_or(u32::MAX);
            }
            Id::ConnectTimeout => {
                let limit = size(text).map_err(|_| Fault::bad_unit(text))?;
                self.connect_timeout = (limit >= 1.0).then_some(millis(limit as u32));
            }
            Id::SctpStreams => {
                let _ = amount(text)?;
                self.sctp_details = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options whose value has parts, or may be absent.
    fn pair(&mut self, id: Id, value: Option<&str>) -> Result<(), Fault> {
        let text = value.unwrap_or_default();
        match id {
            Id::Format => match text.chars().next() {
                Some(letter @ ('k' | 'm' | 'g' | 't' | 'K' | 'M' | 'G' | 'T')) => {
                    self.output.format = Some(letter);
                }
                _ => return Err(Error::Format.into()),
            },
            Id::Interval => {
                let every = seconds(text);
                if every != 0.0 && !(0.1..=60.0).contains(&every) {
                    return Err(Error::Interval.into());
                }
                self.interval = (every > 0.0).then(|| Duration::from_secs_f64(every));
            }
            Id::Bidir | Id::Reverse => {
                if id == Id::Bidir && self.parameters.direction == Direction::Reverse
                    || id == Id::Reverse && self.parameters.direction == Direction::Bidirectional
                {
                    return Err(Error::ReverseAndBidir.into());
                }
                if id == Id::Bidir {
                    self.parameters.direction = Direction::Bidirectional;
                }
            }
            Id::Bitrate => {
                let (number, burst) = split(text);
                if let Some(burst) = burst {
                    let packets = u32::try_from(atoi(burst)).unwrap_or(0);
                    if !(1..=limits::MAX_BURST).contains(&packets) {
                        return Err(Error::Burst.into());
                    }
                    self.parameters.burst = packets;
                }
                self.rate = Some(bits(number)?);
            }
            Id::BitrateLimit => {
                let (number, average) = split(text);
                let average = average.map_or(0.0, seconds);
                if average != 0.0 && !(0.1..=60.0).contains(&average) {
                    return Err(Error::RateAverage.into());
                }
                let average = if average == 0.0 { 5.0 } else { average };
                let limit = bits(number)?;
                self.rate_limit = (limit > 0).then(|| (limit, Duration::from_secs_f64(average)));
            }
            Id::Affinity => self.affinity = Some(self.processors(text)?),
            Id::Keepalive => self.keepalive = Some(keepalive(text)?),
            Id::Timestamps => {
                self.output.timestamps = Some(value.unwrap_or("%c ").to_owned());
            }
            Id::Debug => {
                let level = value.map_or(4, atoi);
                self.output.debug = u8::try_from(level).unwrap_or(4).min(4);
            }
            _ => {}
        }
        Ok(())
    }

    fn processors(&mut self, text: &str) -> Result<Processors, Fault> {
        let processor = |text: &str| {
            let starts = text
                .trim_start()
                .starts_with(|letter: char| letter.is_ascii_digit());
            let number = u32::try_from(atoi(text))
                .ok()
                .filter(|number| *number <= 1024);
            number
                .filter(|_| starts)
                .ok_or(Fault::from(Error::Affinity))
        };
        let (own, servers) = match text.split_once(',') {
            None => (text, None),
            Some((own, servers)) => (own, Some(processor(servers)?)),
        };
        self.client_only |= servers.is_some();
        self.parameters.server_affinity = servers;
        Ok(Processors {
            own: processor(own)?,
            servers,
        })
    }

    /// Checks what depends on several options, in the order of 3.22.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(crate) fn check(&mut self) -> Result<(), Fault> {
        self.check_logins()?;
        match self.role {
            Some(Role::Server) if self.client_only => return Err(Error::ClientOnly.into()),
            Some(Role::Client { .. }) if self.server_only => return Err(Error::ServerOnly.into()),
            _ => {}
        }
        let receives = self.parameters.direction != Direction::Forward;
        let is_client = matches!(self.role, Some(Role::Client { .. }));
        if is_client && self.receive_timeout.is_some() && !receives {
            return Err(Error::ReceiveTimeoutUnused.into());
        }
        self.check_length()?;
        if self.parameters.protocol == Protocol::Udp && self.file.is_some() {
            return Err(Error::FileOverUdp.into());
        }
        let ends = [
            self.time.is_some(),
            self.bytes.is_some_and(|bytes| bytes > 0),
            self.blocks.is_some_and(|blocks| blocks > 0),
        ];
        if ends.into_iter().filter(|end| *end).count() > 1 {
            return Err(Error::EndConditions.into());
        }
        if self.role.is_none() {
            return Err(Error::NoRole.into());
        }
        if self.sctp_details && self.parameters.protocol == Protocol::Sctp {
            return Err(Error::NotImplemented.into());
        }
        Ok(())
    }

    fn check_logins(&self) -> Result<(), Fault> {
        let login = &self.login;
        if login.user.is_some() != login.public_key.is_some() && self.role != Some(Role::Server) {
            return Err(Error::ClientLogin.into());
        }
        let servers = login.private_key.is_some() != login.users.is_some();
        if servers && self.role == Some(Role::Server) {
            return Err(Error::ServerLogin.into());
        }
        Ok(())
    }

    fn check_length(&mut self) -> Result<(), Fault> {
        let Some(length) = self.length else {
            return Ok(());
        };
        let udp = self.parameters.protocol == Protocol::Udp;
        let (least, most, error) = if udp {
            (
                limits::MIN_UDP_LENGTH,
                limits::MAX_UDP_LENGTH,
                Error::UdpBlockSize,
            )
        } else {
            (1, limits::MAX_TCP_LENGTH, Error::BlockSize)
        };
        let length = length.trunc();
        if length == 0.0 {
            return Ok(());
        }
        if !(f64::from(least)..=f64::from(most)).contains(&length) {
            return Err(error.into());
        }
        self.parameters.length = Some(length as u32);
        Ok(())
    }
}

/// `HOST[%DEV]`; the zone of an IPv6 link-local address stays part of it.
fn host_and_device(text: &str) -> (String, Option<String>) {
    match text.rsplit_once('%') {
        Some((host, device)) if !is_link_local(host) => (host.into(), Some(device.into())),
        _ => (text.into(), None),
    }
}

fn is_link_local(host: &str) -> bool {
    let address = host.parse::<std::net::Ipv6Addr>();
    address.is_ok_and(|address| address.is_unicast_link_local())
}

/// A value and what stands behind a stroke.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('/') {
        Some((value, rest)) => (value, Some(rest)),
        None => (text, None),
    }
}

fn port(text: &str) -> Result<u16, Fault> {
    let port = u16::try_from(atoi(text)).ok().filter(|port| *port > 0);
    port.ok_or(Fault::from(Error::Port))
}

/// A count of bytes or blocks. 3.22 takes a negative one for a huge one.
fn amount(text: &str) -> Result<u64, Fault> {
    whole(size(text).ok(), text)
}

/// Bits per second.
fn bits(text: &str) -> Result<u64, Fault> {
    whole(rate(text).ok(), text)
}

fn whole(value: Option<f64>, text: &str) -> Result<u64, Fault> {
    let value = value.filter(|value| (0.0..2f64.powi(63)).contains(value));
    value
        .map(|value| value as u64)
        .ok_or_else(|| Fault::bad_unit(text))
}

/// `IDLE/INTERVAL/COUNT`, each of which may be left out.
fn keepalive(text: &str) -> Result<Keepalive, Fault> {
    let mut parts = text
        .split('/')
        .map(|part| u32::try_from(atoi(part)).unwrap_or(0));
    let mut part = || parts.next().filter(|part| *part > 0);
    let (idle, interval, count) = (part(), part(), part());
    let span = |seconds: Option<u32>| seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let retries = u64::from(interval.unwrap_or(0)) * u64::from(count.unwrap_or(0));
    if idle.is_some_and(|idle| u64::from(idle) <= retries) {
        return Err(Error::Keepalive.into());
    }
    Ok(Keepalive {
        idle: span(idle),
        interval: span(interval),
        count,
    })
}
