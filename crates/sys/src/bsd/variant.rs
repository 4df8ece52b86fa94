//! Numbers and names that differ between Unix systems.

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

/// `SIOCGIFMTU` of `sys/sockio.h`: `_IOWR('i', 51, struct ifreq)`, whose length is 32.
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(crate) const INTERFACE_MTU: Option<u32> = Some(0xc020_6933);
#[cfg(not(any(target_vendor = "apple", target_os = "freebsd")))]
pub(crate) const INTERFACE_MTU: Option<u32> = None;
