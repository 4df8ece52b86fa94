//! Sizes, defaults and bounds of the protocol.
//!
//! A bound holds for everything that is decoded: larger received values are cut to
//! it, or refused where cutting would change the meaning.

/// Port of clients and servers when none is given, TCP and UDP.
pub const DEFAULT_PORT: u16 = 5001;

/// Read and write size of TCP tests when the client names none.
pub const DEFAULT_TCP_LENGTH: u32 = 131_072;
/// Datagram size over IPv4 when the client names none.
pub const DEFAULT_UDP_LENGTH: u32 = 1470;
/// Datagram size of a client over IPv6 when none is given.
pub const DEFAULT_UDP_LENGTH_IPV6: u32 = 1450;
/// Rate of a UDP client when none is given, in bits per second.
pub const DEFAULT_UDP_RATE: u64 = 1_048_576;

/// Bytes of the base header, the whole header of 1.7 and 2.0.5.
pub const BASE_HEADER: usize = 24;
/// Bytes of a plain TCP client header of 2.1.x.
pub const TCP_HEADER_2_1: usize = 60;
/// Bytes of a plain TCP client header of 2.2.x.
pub const TCP_HEADER_2_2: usize = 64;
/// Largest header length that the flag word can name, permit key excluded.
pub const MAX_HEADER: usize = 255;
/// Offset behind the last settings block of a UDP datagram: pattern from here on.
pub const UDP_HEADER_ROOM: usize = 160;
/// Smallest datagram that carries the whole 16-byte datagram header.
pub const MIN_UDP_LENGTH: usize = 16;
/// Smallest datagram with trip-times that has room for all settings; smaller ones, from
/// 92 bytes on, carry the short header.
pub const MIN_UDP_TRIP_TIMES: u32 = 128;
/// Bytes of the acknowledgement without trip-times.
pub const ACK: usize = 28;
/// Bytes of the acknowledgement with trip-times.
pub const ACK_TRIP_TIMES: usize = 52;
/// Bytes of the header of a burst inside a TCP stream.
pub const BURST_HEADER: usize = 92;
/// Bytes of the header of a bounce-back message.
pub const BOUNCEBACK_HEADER: usize = 64;
/// Smallest bounce-back message: 2.2.1 and 2.1.8 servers read this much at first.
pub const MIN_BOUNCEBACK: u32 = 68;
/// Bytes of a server report in the 16-byte layout. Never send more: a 2.2.1 client
/// stops when a report is longer than its buffer.
pub const REPORT: usize = 128;
/// Bytes of a server report in the 12-byte layout (1.7, 2.0.5).
pub const REPORT_LEGACY: usize = 52;
/// Most datagrams that a report is believed to count: a hundred million a second for a month. Sums of
/// what several reports say stay far below 64 bits.
pub const MAX_REPORTED_DATAGRAMS: u64 = 1 << 48;
/// Most bytes that a report is believed to count: 100 Gbit/s for four days.
pub const MAX_REPORTED_BYTES: u64 = 1 << 52;
/// Bytes of an L4S acknowledgement.
pub const L4S_ACK: usize = 28;

/// Largest TCP read or write size taken from a peer, in bytes.
pub const MAX_TCP_LENGTH: u32 = 16 << 20;
/// Largest datagram payload (IPv4), in bytes.
pub const MAX_UDP_LENGTH: u32 = 65_507;
/// Largest buffer length that is safe to ask of an unknown server that will send
/// over TCP: 2.2.1 and 2.1.8 servers use a buffer of their own default size.
pub const SAFE_TCP_SENDER_LENGTH: u32 = DEFAULT_TCP_LENGTH;
/// As [`SAFE_TCP_SENDER_LENGTH`], over UDP.
pub const SAFE_UDP_SENDER_LENGTH: u32 = DEFAULT_UDP_LENGTH;
/// Largest bounce-back request or reply taken from a peer, in bytes.
pub const MAX_BOUNCEBACK: u32 = 1 << 20;
/// Largest burst taken from a peer, in bytes. A burst is counted, never allocated.
pub const MAX_BURST: u32 = 0x7fff_ffff;
/// Largest value for `TCP_NOTSENT_LOWAT` taken from a peer, in bytes.
pub const MAX_WRITE_PREFETCH: u32 = 16 << 20;
/// Largest rate that the 56 bits on the wire hold, in bits per second.
pub const MAX_RATE: u64 = (1 << 56) - 1;
/// Largest fair-queue rate taken from a peer, in bytes per second.
pub const MAX_FQ_RATE: u64 = MAX_RATE;
/// Largest isochronous frame or burst frequency taken from a peer, per second.
pub const MAX_FRAMES_PER_SECOND: u32 = 1_000_000;
/// Largest duration that the amount field holds: 2^31 ticks of 10 ms, 248 days.
pub const MAX_TICKS: u32 = 1 << 31;
/// Largest byte amount that the amount field holds.
pub const MAX_AMOUNT_BYTES: u32 = 0x7fff_ffff;
/// Largest barrier wait taken from a peer, in microseconds: ten minutes.
pub const MAX_BARRIER_MICROS: u32 = 600_000_000;
/// Largest bounce-back hold taken from a peer, in microseconds: an hour.
pub const MAX_HOLD_MICROS: u32 = 3_600_000_000;
/// Longest congestion control name, in bytes.
pub const MAX_CONGESTION_CONTROL: usize = 31;
/// Shortest permit key, in bytes.
pub const MIN_PERMIT_KEY: usize = 4;
/// Longest permit key, in bytes.
pub const MAX_PERMIT_KEY: usize = 128;
/// Largest transfer id (11 bits).
pub const MAX_TRANSFER_ID: u16 = 0x7ff;
/// Largest number of threads next to a transfer id (20 bits).
pub const MAX_THREADS_WITH_ID: u32 = 0x000f_ffff;

/// Largest clock difference in seconds at which a server still accepts trip-times.
pub const MAX_TRIP_TIMES_GAP_SECONDS: u32 = 601;
/// Jump of a UDP datagram id above which it is garbage or a restart, not a loss.
pub const MAX_ID_JUMP: u64 = 1 << 31;
