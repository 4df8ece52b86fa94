//! Protocol personalities: how a test is agreed, run and ended with a peer.

mod plan;

pub use plan::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, Limit, Personality, RetryPlan,
    ServedTransports, ServerPlan, SocketPlan,
};
