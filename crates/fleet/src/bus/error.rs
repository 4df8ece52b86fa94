//! Why the bus of a fleet does not serve.

use thiserror::Error;

/// What went wrong between a role of the fleet and its server, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BusError {
    /// No server answers.
    #[error("connect to {server}: {cause}")]
    Unreached {
        /// Where.
        server: String,
        /// Why not.
        cause: String,
    },
    /// The server refuses the key.
    #[error("the server does not know the key of {who}: {advice}")]
    UnknownKey {
        /// Whose.
        who: String,
        /// What to do.
        advice: String,
    },
    /// The server is older than 2.10.
    #[error("nats-server {0} is too old: 2.10 is needed")]
    TooOld(String),
    /// The server stores nothing.
    #[error("JetStream is off there: add jetstream {{}} to its configuration")]
    NoJetStream,
    /// A stream or a bucket cannot be had.
    #[error("{what} at the server: {cause}")]
    Store {
        /// Which.
        what: String,
        /// Why not.
        cause: String,
    },
    /// Something of this host fails.
    #[error("{what}: {cause}")]
    Host {
        /// What.
        what: String,
        /// Why.
        cause: String,
    },
    /// What was asked for does not fit what there is.
    #[error("{0}")]
    Refused(String),
    /// Nothing came of a request in time.
    #[error("{0}: the server does not answer")]
    NoAnswer(&'static str),
}
