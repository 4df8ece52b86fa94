"""How a result is shown where people look at it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .report import Sum, Warning

HEIGHT = 720


class Shown:
    """A result that can be looked at."""

    if TYPE_CHECKING:
        sum: Sum
        warnings: Any
        verdict: Any
        command: Any

    raw: Mapping[str, Any]
    """The document as the program printed it."""
    page: Optional[str]
    """The program's page with its charts; None where it made none."""

    def remember(self, raw: Mapping[str, Any]) -> None:
        """Keeps the document it was made of."""
        object.__setattr__(self, "raw", raw)
        object.__setattr__(self, "page", None)

    def with_page(self, page: Optional[str]) -> None:
        """Keeps the program's page."""
        object.__setattr__(self, "page", page)

    @property
    def bits_per_second(self) -> Optional[float]:
        """Goodput of all streams: the receivers' count, else the senders'."""
        for end in (self.sum.receiver, self.sum.sender):
            if end.bits_per_second is not None:
                return end.bits_per_second
        return None

    @property
    def limited_by(self) -> Optional[str]:
        """What limited the test, where the evidence tells."""
        limit = self.verdict.limited_by if self.verdict is not None else None
        return None if limit is None else str(limit)

    def __str__(self) -> str:
        rate = self.bits_per_second
        words = ["no traffic" if rate is None else _rate(rate)]
        if self.limited_by is not None:
            words.append(f"limited by {self.limited_by.replace('_', ' ')}")
        words += [warning.text for warning in self.warnings if warning.severity != "note"]
        return ", ".join(words)

    def _repr_html_(self) -> str:
        """The page of the program, for notebooks; one line without it."""
        if self.page is None:
            return f"<p>{html.escape(str(self))}</p>"
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


def _rate(bits: float) -> str:
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= size:
            return f"{bits / size:.3g} {unit}"
    return f"{bits:.3g} bit/s"
