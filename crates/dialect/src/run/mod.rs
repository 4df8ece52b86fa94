//! What every run needs, whichever protocol it speaks: its services and tasks, addresses, what is said
//! of the end of a flow, and what both ends of a control connection do alike.

pub(crate) mod address;
pub(crate) mod context;
pub(crate) mod control_socket;
pub(crate) mod event_limiter;
pub(crate) mod flow_end;
pub(crate) mod tasks;
