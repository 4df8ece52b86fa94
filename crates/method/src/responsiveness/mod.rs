//! `responsiveness`: round trips per minute while the path is loaded
//! (draft-ietf-ippm-responsiveness).
//!
//! ```text
//!  procedure ─► loaded ─┬─ load connections (ordinary tests) ─► gauge ◄─ fresh_probe (new connections)
//!                       └─ each interval: gauge ─► ResponsivenessSearch ─► more of it, or the end
//! ```

mod fresh_probe;
mod gauge;
mod loaded;
mod procedure;

pub use procedure::ResponsivenessPlan;
