//! Datagrams, sent and received.

mod frame_receive;
mod l4s_send;
mod length_chain;
mod prague;
mod receive;
mod refusing_port;
mod send;
mod traffic;

pub use frame_receive::ArrivedFrame;
pub use l4s_send::{L4sProtocol, L4sSendEnd, L4sSendPlan, run_l4s_sender};
pub use length_chain::LengthChain;
pub use prague::{L4sFeedback, L4sMark, Prague};
pub use receive::{ArrivedDatagram, DatagramReceiver, Followers, FrameRecord, ReceiverHistograms};
pub use refusing_port::RefusingPort;
pub use send::{Content, DatagramStamp, Destination, UdpSendEnd, UdpSendPlan, run_udp_sender};
pub use traffic::{FramePart, FrameTraffic, LengthPace, LengthTraffic, UdpTraffic};
