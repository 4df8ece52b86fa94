//! What iperf 2.2.1 prints.

/// Events that iperf 2 has no lines for: what two tapelines tell each other, and several runs.
macro_rules! beyond_iperf2 {
    () => {
        Event::OtherEndFound(_)
            | Event::OtherProgress(_)
            | Event::OtherEnd(_)
            | Event::NoOtherEnd(_)
            | Event::Clocks(_)
            | Event::OneWayDelay(_)
            | Event::LoadedLatency(_)
            | Event::Repetition(_)
            | Event::Processor(_)
            | Event::Probes(_)
    };
}

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
