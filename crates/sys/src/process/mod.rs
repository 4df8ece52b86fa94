//! The process: its account, its resources, its terminal, and those that started it.

mod account;
mod daemon;
mod inherited;
mod interrupts;
mod realtime;
mod service_manager;
mod terminal;
mod usage;

pub use account::Account;
pub use daemon::Daemon;
pub use inherited::InheritedSockets;
pub use interrupts::{Interrupts, Signal, ignore_sigpipe};
pub use realtime::Realtime;
pub use service_manager::{notify_descriptor, notify_service_manager};
pub use terminal::{QuietInput, ask_secret};
pub use usage::{
    CpuTime, ThreadTime, cpu_time_of, current_placement, exit_now, is_running, peak_memory,
    process_cpu_time, raise_descriptor_limit, release_free_memory, run_on_processor,
    share_one_heap, thread_cpu_time, thread_run_delay,
};
