//! Measurement methods between two tapelines (`docs/dev/protocol.md`, section 5): what a client orders of a
//! server on the control connection, and the datagrams that follow.

mod datagram;
mod done;
mod order;
mod status;

pub use datagram::{LoadEcho, MethodDatagram, MethodKind, is_method_datagram};
pub use done::{Done, LoadDone, MAX_ROWS, OrderEnd, PathMtuDone, RowChange};
pub use order::{
    LoadParameters, MAX_METHODS, MAX_ORDER_SECONDS, Methods, Order, OrderDirection, Ready,
};
pub use status::{Sample, Status};
