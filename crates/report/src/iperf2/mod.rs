//! What iperf 2.2.1 prints.

mod banner;
mod connection;
mod csv;
mod figure;
mod histogram;
mod notice;
mod page;
mod row;
mod text;
mod timing;

pub use csv::Iperf2Csv;
pub use text::Iperf2Text;

pub(crate) use figure::tame;

/// An IPv4 address of which only the last byte is shown.
pub(crate) fn hidden(address: std::net::IpAddr) -> String {
    figure::address(address, true)
}
