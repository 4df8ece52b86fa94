"""The options of a test, as words of a command line."""

from __future__ import annotations

from typing import Optional, Sequence, TypedDict, Union

Amount = Union[int, float, str]
"""A number, or one with a suffix as the program reads it: `"100M"`."""


class Options(TypedDict, total=False):
    """What a test can be given. `options` holds any others, as words."""

    port: int
    """The server's port (5001)."""
    time: float
    """Seconds (10)."""
    size: Amount
    """Bytes to carry instead of a time."""
    udp: bool
    """Datagrams instead of a stream."""
    rate: Amount
    """Bits per second; without it TCP is as fast as it goes, and UDP sends 1 Mbit/s."""
    parallel: int
    """Streams at a time."""
    reverse: bool
    """The server sends."""
    full_duplex: bool
    """Both send, over the same connection."""
    interval: float
    """Seconds of an interval (1)."""
    length: Amount
    """Bytes of a write or datagram."""
    window: Amount
    """Bytes of the socket's buffer."""
    congestion: str
    """The congestion control."""
    tos: Union[int, str]
    """The type of service, or a class such as `"ef"`."""
    bind: str
    """The own address, or address and port."""
    ipv6: bool
    """Over IPv6."""
    iperf3: bool
    """The server is an iperf3."""
    options: Sequence[str]
    """More words: `["--trip-times"]`."""


_WITH_VALUE = {
    "port": "-p",
    "time": "-t",
    "size": "-n",
    "rate": "-b",
    "parallel": "-P",
    "interval": "-i",
    "length": "-l",
    "window": "-w",
    "congestion": "-Z",
    "tos": "-S",
    "bind": "-B",
}
_FLAGS = {
    "udp": ["-u"],
    "reverse": ["-R"],
    "full_duplex": ["--full-duplex"],
    "ipv6": ["-6"],
    "iperf3": ["--peer", "iperf3"],
}


def words(host: str, options: Options) -> list[str]:
    """The words of a client's command line.

    Raises TypeError for an option that there is none of, ValueError for a host that is an option.
    """
    if not host or host.startswith("-"):
        raise ValueError(f"{host!r} is no host")
    result = ["-c", host]
    for name, value in options.items():
        if name == "options":
            continue
        if name in _WITH_VALUE:
            if value is not None:
                result += [_WITH_VALUE[name], _number(value)]
        elif name in _FLAGS:
            if value:
                result += _FLAGS[name]
        else:
            known = ", ".join([*_WITH_VALUE, *_FLAGS, "options"])
            raise TypeError(f"there is no option {name!r}: {known}")
    more: Optional[Sequence[str]] = options.get("options")
    return result + [str(word) for word in more or ()]


def _number(value: object) -> str:
    # The program reads no exponents.
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return str(value)
