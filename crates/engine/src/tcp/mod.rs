//! The data of a TCP connection, sent and received.

mod burst_intake;
mod content;
mod drain;
mod low_water;
mod receive;
mod send;

pub use burst_intake::{
    BurstFormat, BurstHead, BurstIntake, BurstPlan, BurstRecord, LatencyFrom, Preamble,
};
pub use content::{Blocks, BurstStamp, BurstStart, Spliced, StreamContent};
pub use receive::{ByteIntake, Intake, NextRead, TcpReceivePlan, TcpReceiver};
pub use send::{AnswerSink, HeldWindow, SendEnd, TcpSendPlan, TcpSender, WriteTimes};
