//! Results of a test that another host ran, for the history.

use std::io::{self, Write};

use crate::message::cannot;
use crate::presentation::Presentation;
use crate::run::history::{Fault, Found, documents};
use crate::run::saving::keep_from;

/// Keeps the runs of a stream of events, measured from that host.
pub(crate) fn keep(host: Option<&str>, stream: &[u8], presentation: &Presentation) {
    if stream.is_empty() {
        return;
    }
    let found = match documents("the test", stream) {
        Ok(found) => found,
        Err(Fault::Usage(why) | Fault::Failure(why)) => {
            cannot(&format!("not saved: {why}"));
            return;
        }
        Err(Fault::Said(_)) => return,
    };
    let runs = found.into_iter().map(|found| match found {
        Found::Other { document, left_out } => (document, left_out),
        Found::Kept(run) => (run.whole_document(), run.left_out),
    });
    let out = keep_from(host, runs.collect(), presentation);
    // The result is kept, whoever reads that.
    let _ = io::stdout().write_all(out.stdout.as_bytes());
    let _ = io::stderr().write_all(out.stderr.as_bytes());
}
