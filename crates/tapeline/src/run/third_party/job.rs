//! The whole job.

use std::sync::Arc;

use tapeline_base::{ExitCode, with_port};
use tapeline_remote::{BEGINNING, GivenOption, Session, Transport};
use tapeline_sys::reason;

use super::allowed::allowed;
use super::client::{self, Ending};
use super::server::Server;
use super::shown_forms::ShownForms;
use crate::identity;
use crate::message::cannot;
use crate::plan::ThirdParty;
use crate::run::signals::on_interrupt;

/// Runs a test between other hosts.
pub(crate) fn third_party(job: &ThirdParty) -> ExitCode {
    let mut shown = match ShownForms::open(&job.presentation) {
        Ok(shown) => shown,
        Err(code) => return code,
    };
    let ending = Arc::new(Ending::default());
    let asked = Arc::clone(&ending);
    let at_once = || {
        cannot("stopped at once; no totals");
    };
    if let Err(error) = on_interrupt(move || asked.ask(), at_once) {
        return cannot(&format!("signals cannot be caught: {}", reason(&error)));
    }
    let code = match perform(job, &mut shown, &ending) {
        Ok(code) => code,
        Err(why) => cannot(&why),
    };
    shown.finish(code)
}

fn perform(job: &ThirdParty, shown: &mut ShownForms, ending: &Ending) -> Result<ExitCode, String> {
    let session = match &job.from {
        Some(far) => Session::open(&far.transport, BEGINNING),
        None => Session::open(&Transport::Local(identity::executable()?), BEGINNING),
    };
    let session = session.map_err(|error| error.to_string())?;
    let mut options = job.options.clone();
    let rendering = shown.rendering().to_string();
    options.push(GivenOption::new("rendered", &rendering));
    let server = match &job.serve_on {
        Some(transport) if !ending.is_wanted() => {
            let own = session.hello().addresses.iter().cloned();
            let server = Server::start(transport, allowed(own, &job.host))?;
            let host = with_port(&job.host, server.port);
            options.retain(|given| given.name != "client");
            options.insert(0, GivenOption::new("client", &host));
            Some(server)
        }
        _ => None,
    };
    let keeps = job.presentation.save.is_some();
    let outcome = client::run(session, options, shown, ending, keeps);
    let broken = server.and_then(Server::end);
    // What the test says comes before what is said of it.
    for why in outcome.fault.iter().chain(&broken) {
        cannot(why);
    }
    #[cfg(feature = "history")]
    if keeps {
        let name = job.from.as_ref().map(|far| far.name.as_str());
        super::kept_results::keep(name, &outcome.stream, &job.presentation);
    }
    Ok(match outcome.code {
        // A test whose server was lost may have ended in order.
        ExitCode::Success if broken.is_some() => ExitCode::Failure,
        code => code,
    })
}
