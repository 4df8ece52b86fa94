"""The classes of the binding `iperf3` for Python, over tapeline: `from tapeline.compat import iperf3`.

It needs no libiperf. Tests are those of iperf3, with iperf3 peers or tapeline at the other end; results have
the same names and units.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Optional

from ..program import program

__all__ = ["Client", "IPerf3", "Server", "TestResult"]

MAX_UDP_BULKSIZE = 65535 - 8 - 20
"""Largest datagram, bytes: a packet without the headers of IPv4 and UDP."""
TCP_BLKSIZE = 128 * 1024
UDP_BANDWIDTH = 1024 * 1024
PORT = 5201


class IPerf3:
    """What clients and servers have in common."""

    def __init__(self, role: str, verbose: bool = True, lib_name: Optional[str] = None) -> None:
        """`role` is "c" or "s". There is no library: `lib_name` is taken for the sake of callers."""
        self.role = role
        self.verbose = verbose
        self.json_output = True
        self.bind_address: Optional[str] = None
        self.port: int = PORT

    @property
    def role(self) -> str:
        """ "c" or "s"."""
        return self._role

    @role.setter
    def role(self, role: str) -> None:
        if role.lower() not in ("c", "s"):
            raise ValueError("Unknown role, accepted values are 'c' and 's'")
        self._role = role.lower()

    def defaults(self) -> None:
        """Sets everything back to what it is at the start."""
        # The instance's own class knows its members.
        type(self).__init__(self)  # type: ignore[call-arg]

    @property
    def iperf_version(self) -> str:
        """The first line of the version."""
        done = subprocess.run([program(), "--as", "iperf3", "--version"], capture_output=True, text=True)
        return done.stdout.splitlines()[0] if done.stdout else "unknown"

    def run(self) -> Optional[TestResult]:
        """Runs it; clients and servers know how."""
        raise NotImplementedError

    def _common(self) -> list[str]:
        words = ["-p", str(self.port)]
        if self.bind_address:
            words += ["-B", self.bind_address]
        if self.json_output:
            words.append("-J")
        elif self.verbose:
            words.append("-V")
        return words

    def _run(self, words: list[str]) -> Optional[TestResult]:
        command = [program(), "--as", "iperf3", *words, *self._common()]
        if not self.json_output:
            # The test is for the screen alone.
            sys.stdout.flush()
            subprocess.run(command, check=False)
            return None
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = done.stdout.strip()
        if not text:
            said = done.stderr.strip().splitlines()
            error = said[-1] if said else f"iperf3 ended with exit code {done.returncode}"
            text = json.dumps({"error": error.replace("iperf3: error - ", "")})
        return TestResult(text)


class Client(IPerf3):
    """A client.

    >>> client = Client()
    >>> client.duration = 1
    >>> client.server_hostname = "127.0.0.1"
    >>> client.run().sent_Mbps  # doctest: +SKIP
    32583.29
    """

    def __init__(self, verbose: bool = True, lib_name: Optional[str] = None) -> None:
        super().__init__("c", verbose, lib_name)
        self.server_hostname: Optional[str] = None
        self.omit: int = 0
        self.duration: int = 10
        self.bandwidth: int = 0
        self.num_streams: int = 1
        self.zerocopy: bool = False
        self.reverse: bool = False
        self._protocol = "tcp"
        self._blksize: Optional[int] = None

    @property
    def protocol(self) -> str:
        """ "tcp" or "udp"."""
        return self._protocol

    @protocol.setter
    def protocol(self, protocol: str) -> None:
        if protocol in ("tcp", "udp"):
            self._protocol = protocol
            # A datagram holds no more.
            self._blksize = None if self._blksize is None else self._within(self._blksize)

    @property
    def blksize(self) -> int:
        """Bytes of a block; a datagram holds 65507 at most."""
        return self._within(TCP_BLKSIZE) if self._blksize is None else self._blksize

    @blksize.setter
    def blksize(self, blksize: int) -> None:
        self._blksize = self._within(blksize)

    @property
    def bulksize(self) -> int:
        """The old name of `blksize`."""
        return self.blksize

    @bulksize.setter
    def bulksize(self, bulksize: int) -> None:
        self.blksize = bulksize

    def run(self) -> Optional[TestResult]:
        """Runs the test. A failure is the result's `error`."""
        if not self.server_hostname:
            return TestResult(json.dumps({"error": "no server_hostname"}))
        words = ["-c", self.server_hostname, "-t", str(self.duration), "-P", str(self.num_streams)]
        if self._protocol == "udp":
            words.append("-u")
        if self._blksize is not None or self._protocol == "udp":
            words += ["-l", str(self.blksize)]
        if self.omit:
            words += ["-O", str(self.omit)]
        if self.bandwidth or self._protocol == "udp":
            words += ["-b", str(self.bandwidth or UDP_BANDWIDTH)]
        words += ["-Z"] if self.zerocopy else []
        words += ["-R"] if self.reverse else []
        return self._run(words)

    def _within(self, blksize: int) -> int:
        return min(blksize, MAX_UDP_BULKSIZE) if self._protocol == "udp" else blksize


class Server(IPerf3):
    """A server of one test: its result is known when that has ended."""

    def __init__(self, verbose: bool = True, lib_name: Optional[str] = None) -> None:
        super().__init__("s", verbose, lib_name)

    def run(self) -> Optional[TestResult]:
        """Waits for a client, and returns what its test came to."""
        return self._run(["-s", "-1"])


class TestResult:
    """What a test came to. Bits are counted in thousands, bytes in 1024s, as their names have it."""

    __test__ = False

    def __init__(self, result: str) -> None:
        """`result` is the JSON of iperf3."""
        self.text = result
        self.json: dict[str, Any] = json.loads(result)
        self.error: Optional[str] = self.json.get("error")
        if self.error is None:
            self._take_start(self.json["start"])
            self._take_end(self.json["end"])

    def _take_start(self, start: dict[str, Any]) -> None:
        self.time = start["timestamp"]["time"]
        self.timesecs = start["timestamp"]["timesecs"]
        self.system_info = start["system_info"]
        self.version = start["version"]
        self.tcp_mss_default = start.get("tcp_mss_default")
        connected = start["connected"][0]
        for name in ("local_host", "local_port", "remote_host", "remote_port"):
            setattr(self, name, connected[name])
        test = start["test_start"]
        self.protocol = test["protocol"]
        for name in ("num_streams", "blksize", "omit", "duration"):
            setattr(self, name, test[name])

    def _take_end(self, end: dict[str, Any]) -> None:
        processor = end["cpu_utilization_percent"]
        for name, whose in (("local", "host"), ("remote", "remote")):
            for part in ("total", "user", "system"):
                setattr(self, f"{name}_cpu_{part}", processor[f"{whose}_{part}"])
        if self.protocol == "TCP":
            self._take_rates("sent_", end["sum_sent"])
            self._take_rates("received_", end["sum_received"])
            # Senders alone count them.
            self.retransmits = end["sum_sent"].get("retransmits")
        elif self.protocol == "UDP":
            self._take_rates("", end["sum"])
            for name in ("jitter_ms", "packets", "lost_packets", "lost_percent", "seconds"):
                setattr(self, name, end["sum"][name])

    def _take_rates(self, prefix: str, counted: dict[str, Any]) -> None:
        bits = counted["bits_per_second"]
        for name, value in (
            ("bytes", counted["bytes"]),
            ("bps", bits),
            ("kbps", bits / 1e3),
            ("Mbps", bits / 1e6),
            ("kB_s", bits / (8 * 1024)),
            ("MB_s", bits / (8 * 1024 * 1024)),
        ):
            setattr(self, prefix + name, value)

    def __getattr__(self, name: str) -> Any:
        # What the kind of test does not have; for type checkers, all others.
        raise AttributeError(f"a result of this kind has no {name}" + (f": {self.error}" if self.__dict__.get("error") else ""))

    @property
    def reverse(self) -> bool:
        """The server sent."""
        return bool(self.json["start"]["test_start"]["reverse"])

    @property
    def type(self) -> str:
        """Whose result it is: "client" or "server"."""
        return "client" if "connecting_to" in self.json["start"] else "server"

    def __repr__(self) -> str:
        return self.text
