//! Where the time goes in the main workloads, as `perf` sees the whole machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path as FilePath;
use std::process::{Command, Stdio};

use super::contender::{Contender, Tool};
use super::path::Path;
use super::row::{Congestion, Place, Streams, Transport};
use super::session::Site;
use super::{datagrams, exchange, streams};
use crate::page;
use crate::shell::{self, Result};
use crate::tally::Tally;

/// Samples per second and processor: no divisor of timers.
const FREQUENCY: &str = "997";
/// Functions shown for each workload.
const SHOWN: usize = 5;
/// Names of the program's threads; all other tasks are the machine's.
const TASKS: [&str; 12] = [
    "iperf",
    "tapeline",
    "flow",
    "flows",
    "udp",
    "server",
    "listener",
    "reporter",
    "printer",
    "signals",
    "payload",
    "connect-back",
];

/// What the page names as the source of the tables.
pub(crate) const GENERATOR: &str = "cargo xtask bench, with --profile";

const HEAD: &str = "\
Shares of the CPU time of both ends, tapeline with tapeline over loopback (cubic), sampled by
`perf record -a`.

| Part | What it is |
|---|---|
| copy | moving the payload between program and kernel |
| protocol | TCP, UDP, IP and sockets |
| buffers | the kernel's memory for packets |
| waiting | scheduler, timers, polling and locks |
| entry | entering and leaving system calls |
| program | the program's own code |

";

/// Parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Copy,
    Protocol,
    Buffers,
    Waiting,
    Entry,
    OtherKernel,
    Program,
}

impl Part {
    const ALL: [Self; 7] = [
        Self::Copy,
        Self::Protocol,
        Self::Buffers,
        Self::Waiting,
        Self::Entry,
        Self::OtherKernel,
        Self::Program,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Protocol => "protocol",
            Self::Buffers => "buffers",
            Self::Waiting => "waiting",
            Self::Entry => "entry",
            Self::OtherKernel => "other kernel",
            Self::Program => "program",
        }
    }

    /// The part that a function belongs to, by its name.
    fn for_symbol(object: &str, symbol: &str) -> Self {
        if object != "[kernel.kallsyms]" {
            return Self::Program;
        }
        // In this order: the first one that fits counts.
        let parts: [(Self, &[&str]); 5] = [
            (
                Self::Copy,
                &[
                    "copy_",
                    "rep_movs",
                    "rep_stos",
                    "memcpy",
                    "memset",
                    "_copy",
                    "csum_partial",
                ],
            ),
            (
                Self::Entry,
                &[
                    "syscall",
                    "SYSCALL",
                    "entry",
                    "srso",
                    "fdget",
                    "exit_to_user",
                    "retbleed",
                ],
            ),
            (
                Self::Waiting,
                &[
                    "sched", "wake", "switch", "timer", "clock", "_poll", "futex", "spin_",
                    "_lock_", "mutex", "idle", "rcu", "task", "pick_", "enqueue", "dequeue",
                    "update_", "yield",
                ],
            ),
            (
                Self::Protocol,
                &[
                    "tcp", "udp", "ip_", "inet", "ipv4", "skb", "sock", "sk_", "net", "dev_",
                    "xmit", "backlog", "veth", "loopback", "bbr", "cubic", "gro", "gso", "qdisc",
                    "fib", "dst", "route", "send", "recv", "bpf", "datagram",
                ],
            ),
            (
                Self::Buffers,
                &["page", "alloc", "free", "kmem", "slab", "folio", "obj_"],
            ),
        ];
        parts
            .iter()
            .find(|(_, names)| names.iter().any(|name| symbol.contains(name)))
            .map_or(Self::OtherKernel, |(part, _)| *part)
    }
}

/// Runs a workload once.
type Job<'a> = Box<dyn Fn() -> Result<()> + 'a>;
/// Time by function: share, the program or kernel it is in, name.
type Shares = Vec<(f64, String, String)>;

/// Profiles the main workloads.
///
/// # Errors
/// `perf` does not run, or the document cannot be written.
pub(crate) fn run(out: Option<&FilePath>, seconds: f64) -> Result<Tally> {
    let site = Site {
        path: Path::Loopback,
        congestion: Some(Congestion::Cubic),
        seconds: seconds.max(1.0),
        processor: None,
    };
    let ours = Contender::both(Tool::Tapeline);
    let stream = |plan: Streams| streams::run(&plan, &ours, &site).map(|_| ());
    let exchange = |place| exchange::run(Transport::Tcp, place, &ours, &site).map(|_| ());
    let flood = |length| datagrams::flood(length, 1, &ours, &site).map(|_| ());
    let workloads: [(&str, Job<'_>); 7] = [
        ("TCP, one stream", Box::new(|| stream(Streams::ONE))),
        (
            "TCP, 1000 streams",
            Box::new(|| stream(Streams::many(1000))),
        ),
        (
            "UDP, 1470 bytes, as fast as it goes",
            Box::new(|| flood(1470)),
        ),
        ("UDP, 64 bytes, as fast as it goes", Box::new(|| flood(64))),
        (
            "UDP, 1470 bytes at 100 Mbit/s",
            Box::new(|| datagrams::at_rate("100M", &ours, &site)),
        ),
        (
            "Requests and responses, processors free",
            Box::new(|| exchange(Place::Free)),
        ),
        (
            "Requests and responses, one processor",
            Box::new(|| exchange(Place::OneProcessor)),
        ),
    ];
    let mut tally = Tally::default();
    let mut profiles = Vec::new();
    for (name, workload) in &workloads {
        println!("{name}");
        match profile(site.seconds, workload.as_ref()) {
            Ok(shares) => {
                tally.pass();
                profiles.push((*name, shares));
            }
            Err(error) => tally.fail(format!("{name}: {error}")),
        }
    }
    let text = document(&profiles);
    println!("{text}");
    if let Some(out) = out {
        page::enter(out, GENERATOR, &text)?;
    }
    Ok(tally)
}

/// Samples the machine while a workload runs.
fn profile(seconds: f64, workload: &dyn Fn() -> Result<()>) -> Result<Shares> {
    let file = std::env::temp_dir().join(format!("tapeline-profile-{}", std::process::id()));
    let mut perf = Command::new("perf")
        .args([
            "record",
            "-q",
            "-a",
            "-e",
            "cpu-clock",
            "-F",
            FREQUENCY,
            "-o",
        ])
        .arg(&file)
        .args(["--", "sleep", &(seconds + 0.2).to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("perf: {error}"))?;
    let result = workload();
    let status = perf.wait().map_err(|error| format!("perf: {error}"))?;
    let report = shell::read(
        Command::new("perf")
            .args(["report", "--no-children", "--stdio", "-t", ";", "-i"])
            .arg(&file)
            .args(["--sort", "comm,dso,sym"]),
    );
    let _ = std::fs::remove_file(&file);
    result?;
    if !status.success() {
        return Err(format!(
            "perf ended with {status}: may it see the whole machine?"
        ));
    }
    Ok(parse(&report?))
}

/// Reads `perf report`: the tasks of the programs alone, as shares of their sum.
fn parse(report: &str) -> Shares {
    let mut functions: BTreeMap<(String, String), f64> = BTreeMap::new();
    for line in report.lines() {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let [share, task, object, symbol] = fields[..] else {
            continue;
        };
        let Ok(share) = share.trim_end_matches('%').parse::<f64>() else {
            continue;
        };
        if !TASKS.contains(&task) {
            continue;
        }
        // In front of the name stands `[k]` or `[.]`.
        let symbol = symbol.split_once(' ').map_or(symbol, |(_, name)| name);
        *functions
            .entry((object.to_owned(), symbol.to_owned()))
            .or_default() += share;
    }
    let sum: f64 = functions.values().sum();
    let mut shares: Shares = functions
        .into_iter()
        .map(|((object, symbol), share)| (share * 100.0 / sum, object, symbol))
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    shares
}

fn document(profiles: &[(&str, Shares)]) -> String {
    let mut text = HEAD.to_owned();
    let names = Part::ALL.map(Part::name).join(", % | ");
    writeln!(text, "| Workload | {names}, % |").expect("memory");
    writeln!(text, "|---|{}", "--:|".repeat(Part::ALL.len())).expect("memory");
    for (name, shares) in profiles {
        let of = |part: Part| -> f64 {
            let own = shares
                .iter()
                .filter(|(_, object, symbol)| Part::for_symbol(object, symbol) == part);
            own.fold(0.0, |sum, (share, ..)| sum + share)
        };
        let cells = Part::ALL.map(|part| format!("{:.1}", of(part))).join(" | ");
        writeln!(text, "| {name} | {cells} |").expect("memory");
    }
    writeln!(
        text,
        "\n| Workload | Functions with the largest shares, % |\n|---|---|"
    )
    .expect("memory");
    for (name, shares) in profiles {
        let named = shares
            .iter()
            .filter(|(_, _, symbol)| !symbol.starts_with("0x"));
        let functions: Vec<String> = named
            .take(SHOWN)
            .map(|(share, _, symbol)| format!("`{symbol}` {share:.1}"))
            .collect();
        writeln!(text, "| {name} | {} |", functions.join(", ")).expect("memory");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_the_machine_do_not_count() {
        let report = "\
# Overhead;Command;Shared Object;Symbol
50.00%;swapper;[kernel.kallsyms];[k] default_idle
30.00%;flow;[kernel.kallsyms];[k] rep_movs_alternative
10.00%;iperf;[kernel.kallsyms];[k] rep_movs_alternative
10.00%;flow;tapeline;[.] step
";
        let shares = parse(report);
        assert_eq!(shares.len(), 2);
        assert_eq!(shares[0].2, "rep_movs_alternative");
        assert!((shares[0].0 - 80.0).abs() < 1e-9 && (shares[1].0 - 20.0).abs() < 1e-9);
        let text = document(&[("A workload", shares)]);
        let line = "| A workload | 80.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 20.0 |";
        assert!(text.contains(line), "{text}");
        let line = "| A workload | `rep_movs_alternative` 80.0, `step` 20.0 |";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn functions_have_their_parts() {
        for (symbol, part) in [
            ("_copy_from_iter", Part::Copy),
            ("tcp_sendmsg_locked", Part::Protocol),
            ("tcp_ack", Part::Protocol),
            ("do_syscall_64", Part::Entry),
            ("__schedule", Part::Waiting),
            ("get_page_from_freelist", Part::Buffers),
            ("vfs_write", Part::OtherKernel),
        ] {
            assert_eq!(
                Part::for_symbol("[kernel.kallsyms]", symbol),
                part,
                "{symbol}"
            );
        }
        assert_eq!(Part::for_symbol("tapeline", "tcp_ack"), Part::Program);
    }
}
