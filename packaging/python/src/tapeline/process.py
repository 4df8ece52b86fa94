"""Processes of the program."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from typing import IO, Optional

PATIENCE = 5.0
"""Seconds in which an interrupted program exchanges and prints its totals."""


def lines(pipe: Optional[IO[str]]) -> Iterator[str]:
    """The lines that a program prints."""
    if pipe is not None:
        yield from (line for line in pipe if line.strip())


def end(process: subprocess.Popen[str], is_read: bool = False) -> None:
    """Ends a program: in order, else by force. `is_read` where somebody else reads what it prints."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        if is_read:
            process.wait(timeout=PATIENCE)
        else:
            process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
