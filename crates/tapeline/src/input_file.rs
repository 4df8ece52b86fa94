//! A file whose bytes a test sends.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Bytes of a file that can be read; 0 for pipes and devices.
///
/// Only regular files are opened here: a pipe's writer would be told that its reader has gone as soon
/// as that were closed again, before the test had read anything.
///
/// # Errors
/// Those of `stat(2)` and `open(2)`.
pub(crate) fn size_of_input(path: &Path) -> io::Result<u64> {
    let facts = fs::metadata(path)?;
    if facts.is_file() {
        File::open(path)?;
    }
    Ok(facts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_told_before_a_test() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("input");
        fs::write(&file, b"12345").expect("a file");
        assert_eq!(size_of_input(&file).expect("a size"), 5);
        fs::remove_file(&file).expect("the file");
        let error = size_of_input(&file).expect_err("no file");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_left_to_the_test_that_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|status| status.success()), "no pipe");
        // Opened, it would be waited for its writer, without end.
        assert_eq!(size_of_input(&path).expect("a pipe"), 0);
    }
}
