//! Runs that are read.

use std::sync::Mutex;
use std::time::Duration;

use interop::{
    Finished, Invocation, Program, Transport, await_listening, free_port, in_a_quiet_moment, skip,
};
use libtest_mimic::Failed;

use crate::reading::{Reading, read};
use crate::rule::{Read, Rule, Side};

/// Time for a server's last lines after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The reading of tapeline's run must be like that of the reference's. Values are looked at again when
/// they cannot be true, since another program may have had the machine; fields are there or not.
pub(crate) fn compare(test: &str, rule: &Rule, server: Program) -> Result<(), Failed> {
    let [reference, ours] = rule.family.programs();
    if let Some(reason) = [reference, ours].into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let lasting = Mutex::new(Ok(()));
    in_a_quiet_moment(|| {
        let read = run(rule, reference, reference)
            .and_then(|theirs| Ok((theirs, run(rule, ours, server)?)));
        let outcome = read.and_then(|(theirs, ours)| look(rule, &theirs, &ours));
        *lasting.lock().expect("no panic holds it") = match outcome {
            Ok(Some(implausible)) => panic!("{implausible}"),
            Ok(None) => Ok(()),
            Err(failed) => Err(failed),
        };
    });
    lasting.into_inner().expect("no panic holds it")
}

/// An end's output, and what was read of it.
type Outcome = (Reading, Finished);

/// What cannot be true of the values; fails where fields differ.
fn look(rule: &Rule, theirs: &Outcome, ours: &Outcome) -> Result<Option<String>, Failed> {
    let ((expected, theirs), (found, ours)) = (theirs, ours);
    let shown = |what: String| format!("{what}\n--- reference\n{theirs}--- ours\n{ours}");
    if let Some(what) = expected.implausible(rule) {
        return Ok(Some(shown(format!("the reference: {what}"))));
    }
    if let Some(what) = found.differs(expected) {
        return Err(shown(what).into());
    }
    if theirs.stderr.is_empty() && !ours.stderr.is_empty() {
        return Err(shown("words on standard error".to_owned()).into());
    }
    Ok(found.implausible(rule).map(shown))
}

fn run(rule: &Rule, client: Program, server: Program) -> Result<Outcome, Failed> {
    let port = free_port();
    let begun = |program: Program, role: &[&str], options: &str| {
        let line = Invocation::new(program).args(role.iter().copied());
        let line = line.args(["-p", &port.to_string()]).line(options);
        match rule.variable.and_then(|variable| variable.split_once('=')) {
            Some((name, value)) => line.env(name, value),
            None => line,
        }
    };
    let serving = begun(server, &["-s"], rule.server).spawn()?;
    let transport = match rule.server.split(' ').any(|word| word == "-u") {
        true => Transport::Udp,
        false => Transport::Tcp,
    };
    await_listening(&serving, transport, port)?;
    let finished = begun(client, &["-c", "127.0.0.1"], rule.client).run()?;
    if finished.code() != Some(0) {
        return Err(Failed::from(finished.to_string()));
    }
    if rule.side == Side::Client {
        return Ok((reading(rule, &finished)?, finished));
    }
    serving.wait_for(TIMEOUT, |out| {
        read(rule, out).is_ok_and(|reading| reading.is_complete(rule))
    });
    serving.interrupt();
    let served = serving.wait()?;
    Ok((reading(rule, &served)?, served))
}

fn reading(rule: &Rule, finished: &Finished) -> Result<Reading, Failed> {
    let failed = |why: String| Failed::from(format!("{why}\n{finished}"));
    if matches!(rule.read, Read::Document | Read::Events) && !finished.stderr.is_empty() {
        return Err(failed("words on standard error".to_owned()));
    }
    read(rule, &finished.stdout).map_err(failed)
}
