//! Where the report goes: standard output or the file of `-o`.

use std::fs::OpenOptions;
use std::io::{self, LineWriter, Write};

use tapeline_sys::reason;

use crate::message::CliMessage;
use crate::presentation::{Presentation, TextStyle};

/// Opens the report's destination, line by line in either case, so that nothing is lost
/// when the process is killed and a reader sees each row at once. A file is appended to.
///
/// # Errors
/// The message that says why the file cannot be written.
pub(crate) fn open(presentation: &Presentation) -> Result<Box<dyn Write + Send>, CliMessage> {
    let Some(path) = &presentation.output_file else {
        return Ok(Box::new(io::stdout()));
    };
    match OpenOptions::new().create(true).append(true).open(path) {
        Ok(file) => Ok(Box::new(LineWriter::new(file))),
        Err(error) => Err(CliMessage::err(match presentation.style {
            TextStyle::Native => {
                format!(
                    "tapeline: cannot write to {}: {}",
                    path.display(),
                    reason(&error)
                )
            }
            TextStyle::Iperf3(_) => {
                format!(
                    "iperf3: error - unable to open log file: {}",
                    reason(&error)
                )
            }
            TextStyle::Iperf2Text | TextStyle::Csv => {
                format!("freopen stdout\n failed: {}", reason(&error))
            }
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_appended_to() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("report");
        let mut presentation = Presentation::new(TextStyle::Native);
        presentation.output_file = Some(path.clone());
        for line in ["one", "two"] {
            let mut output = open(&presentation).expect("a writable file");
            writeln!(output, "{line}").expect("a written line");
        }
        assert_eq!(
            std::fs::read_to_string(path).expect("the report"),
            "one\ntwo\n"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let mut presentation = Presentation::new(TextStyle::Iperf2Text);
        presentation.output_file = Some("/no/such/directory/x".into());
        let message = open(&presentation).err().expect("an error");
        assert_eq!(
            message.text,
            "freopen stdout\n failed: No such file or directory"
        );
        presentation.style = TextStyle::Native;
        let message = open(&presentation).err().expect("an error");
        assert!(
            message
                .text
                .starts_with("tapeline: cannot write to /no/such/directory/x: ")
        );
    }
}
