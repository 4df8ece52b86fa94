# Made from docs/schema/tapeline-report-1.json by cargo xtask generate: changes here do not last.
"""The result of a test: the members of `tapeline-report/1` as classes.

Unknown values are None, never 0. Members that a newer program adds are in `Report.raw` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Mapping, Optional, Sequence

from .page import Shown

CountedBy = Literal["sender", "receiver"]
"""Which end counted."""

DelayClock = Literal["estimated", "assumed_synchronised", "unknown"]
"""What is known of the two clocks that a one-way delay is measured with."""

FlowDirection = Literal["forward", "reverse", "round_trip"]
"""Which way a flow's data goes."""

Protocol = Literal["iperf2", "iperf3"]
"""What both ends spoke."""

Severity = Literal["note", "warning", "error"]
"""How grave a condition is."""

TestRole = Literal["client", "server"]
"""Which end wrote the document."""

TestShape = Literal["forward", "reverse", "bidirectional"]
"""What carries the data."""

TrustLevel = Literal["good", "host-limited", "partial", "poor"]
"""How far, from the best to the worst."""

Workload = Literal["stream", "request_response", "connect_only"]
"""What the streams do."""


@dataclass(frozen=True)
class ConnectTimes:
    """Durations of connecting."""

    failed: int
    """Attempts that failed."""

    max_ms: Optional[float]
    """Largest."""

    mean_ms: Optional[float]
    """Arithmetic mean."""

    min_ms: Optional[float]
    """Least."""

    p50_ms: Optional[float]
    """Median."""

    p90_ms: Optional[float]
    """90th percentile."""

    p95_ms: Optional[float]
    """95th percentile."""

    p999_ms: Optional[float]
    """99.9th percentile."""

    p99_ms: Optional[float]
    """99th percentile."""

    quantiles_ms: Optional[Sequence[float]]
    """The delays that 0, 5, 10 and so on up to 100 % of all do not exceed; known of 20 samples
    or more."""

    samples: Optional[int]
    """How many were measured."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ConnectTimes:
        """Takes what the program printed."""
        return cls(
            failed=value["failed"],
            max_ms=value.get("max_ms"),
            mean_ms=value.get("mean_ms"),
            min_ms=value.get("min_ms"),
            p50_ms=value.get("p50_ms"),
            p90_ms=value.get("p90_ms"),
            p95_ms=value.get("p95_ms"),
            p999_ms=value.get("p999_ms"),
            p99_ms=value.get("p99_ms"),
            quantiles_ms=tuple(value["quantiles_ms"]) if value.get("quantiles_ms") is not None else None,
            samples=value.get("samples"),
        )


@dataclass(frozen=True)
class DelaySummary:
    """Count, mean, extremes and percentiles of delays, milliseconds. A percentile is known when
    at least one sample lies above it."""

    max_ms: Optional[float]
    """Largest."""

    mean_ms: Optional[float]
    """Arithmetic mean."""

    min_ms: Optional[float]
    """Least."""

    p50_ms: Optional[float]
    """Median."""

    p90_ms: Optional[float]
    """90th percentile."""

    p95_ms: Optional[float]
    """95th percentile."""

    p999_ms: Optional[float]
    """99.9th percentile."""

    p99_ms: Optional[float]
    """99th percentile."""

    quantiles_ms: Optional[Sequence[float]]
    """The delays that 0, 5, 10 and so on up to 100 % of all do not exceed; known of 20 samples
    or more."""

    samples: Optional[int]
    """How many were measured."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DelaySummary:
        """Takes what the program printed."""
        return cls(
            max_ms=value.get("max_ms"),
            mean_ms=value.get("mean_ms"),
            min_ms=value.get("min_ms"),
            p50_ms=value.get("p50_ms"),
            p90_ms=value.get("p90_ms"),
            p95_ms=value.get("p95_ms"),
            p999_ms=value.get("p999_ms"),
            p99_ms=value.get("p99_ms"),
            quantiles_ms=tuple(value["quantiles_ms"]) if value.get("quantiles_ms") is not None else None,
            samples=value.get("samples"),
        )


@dataclass(frozen=True)
class DirectionSum:
    """The streams of one direction."""

    direction: FlowDirection
    """Which one."""

    receiver: Receiver
    """What its receivers counted."""

    sender: Sender
    """What its senders counted."""

    stream_count: int
    """Its entries of `streams`."""

    verdict: Optional[Verdict]
    """What limited it; `null` when that is not known."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DirectionSum:
        """Takes what the program printed."""
        return cls(
            direction=value["direction"],
            receiver=Receiver.from_json(value["receiver"]),
            sender=Sender.from_json(value["sender"]),
            stream_count=value["stream_count"],
            verdict=Verdict.from_json(value["verdict"]) if value.get("verdict") is not None else None,
        )


@dataclass(frozen=True)
class Failure:
    """Why a test did not take place, or ended before its time."""

    id: str
    """Its name, as that of a warning."""

    text: str
    """A sentence."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Failure:
        """Takes what the program printed."""
        return cls(
            id=value["id"],
            text=value["text"],
        )


@dataclass(frozen=True)
class Imported:
    """A result of another program."""

    from_: str
    """What it was read from: `iperf3-json`, `iperf3-text`, `iperf2-csv` or `iperf2-text`."""

    resolution: Optional[Resolution]
    """How finely its numbers were told; `null` where they were not rounded."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Imported:
        """Takes what the program printed."""
        return cls(
            from_=value["from"],
            resolution=Resolution.from_json(value["resolution"]) if value.get("resolution") is not None else None,
        )


@dataclass(frozen=True)
class Interval:
    """One stream in one interval. Every interval has all members; those that its stream does not
    have, or that are not known, are `null`."""

    bits_per_second: Optional[float]
    """`bytes` over `seconds`."""

    bytes: int
    """Payload."""

    counted_by: CountedBy
    """Which end counted."""

    cpu_percent: Optional[float]
    """Processor use of this process, percent of one processor."""

    cwnd_bytes: Optional[int]
    """Congestion window at the end."""

    delay_max_ms: Optional[float]
    """Largest of them."""

    delay_mean_ms: Optional[float]
    """Their mean."""

    delay_min_ms: Optional[float]
    """Least of them."""

    delay_samples: Optional[int]
    """Delays of the interval: one-way delays of the data, or round trips of requests."""

    delivery_bits_per_second: Optional[int]
    """The kernel's estimate of the rate at which data arrives, at the end."""

    direction: FlowDirection
    """Its direction."""

    duplicates: Optional[int]
    """Datagrams that arrived again."""

    end_seconds: float
    """End, seconds after the stream's start."""

    in_flight_bytes: Optional[int]
    """Bytes on the way at the end."""

    jitter_ms: Optional[float]
    """RFC 3550 jitter at the end."""

    loss_runs: Optional[int]
    """Runs of consecutive losses that the interval added."""

    lost: Optional[int]
    """Datagrams that were missed, less those that came late."""

    omitted: bool
    """It lies in the start that does not count."""

    packets: Optional[int]
    """Datagrams: that left (sender), distinct ones that arrived (receiver)."""

    peer_cpu_percent: Optional[float]
    """That of the peer, as it reported last: twice a second."""

    probe_max_ms: Optional[float]
    """Largest of them."""

    probe_mean_ms: Optional[float]
    """Their mean."""

    probe_min_ms: Optional[float]
    """Least of their round trips."""

    probe_samples: Optional[int]
    """Probes beside the test's traffic that were answered in it."""

    reordered: Optional[int]
    """Distinct datagrams that arrived after a later one."""

    reordering_extent: Optional[int]
    """Largest reordering extent (RFC 4737) of the datagrams that came in it."""

    retransmits: Optional[int]
    """Segments that were sent again."""

    rtt_ms: Optional[float]
    """Smoothed round-trip time at the end."""

    rtt_variance_ms: Optional[float]
    """Its mean deviation."""

    seconds: float
    """Its length."""

    ssthresh_bytes: Optional[int]
    """Slow-start threshold at the end; `null` too while there is none."""

    start_seconds: float
    """Start, seconds after the stream's."""

    stream: int
    """Number of the stream."""

    time: Optional[str]
    """When it ended, by this end's clock: RFC 3339, universal time."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Interval:
        """Takes what the program printed."""
        return cls(
            bits_per_second=value.get("bits_per_second"),
            bytes=value["bytes"],
            counted_by=value["counted_by"],
            cpu_percent=value.get("cpu_percent"),
            cwnd_bytes=value.get("cwnd_bytes"),
            delay_max_ms=value.get("delay_max_ms"),
            delay_mean_ms=value.get("delay_mean_ms"),
            delay_min_ms=value.get("delay_min_ms"),
            delay_samples=value.get("delay_samples"),
            delivery_bits_per_second=value.get("delivery_bits_per_second"),
            direction=value["direction"],
            duplicates=value.get("duplicates"),
            end_seconds=value["end_seconds"],
            in_flight_bytes=value.get("in_flight_bytes"),
            jitter_ms=value.get("jitter_ms"),
            loss_runs=value.get("loss_runs"),
            lost=value.get("lost"),
            omitted=value["omitted"],
            packets=value.get("packets"),
            peer_cpu_percent=value.get("peer_cpu_percent"),
            probe_max_ms=value.get("probe_max_ms"),
            probe_mean_ms=value.get("probe_mean_ms"),
            probe_min_ms=value.get("probe_min_ms"),
            probe_samples=value.get("probe_samples"),
            reordered=value.get("reordered"),
            reordering_extent=value.get("reordering_extent"),
            retransmits=value.get("retransmits"),
            rtt_ms=value.get("rtt_ms"),
            rtt_variance_ms=value.get("rtt_variance_ms"),
            seconds=value["seconds"],
            ssthresh_bytes=value.get("ssthresh_bytes"),
            start_seconds=value["start_seconds"],
            stream=value["stream"],
            time=value.get("time"),
        )


@dataclass(frozen=True)
class LatencyUnderLoad:
    """Round trips of a small flow of probes: how much longer the path takes while the test's
    traffic flows."""

    bufferbloat_grade: Optional[str]
    """`A+` (less than 5 ms), `A` (30), `B` (60), `C` (200), `D` (400) or `F`; unknown of a load
    shorter than 5 s and of fewer than 50 round trips."""

    idle: DelaySummary
    """Round trips after the traffic, on the quiet path."""

    increase_from_server_ms: Optional[float]
    """The increase of the way back."""

    increase_ms: Optional[float]
    """Median under load less the idle median."""

    increase_p95_ms: Optional[float]
    """The same of the 95th percentiles."""

    increase_to_server_ms: Optional[float]
    """The increase of the way from client to server."""

    load_seconds: float
    """How long it flowed."""

    loaded: DelaySummary
    """Round trips while it flowed."""

    probes_answered: int
    """Of them, those that were answered: `samples` of `loaded`."""

    probes_sent: int
    """Probes that were sent while it flowed."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LatencyUnderLoad:
        """Takes what the program printed."""
        return cls(
            bufferbloat_grade=value.get("bufferbloat_grade"),
            idle=DelaySummary.from_json(value["idle"]),
            increase_from_server_ms=value.get("increase_from_server_ms"),
            increase_ms=value.get("increase_ms"),
            increase_p95_ms=value.get("increase_p95_ms"),
            increase_to_server_ms=value.get("increase_to_server_ms"),
            load_seconds=value["load_seconds"],
            loaded=DelaySummary.from_json(value["loaded"]),
            probes_answered=value["probes_answered"],
            probes_sent=value["probes_sent"],
        )


@dataclass(frozen=True)
class OneWayDelay:
    """One-way delays."""

    clock: DelayClock
    """What is known of the clocks."""

    clock_offset_ms: Optional[float]
    """What was taken out: the receiver's clock less the sender's."""

    error_ms: Optional[float]
    """The true mean is at most this far from the mean told, if the path without queues takes as
    long there as back."""

    error_single_ms: Optional[float]
    """Minimum, maximum and percentiles are at most this far from the true ones, if the path
    without queues takes as long there as back."""

    error_single_worst_case_ms: Optional[float]
    """The same whatever the path is like."""

    error_worst_case_ms: Optional[float]
    """The same whatever the path is like."""

    max_ms: Optional[float]
    """Largest."""

    mean_ms: Optional[float]
    """Arithmetic mean."""

    min_ms: Optional[float]
    """Least."""

    p50_ms: Optional[float]
    """Median."""

    p90_ms: Optional[float]
    """90th percentile."""

    p95_ms: Optional[float]
    """95th percentile."""

    p999_ms: Optional[float]
    """99.9th percentile."""

    p99_ms: Optional[float]
    """99th percentile."""

    quantiles_ms: Optional[Sequence[float]]
    """The delays that 0, 5, 10 and so on up to 100 % of all do not exceed; known of 20 samples
    or more."""

    samples: Optional[int]
    """How many were measured."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OneWayDelay:
        """Takes what the program printed."""
        return cls(
            clock=value["clock"],
            clock_offset_ms=value.get("clock_offset_ms"),
            error_ms=value.get("error_ms"),
            error_single_ms=value.get("error_single_ms"),
            error_single_worst_case_ms=value.get("error_single_worst_case_ms"),
            error_worst_case_ms=value.get("error_worst_case_ms"),
            max_ms=value.get("max_ms"),
            mean_ms=value.get("mean_ms"),
            min_ms=value.get("min_ms"),
            p50_ms=value.get("p50_ms"),
            p90_ms=value.get("p90_ms"),
            p95_ms=value.get("p95_ms"),
            p999_ms=value.get("p999_ms"),
            p99_ms=value.get("p99_ms"),
            quantiles_ms=tuple(value["quantiles_ms"]) if value.get("quantiles_ms") is not None else None,
            samples=value.get("samples"),
        )


@dataclass(frozen=True)
class Peer:
    """The other end."""

    address: Optional[str]
    """Its address, without port."""

    host: Optional[str]
    """The host as it was typed (clients)."""

    program: Optional[str]
    """`tapeline`, `iperf` (version 2) or `iperf3`; `null` when it did not say."""

    version: Optional[str]
    """Its version, as it names it."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Peer:
        """Takes what the program printed."""
        return cls(
            address=value.get("address"),
            host=value.get("host"),
            program=value.get("program"),
            version=value.get("version"),
        )


@dataclass(frozen=True)
class Receiver:
    """What the receiver counted."""

    bits_per_second: Optional[float]
    """`bytes` over `seconds`."""

    bytes: Optional[int]
    """Payload."""

    cpu_percent: Optional[float]
    """Processor time over that time, percent of one processor."""

    cpu_seconds_per_gigabyte: Optional[float]
    """Processor time for each 10^9 bytes of payload, seconds: of the process, where its use is
    known."""

    duplicates: Optional[int]
    """Datagrams that arrived again."""

    jitter_mean_ms: Optional[float]
    """Mean of all its values."""

    jitter_ms: Optional[float]
    """RFC 3550 jitter at the end."""

    longest_gap_ms: Optional[float]
    """Longest time without an arrival, less their mean distance."""

    longest_gap_start_seconds: Optional[float]
    """When it began, seconds after the first arrival."""

    longest_loss_run: Optional[int]
    """Datagrams of the longest one."""

    loss_runs: Optional[int]
    """Runs of consecutive losses."""

    lost: Optional[int]
    """Datagrams that were sent and did not arrive."""

    lost_network: Optional[int]
    """Of `lost`: on the way."""

    lost_percent: Optional[float]
    """`lost` of all that were sent as far as the receiver knows."""

    lost_receiver_host: Optional[int]
    """Of `lost`: in the receiver's host."""

    lost_sender_host: Optional[int]
    """Of `lost`: in the sender's host."""

    out_of_order: Optional[int]
    """Late and repeated datagrams together, as iperf counts them."""

    packets: Optional[int]
    """Distinct datagrams that arrived."""

    placement: Optional[StreamPlacement]
    """Where it handled the stream, as far as its system tells; of a stream, not of a sum."""

    reordered: Optional[int]
    """Distinct datagrams that arrived after a later one."""

    reordering_extent: Optional[int]
    """Largest reordering extent (RFC 4737): distinct datagrams that came between the first later
    one and a late one."""

    seconds: Optional[float]
    """Time in which it was counted."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Receiver:
        """Takes what the program printed."""
        return cls(
            bits_per_second=value.get("bits_per_second"),
            bytes=value.get("bytes"),
            cpu_percent=value.get("cpu_percent"),
            cpu_seconds_per_gigabyte=value.get("cpu_seconds_per_gigabyte"),
            duplicates=value.get("duplicates"),
            jitter_mean_ms=value.get("jitter_mean_ms"),
            jitter_ms=value.get("jitter_ms"),
            longest_gap_ms=value.get("longest_gap_ms"),
            longest_gap_start_seconds=value.get("longest_gap_start_seconds"),
            longest_loss_run=value.get("longest_loss_run"),
            loss_runs=value.get("loss_runs"),
            lost=value.get("lost"),
            lost_network=value.get("lost_network"),
            lost_percent=value.get("lost_percent"),
            lost_receiver_host=value.get("lost_receiver_host"),
            lost_sender_host=value.get("lost_sender_host"),
            out_of_order=value.get("out_of_order"),
            packets=value.get("packets"),
            placement=StreamPlacement.from_json(value["placement"]) if value.get("placement") is not None else None,
            reordered=value.get("reordered"),
            reordering_extent=value.get("reordering_extent"),
            seconds=value.get("seconds"),
        )


@dataclass(frozen=True)
class Requests:
    """Requests and responses of a client."""

    per_second: Optional[float]
    """Responses per second, back to back: 1 over the mean round trip."""

    request_bytes: int
    """Bytes of requests."""

    response_bytes: int
    """Bytes of responses."""

    responses: int
    """Responses that came."""

    retransmits: Optional[int]
    """Segments that were sent again."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Requests:
        """Takes what the program printed."""
        return cls(
            per_second=value.get("per_second"),
            request_bytes=value["request_bytes"],
            response_bytes=value["response_bytes"],
            responses=value["responses"],
            retransmits=value.get("retransmits"),
        )


@dataclass(frozen=True)
class Resolution:
    """One unit of the last digit that a text told of the largest number of each kind."""

    bits_per_second: Optional[float]
    """Of rates."""

    bytes: Optional[float]
    """Of payload."""

    milliseconds: Optional[float]
    """Of jitter and delays."""

    seconds: Optional[float]
    """Of begins and ends."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Resolution:
        """Takes what the program printed."""
        return cls(
            bits_per_second=value.get("bits_per_second"),
            bytes=value.get("bytes"),
            milliseconds=value.get("milliseconds"),
            seconds=value.get("seconds"),
        )


@dataclass(frozen=True)
class Sender:
    """What the sender counted."""

    bits_per_second: Optional[float]
    """`bytes` over `seconds`."""

    bytes: Optional[int]
    """Payload."""

    cpu_percent: Optional[float]
    """Processor time over that time, percent of one processor."""

    cpu_seconds_per_gigabyte: Optional[float]
    """Processor time for each 10^9 bytes of payload, seconds: of the process, where its use is
    known."""

    placement: Optional[StreamPlacement]
    """Where it handled the stream, as far as its system tells; of a stream, not of a sum."""

    seconds: Optional[float]
    """Time in which it was counted."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sender:
        """Takes what the program printed."""
        return cls(
            bits_per_second=value.get("bits_per_second"),
            bytes=value.get("bytes"),
            cpu_percent=value.get("cpu_percent"),
            cpu_seconds_per_gigabyte=value.get("cpu_seconds_per_gigabyte"),
            placement=StreamPlacement.from_json(value["placement"]) if value.get("placement") is not None else None,
            seconds=value.get("seconds"),
        )


@dataclass(frozen=True)
class Stream:
    """One direction of a stream."""

    congestion_control: Optional[str]
    """Congestion control of this end (TCP)."""

    connect_ms: Optional[float]
    """How long connect() took (TCP clients)."""

    direction: FlowDirection
    """Which way its data goes."""

    id: int
    """Its number in the text; both directions of one connection share it."""

    local: Optional[str]
    """Own address and port."""

    one_way_delay: Optional[OneWayDelay]
    """One-way delays of the data; of requests where there are such."""

    one_way_delay_reverse: Optional[OneWayDelay]
    """One-way delays of responses."""

    receiver: Receiver
    """What the receiver counted."""

    remote: Optional[str]
    """The peer's address and port."""

    requests: Optional[Requests]
    """Requests and responses."""

    rtt: Optional[DelaySummary]
    """Round trips: of requests and their responses, or the sender's smoothed ones (TCP_INFO),
    sampled at the end of each interval."""

    sender: Sender
    """What the sender counted."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Stream:
        """Takes what the program printed."""
        return cls(
            congestion_control=value.get("congestion_control"),
            connect_ms=value.get("connect_ms"),
            direction=value["direction"],
            id=value["id"],
            local=value.get("local"),
            one_way_delay=OneWayDelay.from_json(value["one_way_delay"]) if value.get("one_way_delay") is not None else None,
            one_way_delay_reverse=OneWayDelay.from_json(value["one_way_delay_reverse"]) if value.get("one_way_delay_reverse") is not None else None,
            receiver=Receiver.from_json(value["receiver"]),
            remote=value.get("remote"),
            requests=Requests.from_json(value["requests"]) if value.get("requests") is not None else None,
            rtt=DelaySummary.from_json(value["rtt"]) if value.get("rtt") is not None else None,
            sender=Sender.from_json(value["sender"]),
        )


@dataclass(frozen=True)
class StreamPlacement:
    """CPUs, memory node and interface queue of one end of a stream."""

    cpu: Optional[int]
    """CPU on which the thread that moved the data ran last."""

    incoming_cpu: Optional[int]
    """CPU on which the system took in the stream's last packet."""

    napi_id: Optional[int]
    """NAPI ID of the interface's queue through which that packet came."""

    numa_node: Optional[int]
    """Memory node (NUMA) of that CPU."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamPlacement:
        """Takes what the program printed."""
        return cls(
            cpu=value.get("cpu"),
            incoming_cpu=value.get("incoming_cpu"),
            napi_id=value.get("napi_id"),
            numa_node=value.get("numa_node"),
        )


@dataclass(frozen=True)
class Sum:
    """All streams of a test."""

    directions: Sequence[DirectionSum]
    """The same for each direction that the test has."""

    receiver: Receiver
    """What receivers counted, of all directions."""

    sender: Sender
    """What senders counted, of all directions."""

    stream_count: int
    """Entries of `streams`."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sum:
        """Takes what the program printed."""
        return cls(
            directions=tuple(DirectionSum.from_json(one) for one in value.get("directions") or ()),
            receiver=Receiver.from_json(value["receiver"]),
            sender=Sender.from_json(value["sender"]),
            stream_count=value["stream_count"],
        )


@dataclass(frozen=True)
class Test:
    """What was measured."""

    complete: bool
    """It ran to its end, and both ends were there."""

    congestion_control: Optional[str]
    """Congestion control of this end (TCP)."""

    direction: Optional[TestShape]
    """Who sends."""

    interrupted: bool
    """It was ended by an interrupt: the numbers cover a part."""

    interval_seconds: Optional[float]
    """The interval of `intervals`."""

    intervals_dropped: int
    """Intervals that are not in this document because the output was too slow, or too many."""

    length_bytes: Optional[int]
    """Bytes of a write or a datagram."""

    omit_seconds: Optional[float]
    """What did not count at the start, seconds."""

    protocol: Optional[Protocol]
    """What both ends spoke."""

    requested_bits_per_second: Optional[int]
    """Rate that each stream was to keep; `null` without limit."""

    requested_bytes: Optional[int]
    """How much each stream was to send; `null` without such a limit."""

    requested_seconds: Optional[float]
    """How long it was to last; `null` without such a limit."""

    role: Optional[TestRole]
    """Which end wrote this document."""

    socket_buffer_bytes: Optional[int]
    """Socket buffer in force at this end."""

    started: Optional[str]
    """When it began, by this end's clock: RFC 3339, universal time."""

    streams: Optional[int]
    """Streams in each direction."""

    tos: Optional[int]
    """Type of service byte of sent data."""

    transport: Optional[Literal["tcp", "udp", "sctp"]]
    """`tcp`, `udp` or `sctp`."""

    workload: Optional[Workload]
    """What the streams do."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Test:
        """Takes what the program printed."""
        return cls(
            complete=value["complete"],
            congestion_control=value.get("congestion_control"),
            direction=value.get("direction"),
            interrupted=value["interrupted"],
            interval_seconds=value.get("interval_seconds"),
            intervals_dropped=value["intervals_dropped"],
            length_bytes=value.get("length_bytes"),
            omit_seconds=value.get("omit_seconds"),
            protocol=value.get("protocol"),
            requested_bits_per_second=value.get("requested_bits_per_second"),
            requested_bytes=value.get("requested_bytes"),
            requested_seconds=value.get("requested_seconds"),
            role=value.get("role"),
            socket_buffer_bytes=value.get("socket_buffer_bytes"),
            started=value.get("started"),
            streams=value.get("streams"),
            tos=value.get("tos"),
            transport=value.get("transport"),
            workload=value.get("workload"),
        )


@dataclass(frozen=True)
class TestTrust:
    """How far the numbers are to be trusted."""

    level: TrustLevel
    """The level."""

    reasons: Sequence[str]
    """Why, the weightiest reason first; at least one."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TestTrust:
        """Takes what the program printed."""
        return cls(
            level=value["level"],
            reasons=tuple(value.get("reasons") or ()),
        )


@dataclass(frozen=True)
class TestVerdict:
    """What limited a test of one direction or two."""

    confidence: Literal["low", "medium", "high"]
    """How sure that is: `low`, `medium` or `high`."""

    direction: Optional[FlowDirection]
    """The direction that it is about, of two: the one that is limited most."""

    evidence: Sequence[str]
    """What it rests on, the weightiest first."""

    limited_by: Optional[Literal["network", "sender_cpu", "receiver_cpu", "send_buffer", "receive_window", "receive_buffer", "requested_rate", "input", "application", "pacing", "measurement"]]
    """The limit: `network`, `sender_cpu`, `receiver_cpu`, `send_buffer`, `receive_window`,
    `receive_buffer`, `requested_rate`, `input`, `application`, `pacing` or `measurement`; `null`
    when the evidence does not tell."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TestVerdict:
        """Takes what the program printed."""
        return cls(
            confidence=value["confidence"],
            direction=value.get("direction"),
            evidence=tuple(value.get("evidence") or ()),
            limited_by=value.get("limited_by"),
        )


@dataclass(frozen=True)
class Verdict:
    """What limited a test."""

    confidence: Literal["low", "medium", "high"]
    """How sure that is: `low`, `medium` or `high`."""

    evidence: Sequence[str]
    """What it rests on, the weightiest first."""

    limited_by: Optional[Literal["network", "sender_cpu", "receiver_cpu", "send_buffer", "receive_window", "receive_buffer", "requested_rate", "input", "application", "pacing", "measurement"]]
    """The limit: `network`, `sender_cpu`, `receiver_cpu`, `send_buffer`, `receive_window`,
    `receive_buffer`, `requested_rate`, `input`, `application`, `pacing` or `measurement`; `null`
    when the evidence does not tell."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Verdict:
        """Takes what the program printed."""
        return cls(
            confidence=value["confidence"],
            evidence=tuple(value.get("evidence") or ()),
            limited_by=value.get("limited_by"),
        )


@dataclass(frozen=True)
class Warning:
    """A condition with a name that does not change between versions. The other end may send
    names that this one does not know."""

    id: str
    """Its name, lower case with hyphens; `tapeline explain` knows it."""

    severity: Severity
    """How grave."""

    text: str
    """One sentence with the numbers of this run."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Warning:
        """Takes what the program printed."""
        return cls(
            id=value["id"],
            severity=value["severity"],
            text=value["text"],
        )


@dataclass(frozen=True)
class Report(Shown):
    """One test, as one end tells it."""

    command: Optional[str]
    """Its command line, quoted for a shell."""

    connect_times: Optional[ConnectTimes]
    """Durations of connecting (`--connect-only`)."""

    error: Optional[Failure]
    """Why the test did not take place or ended before its time; `null` when it did not."""

    imported: Optional[Imported]
    """Of a result of another program: how it was taken over."""

    intervals: Sequence[Interval]
    """Each interval of each stream, in the order of their ends."""

    latency_under_load: Optional[LatencyUnderLoad]
    """Round trips beside the traffic and on the quiet path (between two tapelines)."""

    peer: Peer
    """The other end."""

    schema: str
    """Name and version of this form: `tapeline-report/1`."""

    streams: Sequence[Stream]
    """Each direction of each stream."""

    sum: Sum
    """All streams together."""

    test: Test
    """What was measured."""

    trust: Optional[TestTrust]
    """How far the numbers are to be trusted; `null` of a test that carried no traffic."""

    verdict: Optional[TestVerdict]
    """What limited the test; `null` when that is not known."""

    version: Optional[str]
    """Version of the program that wrote it."""

    warnings: Sequence[Warning]
    """What a reader of the numbers must know."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Report:
        """Takes what the program printed."""
        report = cls(
            command=value.get("command"),
            connect_times=ConnectTimes.from_json(value["connect_times"]) if value.get("connect_times") is not None else None,
            error=Failure.from_json(value["error"]) if value.get("error") is not None else None,
            imported=Imported.from_json(value["imported"]) if value.get("imported") is not None else None,
            intervals=tuple(Interval.from_json(one) for one in value.get("intervals") or ()),
            latency_under_load=LatencyUnderLoad.from_json(value["latency_under_load"]) if value.get("latency_under_load") is not None else None,
            peer=Peer.from_json(value["peer"]),
            schema=value["schema"],
            streams=tuple(Stream.from_json(one) for one in value.get("streams") or ()),
            sum=Sum.from_json(value["sum"]),
            test=Test.from_json(value["test"]),
            trust=TestTrust.from_json(value["trust"]) if value.get("trust") is not None else None,
            verdict=TestVerdict.from_json(value["verdict"]) if value.get("verdict") is not None else None,
            version=value.get("version"),
            warnings=tuple(Warning.from_json(one) for one in value.get("warnings") or ()),
        )
        report.remember(value)
        return report
