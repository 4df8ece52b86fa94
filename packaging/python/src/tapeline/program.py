"""The program that this package runs."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import shutil
from typing import Optional

from .errors import ProgramMissing

PACKAGE = "tapeline"
NAMES = ("tapeline", "tapeline.exe")


def version() -> str:
    """The version of this package, which is that of its program."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def program() -> str:
    """The path of the program: `$TAPELINE`, else the one that came with this package, else the first in `PATH`.

    Raises ProgramMissing where there is none.
    """
    found = os.environ.get("TAPELINE") or _installed() or shutil.which(PACKAGE)
    if found is None:
        raise ProgramMissing("no program tapeline in this package or in PATH: pip install tapeline")
    return found


@functools.lru_cache(maxsize=1)
def _installed() -> Optional[str]:
    try:
        files = importlib.metadata.files(PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        path = os.fspath(file.locate()) if file.name in NAMES else None
        if path is not None and os.access(path, os.X_OK):
            return os.path.abspath(path)
    return None
