//! Linux and Android.

#[path = "../posix/account.rs"]
pub(crate) mod account;
pub(crate) mod clock;
pub(crate) mod control;
#[path = "../posix/daemon.rs"]
pub(crate) mod daemon;
pub(crate) mod datagrams;
pub(crate) mod device_tap;
pub(crate) mod host;
#[path = "../posix/inherited.rs"]
pub(crate) mod inherited;
#[path = "../posix/interfaces.rs"]
pub(crate) mod interfaces;
#[path = "../posix/interrupts.rs"]
pub(crate) mod interrupts;
#[path = "../posix/ip_options.rs"]
mod ip_options;
#[path = "../posix/multicast.rs"]
pub(crate) mod multicast;
pub(crate) mod options;
pub(crate) mod poller;
#[cfg(test)]
#[path = "../portable/poller.rs"]
mod portable_poller;
#[cfg(test)]
#[path = "../portable/receive_batch.rs"]
mod portable_receive_batch;
#[cfg(test)]
#[path = "../unix/waker.rs"]
mod portable_waker;
pub(crate) mod process;
#[path = "../posix/quiet_input.rs"]
pub(crate) mod quiet_input;
#[path = "../posix/readiness.rs"]
pub(crate) mod readiness;
pub(crate) mod realtime;
pub(crate) mod receive_batch;
#[cfg(test)]
#[path = "../posix/receive_one.rs"]
mod receive_one;
#[path = "../posix/resolver.rs"]
pub(crate) mod resolver;
pub(crate) mod returned;
#[path = "../posix/secret.rs"]
pub(crate) mod secret;
pub(crate) mod segments;
#[path = "../posix/service_manager.rs"]
pub(crate) mod service_manager;
#[path = "../posix/sockopt.rs"]
pub(crate) mod sockopt;
pub(crate) mod spliced_payload;
pub(crate) mod stream;
pub(crate) mod tcp_info;
#[path = "../posix/usage.rs"]
mod usage;
pub(crate) mod waker;

/// Flags of every send: a closed peer is an error, not a signal.
pub(crate) const SEND_FLAGS: libc::c_int = libc::MSG_NOSIGNAL;

/// `EAI_NODATA` (-5) and `EAI_ADDRFAMILY` (-9) of glibc and musl.
pub(crate) const NO_ADDRESS_CODES: [libc::c_int; 2] = [-5, -9];

/// Where this thread's `errno` lives.
pub(crate) fn errno_location() -> *mut libc::c_int {
    // SAFETY: returns a valid address; takes and keeps nothing.
    unsafe { errno_function() }
}

#[cfg(target_os = "linux")]
use libc::__errno_location as errno_function;

#[cfg(target_os = "android")]
use libc::__errno as errno_function;
