//! A file that appears when it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Collects what is written in a file next to its place and puts it there when flushed, so that
/// nobody ever reads a part. What is written afterwards replaces it.
#[derive(Debug)]
pub(crate) struct WholeFile {
    path: PathBuf,
    part: PathBuf,
    /// Open while something is being written; the first one is made at once, to show that it can
    /// be had.
    file: Option<File>,
}

impl WholeFile {
    /// Prepares a file at `path`, which stays as it is until the first flush. A link is followed.
    ///
    /// # Errors
    /// There can be no file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(name) = path.file_name() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let mut part = OsString::from(".");
        part.push(name);
        part.push(format!(".{}.part", process::id()));
        let part = path.with_file_name(part);
        let file = Self::open(&part)?;
        Ok(Self {
            path,
            part,
            file: Some(file),
        })
    }

    fn open(part: &Path) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(part)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Self::open(&self.part)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.file.take() {
            Some(mut file) => {
                file.flush()?;
                drop(file);
                fs::rename(&self.part, &self.path)
            }
            None => Ok(()),
        }
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing can be done about what is left over.
            let _ = fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_completed_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        let mut file = WholeFile::create(&path).expect("a file");
        file.write_all(b"half").expect("written");
        drop(file);
        let entries = fs::read_dir(directory.path()).expect("the directory");
        assert_eq!(entries.count(), 0);
    }

    #[test]
    fn what_comes_later_takes_its_place() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        let mut file = WholeFile::create(&path).expect("a file");
        for text in ["first, longer", "second"] {
            file.write_all(text.as_bytes()).expect("written");
            file.flush().expect("in its place");
            assert_eq!(fs::read_to_string(&path).expect("the file"), text);
        }
        drop(file);
        assert_eq!(fs::read_dir(directory.path()).expect("it").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().expect("a directory");
        let (target, link) = (
            directory.path().join("target"),
            directory.path().join("link"),
        );
        fs::write(&target, "old").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let mut file = WholeFile::create(&link).expect("a file");
        file.write_all(b"new").expect("written");
        file.flush().expect("in its place");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).expect("the target"), "new");
    }
}
