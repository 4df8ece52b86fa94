//! What iperf 2.2.1 prints.

mod banner;
mod csv;
mod figure;
mod header;
mod histogram;
mod lines;
mod page;
mod row;
mod text;

pub use csv::Iperf2Csv;
pub use header::Header;
pub use text::Iperf2Text;
