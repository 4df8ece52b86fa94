//! The highest priority class that needs no privileges; memory is not locked.

use std::io;

use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, HIGH_PRIORITY_CLASS, SetPriorityClass,
};

pub(crate) fn schedule() -> io::Result<()> {
    // SAFETY: the pseudo handle is always valid.
    if unsafe { SetPriorityClass(GetCurrentProcess(), HIGH_PRIORITY_CLASS) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

pub(crate) fn lock_memory() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
