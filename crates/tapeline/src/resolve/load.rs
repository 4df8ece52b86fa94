//! `--working-load`: TCP flows beside the test.

use tapeline_dialect::{LoadDirection, WorkingLoad};

use crate::message::CliMessage;
use crate::options::OptionId as Id;
use crate::raw::Given;
use crate::values::atoi;

use super::log::{Log, Stop};
use super::quantity::MAX_PARALLEL;
use super::reading::refuse_value;
use super::settings::Settings;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadSettings {
    asked: Option<(LoadDirection, usize)>,
    /// A value stood behind `--working-load=`.
    valued: bool,
    congestion: Option<String>,
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if given.spec.id == Id::WorkingLoadCca {
        settings.load.congestion = Some(given.text());
        return Ok(());
    }
    settings.load.valued = given.value.is_some();
    settings.load.asked = load(settings, given, log)?;
    settings.presentation.enhanced = true;
    Ok(())
}

/// `up|down|bidir[,N]`. iperf tells of another word and leaves the load at its default.
fn load(
    settings: &Settings,
    given: &Given,
    log: &mut Log,
) -> Result<Option<(LoadDirection, usize)>, Stop> {
    let text = given.text();
    let (word, number) = text.split_once(',').unwrap_or((&text, "1"));
    let flows = if settings.iperf() {
        usize::try_from(atoi(number)).unwrap_or(0).max(1)
    } else {
        number.parse().unwrap_or(0)
    };
    if !(1..=MAX_PARALLEL).contains(&flows) {
        let sentence = format!("has no number of flows from 1 to {MAX_PARALLEL}");
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
pub(super) fn load_is_the_clients(settings: &mut Settings, log: &mut Log) {
    if settings.load.valued {
        log.error(
            "ERROR: setting of --working-load options is not supported on the server, just use \
             --working-load",
            "option --working-load: a server takes no value, the client chooses",
        );
    }
}

impl Settings {
    /// A client's working load.
    pub(super) fn working_load(&self) -> Option<WorkingLoad> {
        self.load.asked.map(|(direction, flows)| WorkingLoad {
            direction,
            flows,
            congestion: self.load.congestion.clone(),
        })
    }

    /// Whether a load was asked for.
    pub(super) fn is_loaded(&self) -> bool {
        self.load.asked.is_some()
    }
}
