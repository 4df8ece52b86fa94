//! What is kept is found again as it was.

mod sample;

use std::path::Path;

use sample::{MORNING, document, filled, kept, run};
use tapeline_archive::{
    Archive, ArchiveError, Bound, Edit, Entry, Keep, NewSeries, Patience, Query, RunId, Selection,
    SeriesKind, Upkeep, Uuid, save,
};
use tempfile::TempDir;

fn place() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data/history.db");
    (folder, path)
}

fn ids(path: &Path, words: &str) -> Result<Vec<i64>, ArchiveError> {
    let archive = Archive::open_to_read(path)?;
    let selection = Selection::parse(words).expect("a selection");
    let ids = Query::new(&archive).ids(&selection)?;
    Ok(ids.into_iter().map(|id| id.0).collect())
}

#[test]
fn a_run_comes_back_with_all_its_intervals() {
    let (_folder, path) = place();
    let mut new = run(941.2, 0);
    new.tags.insert("link".to_owned(), "uplink".to_owned());
    let saved = kept(&path, &new);
    assert_eq!(
        (saved.run, saved.series, saved.network),
        (RunId(1), None, None)
    );
    let archive = Archive::open_to_read(&path).expect("a history");
    let back = Query::new(&archive).run(RunId(1)).expect("the run");
    assert_eq!(back.whole_document(), document(941.2, 0));
    assert_eq!(back.document["intervals"], serde_json::json!([]));
    assert_eq!(
        (back.started, back.origin.as_str()),
        (MORNING, "tapeline 0.1.0")
    );
    assert_eq!(back.tags["link"], "uplink");
    let facts = back.facts();
    assert_eq!(facts.name.as_deref(), Some("r1"));
    assert_eq!(facts.value("rate", "forward"), Some(941.2e6));
}

#[test]
fn a_run_between_other_hosts_has_their_names() {
    let (_folder, path) = place();
    let mut new = run(941.2, 0);
    new.from_host = Some("fra1".to_owned());
    new.to_host = Some("mad1".to_owned());
    kept(&path, &new);
    kept(&path, &run(941.2, 0));
    let archive = Archive::open_to_read(&path).expect("a history");
    let named = |id| {
        let back = Query::new(&archive).run(RunId(id)).expect("the run");
        (back.from_host.clone(), back.facts().host)
    };
    let text = |name: &str| Some(name.to_owned());
    assert_eq!(named(1), (text("fra1"), text("mad1")));
    assert_eq!(named(2), (None, text("db1")));
}

#[test]
fn the_newest_run_of_each_pair_is_found_by_its_tag() {
    let (_folder, path) = place();
    for (rate, minute, from, to, job) in [
        (1.0, 0, "a", "b", "nightly/1/a/b"),
        (3.0, 2, "a", "b", "nightly/3/a/b"),
        (2.0, 1, "a", "b", "nightly/2/a/b"),
        (4.0, 3, "a", "b", "run/1/a/b"),
        (5.0, 0, "b", "a", "nightly/1/b/a"),
    ] {
        let mut new = run(rate, minute);
        new.from_host = Some(from.to_owned());
        new.to_host = Some(to.to_owned());
        new.tags.insert("job".to_owned(), job.to_owned());
        kept(&path, &new);
    }
    kept(&path, &run(6.0, 4));
    let archive = Archive::open_to_read(&path).expect("a history");
    let newest = |pattern: &str, since: i64| {
        let found = Query::new(&archive).newest_of_pairs(("job", pattern), since);
        let found = found.expect("runs").into_iter();
        found.map(|run| run.id.0).collect::<Vec<_>>()
    };
    assert_eq!(newest("nightly/*", 0), [2, 5]);
    assert_eq!(newest("*", 0), [4, 5]);
    assert_eq!(newest("nightly/*", sample::MORNING + 60_000), [2]);
    assert_eq!(newest("weekly/*", 0), [0; 0]);
}

#[cfg(unix)]
#[test]
fn nobody_else_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    kept(&path, &run(941.2, 0));
    let mode = |path: &Path| {
        let facts = std::fs::metadata(path).expect("a file");
        facts.permissions().mode() & 0o777
    };
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().expect("a folder")), 0o700);
}

#[test]
fn a_run_is_kept_once() {
    let (_folder, path) = place();
    let new = run(941.2, 0);
    assert_eq!(kept(&path, &new).run, kept(&path, &new).run);
    assert_eq!(ids(&path, "last:10").expect("runs"), [1]);
}

#[test]
fn the_newest_plan_of_a_kind_is_found() {
    let (_folder, path) = place();
    let plans = [
        (SeriesKind::Mesh, 0, r#"{"file":"old"}"#),
        (SeriesKind::Mesh, 2, r#"{"file":"new"}"#),
        (SeriesKind::Mesh, 3, r#"{"site":"lab"}"#),
        (SeriesKind::Schedule, 4, r#"{"file":"other"}"#),
    ];
    for (kind, minute, plan) in plans {
        let started = MORNING + 60_000 * minute;
        let mut new = run(940.0, minute);
        new.series = Some(NewSeries {
            uuid: Uuid::at(started),
            started,
            kind,
            plan: Some(plan.to_owned()),
        });
        kept(&path, &new);
    }
    let archive = Archive::open_to_read(&path).expect("a history");
    let newest = |kind| Query::new(&archive).newest_plan(kind, "file");
    let newest = |kind| newest(kind).expect("an answer");
    assert_eq!(newest(SeriesKind::Mesh).as_deref(), Some(plans[1].2));
    assert_eq!(newest(SeriesKind::Repeat), None);
}

#[test]
fn runs_of_a_series_are_one_entry() {
    let (_folder, path) = place();
    kept(&path, &run(900.0, 0));
    let series = NewSeries {
        uuid: Uuid::at(MORNING),
        started: MORNING,
        kind: SeriesKind::Repeat,
        plan: None,
    };
    for minute in 1..4 {
        let mut new = run(940.0, minute);
        new.series = Some(series.clone());
        new.left_out = (minute == 1).then(|| "warm_up".to_owned());
        assert_eq!(kept(&path, &new).series.expect("a series").0, 1);
    }
    assert_eq!(ids(&path, "s1").expect("runs"), [2, 3, 4]);
    let mut other = run(940.0, 5);
    other.series = Some(NewSeries {
        uuid: Uuid::at(MORNING),
        ..series
    });
    assert_eq!(kept(&path, &other).series.expect("a series").0, 2);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    Edit::new(&archive).remove(&[RunId(5)]).expect("a run less");
    let archive = Archive::open_to_read(&path).expect("a history");
    let entries = Query::new(&archive).latest(20).expect("entries");
    let [Entry::Series(name, runs), Entry::Run(alone)] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!(
        (name.to_string().as_str(), runs.len(), alone.id),
        ("s1", 3, RunId(1))
    );
    assert!(!runs[0].facts().counts() && runs[1].facts().counts());
    assert_eq!(Query::new(&archive).latest(1).expect("entries").len(), 1);
}

#[test]
fn selections_find_their_runs() {
    let (_folder, path) = place();
    let runs = filled(&path, 5);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    let edit = Edit::new(&archive);
    edit.tag(&runs[..2], "release", Some("2.1")).expect("tags");
    edit.tag(&runs[1..3], "release", Some("2.2")).expect("tags");
    let last = Selection::parse("last:2").expect("a selection");
    edit.name_baseline("main", &last, MORNING)
        .expect("a baseline");
    kept(&path, &run(940.0, 9));
    for (words, expected) in [
        ("r2", vec![2]),
        ("r2..r4", vec![2, 3, 4]),
        ("r4..r99", vec![4, 5, 6]),
        ("last", vec![6]),
        ("last:2", vec![5, 6]),
        ("tag:release=2.1", vec![1]),
        ("tag:release", vec![1, 2, 3]),
        ("baseline:main", vec![4, 5]),
        ("r5+baseline:main+last", vec![5, 4, 6]),
    ] {
        assert_eq!(ids(&path, words).expect(words), expected, "{words}");
    }
    for (words, missing) in [
        ("r9", "no run r9"),
        ("s1", "no series s1"),
        ("tag:x", "no runs tag:x"),
        ("baseline:x", "no baseline x"),
    ] {
        let said = ids(&path, words).expect_err(words).to_string();
        assert!(said.ends_with(missing), "{said}");
    }
    edit.forget_baseline("main").expect("a baseline");
    assert!(edit.forget_baseline("main").is_err());
    edit.tag(&runs, "release", None).expect("tags");
    assert!(ids(&path, "tag:release").is_err());
    edit.note(&runs[..1], "new switch").expect("a note");
    edit.remove(&runs[1..2]).expect("a run less");
    let query = Query::new(&archive);
    assert_eq!(
        query.run(RunId(1)).expect("a run").note.as_deref(),
        Some("new switch")
    );
    assert!(query.run(RunId(2)).is_err());
}

#[test]
fn what_is_old_goes_and_baselines_stay() {
    let (_folder, path) = place();
    let runs = filled(&path, 6);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    let edit = Edit::new(&archive);
    let first = Selection::parse("r1").expect("a selection");
    edit.name_baseline("main", &first, MORNING)
        .expect("a baseline");
    edit.tag(&runs[1..2], "keep", Some("yes")).expect("a tag");
    let upkeep = Upkeep::new(&archive);
    assert_eq!(upkeep.prune_intervals(MORNING + 1).expect("intervals"), 1);
    let stripped = Query::new(&archive).run(RunId(1)).expect("a run");
    assert!(!stripped.has_intervals());
    assert_eq!(stripped.whole_document(), stripped.document);
    let before = MORNING + 4 * 60_000;
    assert_eq!(
        upkeep
            .prune(before, Keep { tagged: true })
            .expect("old runs"),
        2
    );
    assert_eq!(ids(&path, "last:9").expect("runs"), [1, 2, 5, 6]);
    assert_eq!(upkeep.prune(before, Keep::default()).expect("old runs"), 1);
    assert_eq!(ids(&path, "last:9").expect("runs"), [1, 5, 6]);
    let found = upkeep.check().expect("a check");
    assert_eq!((found.runs, found.damage.len(), found.taken_in), (3, 0, 0));
}

#[test]
fn a_full_history_loses_intervals_first() {
    let (_folder, path) = place();
    filled(&path, 4);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    let bytes = Upkeep::new(&archive).bytes().expect("a size");
    let small = Bound {
        bytes: bytes / 2,
        drops_runs: false,
    };
    let saved = save(&path, small, Patience::default(), &run(940.0, 8)).expect("a place");
    assert_eq!((saved.room.intervals, saved.room.runs), (5, 0));
    assert!(saved.room.is_full);
    Edit::new(&archive)
        .tag(&[RunId(2)], "keep", Some("yes"))
        .expect("a tag");
    let strict = Bound {
        drops_runs: true,
        ..small
    };
    let room = Upkeep::new(&archive).make_room(strict).expect("room");
    assert_eq!(room.runs, 4);
    assert_eq!(ids(&path, "last:9").expect("runs"), [2]);
}

#[test]
fn what_waits_is_taken_in_by_the_next_writer() {
    let (_folder, path) = place();
    kept(&path, &run(940.0, 0));
    let holder = rusqlite::Connection::open(&path).expect("a history");
    holder.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let hasty = Patience {
        busy: std::time::Duration::from_millis(5),
        total: std::time::Duration::from_millis(60),
    };
    let late = run(941.0, 1);
    let unsaved = save(&path, Bound::default(), hasty, &late).expect_err("a lock");
    let tapeline_archive::Unsaved::Waits { path: file, why } = unsaved else {
        panic!("{unsaved:?}");
    };
    assert!(matches!(why, ArchiveError::Busy(_)), "{why}");
    assert!(file.ends_with(format!("pending/{}.json", late.uuid)));
    std::fs::write(file.with_file_name("torn.json"), "{").expect("a file");
    assert_eq!(ids(&path, "last:9").expect("runs"), [1]);
    holder.execute_batch("ROLLBACK").expect("no lock");
    kept(&path, &run(942.0, 2));
    assert!(!file.exists());
    assert_eq!(ids(&path, "last:9").expect("runs"), [1, 3, 2]);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    let found = Upkeep::new(&archive).check().expect("a check");
    assert_eq!(found.unreadable.len(), 1);
    let back = Query::new(&archive).run(RunId(3)).expect("a run");
    assert_eq!(back.whole_document(), document(941.0, 1));
}
