//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// How the name of a file ends that is being written.
pub(crate) const PART: &str = "part";

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner.
    Owner,
    /// All, as the process's mask has it.
    All,
}

/// Writes a file, also for a loss of power right behind it; one that is there is replaced at once.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.{PART}", std::process::id()));
    let written = create(&part, readers).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // Room for others.
        let _ = fs::remove_file(&part);
    }
    written?;
    #[cfg(unix)]
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}

fn create(part: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(match readers {
            Readers::Owner => 0o600,
            Readers::All => 0o666,
        });
    }
    #[cfg(not(unix))]
    let _ = readers;
    options.open(part)
}
