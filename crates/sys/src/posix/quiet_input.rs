//! Attributes of the terminal behind standard input.

use std::io::{self, IsTerminal};

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

pub(crate) fn start() -> io::Result<Option<Before>> {
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
