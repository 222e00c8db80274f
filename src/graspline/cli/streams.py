"""Standard streams that take whatever we print, so that printing never decides what a command does.

A closed one swallows it, a poor encoding gets escapes, and once a reader has gone away, as `head` does, the rest goes
nowhere: what was being done is finished, and the exit code says how it went.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TextIO


class _Lasting(TextIOWrapper):
    """A stream that outlives its reader. The bytes below it belong to the stream whose place it takes."""

    unread = False

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            self._let_go()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._let_go()

    def close(self) -> None:
        self.flush()

    def _let_go(self) -> None:
        self.unread = True
        _discard(self)


def prepare() -> None:
    """Put streams that last in the place of Python's."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (open until we exit)
        elif isinstance(stream, TextIOWrapper):
            setattr(sys, name, _lasting(stream))


def unread() -> bool:
    """Whether the reader of standard output has gone away."""
    return isinstance(sys.stdout, _Lasting) and sys.stdout.unread


def let_go() -> None:
    """Give up on output that cannot be written, before Python tries again on its way out and complains."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)


def _lasting(stream: TextIOWrapper) -> _Lasting:
    return _Lasting(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _discard(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
