//! `--working-load`: TCP flows beside the test; `--flow`: different flows in one.

use tapeline_dialect::{LoadDirection, WorkingLoad};

use super::amount::MAX_PARALLEL;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::Section::Client;
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{atoi, refuse_value};
use crate::message::CliMessage;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::WorkingLoad, None, "working-load", Remote::Yes(ValueKind::Text))
        .optional_value("up|down|bidir[,N]")
        .apply(|settings, given, log| {
            settings.load.valued = given.value.is_some();
            settings.load.asked = load(settings, given, log)?;
            settings.presentation.enhanced = true;
            Ok(())
        })
        .help(
            Group::Traffic,
            "N TCP streams of working load (default bidir,1); a UDP server admits them",
        )
        .listed(&[(Client, "", "TCP flows beside the test")]),
    OptionSpec::new(Id::WorkingLoadCca, None, "working-load-cca", Remote::Yes(ValueKind::Text))
        .value("NAME")
        .apply(|settings, given, _| {
            settings.load.congestion = Some(given.text());
            Ok(())
        })
        .help(Group::Traffic, "TCP congestion control of the working load")
        .listed(&[(Client, "", "congestion control of the working load")]),
    OptionSpec::new(Id::Flow, None, "flow", Remote::Yes(ValueKind::Text))
        .value("OPTIONS")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "a flow of its own in the same test; give it again for each",
        )
        .details(
            "OPTIONS are a client's, quoted as one word: '-u -b 100M -S ef'. A name may stand before \
             them: 'voice: -u -b 64k'. What stands outside is for all flows; where packets go, what \
             is reported and access can only stand there. --txdelay-time is the start of a flow, in \
             seconds after that of the test. The server is tapeline or iperf 2.",
        ),
    OptionSpec::new(Id::Flows, None, "flows", Remote::No("it names a file"))
        .value("FILE")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "different flows in one test, from a TOML file",
        )
        .details(
            "The file has a table [[flow]] for each. Keys are long names of options: those of a flow in \
             its table, with name for its name; those of all flows, and host for the server, at the top.",
        ),
];

/// `up|down|bidir[,N]`. iperf complains of another word and leaves the load at its default.
fn load(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Option<(LoadDirection, usize)>, Exit> {
    let text = given.text();
    let (word, number) = text.split_once(',').unwrap_or((&text, "1"));
    let flows = if settings.iperf() {
        usize::try_from(atoi(number)).unwrap_or(0).max(1)
    } else {
        number.parse().unwrap_or(0)
    };
    if !(1..=MAX_PARALLEL).contains(&flows) {
        let sentence = format!("is no number of streams from 1 to {MAX_PARALLEL}");
        return Err(refuse_value(given, &sentence, log));
    }
    let direction = match word {
        "up" => LoadDirection::Up,
        "down" => LoadDirection::Down,
        "bidir" => LoadDirection::Both,
        "" if given.value.is_none() || settings.iperf() => LoadDirection::Both,
        _ if settings.iperf() => {
            log.say(CliMessage::err(format!(
                "Unrecoginized value of {word} for --working-load, use 'up', 'down' or 'bidir'"
            )));
            LoadDirection::Both
        }
        _ => {
            return Err(refuse_value(
                given,
                "does not begin with up, down or bidir",
                log,
            ));
        }
    };
    Ok(Some((direction, flows)))
}

/// A server only admits the flows that a client brings.
pub(crate) fn load_is_the_clients(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.load.valued {
        log.error(
            "ERROR: setting of --working-load options is not supported on the server, just use \
             --working-load",
            "option --working-load: a server takes no value, the client chooses",
        );
    }
}

/// A client's working load.
pub(crate) fn working_load(settings: &Settings) -> Option<WorkingLoad> {
    settings.load.asked.map(|(direction, flows)| WorkingLoad {
        direction,
        flows,
        congestion: settings.load.congestion.clone(),
    })
}

/// Whether a load was asked for.
pub(crate) fn is_loaded(settings: &Settings) -> bool {
    settings.load.asked.is_some()
}
