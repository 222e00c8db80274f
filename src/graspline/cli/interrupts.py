"""Ctrl-C, and a polite kill, which is taken like it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from graspline.errors import Interrupted

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """They ask once, politely: lanes brake, hold and report. The second time they strike at once."""
    asked = False

    def ask(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = {each: signal.signal(each, ask) for each in STOPS}
    try:
        yield lambda: asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def interruptible(what_is_left: Callable[[], str]) -> Iterator[None]:
    """A user who ended the work is told what is left of it."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {what_is_left()}") from None
