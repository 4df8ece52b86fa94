//! A browser that opens the page. It gets a file that leads there, so that the key is in nobody's list
//! of processes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tapeline_web::Key;

use crate::run::history::note;

/// A file that leads to the page; it goes with this value.
#[derive(Debug)]
pub(crate) struct Way(PathBuf);

impl Way {
    /// Opens the page in a browser.
    ///
    /// # Errors
    /// The file cannot be written, or there is no browser.
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = folder.filter(|folder| folder.is_dir());
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        // Nobody else can know the name and be there first.
        let path = folder.join(format!("tapeline-{}.html", Key::random().text()));
        let mut file = private(&path)?;
        let way = Self(path);
        writeln!(
            file,
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>tapeline</title>\
             <meta http-equiv=\"refresh\" content=\"0; url={address}\">\
             <p><a href=\"{address}\">the page</a></p>"
        )?;
        let (program, before) = opener();
        let mut command = Command::new(program);
        command
            .args(before)
            .arg(&way.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C here does not close a browser that was started.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        // It may be the browser itself, which loads the page before it ends.
        std::thread::Builder::new()
            .name("browser".into())
            .spawn(move || match child.wait() {
                Ok(status) if !status.success() => {
                    note(&format!("no browser was opened by {program}"));
                }
                Ok(_) | Err(_) => {}
            })?;
        Ok(way)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        // A file that is gone already needs no removal.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What opens a file with the program that the user has for it.
fn opener() -> (&'static str, &'static [&'static str]) {
    if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    }
}

/// A new file that nobody else can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
