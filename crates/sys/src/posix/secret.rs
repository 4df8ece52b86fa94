//! `/dev/tty` without echo.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

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
