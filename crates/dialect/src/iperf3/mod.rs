//! iperf3: both roles.
//!
//! | File | What it does | IO |
//! |---|---|---|
//! | `plan.rs` | what a client or a server is to do | no |
//! | `inbox.rs` | bytes of a control connection, cut into messages | no |
//! | `client_control.rs` | a client's end of it: bytes in, steps out | no |
//! | `server_control.rs` | a server's end of it | no |
//! | `login/` | tokens of clients, and a server's look at them | no |
//! | `agreed.rs`, `far_side.rs` | what is told of a test, from both ends' results | no |
//! | `registry.rs` | which tests of a server wait for which connections | no |
//! | `streams.rs`, `file_intake.rs` | the data of a test | yes |
//! | `client.rs`, `server.rs` | the two ends | yes |

mod agreed;
mod arrivals;
mod bounds;
mod client;
mod client_control;
mod client_streams;
#[cfg(any(test, fuzzing))]
pub(crate) mod control_checks;
mod far_side;
#[cfg(any(test, fuzzing))]
pub(crate) mod far_side_checks;
mod file_intake;
mod inbox;
mod login;
mod meters;
mod parting;
mod plan;
mod registry;
#[cfg(any(test, fuzzing))]
pub(crate) mod registry_checks;
#[cfg(test)]
mod replay;
mod sctp;
#[cfg(test)]
#[path = "../../../wire/tests/seeds/mod.rs"]
pub(crate) mod seeds;
mod server;
mod server_control;
mod session;
#[cfg(test)]
#[path = "../../../wire/tests/sessions/mod.rs"]
pub(crate) mod sessions;
mod stamp;
mod stream_end;
mod stream_set;
mod streams;
mod tail;
mod tcp_streams;
mod udp_streams;

pub use client::run_iperf3_client;
pub use plan::{
    Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Patience, Iperf3Server, Keepalive,
    MostTests, RsaPadding,
};
pub(crate) use server::Iperf3Service;

#[cfg(any(test, fuzzing))]
pub(crate) use login::{files_contract as login_files_contract, token_contract as login_contract};
