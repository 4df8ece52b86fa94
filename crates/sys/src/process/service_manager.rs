//! What a service reports to the process that started it.

use std::io;

use crate::platform::service as system;

/// Notifies the service manager of this process's state, such as `READY=1`, if it wants to know:
/// then it has set `NOTIFY_SOCKET` (`sd_notify(3)`). Without it nothing happens.
///
/// # Errors
/// Those of `socket(2)` and `sendto(2)`; `Unsupported` for an abstract name where the system has
/// none.
pub fn notify_service_manager(state: &str) -> io::Result<()> {
    match std::env::var_os("NOTIFY_SOCKET") {
        Some(name) => system::notify(&name, state),
        None => Ok(()),
    }
}

/// Writes a line end to a descriptor that this process was started with, which is how supervisors
/// such as s6 learn that a service is ready.
///
/// # Errors
/// There is no such descriptor, it cannot be written, or the system has none (Windows).
pub fn notify_descriptor(number: u32) -> io::Result<()> {
    system::write_line_end(number)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_state_reaches_the_socket_that_is_named() {
        let folder = std::env::temp_dir().join(format!("tapeline-notify-{}", std::process::id()));
        let socket = UnixDatagram::bind(&folder).expect("a socket");
        let sent = system::notify(folder.as_os_str(), "READY=1");
        let mut message = [0; 16];
        let received = socket.recv(&mut message).expect("a message");
        std::fs::remove_file(&folder).expect("removed");
        assert!(sent.is_ok());
        assert_eq!(&message[..received], b"READY=1");
        let missing = system::notify(folder.as_os_str(), "READY=1");
        assert!(missing.is_err());
    }

    #[test]
    fn a_line_end_reaches_the_descriptor() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let number = u32::try_from(writer.as_raw_fd()).expect("a number");
        notify_descriptor(number).expect("written");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "\n");
        assert!(notify_descriptor(999_999).is_err());
    }
}
