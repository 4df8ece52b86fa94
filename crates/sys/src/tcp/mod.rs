//! TCP: connections, listeners, and what the kernel reports of a connection.

mod connection;
mod info;
mod listener;
mod probe;
mod spliced_payload;

pub use connection::{Connected, TcpConn};
pub use info::TcpInfo;
pub use listener::TcpListener;
pub use probe::TcpProbe;
pub use spliced_payload::SplicedPayload;
