//! The seed corpora of the fuzz targets, findings of the fuzzer included.
//!
//! Tests call [`expect`] for what a corpus must hold; with the variable `UPDATE_CORPUS` it writes
//! what is missing.

use std::fs;
use std::path::PathBuf;

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn folder(target: &str) -> PathBuf {
    fuzz().join("corpus").join(target)
}

/// Sees that a target has this seed.
///
/// # Panics
/// It has not.
pub fn expect(target: &str, name: &str, wanted: &[u8]) {
    let folder = folder(target);
    let seed = folder.join(name);
    if std::env::var_os("UPDATE_CORPUS").is_some() && !seed.exists() {
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(&seed, wanted).expect("written");
    }
    let found = fs::read(&seed).ok();
    assert_eq!(found.as_deref(), Some(wanted), "{}", seed.display());
}

/// Every seed of a target.
///
/// # Panics
/// There is no such target.
#[must_use]
pub fn all(target: &str) -> Vec<Vec<u8>> {
    let program = fuzz().join("fuzz_targets").join(format!("{target}.rs"));
    assert!(program.is_file(), "no {}", program.display());
    let entries = fs::read_dir(folder(target)).expect("a corpus");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| fs::read(path).expect("readable"))
        .collect()
}
