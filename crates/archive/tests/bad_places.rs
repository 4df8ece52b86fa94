//! Places where a history cannot be: a sentence each, and what is there stays as it is.

mod sample;

use std::fs;
use std::path::Path;
use std::time::Duration;

use sample::{kept, run};
use tapeline_archive::{Archive, ArchiveError, Bound, Patience, Query, RunId, Unsaved, save};

/// Why a run is not kept there, and whether it waits beside.
fn refused(path: &Path) -> (String, bool) {
    let hasty = Patience {
        busy: Duration::from_millis(5),
        total: Duration::from_millis(20),
    };
    let (why, waits) = match save(path, Bound::default(), hasty, &run(940.0, 0)) {
        Ok(saved) => panic!("{saved:?}"),
        Err(Unsaved::Waits { why, .. }) => (why, true),
        Err(Unsaved::Lost { why, .. }) => (why, false),
    };
    (
        why.to_string().replace(&path.display().to_string(), "IT"),
        waits,
    )
}

#[test]
fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.txt");
    let long = "no SQLite file\n".repeat(100);
    for text in ["short", long.as_str()] {
        fs::write(&path, text).expect("a file");
        let said = "IT is no history of tapeline, and is left alone";
        assert_eq!(refused(&path), (said.to_owned(), true));
        assert_eq!(fs::read_to_string(&path).expect("the file"), text);
        let error = Archive::open_to_read(&path).expect_err("a text");
        assert!(matches!(error, ArchiveError::Foreign(_)), "{error}");
    }
    let other = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&other).expect("a file");
    connection
        .execute_batch("CREATE TABLE bookmarks (url TEXT)")
        .expect("a table");
    assert_eq!(
        refused(&other).0,
        "IT is no history of tapeline, and is left alone"
    );
}

#[test]
fn a_later_format_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    kept(&path, &run(940.0, 0));
    let connection = rusqlite::Connection::open(&path).expect("a file");
    connection
        .pragma_update(None, "user_version", 7)
        .expect("a number");
    let said = "IT has format 7; this tapeline knows 1 and leaves it alone";
    assert_eq!(refused(&path), (said.to_owned(), true));
    let error = Archive::open_to_read(&path).expect_err("a later format");
    assert!(
        error
            .to_string()
            .ends_with("has format 7; this tapeline knows 1 and leaves it alone")
    );
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(refused(folder.path()).0, "IT is a folder, not a history");
    assert!(matches!(
        Archive::open_to_read(folder.path()),
        Err(ArchiveError::Folder(_))
    ));
}

#[test]
fn nothing_saved_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    let error = Archive::open_to_read(&path).expect_err("no file");
    assert!(matches!(error, ArchiveError::Missing(_)), "{error}");
    fs::write(&path, "").expect("an empty file");
    let error = Archive::open_to_read(&path).expect_err("an empty file");
    assert!(matches!(error, ArchiveError::Missing(_)), "{error}");
    // It is filled all the same.
    assert_eq!(kept(&path, &run(940.0, 0)).run, RunId(1));
}

#[test]
fn an_empty_log_is_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    kept(&path, &run(940.0, 0));
    fs::write(folder.path().join("history.db-wal"), "").expect("a file");
    assert_eq!(kept(&path, &run(940.0, 1)).run, RunId(2));
}

#[cfg(unix)]
#[test]
fn what_must_not_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data/history.db");
    kept(&path, &run(940.0, 0));
    let set = |mode| {
        let data = path.parent().expect("a folder");
        fs::set_permissions(data, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    set(0o500);
    let archive = Archive::open_to_read(&path).expect("a history");
    let found = Query::new(&archive).run(RunId(1)).expect("the run");
    set(0o700);
    assert_eq!(found.id, RunId(1));
}
