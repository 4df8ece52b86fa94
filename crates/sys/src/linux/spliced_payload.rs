//! Pages in a pipe, duplicated into a second one (`tee(2)`), which a socket empties
//! (`splice(2)`).

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::pipe::{
    IoSliceRaw, PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice, tee, vmsplice,
};
use socket2::Socket;

/// Most pieces of one `vmsplice` (`UIO_MAXIOV`).
const MAX_PIECES: usize = 1024;

/// Memory of its own pages. The kernel sends from them after the call, perhaps after this was
/// dropped: pages that an allocator gave out would be written to by their next owner, while
/// unmapped ones live on until they have left.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone and nothing writes to it after `of`.
unsafe impl Send for Pages {}

impl Pages {
    fn of(bytes: &[u8]) -> io::Result<Self> {
        let length = bytes.len();
        // SAFETY: asks for new memory at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the mapping is new, writable and at least so long.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), length) };
        Ok(Self { start, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and initialised by `of` for as long as `self` lives.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: maps exactly what `of` mapped; no reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[derive(Debug)]
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    fn new(size: usize) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        if fcntl_setpipe_size(&write, size)? < size {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { read, write })
    }
}

/// A block in a pipe.
#[derive(Debug)]
pub(crate) struct Payload {
    /// The block, which stays.
    source: Pipe,
    /// Where its duplicate waits for room in the socket.
    way: Pipe,
    /// Bytes of the block.
    length: usize,
    /// Bytes on the way.
    waiting: usize,
    _pages: Pages,
}

impl Payload {
    pub(crate) fn new(chunk: &[u8], length: usize) -> io::Result<Self> {
        let pages = Pages::of(&chunk[..chunk.len().min(length)])?;
        let size = slots(chunk.len(), length) * page_size();
        let (source, way) = (Pipe::new(size)?, Pipe::new(size)?);
        fill(&source, pages.bytes(), length)?;
        Ok(Self {
            source,
            way,
            length,
            waiting: 0,
            _pages: pages,
        })
    }

    #[inline]
    pub(crate) fn send(&mut self, socket: &Socket, max: usize) -> io::Result<usize> {
        if self.waiting == 0 {
            let length = self.length.min(max);
            self.waiting = tee(
                &self.source.read,
                &self.way.write,
                length,
                SpliceFlags::empty(),
            )?;
        }
        // A closed peer raises SIGPIPE, which Rust's runtime ignores.
        let length = self.waiting.min(max);
        let sent = splice(
            &self.way.read,
            None,
            socket,
            None,
            length,
            SpliceFlags::empty(),
        )?;
        self.waiting -= sent;
        Ok(sent)
    }
}

/// Pages that a pipe holds for `length` bytes in pieces of `chunk`, each of which begins a page.
fn slots(chunk: usize, length: usize) -> usize {
    let pages = |bytes: usize| bytes.div_ceil(page_size());
    length / chunk * pages(chunk) + pages(length % chunk)
}

fn page_size() -> usize {
    rustix::param::page_size()
}

/// Puts `chunk`, repeated to `length`, into `pipe` without copying it.
fn fill(pipe: &Pipe, chunk: &[u8], length: usize) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let mut pieces = Vec::new();
        let mut offered = 0;
        while offered < left && pieces.len() < MAX_PIECES {
            let piece = &chunk[..chunk.len().min(left - offered)];
            pieces.push(IoSliceRaw::from_slice(piece));
            offered += piece.len();
        }
        // SAFETY: the pieces lie in pages that nothing writes to, and that stay with the kernel
        // when they are unmapped.
        let taken = unsafe { vmsplice(&pipe.write, &pieces, SpliceFlags::empty()) }?;
        // A shorter trip would break the order of the pieces.
        if taken < offered {
            return Err(io::ErrorKind::Unsupported.into());
        }
        left -= taken;
    }
    Ok(())
}
