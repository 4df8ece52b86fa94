"""What happens in a test, while it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional

from .report import Interval, Report, Warning


@dataclass(frozen=True)
class Event:
    """A line of the program's stream."""

    name: str
    """`start`, `interval`, `peer_progress`, `warning`, `dropped`, `end`; of a server `listening`, too."""
    test: Optional[int]
    """The number of the test; None for what belongs to none."""
    at: str
    """When it was written, RFC 3339."""
    data: Any
    """What it holds, as the program printed it."""

    @property
    def interval(self) -> Optional[Interval]:
        """One stream's interval, where it is one."""
        return Interval.from_json(self.data) if self.name == "interval" else None

    @property
    def warning(self) -> Optional[Warning]:
        """A warning, where it is one."""
        return Warning.from_json(self.data) if self.name == "warning" else None

    @property
    def report(self) -> Optional[Report]:
        """The result, where it is the test's end."""
        return Report.from_json(self.data) if self.name == "end" else None

    @classmethod
    def read(cls, line: str) -> Event:
        """Takes a line of the stream."""
        value = json.loads(line)
        return cls(value["event"], value.get("test"), value.get("at", ""), value.get("data"))
