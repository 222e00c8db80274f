"""Ctrl-C, and SIGTERM, which is handled like it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from graspline.errors import Interrupted

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """The first one asks to stop: lanes brake, hold and report. The second one stops at once."""
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
    """An interrupted command says what is left of its work."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {what_is_left()}") from None
