//! Host facts and counters from `/proc`.

use std::fs;

use super::control_group;
use crate::host::{HostCounters, HostFacts};

pub(crate) fn counters() -> HostCounters {
    let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let snmp6 = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    let softnet = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let udp = |name: &str| {
        let v6 = snmp6_value(&snmp6, &format!("Udp6{name}")).unwrap_or(0);
        snmp_value(&snmp, "Udp:", name).map(|v4| v4.saturating_add(v6))
    };
    let (steal_ticks, total_ticks) = processor_ticks(&stat).unzip();
    HostCounters {
        udp_receive_buffer_errors: udp("RcvbufErrors"),
        udp_in_errors: udp("InErrors"),
        udp_send_buffer_errors: udp("SndbufErrors"),
        softnet_drops: softnet_sum(&softnet, 1),
        softnet_squeezes: softnet_sum(&softnet, 2),
        steal_ticks,
        total_ticks,
        throttled_micros: control_group::throttled_micros(),
    }
}

pub(crate) fn information() -> String {
    let kernel = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    let mut words = ["ostype", "hostname", "osrelease", "version"]
        .map(kernel)
        .join(" ");
    words.push(' ');
    words.push_str(std::env::consts::ARCH);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The value of column `name` in the pair of lines that begin with `group`.
fn snmp_value(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let column = lines
        .next()?
        .split_whitespace()
        .position(|title| title == name)?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

fn snmp6_value(text: &str, name: &str) -> Option<u64> {
    let mut words = text.lines().map(str::split_whitespace);
    words.find_map(|mut line| (line.next()? == name).then(|| line.next()?.parse().ok())?)
}

/// Sum over the processors of one hexadecimal column.
fn softnet_sum(text: &str, column: usize) -> Option<u64> {
    let mut rows = text
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(column)?, 16).ok())
        .peekable();
    rows.peek()?;
    Some(rows.sum())
}

/// Stolen and total ticks of the `cpu` line. The guest columns are part of user time already.
fn processor_ticks(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let steal = *ticks.get(7)?;
    Some((steal, ticks.iter().take(8).sum()))
}

pub(crate) fn facts() -> HostFacts {
    let word = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let number = |path: &str| word(path)?.parse().ok();
    // Least, first and largest size.
    let largest = |path: &str| word(path)?.split_whitespace().nth(2)?.parse().ok();
    let release = word("/proc/sys/kernel/osrelease").unwrap_or_default();
    let available = word("/proc/sys/net/ipv4/tcp_available_congestion_control");
    HostFacts {
        system: format!("Linux {release}").trim_end().to_owned(),
        default_congestion: word("/proc/sys/net/ipv4/tcp_congestion_control"),
        available_congestion: available
            .map(|names| names.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        max_receive_buffer: number("/proc/sys/net/core/rmem_max"),
        max_send_buffer: number("/proc/sys/net/core/wmem_max"),
        max_tcp_receive_buffer: largest("/proc/sys/net/ipv4/tcp_rmem"),
        max_tcp_send_buffer: largest("/proc/sys/net/ipv4/tcp_wmem"),
        ..HostFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let text = "Udp: InDatagrams NoPorts InErrors RcvbufErrors\nUdp: 10 20 30 40\n\
                    UdpLite: InDatagrams InErrors\nUdpLite: 1 2\n";
        assert_eq!(snmp_value(text, "Udp:", "RcvbufErrors"), Some(40));
        assert_eq!(snmp_value(text, "Udp:", "Missing"), None);
        assert_eq!(snmp6_value("Udp6InErrors \t 7\n", "Udp6InErrors"), Some(7));
        assert_eq!(snmp6_value("", "Udp6InErrors"), None);
    }

    #[test]
    fn processors_are_summed() {
        let text = "0000000a 00000001 0000000f 0\n0000000b 00000002 00000001 0\n";
        assert_eq!(softnet_sum(text, 1), Some(3));
        assert_eq!(softnet_sum(text, 2), Some(16));
        assert_eq!(softnet_sum("", 2), None);
        let stat = "cpu  1 2 3 4 5 6 7 8 100 100\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(processor_ticks(stat), Some((8, 36)));
    }

    #[test]
    fn this_host_has_counters() {
        let counters = counters();
        assert!(counters.udp_in_errors.is_some(), "{counters:?}");
        assert!(counters.total_ticks.is_some_and(|ticks| ticks > 0));
    }
}
