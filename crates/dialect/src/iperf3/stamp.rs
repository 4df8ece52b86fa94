//! iperf3's stamp for the engine's packet loop.

use tapeline_base::WallTime;
use tapeline_engine::DatagramStamp;
use tapeline_wire::iperf3::{CounterWidth, DatagramHeader};

/// Writes time and number into datagrams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iperf3Stamp {
    pub(super) width: CounterWidth,
}

impl DatagramStamp for Iperf3Stamp {
    /// The reference stamps the time since its system started. Its readers look at differences
    /// only, so ours may say the time of day, which two of us could compare.
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        let (seconds, micros) = wall.to_wire();
        let header = DatagramHeader {
            seconds,
            micros,
            number: sequence,
        };
        header.write(datagram, self.width);
    }
}
