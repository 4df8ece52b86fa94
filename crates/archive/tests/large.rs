//! A history of 100,000 runs answers at once.

mod sample;

use std::time::{Duration, Instant};

use sample::{kept, run};
use tapeline_archive::{Archive, Query, Selection};

/// What a question may take.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Copies of the first run, a minute apart.
const COPIES: &str = "
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 99999)
INSERT INTO run
  SELECT NULL, randomblob(16), series, left_out, started + n * 60000, saved, origin, from_host,
    to_host, peer_address, role, protocol, transport, direction, workload, streams, target_bps,
    seconds, shape, complete, error, limited_by, confidence, note, document, intervals
  FROM run, number WHERE id = 1;
INSERT INTO measure
  SELECT run.id, quantity, measure.direction, value, counted_by FROM run, measure
  WHERE run.id > 1 AND measure.run = 1;
INSERT INTO tag SELECT id, 'release', id % 1000 FROM run;
";

#[test]
#[ignore = "makes a file of 200 MB, and takes times: for a quiet machine"]
fn questions_to_a_large_history_take_no_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    kept(&path, &run(940.0, 0));
    let connection = rusqlite::Connection::open(&path).expect("a history");
    connection
        .execute_batch(&format!("BEGIN; {COPIES} COMMIT;"))
        .expect("copies");
    let ask = |name: &str, question: &dyn Fn(&Query<'_>) -> usize, count: usize| {
        let begun = Instant::now();
        let archive = Archive::open_to_read(&path).expect("a history");
        assert_eq!(question(&Query::new(&archive)), count, "{name}");
        let taken = begun.elapsed();
        assert!(taken < AT_ONCE, "{name}: {taken:?}");
    };
    ask(
        "the latest",
        &|query| query.latest(20).expect("entries").len(),
        20,
    );
    for (words, count) in [("last:16", 16), ("tag:release=7", 100), ("r500..r515", 16)] {
        let selection = Selection::parse(words).expect("a selection");
        let facts = |query: &Query<'_>| {
            let runs = query.runs(&selection).expect("runs");
            runs.iter()
                .map(|run| run.facts())
                .filter(|run| run.counts())
                .count()
        };
        ask(words, &facts, count);
    }
}
