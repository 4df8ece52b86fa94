//! Where a report goes: standard output, a file that grows, a file that is replaced whole.

use std::fs::OpenOptions;
use std::io::{self, LineWriter, Write};
use std::path::Path;

use tapeline_base::Role;
use tapeline_sys::reason;

use super::whole_file::WholeFile;
use crate::message::CliMessage;
use crate::presentation::{DocumentForm, TextStyle};

/// Opens the destination of a form. Standard output and files that grow are written line by line,
/// so that nothing is lost when the process is killed and a reader sees each row at once. A
/// client's documents appear whole or not at all.
///
/// # Errors
/// The message that says why the file cannot be written.
pub(crate) fn open(
    style: TextStyle,
    path: Option<&Path>,
    role: Role,
) -> Result<Box<dyn Write + Send>, CliMessage> {
    let Some(path) = path else {
        return Ok(Box::new(io::stdout()));
    };
    let opened: io::Result<Box<dyn Write + Send>> = if is_whole(style, role) && replaceable(path) {
        WholeFile::create(path).map(|file| Box::new(file) as _)
    } else {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map(|file| Box::new(LineWriter::new(file)) as _)
    };
    opened.map_err(|error| unwritable(style, path, &error))
}

/// Whether a form is written at once, when a test is over: files of it are replaced.
pub(crate) fn is_whole(style: TextStyle, role: Role) -> bool {
    match style {
        TextStyle::Document(DocumentForm::Html) => true,
        TextStyle::Document(DocumentForm::Json | DocumentForm::Csv | DocumentForm::SeriesCsv) => {
            role == Role::Client
        }
        _ => false,
    }
}

/// Whether a file can take the place of what is there; devices and pipes are written to.
fn replaceable(path: &Path) -> bool {
    path.metadata().map_or(true, |known| known.is_file())
}

/// Says why a file of a form cannot be written.
pub(crate) fn unwritable(style: TextStyle, path: &Path, error: &io::Error) -> CliMessage {
    CliMessage::err(match style {
        TextStyle::Native | TextStyle::Document(_) => {
            format!(
                "error: cannot write to {}: {}",
                path.display(),
                reason(error)
            )
        }
        TextStyle::Iperf3(_) => {
            format!("iperf3: error - unable to open log file: {}", reason(error))
        }
        TextStyle::Iperf2Text | TextStyle::Csv => {
            format!("freopen stdout\n failed: {}", reason(error))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_appended_to() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("report");
        for line in ["one", "two"] {
            let mut output =
                open(TextStyle::Native, Some(&path), Role::Client).expect("a writable file");
            writeln!(output, "{line}").expect("a written line");
        }
        assert_eq!(
            std::fs::read_to_string(path).expect("the report"),
            "one\ntwo\n"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let path = Some(Path::new("/no/such/directory/x"));
        let refused = |style| {
            let opened = open(style, path, Role::Client);
            opened.err().expect("an error").text
        };
        assert_eq!(
            refused(TextStyle::Iperf2Text),
            "freopen stdout\n failed: No such file or directory"
        );
        for style in [
            TextStyle::Native,
            TextStyle::Document(DocumentForm::Json),
            TextStyle::Document(DocumentForm::Stream),
        ] {
            let text = refused(style);
            assert!(
                text.starts_with("error: cannot write to /no/such/directory/x: "),
                "{text}"
            );
        }
    }

    #[test]
    fn documents_replace_what_was_there() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("report");
        std::fs::write(&path, "old").expect("a file");
        let form = TextStyle::Document(DocumentForm::Json);
        let mut output = open(form, Some(&path), Role::Client).expect("a writable file");
        write!(output, "{{}}").expect("a written document");
        let read = || std::fs::read_to_string(&path).expect("the report");
        assert_eq!(read(), "old");
        output.flush().expect("a file in its place");
        assert_eq!(read(), "{}");
        // A server's lines are added.
        let mut output = open(form, Some(&path), Role::Server).expect("a writable file");
        writeln!(output, "{{}}").expect("a written line");
        assert_eq!(read(), "{}{}\n");
    }

    #[test]
    fn a_device_is_not_replaced() {
        let null = Path::new("/dev/null");
        if null.exists() {
            assert!(!replaceable(null));
        }
        assert!(replaceable(Path::new("/no/such/file")));
    }
}
