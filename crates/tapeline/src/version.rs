//! The version line.

use tapeline_dialect::Personality;

/// tapeline's version.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");
/// The iperf 2 that tapeline stands in for.
const REFERENCE: &str = "2.2.1";

/// What `-v` prints: scripts look for `iperf version` at the start.
pub(crate) fn line(personality: Personality) -> String {
    match personality {
        Personality::Iperf2 => format!("iperf version {REFERENCE} (tapeline {OWN})"),
        Personality::Native => format!("tapeline {OWN}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_name_gives_the_old_version_first() {
        assert!(line(Personality::Iperf2).starts_with("iperf version 2.2.1 (tapeline "));
        assert_eq!(line(Personality::Native), format!("tapeline {OWN}"));
    }
}
