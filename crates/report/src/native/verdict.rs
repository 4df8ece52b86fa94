//! What limited a test, in one line.

use tapeline_stats::Certainty;

use super::finding::{finding_words, limit_words};
use crate::model::Judgement;

/// `limited by: network, surely`, then the evidence.
pub(super) fn phrases(judgement: &Judgement, several: bool) -> Vec<String> {
    let verdict = &judgement.verdict;
    let way = match (several, judgement.local_sends) {
        (false, _) => "limited by",
        (true, true) => "sending limited by",
        (true, false) => "receiving limited by",
    };
    let limit = verdict.limited_by.map_or("unknown", limit_words);
    let certainty = match (verdict.limited_by, verdict.certainty) {
        (None, _) => "",
        (_, Certainty::High) => ", surely",
        (_, Certainty::Medium) => ", likely",
        (_, Certainty::Low) => ", perhaps",
    };
    let findings = verdict.findings.iter().map(finding_words);
    let mut phrases = vec![format!("{way}: {limit}{certainty}")];
    phrases.extend(findings);
    phrases
}
