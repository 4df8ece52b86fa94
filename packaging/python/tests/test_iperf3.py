"""The classes of the binding `iperf3`, with real peers where there are any."""

import os
import shutil
import subprocess
import threading
import time
import unittest
from typing import Any, Optional

from tapeline.compat import iperf3
from tapeline.program import program

from .ports import LISTENS, free_port, sockets

COMMON = (
    "text json error time timesecs system_info version local_host local_port remote_host remote_port "
    "reverse type protocol num_streams blksize omit duration local_cpu_total local_cpu_user "
    "local_cpu_system remote_cpu_total remote_cpu_user remote_cpu_system"
).split()
TCP = [f"{end}_{unit}" for end in ("sent", "received") for unit in "bytes bps kbps Mbps kB_s MB_s".split()]
UDP = "bytes bps kbps Mbps kB_s MB_s jitter_ms packets lost_packets lost_percent seconds".split()


def real() -> Optional[str]:
    """A real iperf3, where one is installed."""
    for path in (os.environ.get("IPERF3", ""), "/opt/peers/bin/iperf3-3.22", shutil.which("iperf3") or ""):
        if path and os.access(path, os.X_OK):
            return path
    return None


class Peer:
    """A server of another process, for one test."""

    def __init__(self, command: "list[str]") -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            [*command, "-s", "-1", "-p", str(self.port)], stdout=subprocess.DEVNULL
        )
        while not sockets(self.port, LISTENS):
            if self.process.poll() is not None:
                raise AssertionError("the server has ended")
            time.sleep(0.01)

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.terminate()
        self.process.wait()


class WithPeers(unittest.TestCase):
    def peers(self) -> "list[list[str]]":
        """Commands of servers."""
        one = real()
        if one is None:
            print("skipped with a real iperf3: none is installed")
        return [[program(), "--as", "iperf3"], *([[one]] if one else [])]

    def client(self, peer: Peer) -> iperf3.Client:
        """A client of it."""
        client = iperf3.Client()
        client.duration = 1
        client.server_hostname = "127.0.0.1"
        client.port = peer.port
        return client

    def result(self, client: iperf3.Client, members: "list[str]") -> iperf3.TestResult:
        """Its result, which has these members."""
        result = client.run()
        assert result is not None
        self.assertIsNone(result.error)
        for member in COMMON + members:
            self.assertTrue(hasattr(result, member), member)
        return result

    def test_the_first_example(self) -> None:
        for command in self.peers():
            with Peer(command) as peer:
                result = self.result(self.client(peer), [*TCP, "retransmits", "tcp_mss_default"])
            self.assertEqual((result.protocol, result.type, result.reverse), ("TCP", "client", False))
            self.assertEqual(result.remote_port, peer.port)
            self.assertAlmostEqual(result.sent_Mbps, result.sent_bps / 1e6)
            self.assertAlmostEqual(result.sent_MB_s * 8 * 1024 * 1024, result.sent_bps, delta=1)
            self.assertGreater(result.received_bytes, 1e6)
            self.assertEqual((result.duration, result.num_streams), (1, 1))

    def test_settings_reach_the_peer(self) -> None:
        for command in self.peers():
            with Peer(command) as peer:
                client = self.client(peer)
                client.num_streams = 2
                client.reverse = True
                client.bandwidth = 4_000_000
                client.blksize = 16384
                client.omit = 1
                client.zerocopy = True
                result = self.result(client, TCP)
            self.assertTrue(result.reverse)
            self.assertEqual((result.num_streams, result.blksize, result.omit), (2, 16384, 1))
            self.assertAlmostEqual(result.received_Mbps, 8, delta=2)

    def test_datagrams(self) -> None:
        for command in self.peers():
            with Peer(command) as peer:
                client = self.client(peer)
                client.protocol = "udp"
                client.blksize = 1400
                client.bandwidth = 5_000_000
                result = self.result(client, UDP)
            self.assertEqual(result.protocol, "UDP")
            self.assertAlmostEqual(result.Mbps, 5, delta=0.5)
            self.assertFalse(hasattr(result, "sent_bytes"))

    def test_a_server_has_a_result(self) -> None:
        for command in self.peers():
            server = iperf3.Server()
            server.port = free_port()
            found: "list[Optional[iperf3.TestResult]]" = []
            thread = threading.Thread(target=lambda: found.append(server.run()))
            thread.start()
            client = [*command, "-c", "127.0.0.1", "-p", str(server.port), "-t", "1", "-b", "10M"]
            while subprocess.run(client, capture_output=True, check=False).returncode != 0:
                self.assertTrue(thread.is_alive())
            thread.join()
            (result,) = found
            assert result is not None
            self.assertIsNone(result.error)
            self.assertEqual((result.type, result.remote_host), ("server", "127.0.0.1"))
            self.assertAlmostEqual(result.received_Mbps, 10, delta=2)


class Alone(unittest.TestCase):
    def test_nobody_there_is_an_error_of_the_result(self) -> None:
        client = iperf3.Client()
        client.server_hostname = "127.0.0.1"
        client.port = free_port()
        result = client.run()
        assert result is not None
        self.assertIn("unable to connect to server", result.error or "")
        with self.assertRaises(AttributeError):
            result.sent_bps

    def test_values_that_nothing_was_set_to(self) -> None:
        client = iperf3.Client()
        self.assertEqual((client.port, client.duration, client.num_streams), (5201, 10, 1))
        self.assertEqual((client.protocol, client.blksize, client.role), ("tcp", 131072, "c"))
        client.protocol = "udp"
        self.assertEqual(client.blksize, 65507)
        client.blksize = 70000
        self.assertEqual(client.bulksize, 65507)
        client.duration = 3
        client.defaults()
        self.assertEqual((client.duration, client.protocol), (10, "tcp"))
        with self.assertRaises(ValueError):
            client.role = "x"
        self.assertTrue(client.iperf_version.startswith("iperf 3."))


if __name__ == "__main__":
    unittest.main()
