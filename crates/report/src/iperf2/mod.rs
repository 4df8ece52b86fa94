//! What iperf 2.2.1 prints.

mod banner;
mod connection;
mod csv;
mod figure;
mod notice;
mod row;
mod text;

pub use csv::Iperf2Csv;
pub use text::Iperf2Text;

pub(crate) use figure::tame;

/// An IPv4 address of which only the last byte is shown.
pub(crate) fn hidden(address: std::net::IpAddr) -> String {
    figure::address(address, true)
}
