//! Keys: a public name, and a seed in a file that its owner alone can read.

use std::fs;
use std::path::Path;

use nkeys::{KeyPair, KeyPairType};

/// A seed as text has so many letters.
const SEED_LETTERS: usize = 58;

/// Makes a key.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn make() -> Result<KeyPair, nkeys::error::Error> {
    let key = KeyPair::new_user();
    key.seed().map(|_| key)
}

/// The key of a seed.
pub(crate) fn of_seed(seed: &str) -> Option<KeyPair> {
    let is_long = seed.len() == SEED_LETTERS && seed.is_ascii();
    let key = is_long.then(|| KeyPair::from_seed(seed).ok()).flatten();
    key.filter(|key| key.key_pair_type() == KeyPairType::User)
}

/// Whether this is the public part of a user's key.
pub(crate) fn is_public(text: &str) -> bool {
    text.starts_with('U') && KeyPair::from_public_key(text).is_ok()
}

/// The seed in a file.
///
/// # Errors
/// A sentence without the key's name: there is none, or others can read it.
pub(crate) fn read_seed(path: &Path) -> Result<String, String> {
    let cannot = |cause: std::io::Error| format!("cannot read {}: {cause}", path.display());
    let file = fs::File::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if is_open(&about) {
        return Err(format!(
            "others can read it: chmod 600 {0}, or a new key if they may have",
            path.display()
        ));
    }
    let text = std::io::read_to_string(file).map_err(cannot)?;
    let seed = text.trim();
    match of_seed(seed) {
        Some(_) => Ok(seed.to_owned()),
        None => Err(format!("{} holds no seed of a user's nkey", path.display())),
    }
}

/// Whether others than its owner have rights to a file.
#[cfg(unix)]
fn is_open(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.is_file() && about.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open(_: &fs::Metadata) -> bool {
    false
}
