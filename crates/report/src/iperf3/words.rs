//! Failures in iperf3's words.

use tapeline_base::Role;

use super::record::Iperf3Record;
use crate::model::{Event, Notice, TestFailure};
use crate::render::tame;

/// Number of "the client has terminated".
const CLIENT_TERMINATED: u32 = 119;
/// Number of "the server has terminated".
const SERVER_TERMINATED: u32 = 120;
/// Number of "control socket has closed unexpectedly".
const CONTROL_CLOSED: u32 = 109;
/// Number of "the server is busy".
const ACCESS_DENIED: u32 = 121;

/// What is said of a notice outside of a test's lines and documents, as it happens. A test that
/// goes on has nothing on standard error: readers take any word there for a failure.
pub(crate) fn notice(event: &Event) -> Option<String> {
    match event {
        Event::Notice(Notice::Text(text)) => Some(text.clone()),
        Event::Notice(Notice::PeerRefused { peer, reason }) => {
            let peer = peer.ip().to_canonical();
            Some(format!("iperf3: refused {peer}: {}", tame(reason)))
        }
        Event::Notice(Notice::Suppressed { count, kind }) => {
            Some(format!("{count} further {kind} were not told one by one"))
        }
        Event::Notice(Notice::Shedding { reason }) => Some(reason.clone()),
        Event::Notice(Notice::InternalFault { peer }) => {
            let peer = peer.ip().to_canonical();
            Some(format!("iperf3: internal fault in a session of {peer}"))
        }
        _ => None,
    }
}

/// The value of the key `error`. The reference gives the key twice where the peer has reported the
/// error; here it is the second value, which readers of its documents keep.
pub(crate) fn document_error(test: &Iperf3Record, failure: &TestFailure) -> String {
    let plain = failure.interrupted || failure.code == CLIENT_TERMINATED;
    match test.role() {
        Role::Server if !plain => format!("error - {}", failure.text),
        Role::Server | Role::Client => failure.text.clone(),
    }
}

/// Whether the numbers are reported although the test failed: after signals, at either end.
pub(crate) fn reports_totals(failure: Option<&TestFailure>) -> bool {
    failure.is_none_or(|failure| {
        failure.interrupted || [CLIENT_TERMINATED, SERVER_TERMINATED].contains(&failure.code)
    })
}

/// Whether the server rejected the client before anything was said.
pub(crate) fn was_rejected(failure: Option<&TestFailure>) -> bool {
    failure.is_some_and(|failure| failure.code == ACCESS_DENIED)
}

/// Lines on standard error, without the program's name.
pub(crate) fn lines(test: &Iperf3Record, failure: &TestFailure) -> Vec<String> {
    let text = &failure.text;
    let error = format!("error - {text}");
    match (test.role(), failure.code) {
        _ if failure.interrupted => vec![text.clone()],
        (Role::Server, CLIENT_TERMINATED) => vec![text.clone()],
        (Role::Server, CONTROL_CLOSED) => {
            vec!["the client has unexpectedly closed the connection".to_owned()]
        }
        (Role::Client, _) if failure.by_peer => vec![format!("SERVER ERROR - {text}"), error],
        _ => vec![error],
    }
}
