//! Terminals: typing that is not shown, questions whose answers are not.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

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

/// Silences standard input, where that is a terminal.
pub(crate) fn silence() -> io::Result<Option<Before>> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(None);
    }
    let before = tcgetattr(&input)?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
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
