"""What goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .report import Report


class TapelineError(Exception):
    """The program did not do what was asked of it."""


class ProgramMissing(TapelineError):
    """There is no program `tapeline` to be found."""


class TestError(TapelineError):
    """A test did not take place, or ended before its time."""

    __test__ = False

    exit_code: int
    """That of the program: 1 for a failure, 2 for options that do not go together."""

    report: Optional[Report]
    """What was measured before; None where there is nothing."""

    def __init__(self, text: str, exit_code: int, report: Optional[Report] = None) -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.report = report
