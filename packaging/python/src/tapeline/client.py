"""Tests with a server."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Optional

from .errors import TapelineError, TestError
from .events import Event
from .options import Options, words
from .process import end, lines
from .program import program
from .report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

PAGE = "page.html"


def run(host: str, **options: Unpack[Options]) -> Report:
    """Tests with a server, and returns what was measured when it is over.

    `options` are those of `tapeline.options.Options`. An interruption (Ctrl-C) ends the test.

    Raises TestError if the test did not take place or ended before its time: what was measured is in its
    `report`. Raises ProgramMissing without a program.
    """
    command = [program(), *words(host, options)]
    with tempfile.TemporaryDirectory(prefix="tapeline-") as folder:
        page = os.path.join(folder, PAGE)
        command += ["--json", "--html", page]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                printed, said = process.communicate()
            except BaseException:
                end(process)
                raise
        return result(process.returncode, printed, said, page)


def stream(host: str, **options: Unpack[Options]) -> Iterator[Event]:
    """Tests with a server, and yields what happens as it happens; the last event is `end`.

    A loop that is left ends the test. Raises as `run` does, behind the last event.
    """
    command = [program(), *words(host, options), "--json-stream"]
    return _events(command)


def _events(command: list[str]) -> Iterator[Event]:
    # What it says there is short, and read at the end.
    with tempfile.TemporaryFile(mode="w+") as errors, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:
        report: Optional[Report] = None
        try:
            for line in lines(process.stdout):
                event = Event.read(line)
                report = event.report or report
                yield event
            process.wait()
        finally:
            end(process)
        errors.seek(0)
        check(process.returncode, report, errors.read())


def result(code: int, printed: str, said: str, page: str) -> Report:
    """What a program printed, with its page; raises TestError for a test that failed."""
    report: Optional[Report] = None
    if printed.strip():
        try:
            report = Report.from_json(json.loads(printed))
        except (ValueError, KeyError, TypeError) as error:
            raise TapelineError(f"the program printed no tapeline-report/1: {error!r}") from error
    if report is not None and os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            report.with_page(file.read())
    check(code, report, said)
    if report is None:
        raise TapelineError("the program printed nothing")
    return report


def check(code: int, report: Optional[Report], said: str) -> None:
    """Raises TestError for a test that failed."""
    if code == 0:
        return
    failure = report.error if report is not None else None
    text = failure.text if failure is not None else _last_line(said)
    raise TestError(text or f"the program ended with exit code {code}", code, report)


def _last_line(said: str) -> str:
    said_lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in said_lines if line.startswith("error")]
    return (errors or said_lines or [""])[-1]
