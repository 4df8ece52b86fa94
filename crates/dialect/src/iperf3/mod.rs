//! iperf3: both roles.
//!
//! | File | What it does | IO |
//! |---|---|---|
//! | `plan.rs` | what a client or a server is to do | no |
//! | `inbox.rs` | bytes of a control connection, cut into messages | no |
//! | `client_control.rs` | a client's end of it: bytes in, steps out | no |
//! | `server_control.rs` | a server's end of it | no |

mod client_control;
mod inbox;
mod plan;
#[cfg(test)]
mod replay;
mod server_control;

pub use plan::{
    Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Patience, Iperf3Server, Keepalive,
    MostTests, RsaPadding,
};
