//! What must hold whatever a peer sends, one function for each state machine of a session: bytes
//! that a fuzzer makes, or a seed holds, are played to it. Fuzz targets and the replay of their
//! corpora share them.

use crate::{iperf2, iperf3, native, policy};

/// A contract panics when an input breaks it.
pub type Contract = fn(&[u8]);

/// The contracts by the names of their fuzz targets.
pub const CONTRACTS: [(&str, Contract); 20] = [
    ("iperf2_opening", iperf2::tcp_checks::opening),
    ("iperf2_bursts", iperf2::tcp_checks::bursts),
    ("iperf2_udp_server", iperf2::udp_checks::server),
    ("iperf2_udp_runs", iperf2::udp_checks::runs),
    ("iperf2_udp_closing", iperf2::udp_checks::closing),
    ("iperf2_other_end", iperf2::udp_checks::report),
    ("iperf2_l4s", iperf2::l4s_checks::both_ends),
    ("iperf3_client", iperf3::control_checks::client),
    ("iperf3_server", iperf3::control_checks::server),
    ("iperf3_registry", iperf3::registry_checks::connections),
    ("iperf3_other_end", iperf3::far_side_checks::results),
    ("iperf3_login", iperf3::login_contract),
    ("iperf3_login_files", iperf3::login_files_contract),
    ("native_client", native::control_checks::client),
    ("native_server", native::control_checks::server),
    ("native_tests", native::tests_checks::clients),
    ("native_other_end", native::far_side_checks::results),
    ("native_answer", native::answer_contract),
    ("native_probing", native::probing_checks::probing),
    ("server_policy", policy::checks::clients),
];

/// Plays an input to the state machine of this name.
///
/// # Panics
/// The contract is broken, or has another name.
pub fn run(name: &str, input: &[u8]) {
    let known = CONTRACTS.iter().find(|(known, _)| *known == name);
    let (_, contract) = known.expect("a known contract");
    contract(input);
}

/// What happens to a state machine, read from an input: each event has a head of `N` bytes that say
/// what it is, and a piece of up to 255 bytes behind a byte with its length.
pub(crate) struct Events<'a, const N: usize>(&'a [u8]);

impl<'a, const N: usize> Events<'a, N> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(input)
    }
}

impl<'a, const N: usize> Iterator for Events<'a, N> {
    type Item = ([u8; N], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        let (length, rest) = rest.split_first()?;
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        self.0 = rest;
        Some((*head, piece))
    }
}

#[cfg(test)]
mod tests;
