//! The last step: settings that passed every rule become a job.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tapeline_base::{Family, FormatLetter};
use tapeline_dialect::{
    BindPlan, Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Server, Iperf3Timeouts,
    MaxTests, Personality, Precision, RsaPadding, ServedProtocols, ServedTransports, ServerPlan,
    ShortBuffers, SocketPlan, Technique, Techniques,
};
use tapeline_sys::{StreamProtocol, ask_secret};
use tapeline_wire::iperf3::{Direction, Parameters, Protocol, limits};

use super::fault::{Error, Fault};
use super::settings::{Login, Output, Role, Settings};
use crate::files::input::size_of_input;
use crate::identity::IPERF3;
use crate::message::CliMessage;
use crate::plan::{Iperf3Job, Iperf3Task, Life, Plan};
use crate::presentation::{Iperf3Form, Presentation, TextStyle};

/// Rate of a UDP stream without `-b`, bits per second.
pub(crate) const UDP_RATE: u64 = 1 << 20;
/// The clocks of a login may differ by so much.
const DEFAULT_SKEW: Duration = Duration::from_secs(10);

/// The job of these settings.
pub(crate) fn plan(
    settings: Settings,
    variable: &dyn Fn(&str) -> Option<OsString>,
    messages: &mut Vec<CliMessage>,
) -> Result<Plan, Fault> {
    let presentation = presentation(&settings);
    warn(&settings.output, messages);
    let pid_file = settings.output.pid.clone();
    let task = match settings.role.clone() {
        None => return Err(Error::NoRole.into()),
        Some(Role::Client { host }) => {
            Iperf3Task::Client(Box::new(client(settings, host, variable)?))
        }
        Some(Role::Server) => {
            let life = if settings.daemon {
                Life::Background
            } else {
                Life::Foreground
            };
            Iperf3Task::Server(Box::new(server(&settings)?), life)
        }
    };
    Ok(Plan::Iperf3(Box::new(Iperf3Job {
        task,
        presentation,
        pid_file,
        repeat: None,
    })))
}

fn warn(output: &Output, messages: &mut Vec<CliMessage>) {
    if !output.json && !output.stream {
        return;
    }
    if output.format.is_some() {
        messages.push(CliMessage::err(
            "warning: Report format (-f) flag ignored with JSON output (-J)",
        ));
    }
    if output.verbose {
        messages.push(CliMessage::err(
            "warning: Verbose output (-v) may interfere with JSON output (-J)",
        ));
    }
}

fn presentation(settings: &Settings) -> Presentation {
    let output = &settings.output;
    let form = match (output.stream, output.json) {
        (true, _) => Iperf3Form::Stream { full: output.full },
        (false, true) => Iperf3Form::Json,
        (false, false) => Iperf3Form::Text,
    };
    let text = form == Iperf3Form::Text;
    Presentation {
        format: output
            .format
            .map_or_else(FormatLetter::default, FormatLetter::new),
        verbose: output.verbose,
        title: settings.parameters.title.clone().filter(|_| text),
        one_off: settings.one_off,
        output_file: output.log.clone(),
        errors_to_file: output.log.is_some(),
        timestamps: output.timestamps.clone().filter(|_| text),
        debug: output.debug,
        ..Presentation::new(TextStyle::Iperf3(form))
    }
}

fn client(
    mut settings: Settings,
    host: String,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Iperf3Client, Fault> {
    let credentials = credentials(&settings.login, variable)?;
    let own_file = match &settings.file {
        Some(file) if settings.parameters.direction != Direction::Reverse => Some(size_of(file)?),
        _ => None,
    };
    let limited = settings.time.is_some() || settings.bytes.is_some() || settings.blocks.is_some();
    if let (Some(size), false) = (own_file, limited) {
        settings.bytes = Some(size);
    }
    let amounts = (settings.bytes.unwrap_or(0), settings.blocks.unwrap_or(0));
    let udp = settings.parameters.protocol == Protocol::Udp;
    let default_rate = if udp { UDP_RATE } else { 0 };
    let parameters = Parameters {
        bytes: amounts.0,
        blocks: amounts.1,
        time: match settings.time {
            Some(time) => time,
            None if amounts == (0, 0) => limits::DEFAULT_TIME,
            None => 0,
        },
        rate: settings.rate.unwrap_or(default_rate),
        offload: settings.parameters.offload.filter(|_| udp),
        flow_label: settings.parameters.flow_label.filter(|_| !udp),
        client_version: Some(IPERF3.to_owned()),
        ..settings.parameters.clone()
    };
    Ok(Iperf3Client {
        short_buffers: ShortBuffers::Fail,
        iperf2_command: format!("iperf -c {host} -p {}", settings.port),
        host,
        port: settings.port,
        family: family(&settings),
        device: settings.device.clone(),
        bind: settings.bind.clone(),
        client_port: settings.client_port,
        parameters,
        interval: settings.interval,
        held_window: None,
        window_clamp: None,
        connect_timeout: settings.connect_timeout,
        refused_limit: Duration::ZERO,
        timeouts: timeouts(&settings),
        affinity: settings.affinity.map(|processors| processors.own),
        file: settings.file,
        credentials,
        techniques: match settings.precision {
            Precision::Precise => Techniques::default(),
            Precision::Economical => Techniques::default().without(Technique::PacingSpin),
        },
    })
}

fn server(settings: &Settings) -> Result<ServerPlan, Fault> {
    let iperf3 = Iperf3Server {
        interval: settings.interval,
        one_off: settings.one_off,
        max_tests: if settings.one_off {
            MaxTests::One
        } else {
            Iperf3Server::default().max_tests
        },
        rate_limit: settings.rate_limit,
        longest: settings.longest,
        idle_timeout: settings.idle_timeout,
        timeouts: timeouts(settings),
        file: settings.file.clone(),
        authentication: authentication(&settings.login)?,
        short_buffers: ShortBuffers::Fail,
        ..Iperf3Server::default()
    };
    let base = ServerPlan::new(Personality::Native, settings.port, ServedTransports::Both);
    let everywhere = if settings.v4 { "0.0.0.0" } else { "::" };
    let device = settings.device.as_ref();
    let any = device.map(|_| BindPlan::address(everywhere));
    let bind = settings.bind.clone().or(any).map(|bind| BindPlan {
        device: device.cloned(),
        ..bind
    });
    Ok(ServerPlan {
        family: family(settings),
        bind,
        interval: settings.interval,
        // Limits and logins hold for everybody who is served.
        protocols: ServedProtocols::Iperf3(iperf3),
        affinity: settings.affinity.map(|processors| processors.own),
        socket: SocketPlan {
            protocol: if settings.parameters.mptcp {
                StreamProtocol::Multipath
            } else {
                StreamProtocol::Tcp
            },
            ..SocketPlan::default()
        },
        ..base
    })
}

fn family(settings: &Settings) -> Family {
    match (settings.v4, settings.v6) {
        (true, false) => Family::V4,
        (false, true) => Family::V6,
        _ => Family::Any,
    }
}

fn timeouts(settings: &Settings) -> Iperf3Timeouts {
    let default = Iperf3Timeouts::default();
    Iperf3Timeouts {
        receive: settings.receive_timeout.unwrap_or(default.receive),
        send: settings.send_timeout,
        keepalive: settings.keepalive,
        ..default
    }
}

fn size_of(file: &Path) -> Result<u64, Fault> {
    size_of_input(file).map_err(|error| {
        let why = tapeline_sys::reason(&error);
        Fault::Plain(format!("unable to open -F file: {why}"))
    })
}

fn credentials(
    login: &Login,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<Iperf3Credentials>, Fault> {
    let (Some(user), Some(path)) = (&login.user, &login.public_key) else {
        return Ok(None);
    };
    let public_key = fs::read_to_string(path).map_err(|_| Fault::from(Error::ClientLogin))?;
    let password = match variable("IPERF3_PASSWORD") {
        Some(password) => password.to_string_lossy().into_owned(),
        None => ask_secret("Password: ").map_err(|_| Fault::from(Error::ClientLogin))?,
    };
    Ok(Some(Iperf3Credentials {
        user: user.clone(),
        password,
        public_key,
        padding: if login.pkcs1 {
            RsaPadding::Pkcs1
        } else {
            RsaPadding::Oaep
        },
    }))
}

fn authentication(login: &Login) -> Result<Option<Iperf3Authentication>, Fault> {
    let (Some(key), Some(users)) = (&login.private_key, &login.users) else {
        return Ok(None);
    };
    let users = fs::read_to_string(users).map_err(|_| Fault::from(Error::AuthorizedUsers))?;
    let private_key = fs::read_to_string(key).map_err(|_| Fault::from(Error::ServerLogin))?;
    Ok(Some(Iperf3Authentication {
        private_key,
        users,
        skew: login.skew.unwrap_or(DEFAULT_SKEW),
    }))
}
