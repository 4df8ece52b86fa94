//! What each warning means: the one source of `tapeline explain` and of `docs/warnings.md`.

/// Warnings of one subject.
pub(crate) struct Group {
    /// The subject.
    pub(crate) title: &'static str,
    /// Its warnings, the most frequent ones first.
    pub(crate) warnings: &'static [Explanation],
}

/// A warning, explained.
pub(crate) struct Explanation {
    /// Its name, lower case with hyphens.
    pub(crate) id: &'static str,
    /// A sentence as the program prints it.
    pub(crate) example: &'static str,
    /// What it means, and what to do.
    pub(crate) meaning: &'static str,
}

const fn of(id: &'static str, example: &'static str, meaning: &'static str) -> Explanation {
    Explanation {
        id,
        example,
        meaning,
    }
}

/// What is explained besides warnings.
pub(crate) const TOPICS: &[Explanation] = &[of(
    "try-uses",
    "video calls      poor while something uploads: answers take 0.4 s longer",
    "\"tapeline try HOST\" judges three uses; the worse direction counts. Video calls are good up to \
     a 95th percentile of the round trip under load of 150 ms, 1 % of loss and 30 ms of jitter, \
     fair up to 300 ms, 3 % and 50 ms, and poor beyond. Games are good up to 60 ms, 0.5 % and \
     10 ms, and fair up to 120 ms, 2 % and 30 ms. Web pages and downloads are good from 10 Mbit/s \
     down with a median round trip under load up to 200 ms, and fair from 3 Mbit/s and up to \
     500 ms. Loss is that of the idle path and, where probes measure it, under load; jitter is that \
     of the idle path. The limits are tapeline's own.",
)];

/// All warnings, by subject.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        title: "Measurement",
        warnings: MEASUREMENT,
    },
    Group {
        title: "Connecting",
        warnings: CONNECTING,
    },
    Group {
        title: "Options and this host",
        warnings: OPTIONS,
    },
    Group {
        title: "Clocks",
        warnings: CLOCKS,
    },
    Group {
        title: "Servers",
        warnings: SERVERS,
    },
    Group {
        title: "Methods",
        warnings: METHODS,
    },
    Group {
        title: "History",
        warnings: HISTORY,
    },
];

const HISTORY: &[Explanation] = &[
    of(
        "not-saved",
        "not saved: no space is left for history.db; the result waits in pending/01a1.json for the next \
         --save",
        "The result could not be entered into the history. The test and its exit code are not affected. \
         A file in the folder pending, beside the history, holds the result; the next --save, or \
         \"tapeline history check\", enters it. A sentence with \"nor beside it\" means that the result is \
         not kept at all.",
    ),
    of(
        "history-on-network",
        "history.db is on a network file system (nfs): one writer at a time, and its locks are as good \
         as that file system's",
        "SQLite's write-ahead log needs memory that all writers share, which no network has, so the file \
         is written in its older mode. Keep the history on a local disk where several programs save at \
         the same time.",
    ),
    of(
        "history-full",
        "history.db is as large as it may become: \"tapeline history prune\" makes room",
        "The history is above 90 % of --history-size, and no intervals are left to drop. Results are \
         still saved. Remove old ones with \"tapeline history prune --older 1y\", raise the bound, or set \
         --retention prune, which removes the oldest results without tag or baseline.",
    ),
];

const METHODS: &[Explanation] = &[
    of(
        "baseline-not-idle",
        "the path was not idle: the median round trip of 31.2 ms is more than a fifth above the \
         least of 20.1 ms",
        "Other traffic used the path while the baseline was measured. The least round trip counts, \
         and may be too long. Repeat when the path is idle.",
    ),
    of(
        "bottleneck-unknown",
        "the bottleneck could not be measured, so there is no transfer time ratio",
        "The server gives no feedback over UDP, or UDP is blocked. Give the contracted rate with \
         --cir, or that of the line with --line-rate.",
    ),
    of(
        "path-unfit",
        "the path up is not fit for TCP: at a tenth of its rate 7.10 % of datagrams are lost, with a \
         jitter of 2.1 ms; repair it first",
        "More than 5 % of datagrams are lost at light load, or their jitter exceeds 150 ms. TCP's \
         numbers then say nothing about rates and windows.",
    ),
    of(
        "window-clipped",
        "a window of 5625000 bytes was requested, 3145728 were on the way at most: raise \
         net.ipv4.tcp_wmem of this computer and net.ipv4.tcp_rmem of the server",
        "A system's limit of socket buffers is smaller than the window of this run. The expected \
         rate is that of the window in use, and unknown where nothing reports that.",
    ),
    of(
        "window-not-held",
        "a window of 31250 bytes was requested, and more was on the way: the rate to expect is not \
         known",
        "The receiver's system offered a larger window than it was given, so the run says nothing \
         about the window that was requested.",
    ),
    of(
        "tcp-buffers-small",
        "net.ipv4.tcp_rmem of the server ends at 6291456 bytes, less than twice the bandwidth-delay \
         product up: raise it to 11250000",
        "A buffer of twice the bandwidth-delay product has room for a full window and the system's \
         overhead. With less, one TCP connection may not fill the path. The third number of the \
         setting is the largest buffer.",
    ),
    of(
        "path-not-idle",
        "3 s after a load, round trips take 84.1 ms instead of 20.1 ms: other traffic is on the path",
        "Between phases that load the path, a method waits until round trips are as short as on the \
         idle path. They stayed longer for 3 s. Other traffic uses the path, and the next phase \
         measures what it leaves. Repeat when the path is idle.",
    ),
    of(
        "method-overran",
        "the phase took longer than twice its planned time and 30 s",
        "A phase of a method did not end in time, and the method ended it. The page has the phases \
         before it. The server may have stopped, or the path may have become very slow.",
    ),
];

const MEASUREMENT: &[Explanation] = &[
    of(
        "cpu-saturated",
        "this host's CPU limits stream 1 (97 % of one core): try -P 2 or a larger -l",
        "The thread of this stream used more than 90 % of one core, for more than 0.5 s. The \
         network may be faster than the result. Use several streams (-P), longer writes (-l), or a \
         faster host.",
    ),
    of(
        "receive-buffer-drops",
        "5 datagrams were lost in this host's socket buffer, not in the network: try a larger -w",
        "This host received the datagrams, but its socket buffer was full (Linux counts them). \
         They are part of \"lost\". Use a larger buffer (-w and net.core.rmem_max) or a faster \
         receiver. The count covers all streams on the port. It is a lower bound where the kernel \
         joins datagrams into groups (UDP_GRO).",
    ),
    of(
        "rate-not-reached",
        "sent only 87.1 of the requested 100 Mbit/s",
        "The UDP sender reached less than 99 % of its rate. Loss and jitter are those of the lower \
         rate. The sender's CPU, its network device or the device's queue was too slow. Try longer \
         datagrams (-l).",
    ),
    of(
        "interrupted",
        "interrupted: the numbers cover a part of the test",
        "You interrupted the test. The numbers are exact up to that moment.",
    ),
    of(
        "no-receiver-report",
        "no report from the server after 10 tries: what it received is unknown",
        "The server's report of a UDP stream did not arrive within 2 s, so loss is unknown. The \
         path back loses datagrams, a firewall drops them, or the server ended.",
    ),
    of(
        "udp-blocked",
        "no datagram comes back from 192.0.2.7: the path MTU is what TCP believes",
        "A method sends UDP datagrams to a port of the server and got no answer. A firewall drops \
         UDP, or lets only some ports pass. \"tapeline mtu\" then shows TCP's segment size and its \
         path MTU, which were not measured packet by packet.",
    ),
    of(
        "size-dependent-loss",
        "some sizes below 1500 bytes are lost again and again",
        "\"tapeline mtu\" found a packet size that was lost 13 times although larger packets passed. \
         Packets may take several paths of unequal MTU, or something drops packets by their size. \
         The result is the largest size below which everything passed.",
    ),
    of(
        "mtu-below-minimum",
        "packets of 1200 bytes do not pass to 192.0.2.7, shorter ones do",
        "IPv6 requires 1280 bytes of every path, and hosts receive 576 bytes over IPv4. This path \
         carries less. A tunnel is configured wrongly, or a device drops packets by their size.",
    ),
    of(
        "path-too-lossy",
        "more than 30 % of the control packets were lost",
        "\"tapeline mtu\" knows sizes that are too big by their silence. If the path loses more than \
         30 % of packets of 1200 bytes, silence means nothing. The result is a lower bound. Find \
         the cause of the loss first.",
    ),
    of(
        "report-unacknowledged",
        "the client may not have received the report",
        "The server sent its report of a UDP stream, and the client kept requesting it. The \
         server's numbers are complete. The client may not show them.",
    ),
    of(
        "peer-lost",
        "nothing received for 10.0 s: peer lost, the test was ended",
        "The peer was silent for 10 s, or for three intervals or send gaps if these are longer. Or \
         its host answered that the test's UDP port is closed. The total ends with the last data. A \
         method says that the server has gone where it served first, and its port refuses \
         connections now.",
    ),
    of(
        "traffic-failed",
        "sending failed: connection reset by peer",
        "A system call that moves data failed and ended the stream. The message ends with the \
         operating system's reason. The total covers the time until then.",
    ),
    of(
        "test-failed",
        "the server has terminated",
        "A test over iperf3's protocol ended early. The message gives the reason of the end that \
         noticed it. Totals, if there are any, cover the time until then.",
    ),
    of(
        "confidence-not-reached",
        "after 30 runs the confidence interval is 7.31 % of the mean wide, not the requested 5 %",
        "--precision made the largest allowed number of runs, and the results still differ too \
         much. The report gives the mean and its confidence interval. Four times the runs \
         (--repeat) halve the interval. Longer runs (-t) differ less from each other.",
    ),
    of(
        "intervals-dropped",
        "12 intervals are not in this document: the output was too slow, or they were too many",
        "The reader of an output was too slow, so tapeline dropped interval rows rather than delay \
         the test. Totals are complete. Use a faster reader, a file, or a longer interval (-i). A \
         document has at most 524288 intervals.",
    ),
];

const CONNECTING: &[Explanation] = &[
    of(
        "unknown-host",
        "unknown host server.example (check the spelling, or give the address)",
        "The name has no address, or no name server answered.",
    ),
    of(
        "connect-failed",
        "cannot connect to 192.0.2.7 port 5001: connection refused",
        "The client made no connection to the server. The message ends with the operating system's \
         reason. It is a warning if another attempt follows (--connect-retry-time).",
    ),
    of(
        "connect-gave-up",
        "gave up connecting after 10 s",
        "No attempt within --connect-retry-time made a connection.",
    ),
    of(
        "no-reply",
        "no reply from 192.0.2.7 port 5001 over UDP: connection refused",
        "No server took part in the test, so nothing was measured. The host refused the datagrams, \
         or neither answered nor read for 10 s. Start the server, check the port (-p) and the \
         firewall, or use --peer iperf3 for an iperf3 server.",
    ),
    of(
        "server-is-iperf3",
        "port 5201 of 192.0.2.9 is an iperf3 server",
        "The client uses iperf 2's protocol and the server iperf3's. Repeat the command with \
         --peer iperf3.",
    ),
    of(
        "test-refused",
        "192.0.2.7 port 5001 refused the test: it runs at most 16 tests of an address at a time; \
         retry in 10 s",
        "The test exceeds a limit of this tapeline server (docs/server.md), so nothing was \
         measured. If the message gives a time, try again after it.",
    ),
    of(
        "test-stopped",
        "192.0.2.7 port 5001 stopped the test: limit: 3600 s a test",
        "The test used up the time or the bytes that this tapeline server allows, or a UDP test \
         exceeded its rate. The numbers cover the time until then.",
    ),
];

const OPTIONS: &[Explanation] = &[
    of(
        "usage",
        "unknown option --paralel (did you mean --parallel?)",
        "The command line has an error, so nothing was measured.",
    ),
    of(
        "bind-failed",
        "cannot bind 192.0.2.1: cannot assign requested address",
        "This host does not have the address of -B, or another program uses its port.",
    ),
    of(
        "device-failed",
        "cannot use device eth9: no such device",
        "The network device does not exist, or binding to it needs privileges.",
    ),
    of(
        "listen-failed",
        "cannot listen on TCP port 5001: in use by another program",
        "The server cannot open this port, so it accepts no tests on it. Another program uses the \
         port, or ports below 1024 need privileges.",
    ),
    of(
        "buffer-clamped",
        "socket buffer is 416 KiB, 4 MiB requested: raise net.core.rmem_max and wmem_max",
        "The operating system gave a smaller socket buffer than -w requested. On a long path the \
         buffer may limit the rate.",
    ),
    of(
        "small-window",
        "a window of 1024 bytes limits the rate; leave out -w to let the system choose",
        "-w is below 2048 bytes. TCP sends at most one buffer in each round trip.",
    ),
    of(
        "segment-size-failed",
        "a segment size of 40000 bytes cannot be set: the system chooses",
        "The operating system rejected the segment size of -M and uses its own.",
    ),
    of(
        "congestion-control-failed",
        "congestion control \"bbr\" is not available: no such file or directory",
        "This host has no such congestion control (-Z), or you may not use it. The test did not \
         start. sysctl net.ipv4.tcp_available_congestion_control lists those of this host.",
    ),
    of(
        "tos-changed",
        "TOS is 0x28, not 0x2a: the system keeps the ECN bits of TCP for itself",
        "The operating system uses another type of service than -S requested.",
    ),
    of(
        "other",
        "the message itself",
        "A condition without an id of its own. Its message is the whole explanation.",
    ),
];

const CLOCKS: &[Explanation] = &[
    of(
        "clock-jumped",
        "this host's clock jumped by +3600.0 s during the test: times of day and one-way delays \
         are not comparable",
        "A program set this host's clock by more than 0.1 s, or the host was suspended. Durations, \
         rates and round trips use the monotonic clock and stay correct.",
    ),
    of(
        "clocks-compared",
        "clocks compared: round trip 0.2 ms, to the server 0.1 ms, back 0.1 ms",
        "-X with --trip-times compared the clocks of both hosts before the test. It is a warning \
         if a one-way delay is below 0: one-way delays are then wrong by at least that much.",
    ),
    of(
        "clocks-disagree",
        "1 of 29 requests have an answer dated before the request: the clocks of the hosts \
         differ",
        "Some requests (--bounceback --trip-times) have a one-way delay below 0. One-way delays \
         are wrong by at least that much. Round trips use one clock and stay correct.",
    ),
    of(
        "start-time-passed",
        "its start at 12:00:00 has passed, it begins at once",
        "--txstart-time named a time that has passed, so the test started at once. Tests that \
         should start together did not. A note announces a start that lies ahead.",
    ),
];

const SERVERS: &[Explanation] = &[
    of(
        "client-refused",
        "refused 192.0.2.1: not a test",
        "The client sent no test that this server runs, broke the protocol, or exceeded a limit \
         (docs/server.md). Nothing was measured.",
    ),
    of(
        "permit-key-refused",
        "refused 192.0.2.1: wrong or missing permit key",
        "The client sent no permit key, a wrong one, or one that has expired (--permit-key).",
    ),
    of(
        "refusals-suppressed",
        "48 more refusals not logged",
        "A server logs ten refusals a second (--limit refusals-logged) and counts the others.",
    ),
    of(
        "out-of-resources",
        "accept: Too many open files: new clients are refused until resources are free",
        "The server is out of descriptors or memory. Running tests go on. The server closes the \
         oldest idle connections, or new ones if there are none. It logs this once a minute at \
         most. Raise the limit of open files (ulimit -n, LimitNOFILE).",
    ),
    of(
        "internal-fault",
        "internal fault in a session of 192.0.2.1:40312, which has ended: please report it",
        "A bug in tapeline ended one client's session. All others go on. Please report it.",
    ),
    of(
        "limits-reloaded",
        "limits reloaded",
        "The server received SIGHUP and read its configuration file again. Running tests keep \
         their limits.",
    ),
    of(
        "limits-reload-failed",
        "reload failed, limits unchanged: server.toml:3: limit: tests is a whole number, not 'many'",
        "The server received SIGHUP, and its configuration file has an error. The message ends \
         with that error. The limits stay as they were.",
    ),
    of(
        "stopping",
        "ending the running tests; Ctrl-C again to quit now",
        "You stopped the server. It ends the running tests with totals. A second signal ends it at \
         once, without totals.",
    ),
];
