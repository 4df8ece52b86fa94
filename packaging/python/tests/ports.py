"""Ports of this machine."""

import socket
from typing import List

ESTABLISHED = "01"
LISTENS = "0A"


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def sockets(port: int, state: str) -> List[str]:
    """The TCP sockets of a port that are in a state, as Linux lists them."""
    found = []
    for family in ("tcp", "tcp6"):
        with open(f"/proc/net/{family}", encoding="ascii") as file:
            rows = [line.split() for line in file]
        found += [row[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == state]
    return found
