//! What the machines of a fleet need of a NATS server, and the loops that carry out what they want.
//!
//! ```text
//! Access ─► Connection ─┬─ Requests: a publish with a reply, in order ─► Reply or none in time
//!                       ├─ Watch: a bucket, from the beginning after each connection
//!                       └─ subscriptions
//! run_agent · run_controller · run_collector: one loop each, one thread
//! Operator: what a person asks for, one call each
//! ```

mod agent_loop;
mod books;
mod collector_loop;
mod connection;
mod controller_loop;
mod error;
mod machine_clock;
mod many_agents;
mod operator;
mod records;
mod requests;
mod runtime;
mod setup;
mod stop;
mod watch;

pub use agent_loop::{AgentHost, AgentStart, TestEvent, TestEvents, run_agent};
pub use books::SiteBooks;
pub use collector_loop::{Database, FleetCounts, run_collector};
pub use controller_loop::{Planner, run_controller};
pub use error::BusError;
pub use machine_clock::MachineClock;
pub use many_agents::{OneAgent, run_agents};
pub use operator::{Cancelled, Operator};
pub use setup::streams;
pub use stop::{Stop, StopSwitch};
