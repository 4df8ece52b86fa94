"""A server for as long as a block lasts."""

from __future__ import annotations

import queue
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Optional, Type

from .errors import TapelineError
from .events import Event
from .process import end, lines
from .program import program
from .report import Report

PATIENCE = 10.0
"""Seconds in which a server listens."""


def command(port: Optional[int], options: Sequence[str]) -> list[str]:
    """The command line of a server."""
    chosen = [] if port is None else ["-p", str(port)]
    return [program(), "-s", *chosen, *options, "--json-stream"]


class Said:
    """What a server has said so far: its port, an error, results."""

    def __init__(self) -> None:
        self.port: Optional[int] = None
        self.error: Optional[str] = None
        self.reports: list[Report] = []

    def take(self, event: Event) -> Optional[Report]:
        """Keeps what an event says; the result when it is that of a test."""
        if event.name == "listening":
            self.port = event.data[0]["port"]
        warning = event.warning
        if warning is not None and warning.severity == "error":
            self.error = warning.text
        report = event.report
        if report is not None:
            self.reports.append(report)
        return report


class Server:
    """Serves tapeline, iperf 2 and iperf3 clients.

    >>> with tapeline.Server(port=0) as server:  # doctest: +SKIP
    ...     tapeline.run("127.0.0.1", port=server.port)

    `port` is 5001 without one, and any free one for 0; `options` are more words of the command line.
    """

    def __init__(self, port: Optional[int] = None, options: Sequence[str] = ()) -> None:
        self.command = command(port, options)
        self._heard = Said()
        self._waiting: queue.Queue[Optional[Report]] = queue.Queue()
        self._listens = threading.Event()
        self._process: Optional[subprocess.Popen[str]] = None
        self._errors: Optional[IO[str]] = None
        self._reader: Optional[threading.Thread] = None

    @property
    def port(self) -> int:
        """Where it listens."""
        if self._heard.port is None:
            raise TapelineError("the server does not listen")
        return self._heard.port

    @property
    def reports(self) -> list[Report]:
        """The results of the tests that ended so far."""
        return self._heard.reports

    def start(self) -> Server:
        """Starts it, and returns when it listens. Raises TapelineError where it cannot."""
        self._errors = tempfile.TemporaryFile(mode="w+")
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        if not self._listens.wait(PATIENCE) or self._heard.port is None:
            self.stop()
            raise TapelineError(self._said() or "the server does not listen")
        return self

    def stop(self) -> None:
        """Stops it, with the tests that run."""
        if self._process is not None:
            end(self._process, is_read=True)
        if self._reader is not None:
            self._reader.join()

    def next_report(self, timeout: Optional[float] = None) -> Report:
        """The result of the next test that ends, each once. Raises TimeoutError after `timeout` seconds."""
        try:
            report = self._waiting.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no test ended within {timeout} s") from None
        if report is None:
            self._waiting.put(None)
            raise TapelineError(self._said() or "the server has ended")
        return report

    def _read(self, process: subprocess.Popen[str]) -> None:
        try:
            for line in lines(process.stdout):
                self._happened(Event.read(line))
        finally:
            # Whoever waits learns that nothing follows.
            self._waiting.put(None)
            self._listens.set()

    def _happened(self, event: Event) -> None:
        report = self._heard.take(event)
        if self._heard.port is not None:
            self._listens.set()
        if report is not None:
            self._waiting.put(report)

    def _said(self) -> str:
        if self._heard.error is not None or self._errors is None:
            return self._heard.error or ""
        self._errors.seek(0)
        return self._errors.read().strip()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()
