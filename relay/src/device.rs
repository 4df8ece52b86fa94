//! TUN devices: interfaces whose packets a program carries.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns` keeps the network namespaces.
const NAMESPACES: &str = "/run/netns";
/// The kernel's door to such devices.
const DOOR: &str = "/dev/net/tun";

/// A TUN device; it vanishes from its namespace when dropped.
#[derive(Debug)]
pub struct TunDevice {
    file: File,
}

impl TunDevice {
    /// Makes the device `name` in the network namespace `namespace` of `ip netns`, down and without
    /// an address.
    ///
    /// # Errors
    /// No such namespace, no privilege, no TUN support, or a name that is taken or too long.
    pub fn create(namespace: &str, name: &str) -> io::Result<Self> {
        let namespace = File::open(Path::new(NAMESPACES).join(namespace))?;
        // A thread of its own: entering a namespace concerns the thread alone, the file everyone.
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind)?;
                Self::open(name)
            });
            opened.join().map_err(|_| io::ErrorKind::Other)?
        })
    }

    fn open(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DOOR)?;
        let mut words = [0; libc::IFNAMSIZ];
        if name.len() >= words.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (word, byte) in words.iter_mut().zip(name.bytes()) {
            *word = byte as libc::c_char;
        }
        let mut request = libc::ifreq {
            ifr_name: words,
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
            },
        };
        // SAFETY: TUNSETIFF takes a pointer to an `ifreq`, which lives to the end of this function
        // and has its name ended by a zero and its flags set.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file })
    }

    /// Takes the next packet that was sent into the interface; nothing when there is none.
    pub(crate) fn take(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a packet arrive at the interface.
    pub(crate) fn put(&self, packet: &[u8]) -> io::Result<()> {
        match rustix::io::write(&self.file, packet) {
            // An interface that is down, or a full queue, loses the packet, as a network does.
            Ok(_) | Err(rustix::io::Errno::IO | rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
