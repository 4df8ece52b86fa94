//! Facts about the host, and counters that distinguish host trouble from network trouble.

use crate::platform::host;

/// Counters of the host (on Linux: of its network namespace) since boot. Subtract two
/// readings; a counter that the platform lacks is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// UDP datagrams dropped because a receive buffer was full
    /// (`RcvbufErrors` of IPv4 and IPv6).
    pub udp_receive_buffer_errors: Option<u64>,
    /// UDP datagrams that could not be delivered, buffer errors included (`InErrors`).
    pub udp_in_errors: Option<u64>,
    /// UDP datagrams that could not be sent for want of buffer space (`SndbufErrors`).
    pub udp_send_buffer_errors: Option<u64>,
    /// Packets dropped before the protocol stack because a processor's queue was full.
    pub softnet_drops: Option<u64>,
    /// Times that a processor had to postpone received packets.
    pub softnet_squeezes: Option<u64>,
    /// Processor time that a hypervisor took away, in scheduler ticks, all processors.
    pub steal_ticks: Option<u64>,
    /// Processor time in all states, in scheduler ticks, all processors.
    pub total_ticks: Option<u64>,
    /// Time in which quotas of processor time held this process back, microseconds: of the control
    /// group that was held longest, the process's own or one above it (`cpu.stat`).
    pub throttled_micros: Option<u64>,
}

impl HostCounters {
    /// Reads the counters now. Allocates: for the start, the end and intervals of a test.
    #[must_use]
    pub fn read() -> Self {
        host::counters()
    }

    /// What was counted since `earlier`; counters that one reading lacks stay `None`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let minus = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            udp_receive_buffer_errors: minus(
                self.udp_receive_buffer_errors,
                earlier.udp_receive_buffer_errors,
            ),
            udp_in_errors: minus(self.udp_in_errors, earlier.udp_in_errors),
            udp_send_buffer_errors: minus(
                self.udp_send_buffer_errors,
                earlier.udp_send_buffer_errors,
            ),
            softnet_drops: minus(self.softnet_drops, earlier.softnet_drops),
            softnet_squeezes: minus(self.softnet_squeezes, earlier.softnet_squeezes),
            steal_ticks: minus(self.steal_ticks, earlier.steal_ticks),
            total_ticks: minus(self.total_ticks, earlier.total_ticks),
            throttled_micros: minus(self.throttled_micros, earlier.throttled_micros),
        }
    }
}

/// What the host is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Processors that this process may use, at least 1.
    pub parallelism: usize,
    /// Operating system and version, e.g. `Linux 6.18.44`.
    pub system: String,
    /// Processor architecture, e.g. `x86_64`.
    pub architecture: &'static str,
    /// The congestion control algorithm of new TCP connections.
    pub default_congestion: Option<String>,
    /// The algorithms that can be asked for; empty where unknown.
    pub available_congestion: Vec<String>,
    /// Largest receive buffer that may be asked for, bytes (Linux: `rmem_max`).
    pub max_receive_buffer: Option<u64>,
    /// Largest send buffer that may be asked for, bytes (Linux: `wmem_max`).
    pub max_send_buffer: Option<u64>,
    /// Largest receive buffer that the system gives a TCP connection by itself, bytes (Linux:
    /// `tcp_rmem`).
    pub max_tcp_receive_buffer: Option<u64>,
    /// The same of send buffers (Linux: `tcp_wmem`).
    pub max_tcp_send_buffer: Option<u64>,
}

/// The host in one line, as `uname -a` orders it: system, name, release, version, machine.
#[must_use]
pub fn system_information() -> String {
    host::information()
}

impl HostFacts {
    /// Gathers the facts.
    #[must_use]
    pub fn gather() -> Self {
        Self {
            parallelism: std::thread::available_parallelism().map_or(1, usize::from),
            architecture: std::env::consts::ARCH,
            ..host::facts()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_the_host_is() {
        let line = system_information();
        assert!(line.ends_with(std::env::consts::ARCH), "{line}");
        assert!(
            line.split_whitespace().count() >= 2 && !line.contains('\n'),
            "{line}"
        );
    }

    #[test]
    fn facts_name_the_host() {
        let facts = HostFacts::gather();
        assert!(facts.parallelism >= 1);
        assert!(!facts.system.is_empty());
        if let Some(name) = &facts.default_congestion {
            assert!(facts.available_congestion.contains(name), "{facts:?}");
        }
        #[cfg(target_os = "linux")]
        assert!(
            facts.max_tcp_receive_buffer >= Some(4096) && facts.max_tcp_send_buffer >= Some(4096),
            "{facts:?}"
        );
    }

    #[test]
    fn differences_need_both_readings() {
        let earlier = HostCounters {
            softnet_drops: Some(3),
            ..HostCounters::default()
        };
        let later = HostCounters {
            softnet_drops: Some(5),
            udp_in_errors: Some(9),
            ..HostCounters::default()
        };
        let gone = later.since(&earlier);
        assert_eq!((gone.softnet_drops, gone.udp_in_errors), (Some(2), None));
    }
}
