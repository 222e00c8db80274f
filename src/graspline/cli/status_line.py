"""One line on a terminal that says what a command is doing before there is anything to count."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_ERASE = "\r\x1b[K"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what …` on standard error meanwhile, if that is a terminal; nothing else may be printed until it ends."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not on_terminal:
        yield
        return
    _show(f"{_ERASE}{what} …")
    try:
        yield
    finally:
        _show(_ERASE)


def _show(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
