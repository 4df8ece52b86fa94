//! What a fleet is like now, for its metrics.

use std::collections::BTreeMap;

use tapeline_fleet::{AWAY, Beat, FleetCounts, UnixTime};
use tapeline_report::prometheus::FleetState;

/// The state of a fleet at `now`, seconds since 1970.
pub(crate) fn fleet_state(counts: &FleetCounts, now: i64) -> FleetState {
    let mut state = FleetState {
        hosts: BTreeMap::from([("free", 0), ("busy", 0), ("away", 0)]),
        ended: counts.ended.clone(),
        results: BTreeMap::from([
            ("new", counts.collected.new),
            ("repeated", counts.collected.repeated),
            ("failed", counts.collected.failed),
        ]),
        ..FleetState::default()
    };
    for (beat, at) in counts.hosts.values() {
        let count = state.hosts.entry(word(beat, *at, now)).or_default();
        *count += 1;
        state.spooled += beat.spool.results as u64;
        state.given_up += beat.spool.given_up;
    }
    for name in counts.jobs.values() {
        *state.jobs.entry(name).or_default() += 1;
    }
    state
}

fn word(beat: &Beat, at: UnixTime, now: i64) -> &'static str {
    match beat.is_free {
        _ if now - at.0 > AWAY.as_secs() as i64 => "away",
        true => "free",
        false => "busy",
    }
}
