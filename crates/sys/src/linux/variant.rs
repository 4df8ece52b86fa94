//! Numbers and names that differ between Unix systems.

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

/// `SIOCGIFMTU` of `linux/sockios.h`.
pub(crate) const INTERFACE_MTU: Option<u32> = Some(0x8921);
