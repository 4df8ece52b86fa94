//! One option at a time: its effect on the settings, in the order given.

use super::diagnostics::{Diagnostics, Exit};
use super::settings::{Mode, Settings};
use super::spec::{Effect, Given, OptionId as Id, Origin, Sides};
use crate::message::CliMessage;

/// Carries out one option.
///
/// # Errors
/// [`Exit`] when nothing behind this option is to be looked at.
pub(crate) fn apply(
    settings: &mut Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    if given.letter_with_equals {
        warn_of_equals(settings, given, log);
    }
    if !belongs_here(settings, given, log)? {
        return Ok(());
    }
    match given.spec.effect {
        Effect::None => Ok(()),
        Effect::Sets(effect) => {
            effect(settings);
            Ok(())
        }
        Effect::Reads(effect) => effect(settings, given, log),
    }
}

/// `-P=4` is `-P 4` here; iperf 2 takes the sign into the value and reads 0, without a word on
/// standard error.
fn warn_of_equals(settings: &Settings, given: &Given, log: &mut Diagnostics) {
    if settings.iperf() {
        let (option, value) = (&given.spelled, given.text());
        log.say(CliMessage::out(format!(
            "WARNING: {option}={value} is read as {option} {value}"
        )));
    }
}

/// Whether the option applies to the job. Under iperf this depends on what was given
/// before it, for the few options that the reference checks; under tapeline the job is
/// known beforehand and every option is checked. Variables are general wishes and are
/// left aside where they do not apply.
fn belongs_here(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<bool, Exit> {
    let id = given.spec.id;
    if settings.iperf() {
        let job = match (settings.mode, id) {
            (
                Mode::Undecided | Mode::Server,
                Id::DualTest | Id::Tradeoff | Id::FileInput | Id::StdinInput | Id::ListenPort,
            ) => "server",
            (Mode::Client, Id::SsmHost) => "client",
            // The reference says so of a second -s too.
            (Mode::Client | Mode::Server, Id::Server) => "client",
            _ => return Ok(true),
        };
        let option = given.spec.shortest_name();
        log.say(CliMessage::err(format!(
            "WARNING: option {option} is not valid for {job} mode"
        )));
        return Ok(false);
    }
    let Sides {
        client,
        server,
        trial,
        exporter,
    } = given.spec.sides;
    // `-s -c HOST` restricts a server.
    let (fits, job) = match settings.mode {
        Mode::Undecided => (true, ""),
        Mode::Client => (client, "a client"),
        Mode::Server => (server || id == Id::Client, "a server"),
        Mode::Trial => (trial, "try"),
        Mode::Exporter => (exporter, "exporter"),
        Mode::Method(word) => (given.spec.methods.include(word), word),
    };
    if fits {
        return Ok(true);
    }
    match given.origin {
        Origin::Environment(_) => Ok(false),
        Origin::CommandLine | Origin::File => {
            Err(log.fatal("", format!("{} does not apply to {job}", given.named())))
        }
    }
}
