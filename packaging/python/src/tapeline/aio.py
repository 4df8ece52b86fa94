"""The same for asyncio: `await run(...)`, `async for event in stream(...)`, `async with Server()`."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type

from . import client, server
from .errors import TapelineError
from .events import Event
from .options import Options, words
from .process import PATIENCE
from .program import program
from .report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

LONGEST_LINE = 64 << 20
"""Bytes of a line: the document of a long test with many streams."""


async def run(host: str, **options: Unpack[Options]) -> Report:
    """`tapeline.run`; a task that is cancelled ends its test."""
    with tempfile.TemporaryDirectory(prefix="tapeline-") as folder:
        page = os.path.join(folder, client.PAGE)
        process = await _start([program(), *words(host, options), "--json", "--html", page])
        try:
            printed, said = await process.communicate()
        except BaseException:
            await _end(process)
            raise
        return client.result(_code(process), printed.decode(), said.decode(), page)


async def stream(host: str, **options: Unpack[Options]) -> AsyncIterator[Event]:
    """`tapeline.stream`; a loop that is left ends the test."""
    process = await _start([program(), *words(host, options), "--json-stream"])
    report: Optional[Report] = None
    said = asyncio.ensure_future(_all(process.stderr))
    try:
        async for event in _events(process):
            report = event.report or report
            yield event
        await process.wait()
    finally:
        await _end(process)
        errors = await said
    client.check(_code(process), report, errors)


class Server:
    """`tapeline.Server`, for `async with`."""

    def __init__(self, port: Optional[int] = None, options: Sequence[str] = ()) -> None:
        self.command = server.command(port, options)
        self._heard = server.Said()
        self._waiting: asyncio.Queue[Optional[Report]] = asyncio.Queue()
        self._listens = asyncio.Event()
        self._process: Optional[asyncio.subprocess.Process] = None
        self._tasks: list[asyncio.Future[object]] = []
        self._said = ""

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

    async def start(self) -> Server:
        """Starts it, and returns when it listens. Raises TapelineError where it cannot."""
        self._process = await _start(self.command)
        self._tasks = [
            asyncio.ensure_future(self._read(self._process)),
            asyncio.ensure_future(self._read_errors(self._process)),
        ]
        try:
            await asyncio.wait_for(self._listens.wait(), server.PATIENCE)
        except asyncio.TimeoutError:
            pass
        if self._heard.port is None:
            await self.stop()
            said = self._heard.error or self._said.strip()
            raise TapelineError(said or "the server does not listen")
        return self

    async def stop(self) -> None:
        """Stops it, with the tests that run."""
        if self._process is not None:
            await _end(self._process)
        await asyncio.gather(*self._tasks)

    async def next_report(self) -> Report:
        """The result of the next test that ends, each once."""
        report = await self._waiting.get()
        if report is None:
            self._waiting.put_nowait(None)
            raise TapelineError(self._heard.error or self._said.strip() or "the server has ended")
        return report

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        try:
            async for event in _events(process):
                self._happened(event)
        finally:
            await process.wait()
            # Whoever waits learns that nothing follows.
            self._waiting.put_nowait(None)
            self._listens.set()

    def _happened(self, event: Event) -> None:
        report = self._heard.take(event)
        if self._heard.port is not None:
            self._listens.set()
        if report is not None:
            self._waiting.put_nowait(report)

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        self._said = await _all(process.stderr)

    async def __aenter__(self) -> Server:
        return await self.start()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.stop()


async def _start(command: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )


async def _events(process: asyncio.subprocess.Process) -> AsyncIterator[Event]:
    if process.stdout is not None:
        async for line in process.stdout:
            if line.strip():
                yield Event.read(line.decode())


async def _all(pipe: Optional[asyncio.StreamReader]) -> str:
    return (await pipe.read()).decode() if pipe is not None else ""


def _code(process: asyncio.subprocess.Process) -> int:
    return process.returncode if process.returncode is not None else 1


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a program: in order, else by force."""
    if process.returncode is not None:
        return
    try:
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), PATIENCE)
    except ProcessLookupError:
        pass
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
