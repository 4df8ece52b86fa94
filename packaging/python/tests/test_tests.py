"""Tests between two processes of the program on this machine."""

import asyncio
import os
import threading
import unittest
import unittest.mock
from typing import Optional

import tapeline
from tapeline import aio

from .ports import ESTABLISHED, free_port, sockets


class Run(unittest.TestCase):
    def test_both_ends_have_the_result(self) -> None:
        with tapeline.Server(port=0) as server:
            report = tapeline.run("127.0.0.1", port=server.port, time=0.5, reverse=True)
            served = server.next_report(timeout=10)
        self.assertIsNone(report.error)
        self.assertTrue(report.test.complete)
        self.assertEqual(report.peer.program, "tapeline")
        (stream,) = report.streams
        self.assertEqual(stream.direction, "reverse")
        self.assertEqual(stream.sender.bytes, served.streams[0].sender.bytes)
        self.assertGreater(report.bits_per_second or 0, 1e6)
        self.assertEqual(server.reports, [served])

    def test_members_of_a_transport_are_there_where_it_has_them(self) -> None:
        with tapeline.Server(port=0) as server:
            udp = tapeline.run("127.0.0.1", udp=True, rate="8M", port=server.port, time=0.3)
            tcp = tapeline.run("127.0.0.1", rate=8_000_000, port=server.port, time=0.3)
        self.assertIsNotNone(udp.sum.receiver.jitter_ms)
        self.assertIsNone(tcp.sum.receiver.jitter_ms)
        self.assertAlmostEqual((udp.bits_per_second or 0) / 8e6, 1, delta=0.2)

    def test_a_notebook_shows_the_page(self) -> None:
        with tapeline.Server(port=0) as server:
            report = tapeline.run("127.0.0.1", port=server.port, time=0.3)
        shown = report._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc="), shown[:80])
        self.assertIn("tapeline-report/1", shown)
        bare = tapeline.Report.from_json(report.raw)._repr_html_()
        self.assertRegex(bare, r"^<p>[0-9.e+]+ [GMk]?bit/s.*</p>$")

    def test_nobody_there_is_an_error_with_its_report(self) -> None:
        with self.assertRaises(tapeline.TestError) as caught:
            tapeline.run("127.0.0.1", port=free_port(), time=0.3)
        self.assertEqual(caught.exception.exit_code, 1)
        self.assertIn("refused", str(caught.exception))
        report = caught.exception.report
        self.assertIsNotNone(report and report.error)

    def test_options_that_do_not_go_together_are_said(self) -> None:
        with self.assertRaises(tapeline.TestError) as caught:
            tapeline.run("127.0.0.1", options=["--no-such-option"])
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertIn("--no-such-option", str(caught.exception))

    def test_without_a_program_it_is_said(self) -> None:
        before = {name: os.environ.get(name) for name in ("TAPELINE", "PATH")}
        try:
            os.environ["TAPELINE"] = ""
            os.environ["PATH"] = "/nowhere"
            with unittest.mock.patch("tapeline.program._installed", return_value=None):
                with self.assertRaises(tapeline.ProgramMissing):
                    tapeline.run("127.0.0.1")
        finally:
            restore(before)


def restore(before: "dict[str, Optional[str]]") -> None:
    """Sets variables back."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class Stream(unittest.TestCase):
    def test_events_come_as_they_happen(self) -> None:
        with tapeline.Server(port=0) as server:
            events = list(tapeline.stream("127.0.0.1", port=server.port, time=0.5, interval=0.1))
        names = [event.name for event in events]
        self.assertEqual((names[0], names[-1]), ("start", "end"))
        intervals = [event.interval for event in events if event.interval is not None]
        self.assertGreaterEqual(len(intervals), 5)
        self.assertTrue(all(one.bits_per_second for one in intervals[:5]))
        report = events[-1].report
        self.assertTrue(report is not None and report.test.complete)

    def test_a_loop_that_is_left_ends_the_test(self) -> None:
        with tapeline.Server(port=0) as server:
            for event in tapeline.stream("127.0.0.1", port=server.port, time=60, interval=0.1):
                if event.interval is not None:
                    break
            served = server.next_report(timeout=10)
        self.assertLess(served.streams[0].receiver.seconds or 60, 30)

    def test_an_error_comes_behind_the_last_event(self) -> None:
        events = tapeline.stream("127.0.0.1", port=free_port(), time=0.3)
        names = []
        with self.assertRaises(tapeline.TestError):
            for event in events:
                names.append(event.name)
        self.assertEqual(names[-1], "end")


class Serve(unittest.TestCase):
    def test_a_port_in_use_is_said(self) -> None:
        with tapeline.Server(port=0) as server:
            with self.assertRaisesRegex(tapeline.TapelineError, "in use"):
                tapeline.Server(port=server.port).start()

    def test_a_test_that_does_not_end_is_waited_for_so_long(self) -> None:
        with tapeline.Server(port=0) as server:
            with self.assertRaises(TimeoutError):
                server.next_report(timeout=0.05)

    def test_sixteen_servers_and_tests_at_once(self) -> None:
        found: "list[Optional[float]]" = []

        def one() -> None:
            with tapeline.Server(port=0) as server:
                report = tapeline.run("127.0.0.1", port=server.port, time=0.5, rate="1M")
                found.append(report.bits_per_second)

        threads = [threading.Thread(target=one) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len([rate for rate in found if rate]), 16)


class Async(unittest.TestCase):
    def test_the_twins_do_the_same(self) -> None:
        async def all_of_it() -> None:
            async with aio.Server(port=0) as server:
                both = await asyncio.gather(
                    *(aio.run("127.0.0.1", port=server.port, time=0.4, rate="1M") for _ in range(2))
                )
                self.assertTrue(all(report.test.complete for report in both))
                self.assertTrue(both[0]._repr_html_().startswith("<iframe"))
                for _ in both:
                    await asyncio.wait_for(server.next_report(), 10)
                names = []
                async for event in aio.stream("127.0.0.1", port=server.port, time=0.3, interval=0.1):
                    names.append(event.name)
                self.assertEqual((names[0], names[-1]), ("start", "end"))

        asyncio.run(all_of_it())

    def test_a_cancelled_task_ends_its_test(self) -> None:
        async def cancelled() -> tapeline.Report:
            async with aio.Server(port=0) as server:
                task = asyncio.ensure_future(aio.run("127.0.0.1", port=server.port, time=60))
                while not sockets(server.port, ESTABLISHED):
                    await asyncio.sleep(0.01)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                return await asyncio.wait_for(server.next_report(), 10)

        self.assertLess(asyncio.run(cancelled()).streams[0].receiver.seconds or 60, 30)

    def test_errors_are_the_same(self) -> None:
        with self.assertRaises(tapeline.TestError):
            asyncio.run(aio.run("127.0.0.1", port=free_port()))

        async def taken() -> None:
            async with aio.Server(port=0) as server:
                with self.assertRaisesRegex(tapeline.TapelineError, "in use"):
                    await aio.Server(port=server.port).start()

        asyncio.run(taken())


if __name__ == "__main__":
    unittest.main()
