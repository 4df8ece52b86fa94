//! What must hold for any bytes that are taken over.

use serde_json::Value;

use crate::document::SCHEMA;
use crate::import::{self, Kind};
use crate::run_facts::RunFacts;

/// Takes them over as whatever they are, and as one kind: each of them in turn as bytes are added.
///
/// # Panics
/// A run is no report, or its intervals are not as many as it says.
pub fn import(bytes: &[u8]) {
    for kind in [None, Some(Kind::ALL[bytes.len() % Kind::ALL.len()])] {
        let Ok(runs) = import::read("file", bytes, kind) else {
            continue;
        };
        let mut count = 0;
        let mut over = false;
        for run in runs {
            assert!(!over, "a run after a fault");
            let Ok(run) = run else {
                over = true;
                continue;
            };
            assert_eq!(run.position, count, "a position");
            count += 1;
            assert_eq!(run.document["schema"], SCHEMA, "a schema");
            assert_eq!(run.document["intervals"], Value::Array(Vec::new()));
            let text = run.json().expect("a document");
            let document: Value = serde_json::from_str(&text).expect("JSON");
            let intervals = document["intervals"].as_array().expect("intervals");
            assert_eq!(intervals.len(), run.intervals.len(), "intervals");
            for one in RunFacts::from_document(&document).measurements {
                assert!(one.value.is_finite(), "{}", one.quantity);
            }
        }
        assert!(count > 0 || over, "neither a run nor a fault");
    }
}
