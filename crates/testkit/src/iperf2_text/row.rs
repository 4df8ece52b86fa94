//! The columns of rows behind interval, transfer and rate.

use super::kind::Columns;

/// What follows interval, transfer and rate. The first template that fits decides.
pub(crate) const ROWS: &[(Columns, &str)] = &[
    (Columns::Plain, ""),
    (Columns::Loss, "   {n}/{n} ({g}%)"),
    (Columns::JitterLoss, "  {f3:6} ms {n}/{n} ({g}%)"),
    (Columns::Reads, "  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}"),
    (
        Columns::Writes,
        "  {n}/{n}{c:10} {c:8}K({c})/{c}K({c})/{c}({c}) us  {p}",
    ),
    (
        Columns::RoundTrips,
        "    {n}={f3}/{f3}/{f3}/{f3} ms {c:4}{c:4}K/({c})/{c}({c}) us  Tx={z} Rx={z}  RPS={g}",
    ),
    (
        Columns::RoundTrips,
        "    {n}={f3}/{f3}/{f3}/{f3} ms {c:4}   -(-)/-(-)    Tx={z} Rx={z}  RPS={g}",
    ),
    (Columns::Datagrams, "  {n}/{n}/{n}{n:8} pps"),
    (
        Columns::Delay,
        "  {f3:6} ms {n}/{n} ({g}%) {f3}/{f3}/{f3}/{f3} ms {n} pps {n}/{n}/{n} {p}",
    ),
    (
        Columns::Delay,
        "  {f3:6} ms {n}/{n} ({g}%) -/-/-/- ms {n} pps {n}/{n}/{n}",
    ),
    (
        Columns::DelayInFlight,
        "  {f3:6} ms {n}/{n} ({g}%) {f3}/{f3}/{f3}/{f3} ms {n} pps {n}/{n}({n}) pkts {n}/{n}/{n} {p}",
    ),
    (Columns::Duplex, " {n}{n:8} pps"),
    (Columns::SumWrites, "  {n}/{n}{c:10}"),
    (Columns::SumDatagrams, "  {n}/{n} {n:8} pps"),
    (
        Columns::SumDelay,
        "  {n}/{n} ({g}%)  {f3}/{f3}/{f3}  {n} pps",
    ),
    (
        Columns::SumDelayInFlight,
        "  {n}/{n} ({g}%)  {f3}/{f3}/{f3}  {n}/{n}  {n:8} pps",
    ),
    (
        Columns::SumReadsInFlight,
        " {q}  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}",
    ),
    (
        Columns::BurstDelay,
        "  {f3}/{f3}/{f3}/{f3} ms ({n}/{n}) {q} {p}  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}",
    ),
    (
        Columns::BurstDelay,
        "  {f3}/{f3}/{f3}/{f3} ms ({n}/{n}) OBL {p}  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}",
    ),
    (
        Columns::FrameDelay,
        "  {f3}/{f3}/{f3}/{f3} ms ({n}/{n}) {p}  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}",
    ),
    (
        Columns::Burst,
        "  {f3:6} ms ({g}%)    {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n} {p}",
    ),
    (
        Columns::Burst,
        "  {f3}/{f3}/{f3}/{f3} ms  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}",
    ),
    (
        Columns::PacedWrites,
        "  {n}/{n}{c:10} {c:8}K({c})/{c}K({c})/{c}({c}) us {q}/sec {p}",
    ),
    (
        Columns::PacedWrites,
        "  {n}/{n}{c:10} {c:8}K/{c}({c}) us {p}",
    ),
    (
        Columns::TimedWrites,
        "  {n}/{n} {c:8}{c:7}K({c})/{c}K({c})/{c}({c}) us      {p}  \
         {f3}/{f3}/{f3}/{f3} ms ({n})",
    ),
    (
        Columns::FrameWrites,
        "  {n}/{n} {c:8} {c:8}K({c})/{c}({c}) us  {n:9}/{n}/{n}       {p}",
    ),
    (Columns::FrameDatagrams, "  {n}/{n}{n:8} pps  {n:3}/{n}/{n}"),
    (
        Columns::Frames,
        "  {f3:6} ms {n}/{n} ({g}%) {f3}/{f3}/{f3}/{f3} ms {n} pps  {n}/{n} \
         {f3}/{f3}/{f3}/{f3} ms {p}",
    ),
    (
        Columns::Frames,
        "  {f3:6} ms {n}/{n} ({g}%) -/-/-/- ms {n} pps  {n}/{n} -/-/-/- ms  -",
    ),
];
