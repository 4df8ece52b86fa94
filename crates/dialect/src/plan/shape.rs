//! Shape of the traffic: sizes, times and content of what is sent.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, MonoTime, WallTime};

/// How sends are sized and timed, in addition to the target rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Equal blocks or datagrams at the target rate, or as fast as possible.
    #[default]
    Steady,
    /// `-b mean,deviation`: the rate is drawn anew every 0.1 s from a log-normal
    /// distribution; the mean is the plan's pace.
    Variable {
        /// Standard deviation of the rate.
        deviation: BitRate,
    },
    /// `--isochronous`: a frame at each tick of a clock.
    Isochronous(IsochronousPlan),
    /// `--burst-period` and `--burst-size`: so many bytes at each tick of a clock.
    Burst {
        /// Time from one burst to the next.
        period: Duration,
        /// Bytes of a burst.
        size: Bytes,
    },
    /// `-l` as a bra-ket chain: the length of a datagram or write depends on the one before.
    Markov(MarkovChain),
    /// `--near-congestion` (TCP): after each write a pause of this many round-trip times.
    NearCongestion {
        /// Round-trip times, above 0.
        factor: f64,
    },
}

/// Frames of varying size at a fixed rate, such as video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsochronousPlan {
    /// Frames per second, above 0 and at most 1e6.
    pub frames_per_second: f64,
    /// Mean size.
    pub mean: FrameMean,
    /// Standard deviation, bits per second; 0 gives equal frames.
    pub deviation: f64,
}

/// Mean size of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameMean {
    /// Bits per second over all frames.
    Bits(f64),
    /// Datagrams per frame (`p` behind the number, UDP only).
    Packets(f64),
}

/// Lengths with the probabilities of what follows them.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovChain {
    /// As written.
    pub text: String,
    /// Lengths, bytes; at least one.
    pub lengths: Vec<u32>,
    /// For each length the probabilities of the next one; each row adds up to 1.
    pub transitions: Vec<Vec<f64>>,
}

/// What the sent bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Digits, over and over.
    #[default]
    Digits,
    /// `-F`: a file's content; the test ends with it.
    File(PathBuf),
    /// `-I`: standard input; the test ends with it.
    StandardInput,
}

/// When the first byte of payload leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartTime {
    /// As soon as all flows are connected.
    #[default]
    Now,
    /// `--txstart-time`: at this time of day.
    At(WallTime),
    /// `--txdelay-time` and `--bounceback-txdelay`: so long after connecting.
    After(Duration),
    /// At this moment of this process's clock, at once where it has passed: a flow among others.
    Moment(MonoTime),
}
