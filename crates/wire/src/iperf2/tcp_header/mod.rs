//! The header of TCP clients, and the blocks that it is made of; those of UDP are made of some of them too.

mod base_header;
mod congestion_control;
mod extended_header;
mod header;
mod permit_key;

pub(crate) use base_header::BaseHeader;
pub use congestion_control::CongestionControl;
pub(crate) use extended_header::ExtendedHeader;
pub use header::TcpClientHeader;
pub use permit_key::PermitKey;
