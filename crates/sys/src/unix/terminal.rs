//! Terminals: keys that are not shown, questions whose answers are not.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Brings the attributes back when dropped.
#[derive(Debug)]
pub(crate) struct Before(Termios);

/// `_POSIX_VDISABLE` of Linux and of the BSDs: no key has this meaning.
const NO_KEY: u8 = if cfg!(any(target_os = "linux", target_os = "android")) {
    0
} else {
    0xff
};

impl Before {
    /// The next byte that was typed; does not wait.
    pub(crate) fn key(&self) -> Option<u8> {
        let input = io::stdin();
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut ready, Some(&at_once)).ok()? == 0 {
            return None;
        }
        let mut byte = [0];
        let count = rustix::io::read(&input, &mut byte).ok()?;
        (count == 1).then_some(byte[0])
    }
}

/// Silences standard input, where that is a terminal; it gives key by key.
pub(crate) fn silence() -> io::Result<Option<Before>> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(None);
    }
    let before = tcgetattr(&input)?;
    let mut quiet = before.clone();
    quiet
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ICANON);
    quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
    quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
    quiet.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
    tcsetattr(&input, OptionalActions::Now, &quiet)?;
    Ok(Some(Before(before)))
}

impl Drop for Before {
    fn drop(&mut self) {
        // What was typed meanwhile was meant for nobody.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// Asks on `/dev/tty`, without echo.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    terminal.write_all(question.as_bytes())?;
    // What was typed ahead was seen.
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    terminal.write_all(b"\n")?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
