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

/// What `iperf3 -v` prints: scripts look for `iperf 3.` at the start.
pub(crate) fn iperf3() -> String {
    let logins = if cfg!(feature = "auth") {
        "authentication, "
    } else {
        ""
    };
    format!(
        "iperf {} (tapeline {OWN})\n{}\nOptional features available: CPU affinity setting, IPv6 \
         flow label, TCP congestion algorithm setting, sendfile / zerocopy, socket pacing, \
         {logins}bind to device, support IPv4 don't fragment, POSIX threads, GSO/GRO support",
        crate::iperf3::VERSION,
        tapeline_sys::system_information(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_name_gives_the_old_version_first() {
        assert!(line(Personality::Iperf2).starts_with("iperf version 2.2.1 (tapeline "));
        assert!(iperf3().starts_with("iperf 3.22 (tapeline "));
        assert_eq!(iperf3().lines().count(), 3);
        assert_eq!(line(Personality::Native), format!("tapeline {OWN}"));
    }
}
