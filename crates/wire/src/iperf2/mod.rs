//! The wire format of iperf 2 (1.7 and 2.0.x to 2.2.1), after what the released
//! programs were seen to send.
//!
//! | Message | Bytes | Type |
//! |---|---|---|
//! | first word of a TCP connection | 4 | [`FirstWord`] |
//! | TCP client header, also sent by a sending server | 24 to 255 + key | [`TcpClientHeader`] |
//! | server's acknowledgement | 28, 52 | [`ServerAck`] |
//! | burst header inside a TCP stream | 92 | [`BurstHeader`] |
//! | bounce-back request and reply | 64 of 68.. | [`Bounceback`] |
//! | number and time of a UDP datagram | 12, 16 | [`DatagramStamp`] |
//! | settings in a UDP datagram | 24 to 144 | [`UdpClientHeader`] |
//! | settings of small trip-times datagrams | 12 | [`ShortTripTimes`] |
//! | isochronous frame in a UDP datagram | 32 | [`IsochronousFrame`] |
//! | server's UDP report | 52, 128 | [`ServerReport`] |
//! | L4S data stamp and acknowledgement | 12, 28 | [`L4sStamp`], [`L4sAck`] |
//!
//! All numbers are big-endian. Blocks sit at fixed offsets: the length in the flag
//! word only says how many bytes were sent, absent bytes read as zero.

mod bounceback;
mod burst_header;
mod datagram;
mod error;
mod field;
mod first_word;
mod flags;
mod l4s;
pub mod limits;
mod pattern;
mod server_ack;
mod server_report;
mod settings;
mod tcp_header;
mod udp_header;
mod udp_layout;
mod version;

pub use bounceback::Bounceback;
pub use burst_header::BurstHeader;
pub use datagram::DatagramStamp;
pub use error::DecodeError;
pub use first_word::FirstWord;
pub use flags::{BouncebackFlags, Flags, LowerFlags, UpperFlags};
pub use l4s::{L4sAck, L4sStamp};
pub use pattern::{TRIP_TIMES_FILL, fill_pattern};
pub use server_ack::{AckTimes, ServerAck};
pub use server_report::{ReportLayout, ServerReport, TransitTimes};
pub use settings::{
    Amount, ByteRate, HeaderForm, IsochronousFrame, IsochronousSettings, Micros, Millionths, Rate,
    TestMode, Ticks, Timestamp, TransferId, Workload,
};
pub use tcp_header::{CongestionControl, PermitKey, TcpClientHeader};
pub use udp_header::{ShortTripTimes, UdpClientHeader, UdpForm};
pub use udp_layout::UdpLayout;
pub use version::{PeerVersion, ReleaseState};
