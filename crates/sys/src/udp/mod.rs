//! UDP: sockets, and datagrams received in batches.

mod datagram;
mod multicast;
mod receive_batch;
mod socket;

pub(crate) use datagram::Addressee;
pub use datagram::{Datagram, Marks, ReceiveFeatures, Returned, Segments};
pub use multicast::MulticastGroup;
pub use receive_batch::ReceiveBatch;
pub use socket::UdpSocket;
