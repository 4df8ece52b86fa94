//! What a service asks of the system: `setuid(2)`, `fork(2)` and `setsid(2)`, `LISTEN_FDS`, and the
//! socket of a service manager.

use std::ffi::{CStr, CString, OsStr};
use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, gid_t, uid_t};
use socket2::Socket;

use super::usage::exit_now;

/// Room for a line of the user database, bytes.
const LONGEST_ENTRY: usize = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    user: uid_t,
    group: gid_t,
    /// The user's name, whose memberships count; a number need not have one.
    name: Option<CString>,
}

impl Account {
    pub(crate) fn look_up(user: &str, group: Option<&str>) -> io::Result<Self> {
        let entry = match user.parse::<uid_t>() {
            Ok(number) => user_numbered(number)?,
            Err(_) => user_named(user)?,
        };
        let group = group.map(group_named).transpose()?;
        match (entry, group, user.parse()) {
            (Some(entry), group, _) => Ok(Self {
                group: group.unwrap_or(entry.group),
                ..entry
            }),
            (None, Some(group), Ok(user)) => Ok(Self {
                user,
                group,
                name: None,
            }),
            (None, ..) => Err(unknown(format!("there is no user {user}"))),
        }
    }

    pub(crate) fn assume(&self) -> io::Result<()> {
        // Groups first: who is not root any more may not change them.
        // SAFETY: the name, and the one group, live during the call.
        let joined = unsafe {
            match &self.name {
                Some(name) => libc::initgroups(name.as_ptr(), base(self.group)),
                None => libc::setgroups(1, &raw const self.group),
            }
        };
        checked(joined)?;
        // SAFETY: these calls take numbers and keep nothing. The C library's, unlike the bare
        // system calls, change all threads.
        unsafe {
            checked(libc::setgid(self.group))?;
            checked(libc::setuid(self.user))?;
            let users = [libc::getuid(), libc::geteuid()];
            let groups = [libc::getgid(), libc::getegid()];
            if users != [self.user; 2] || groups != [self.group; 2] {
                return Err(io::Error::other("the system kept the user as it was"));
            }
            if self.user != 0 && libc::setuid(0) == 0 {
                return Err(io::Error::other("the process could become root again"));
            }
        }
        Ok(())
    }
}

fn checked(result: c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_vendor = "apple")]
fn base(group: gid_t) -> c_int {
    group.cast_signed()
}

#[cfg(not(target_vendor = "apple"))]
fn base(group: gid_t) -> gid_t {
    group
}

fn unknown(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, sentence)
}

fn c_string(name: &str) -> io::Result<CString> {
    CString::new(name).map_err(|_| unknown(format!("there is no {name:?}")))
}

fn user_named(name: &str) -> io::Result<Option<Account>> {
    let name = c_string(name)?;
    entry(|entry, room, length, found| {
        // SAFETY: the name lives during the call; the rest is what `entry` hands over for it.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, room, length, found) }
    })
}

fn user_numbered(number: uid_t) -> io::Result<Option<Account>> {
    entry(|entry, room, length, found| {
        // SAFETY: all pointers are what `entry` hands over for it.
        unsafe { libc::getpwuid_r(number, entry, room, length, found) }
    })
}

/// What one of the two functions above finds.
fn entry(
    look_up: impl Fn(*mut libc::passwd, *mut c_char, usize, *mut *mut libc::passwd) -> c_int,
) -> io::Result<Option<Account>> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut room: Vec<c_char> = vec![0; LONGEST_ENTRY];
    let mut found = ptr::null_mut();
    let result = look_up(
        entry.as_mut_ptr(),
        room.as_mut_ptr(),
        room.len(),
        &raw mut found,
    );
    if found.is_null() {
        return not_found(result);
    }
    // SAFETY: it was found, so that the function has filled in the entry; its name lies in `room`.
    let (entry, name) = unsafe {
        let entry = entry.assume_init();
        (entry, CStr::from_ptr(entry.pw_name).to_owned())
    };
    Ok(Some(Account {
        user: entry.pw_uid,
        group: entry.pw_gid,
        name: Some(name),
    }))
}

fn group_named(name: &str) -> io::Result<gid_t> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let wanted = c_string(name)?;
    let mut entry = MaybeUninit::<libc::group>::uninit();
    let mut room: Vec<c_char> = vec![0; LONGEST_ENTRY];
    let mut found = ptr::null_mut();
    // SAFETY: all of it lives during the call, and is as long as it says.
    let result = unsafe {
        libc::getgrnam_r(
            wanted.as_ptr(),
            entry.as_mut_ptr(),
            room.as_mut_ptr(),
            room.len(),
            &raw mut found,
        )
    };
    if found.is_null() {
        let nobody = not_found::<gid_t>(result)?;
        return nobody.ok_or_else(|| unknown(format!("there is no group {name}")));
    }
    // SAFETY: it was found, so that the function has filled in the entry.
    Ok(unsafe { entry.assume_init() }.gr_gid)
}

/// Systems say in several ways that there is no such entry.
fn not_found<T>(result: c_int) -> io::Result<Option<T>> {
    match result {
        0 | libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => Ok(None),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Notifies the process that was started.
#[derive(Debug)]
pub(crate) struct Ready {
    waiting: PipeWriter,
}

/// Goes on in a child process.
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
    let ready = reader.read_exact(&mut [0]).is_ok();
    exit_now(c_int::from(!ready))
}

impl Ready {
    pub(crate) fn notify(mut self) -> io::Result<()> {
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

/// The first descriptor that is handed over.
const FIRST_INHERITED: RawFd = 3;

/// Each descriptor has one owner.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The sockets that were handed over, by their numbers.
pub(crate) fn take() -> io::Result<Vec<(RawFd, Socket)>> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(std::process::id()) || TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS").unwrap_or(0) as usize;
    let numbers = (FIRST_INHERITED..).take(count);
    numbers.map(|number| Ok((number, own(number)?))).collect()
}

/// Takes a descriptor over; processes that this one starts do not get it.
fn own(number: RawFd) -> io::Result<Socket> {
    // SAFETY: sets a flag of a descriptor, if there is one of this number.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(
            error.kind(),
            format!("descriptor {number} is not open"),
        ));
    }
    // SAFETY: the descriptor is open, as seen above; who started this process left it to the one
    // that calls this, and this happens once.
    Ok(unsafe { Socket::from_raw_fd(number) })
}

/// A message to the socket of a service manager.
pub(crate) fn notify(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => abstract_address(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(state.as_bytes(), &address)
        .map(drop)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    #[cfg(target_os = "android")]
    use std::os::android::net::SocketAddrExt;
    #[cfg(target_os = "linux")]
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A line end to a descriptor that was handed down.
pub(crate) fn write_line_end(number: u32) -> io::Result<()> {
    let path = format!("/dev/fd/{number}");
    OpenOptions::new().write(true).open(path)?.write_all(b"\n")
}
