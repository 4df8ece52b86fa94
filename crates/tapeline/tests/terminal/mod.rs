//! A terminal of our own, on which the program under test runs.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A process on a terminal.
pub(crate) struct OnTerminal {
    pub(crate) child: Child,
    /// The program's end of the terminal.
    pub(crate) terminal: File,
    /// What is typed on it.
    pub(crate) keys: File,
    /// What the program writes, as it comes.
    pub(crate) chunks: Receiver<Vec<u8>>,
}

impl OnTerminal {
    /// Starts a command on a terminal of so many columns.
    pub(crate) fn spawn(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("permission");
        unlockpt(&master).expect("a terminal that can be opened");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let name = name.into_string().expect("text");
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .open(&name)
                .expect("the terminal")
        };
        let terminal = open();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal, size).expect("a size");
        let child = command
            .env("TERM", "xterm")
            .stdin(Stdio::from(OwnedFd::from(open())))
            .stdout(Stdio::from(OwnedFd::from(open())))
            .stderr(Stdio::from(OwnedFd::from(open())))
            .spawn()
            .expect("the program starts");
        let (sender, chunks) = mpsc::channel();
        let keys = File::from(master.try_clone().expect("a descriptor"));
        let mut reader = File::from(master);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            terminal,
            keys,
            chunks,
        }
    }
}
