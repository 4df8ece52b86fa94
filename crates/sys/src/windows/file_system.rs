//! Files of other hosts, by their names.

use std::path::{Component, Path, Prefix};

pub(crate) fn network(path: &Path) -> Option<&'static str> {
    let path = std::path::absolute(path).ok()?;
    match path.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::UNC(..) | Prefix::VerbatimUNC(..) => Some("cifs"),
            _ => None,
        },
        _ => None,
    }
}
