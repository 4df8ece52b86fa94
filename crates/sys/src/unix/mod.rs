//! macOS, FreeBSD and their kin.

#[path = "../posix/account.rs"]
pub(crate) mod account;
pub(crate) mod clock;
#[path = "../posix/daemon.rs"]
pub(crate) mod daemon;
pub(crate) mod datagrams;
#[path = "../portable/device_tap.rs"]
pub(crate) mod device_tap;
#[path = "../portable/host.rs"]
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
#[path = "../portable/poller.rs"]
pub(crate) mod poller;
pub(crate) mod process;
#[path = "../posix/quiet_input.rs"]
pub(crate) mod quiet_input;
#[path = "../posix/readiness.rs"]
pub(crate) mod readiness;
pub(crate) mod realtime;
#[path = "../portable/receive_batch.rs"]
pub(crate) mod receive_batch;
#[path = "../posix/receive_one.rs"]
pub(crate) mod receive_one;
#[path = "../posix/resolver.rs"]
pub(crate) mod resolver;
#[path = "../portable/returned.rs"]
pub(crate) mod returned;
#[path = "../posix/secret.rs"]
pub(crate) mod secret;
#[path = "../portable/segments.rs"]
pub(crate) mod segments;
#[path = "../posix/service_manager.rs"]
pub(crate) mod service_manager;
#[path = "../posix/sockopt.rs"]
pub(crate) mod sockopt;
#[path = "../portable/spliced_payload.rs"]
pub(crate) mod spliced_payload;
pub(crate) mod stream;
#[cfg_attr(target_vendor = "apple", path = "tcp_info_apple.rs")]
#[cfg_attr(target_os = "freebsd", path = "tcp_info_freebsd.rs")]
#[cfg_attr(
    not(any(target_vendor = "apple", target_os = "freebsd")),
    path = "../portable/tcp_info.rs"
)]
pub(crate) mod tcp_info;
#[path = "../posix/usage.rs"]
mod usage;
pub(crate) mod waker;

/// Flags of every send: a closed peer is an error, not a signal. Apple's sockets have the
/// same as an option, set when they are created.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const SEND_FLAGS: libc::c_int = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
pub(crate) const SEND_FLAGS: libc::c_int = 0;

/// `EAI_NODATA` (7) and `EAI_ADDRFAMILY` (1), deprecated but still returned.
pub(crate) const NO_ADDRESS_CODES: [libc::c_int; 2] = [7, 1];

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
use libc::__error as errno_function;

#[cfg(target_os = "dragonfly")]
use libc::__errno_location as errno_function;

#[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
use libc::__errno as errno_function;

/// Where this thread's `errno` lives.
pub(crate) fn errno_location() -> *mut libc::c_int {
    // SAFETY: returns a valid address; takes and keeps nothing.
    unsafe { errno_function() }
}
