//! Where the file is.

use std::ffi::OsString;
use std::path::PathBuf;

/// A variable of the environment; empty ones are none.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Where the history is if nobody says: `TAPELINE_HISTORY`, else in the folder of a service's
/// state, else in the user's data. `None` without a home.
#[must_use]
pub fn default_location(environment: Environment<'_>) -> Option<PathBuf> {
    let named = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(file) = named("TAPELINE_HISTORY") {
        return Some(PathBuf::from(file));
    }
    // Several folders are joined by colons; the first is the service's own.
    let state = named("STATE_DIRECTORY").and_then(|folders| {
        let first = std::env::split_paths(&folders).next()?;
        Some(first).filter(|first| first.is_absolute())
    });
    let folder = state.or_else(|| user_data(&named))?;
    Some(folder.join("history.db"))
}

#[cfg(not(any(windows, target_os = "macos")))]
fn user_data(named: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path is to be ignored (XDG Base Directory Specification).
    let data = named("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.filter(|data| data.is_absolute());
    let home = || Some(PathBuf::from(named("HOME")?).join(".local/share"));
    Some(data.or_else(home)?.join("tapeline"))
}

#[cfg(target_os = "macos")]
fn user_data(named: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(PathBuf::from(named("HOME")?).join("Library/Application Support/tapeline"))
}

#[cfg(windows)]
fn user_data(named: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(PathBuf::from(named("LOCALAPPDATA")?).join("tapeline"))
}

#[cfg(all(test, not(any(windows, target_os = "macos"))))]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<String> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        default_location(&environment).map(|path| path.display().to_string())
    }

    #[test]
    fn the_nearest_variable_decides() {
        let home = ("HOME", "/home/ada");
        assert_eq!(
            of(&[home]).as_deref(),
            Some("/home/ada/.local/share/tapeline/history.db")
        );
        let data = ("XDG_DATA_HOME", "/data");
        assert_eq!(
            of(&[home, data]).as_deref(),
            Some("/data/tapeline/history.db")
        );
        let state = ("STATE_DIRECTORY", "/var/lib/tapeline:/var/lib/other");
        assert_eq!(
            of(&[home, data, state]).as_deref(),
            Some("/var/lib/tapeline/history.db")
        );
        let named = ("TAPELINE_HISTORY", "runs.db");
        assert_eq!(of(&[home, data, state, named]).as_deref(), Some("runs.db"));
        assert_eq!(
            of(&[home, ("XDG_DATA_HOME", "data"), ("TAPELINE_HISTORY", "")]).as_deref(),
            Some("/home/ada/.local/share/tapeline/history.db")
        );
        assert_eq!(of(&[]), None);
    }
}
