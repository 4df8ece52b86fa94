//! The job, where its process lives, and what it says of itself.

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Mode, Settings};
use crate::cli::spec::Section::{Both, Client, Misc, Server};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::refuse_value;
use crate::message::CliMessage;
use crate::plan::HelpPage;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Server, Some('s'), "server", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.mode = Mode::Server)
        .sides(Sides::SERVER)
        .variable(14, "IPERF_SERVER")
        .help(Group::Mode, "serve tests")
        .native_details("Together with -c HOST the server takes tests from that host only.")
        .listed(&[(Server, "", "serve tests")]),
    OptionSpec::new(Id::Client, Some('c'), "client", Remote::Yes(ValueKind::Host))
        .value("HOST[%DEV]")
        .apply(client)
        .variable(4, "IPERF_CLIENT")
        .help(Group::Mode, "test towards a server")
        .details("HOST is a name or an address; %DEV leaves through that network device.")
        .native_details("[ADDRESS]:PORT and NAME:PORT are read too.")
        .listed(&[(Client, "<host>", "test towards the server at <host>")]),
    OptionSpec::new(Id::Udp, Some('u'), "udp", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.udp = true)
        .variable(16, "IPERF_UDP")
        .help(Group::Mode, "UDP instead of TCP")
        .native_details("A server without -u takes both.")
        .listed(&[(Both, "", "UDP instead of TCP")]),
    OptionSpec::new(Id::From, None, "from", Remote::No("whoever orders a test chooses its hosts"))
        .value("[USER@]HOST")
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(Group::Mode, "run the test on HOST, over ssh; results are here")
        .details("HOST needs tapeline, and a key that ssh need not ask for."),
    OptionSpec::new(Id::Via, None, "via", Remote::No("it is a command"))
        .value("COMMAND")
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(Group::Mode, "reach that host by a command in ssh's place")
        .details(
            "\"tapeline remote\" follows COMMAND, as in --via 'kubectl exec -i pod/web3 --'. {host} in it \
             is what --from names.",
        ),
    OptionSpec::new(Id::ServeOn, None, "serve-on", Remote::No("whoever orders a test chooses its hosts"))
        .value("ssh[:[USER@]HOST]")
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(Group::Mode, "start the server, too, over ssh")
        .details(
            "On the host of -c, or on HOST where ssh knows it by another name. The server takes this test \
             alone, on a free port.",
        ),
    OptionSpec::new(Id::Daemon, Some('D'), "daemon", Remote::No("what is ordered ends with the order"))
        .sets(|settings| settings.daemon = true)
        .sides(Sides::SERVER)
        .variable(22, "IPERF_DAEMON")
        .help(Group::Mode, "serve in the background (Unix)")
        .details("The report goes to the file of -o, or nowhere.")
        .listed(&[(Server, "", "serve in the background")]),
    OptionSpec::new(Id::ReadyFd, None, "ready-fd", Remote::No("it names a descriptor"))
        .value("NUMBER")
        .apply(|settings, given, log| {
            settings.supervision.ready = Some(ready(given, log)?);
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Mode,
            "write a line end to this descriptor when the server listens (Unix)",
        )
        .details("systemd needs no option (Type=notify)."),
    OptionSpec::new(Id::SingleClient, Some('1'), "singleclient", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.single_client = true)
        .sides(Sides::SERVER)
        .variable(2, "IPERF_SINGLECLIENT")
        .help(Group::Mode, "serve one test at a time; others wait")
        .listed(&[(Server, "", "serve one test at a time")]),
    OptionSpec::new(Id::SingleUdp, Some('U'), "single_udp", Remote::Yes(ValueKind::Switch))
        .sets(|settings| {
            settings.udp = true;
            settings.single_udp = true;
            settings.single_client = true;
        })
        .sides(Sides::SERVER)
        .variable(31, "IPERF_SINGLE_UDP")
        .help(Group::Mode, "serve one UDP test at a time (-u -1)")
        .listed(&[(Server, "", "serve one UDP test at a time")]),
    OptionSpec::new(Id::Awdl, Some('A'), "awdl", Remote::Yes(ValueKind::Switch)).only(Personalities::Iperf2),
    OptionSpec::new(Id::Remove, None, "", Remote::No("it is not built"))
        .apply(|_, _, log| {
            Err(log.fatal(
                "ERROR: option --remove is for the service on Windows; use the system's own tools",
                "option --remove is for iperf's service on Windows, which tapeline does not install",
            ))
        })
        .manual_names(&["remove"])
        .sides(Sides::SERVER)
        .refused(),
    OptionSpec::new(Id::Config, None, "config", Remote::No("it names a file"))
        .value("FILE")
        .sets(|settings| settings.supervision.reloads = true)
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "options of the server from a file (TOML: long names, and a table of limits)",
        )
        .details("Variables and the command line count more than the file."),
    OptionSpec::new(Id::PrintConfig, None, "print-config", Remote::No("it reads files and ends"))
        .sets(|settings| settings.print_config = true)
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "show what the server would do and where each value came from, then end",
        ),
    OptionSpec::new(Id::Help, Some('h'), "help", Remote::No("it prints a page and ends"))
        .every_method()
        .apply(|settings, given, _| Err(Exit::Help(help_page(settings, given))))
        .sides(Sides::ALL)
        .help(Group::Misc, "show help: -h in short, --help in full")
        .listed(&[(Misc, "", "show this and quit")]),
    OptionSpec::new(Id::Version, Some('v'), "version", Remote::No("it prints a line and ends"))
        .every_method()
        .apply(|_, _, _| Err(Exit::Version))
        .sides(Sides::ALL)
        .help(Group::Misc, "show the version")
        .listed(&[(Misc, "", "show the version and quit")]),
];

/// `-c`; `-s` before it stays.
fn client(settings: &mut Settings, given: &Given, _: &mut Diagnostics) -> Result<(), Exit> {
    settings.host = Some(given.text());
    if settings.mode == Mode::Undecided {
        settings.mode = Mode::Client;
    }
    Ok(())
}

/// A descriptor that is none of the three that everybody has.
fn ready(given: &Given, log: &mut Diagnostics) -> Result<u32, Exit> {
    let number = given.text().parse().ok().filter(|number| *number > 2);
    number.ok_or_else(|| refuse_value(given, "is no descriptor (3 or more)", log))
}

fn help_page(settings: &Settings, given: &Given) -> HelpPage {
    match (settings.mode, given.spelled.as_str()) {
        _ if settings.iperf() => HelpPage::Iperf2,
        (Mode::Method(word), _) => HelpPage::Method(word),
        (_, "-h") => HelpPage::Short,
        _ => HelpPage::Full,
    }
}

/// tapeline needs to be told what to do; iperf shows its usage (see `resolve`).
pub(crate) fn neither_client_nor_server(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.mode == Mode::Undecided && !settings.iperf() {
        log.error(
            "",
            "nothing to do\nhint:  tapeline -s on the server, then tapeline -c HOST; --help shows all",
        );
    }
}

/// `-D` is for servers, on systems that know background processes.
pub(crate) fn daemon_is_a_server(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.daemon {
        return;
    }
    if settings.mode == Mode::Client {
        log.error("Iperf client cannot be run as a daemon", "");
    } else if cfg!(not(unix)) {
        let sentence = "option -D is for Unix systems; use a service manager to run a server";
        log.error(format!("ERROR: {sentence}"), sentence);
    } else if settings.mode == Mode::Server && settings.iperf() {
        log.say(CliMessage::err("Running Iperf Server as a daemon"));
    }
}
