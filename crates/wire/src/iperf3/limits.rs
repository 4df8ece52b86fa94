//! Bounds of everything that a peer may choose.

/// Longest parameter message, bytes; servers since 3.18 refuse more.
pub const MAX_PARAMETERS: usize = 8192;
/// Longest results message of a server, bytes: a document with an hour of intervals of many streams fits.
pub const MAX_RESULTS: usize = 16 << 20;
/// Longest results message of a client, bytes: they hold no document, so the streams of the largest
/// test fit many times. A server spends many times as much memory on reading them.
pub const MAX_CLIENT_RESULTS: usize = 1 << 20;
/// Most streams in a direction that the reference accepts.
pub const MAX_PARALLEL: u32 = 128;
/// Longest test, seconds.
pub const MAX_TIME: u32 = 86_400;
/// Longest omitted start, seconds.
pub const MAX_OMIT: u32 = 600;
/// Longest TCP block, bytes.
pub const MAX_TCP_LENGTH: u32 = 1 << 20;
/// Shortest UDP datagram, bytes: time and number must fit.
pub const MIN_UDP_LENGTH: u32 = 16;
/// Longest UDP datagram, bytes.
pub const MAX_UDP_LENGTH: u32 = 65_507;
/// Block length without `len`, bytes.
pub const DEFAULT_TCP_LENGTH: u32 = 128 * 1024;
/// Largest socket buffer that may be asked for, bytes.
pub const MAX_WINDOW: u32 = 512 << 20;
/// Largest MSS that may be asked for, bytes.
pub const MAX_MSS: u32 = 32_767;
/// Most packets in a burst.
pub const MAX_BURST: u32 = 1000;
/// Largest IPv6 flow label.
pub const MAX_FLOW_LABEL: u32 = 0xf_ffff;
/// Seconds without `time`, `num` and `blockcount`.
pub const DEFAULT_TIME: u32 = 10;
