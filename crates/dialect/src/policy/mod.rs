//! What a server lets whom do: asked by the listeners at each step of a client.
//!
//! ```text
//! connection ─► pending? ─► key? ─► first message ─► permit(order), admit(streams) ─► Slot (until the flow ends)
//!                                                    grant ─► Grant (time, bytes and rate of the test)
//! datagram   ─► may the server send on its order? ─► AmplificationLimit (bytes for bytes), UnverifiedBudget (of all of them)
//! ```

pub(crate) mod anti_amplification;
pub(crate) mod attempts;
pub(crate) mod decisions;
pub(crate) mod grant;
pub(crate) mod slots;
pub(crate) mod source;

pub(crate) use anti_amplification::AmplificationLimit;
pub(crate) use decisions::{Ordered, Policy};
pub(crate) use grant::Grant;
pub(crate) use slots::{Refusal, Slot};
pub(crate) use source::{Source, counted, displaced};
