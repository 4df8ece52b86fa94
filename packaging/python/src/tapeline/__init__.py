"""tapeline: a tape measure for networks.

>>> import tapeline
>>> report = tapeline.run("db1", time=10, reverse=True)  # doctest: +SKIP
>>> report.bits_per_second  # doctest: +SKIP
9413000000.0

`run` and `stream` test with a server (tapeline, iperf 2 or iperf3), `Server` runs one, and
`tapeline.aio` has the same for asyncio.
"""

from . import aio
from .client import run, stream
from .errors import ProgramMissing, TapelineError, TestError
from .events import Event
from .program import program, version
from .report import Report
from .server import Server

__all__ = [
    "Event",
    "ProgramMissing",
    "Report",
    "Server",
    "TapelineError",
    "TestError",
    "aio",
    "program",
    "run",
    "stream",
    "version",
]

__version__ = version()
