//! Files that are read: one whose bytes a test sends, one that holds a secret.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Files beyond this hold no key, bytes.
const LONGEST: u64 = 4096;

/// Says how to mend it.
const READABLE_BY_ALL: &str = "all users of this system can read it (chmod o-r)";

/// Bytes of a file that can be read; 0 for pipes and devices.
///
/// Only regular files are opened here: a pipe's writer would be notified that its reader has gone as soon
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

/// The key in a file: all of its bytes, but for a line end behind them.
///
/// # Errors
/// The file cannot be read, is longer than 4 KiB, or can be read by everybody.
pub(crate) fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    check_secret(&file)?;
    let mut key = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut key)?;
    if key.len() as u64 > LONGEST {
        return Err(io::Error::other("longer than 4 KiB"));
    }
    key.truncate(without_line_end(&key).len());
    Ok(key)
}

fn without_line_end(content: &[u8]) -> &[u8] {
    match content {
        [key @ .., b'\r', b'\n'] | [key @ .., b'\n'] => key,
        key => key,
    }
}

/// What must hold for any content of a file.
#[cfg(any(test, fuzzing))]
pub(crate) fn secret_contract(content: &[u8]) {
    let key = without_line_end(content);
    let rest = content.strip_prefix(key).expect("the rest");
    assert!(matches!(rest, b"" | b"\n" | b"\r\n"));
    if let Ok(key) = tapeline_dialect::PermitKey::new(key) {
        assert!(content.starts_with(key.as_bytes()));
    }
}

/// Looks who may read a file with a secret in it. Members of its group may: that is how a service
/// shares one with its administrators.
///
/// # Errors
/// Everybody may; those of `fstat(2)`.
#[cfg(unix)]
pub(crate) fn check_secret(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    const OTHERS_READ: u32 = 0o004;
    match file.metadata()?.permissions().mode() & OTHERS_READ {
        0 => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            READABLE_BY_ALL,
        )),
    }
}

/// Who may read a file is not shown by its mode here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) fn check_secret(_: &File) -> io::Result<()> {
    let _ = READABLE_BY_ALL;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_a_file_holds_without_its_line_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            restrict(&path, 0o600);
            read_key(&path)
        };
        for (bytes, key) in [
            (&b"open sesame"[..], &b"open sesame"[..]),
            (b"open sesame\n", b"open sesame"),
            (b"open sesame\r\n", b"open sesame"),
            (b" two\nlines\n\n", b" two\nlines\n"),
            (b"\xff\0\r", b"\xff\0\r"),
            (b"", b""),
        ] {
            assert_eq!(read(bytes).expect("a key"), key);
        }
        assert!(read(&[b'x'; 4097]).is_err());
        assert!(read_key(&folder.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_everybody_can_read_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "open sesame").expect("written");
        for (mode, kind) in [
            (0o600, None),
            (0o640, None),
            (0o604, Some(io::ErrorKind::PermissionDenied)),
            (0o644, Some(io::ErrorKind::PermissionDenied)),
        ] {
            restrict(&path, mode);
            let refused = read_key(&path).err().map(|error| error.kind());
            assert_eq!(refused, kind, "{mode:o}");
        }
    }

    #[cfg(unix)]
    fn restrict(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("its mode");
    }

    #[cfg(not(unix))]
    fn restrict(_: &Path, _: u32) {}

    #[test]
    fn what_cannot_be_read_is_reported_before_a_test() {
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
