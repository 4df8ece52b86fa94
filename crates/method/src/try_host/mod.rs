//! `try HOST`: one page about a path, for everybody.
//!
//! ```text
//!  procedure ─► peer   which program answers there, and what measures round trips with it
//!          ├──► idle      a flow as small as a call's
//!          ├──► packets   the largest packet
//!          └──► load      TCP as fast as it goes, with round trips beside it ─► rate_meter
//! ```

mod idle;
mod load;
mod packets;
mod procedure;
mod rate_meter;

pub use procedure::TryPlan;
