//! `tapeline fleet init` and `enrol`: the files of a site, and what comes next.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_fleet::{Change, EnrolError, Enrolment, InitError, NewSite};

use crate::run::history::{Fault, print};

/// The folder that all actions look into.
const FOLDER: &str = "fleet";

/// Begins a site.
pub(crate) fn init(site: &NewSite, folder: &Path) -> Result<ExitCode, Fault> {
    site.write(folder).map_err(|error| {
        let sentence = error.to_string();
        match error {
            InitError::Exists(_) | InitError::Server(_) => Fault::Usage(sentence),
            InitError::Key(_) | InitError::Folder(_) => Fault::Failure(sentence),
        }
    })?;
    print(&begun(site, folder))?;
    Ok(ExitCode::Success)
}

/// What is there now, and what to do with it.
fn begun(site: &NewSite, folder: &Path) -> String {
    let here = folder.display();
    let (out, config) = match folder == Path::new(FOLDER) {
        true => (String::new(), String::new()),
        false => (
            format!(" --out {here}"),
            format!(" --config {here}/ROLE.toml"),
        ),
    };
    let certificate = match site.servers.iter().any(|server| server.has_tls()) {
        true => format!(
            "  put the server's certificate into {here}/server.crt, its key into {here}/server.key\n"
        ),
        false => String::new(),
    };
    let reach = match &site.servers[..] {
        [server] if server.is_loopback() => format!(
            "Only this host reaches {server}: for agents on others, begin with --server tls://NAME:PORT.\n"
        ),
        _ => String::new(),
    };
    format!(
        "The site \"{name}\" is in {here}. Keep its .nk files secret: they are keys.\n\
         {reach}\n\
         Next:\n\
         {certificate}  \
           nats-server -c {here}/nats-server.conf        # 2.10 or newer\n  \
           tapeline fleet enrol HOST --address ADDRESS{out}\n  \
           tapeline fleet controller{controller}\n  \
           tapeline fleet collect{collector}\n",
        name = site.site,
        controller = config.replace("ROLE", "controller"),
        collector = config.replace("ROLE", "collector"),
    )
}

/// Adds hosts to a site.
pub(crate) fn enrol(enrolment: &Enrolment, folder: &Path) -> Result<ExitCode, Fault> {
    let changes = enrolment.write(folder).map_err(|error| {
        let sentence = error.to_string();
        match error {
            EnrolError::NoSite(_)
            | EnrolError::Reserved(_)
            | EnrolError::Addresses
            | EnrolError::OtherKey(_)
            | EnrolError::Settings(_) => Fault::Usage(sentence),
            EnrolError::Seed(_) | EnrolError::Key(_) | EnrolError::Folder(_) => {
                Fault::Failure(sentence)
            }
        }
    })?;
    let mut text = String::new();
    for (host, change) in &changes {
        text += &match change {
            Change::New if enrolment.address.is_none() => format!(
                "{host}: enrolled; others test towards the name {host}, or what --address says\n"
            ),
            Change::New => format!("{host}: enrolled\n"),
            Change::Changed => format!("{host}: changed\n"),
            Change::None => format!("{host}: as it was\n"),
        };
    }
    if changes.iter().any(|(_, change)| *change != Change::None) {
        let host = match &changes[..] {
            [(host, _)] => host.as_str(),
            _ => "HOST",
        };
        text += &next(host, folder);
    }
    print(&text)?;
    Ok(ExitCode::Success)
}

/// What to do with the files of a host.
fn next(host: &str, folder: &Path) -> String {
    let here = folder.display();
    format!(
        "\n\
         Next:\n  \
           nats-server --signal reload        # or kill -HUP; it reads {here}/users.conf again\n  \
           copy to {host}: {here}/{host}.toml as /etc/tapeline/agent.toml\n  \
           copy to {host}: {here}/{host}.nk as /etc/tapeline/{host}.nk, mode 600\n  \
           on {host}: tapeline agent\n"
    )
}
