//! `fork(2)` and `setsid(2)`.

use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use libc::c_int;

use super::usage::exit_now;

/// Tells the process that was started.
#[derive(Debug)]
pub(crate) struct Ready {
    waiting: PipeWriter,
}

pub(crate) fn start() -> io::Result<Ready> {
    let (reader, waiting) = io::pipe()?;
    // SAFETY: the caller promises to have started no threads, so that the child's memory is
    // in order; both processes go on from here.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(reader);
            // SAFETY: takes and keeps nothing.
            if unsafe { libc::setsid() } == -1 {
                return Err(io::Error::last_os_error());
            }
            null_device(&[libc::STDIN_FILENO, libc::STDOUT_FILENO])?;
            Ok(Ready { waiting })
        }
        _ => {
            drop(waiting);
            wait(reader)
        }
    }
}

/// Ends this process as soon as it is known how the other one's start went.
fn wait(mut reader: PipeReader) -> ! {
    let told = reader.read_exact(&mut [0]).is_ok();
    exit_now(c_int::from(!told))
}

impl Ready {
    pub(crate) fn tell(mut self) -> io::Result<()> {
        null_device(&[libc::STDERR_FILENO])?;
        // Nobody waits any more when the started process was killed.
        let _ = self.waiting.write_all(&[1]);
        Ok(())
    }
}

fn null_device(descriptors: &[c_int]) -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    for descriptor in descriptors {
        // SAFETY: both are descriptors; what the second one was is closed by the kernel.
        if unsafe { libc::dup2(null.as_raw_fd(), *descriptor) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
