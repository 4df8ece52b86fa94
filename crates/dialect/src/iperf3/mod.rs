//! iperf3: both roles.
//!
//! | File | What it does | IO |
//! |---|---|---|
//! | `inbox.rs` | bytes of a control connection, cut into messages | no |
//! | `client_control.rs` | a client's end of it: bytes in, steps out | no |
//! | `server_control.rs` | a server's end of it | no |

mod client_control;
mod inbox;
#[cfg(test)]
mod replay;
mod server_control;
