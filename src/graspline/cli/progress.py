"""Live progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console

from graspline.cli.interrupts import stopping

_LINE_EVERY_S = 10.0
# No estimate before this time and this part of the work: until then it would jump about.
_SETTLED_S = 3.0
_SHOWN = 0.02


class Progress:
    """How many of something are done, what the caller says about it, and how long the rest will take."""

    def __init__(
        self,
        what: str,
        total: int,
        *,
        said: str = "",
        beside_output: bool = False,
        lines: bool = True,
        bar: bool = True,
    ) -> None:
        """`beside_output`: lines go to standard output meanwhile; on a terminal they would tear the bar apart.

        Without `lines` only the bar is shown, without `bar` only lines: the caller prints the rest.
        """
        self._what, self._lines = what, lines
        self.total: int = total
        self.done: int = 0
        # Done by an earlier run, which says nothing about the pace.
        self.began_with: int = 0
        self.on_terminal = bar and sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
        self._began = self._spoke = time.monotonic()
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("{task.fields[said]}"),
            console=Console(stderr=True),
            transient=True,
            # Rich would send what is printed while a bar shows to the bar's console: JSON lines to standard error.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(what, total=total, said=said)

    @property
    def per_s(self) -> float:
        """How many are done in a second."""
        return (self.done - self.began_with) / max(time.monotonic() - self._began, 1e-9)

    @property
    def left_s(self) -> float | None:
        """How long the rest will take; None while that is a guess, and when nothing is left."""
        elapsed_s, fraction = time.monotonic() - self._began, self._fraction()
        if elapsed_s < _SETTLED_S or fraction < _SHOWN or self.done >= self.total:
            return None
        return elapsed_s * (1 - fraction) / fraction

    def _fraction(self) -> float:
        """The part of this run's work that is done."""
        return (self.done - self.began_with) / max(self.total - self.began_with, 1)

    def advance(self, said: str = "") -> None:
        """One more is done."""
        self.done += 1
        self.show(said)

    def show(self, said: str = "") -> None:
        """Show how far it is; off a terminal, every ten seconds."""
        left_s = self.left_s
        words = ", ".join(part for part in (said, "" if left_s is None else _left(left_s)) if part)
        if self.on_terminal:
            self._bar.update(self._task, completed=self.done, total=self.total, said=words)
        elif self._lines and time.monotonic() - self._spoke >= _LINE_EVERY_S:
            self._spoke = time.monotonic()
            _print_line(self._what, self.done, self.total, words)

    @contextmanager
    def part(
        self, what: str, *, said: str = "", visible: bool = True, lines: bool | None = None
    ) -> Iterator[Callable[[int, int], None]]:
        """A part of the work with a bar of its own below it; yields what is called with how many of how many are done.

        Without `visible` the bar is shown only from the first of these calls to the last.
        """
        lines = self._lines if lines is None else lines
        below = self._bar.add_task(what, total=None, said=said, visible=visible) if self.on_terminal else None
        spoke, first = time.monotonic(), list[tuple[float, int]]()

        def show(done: int, total: int) -> None:
            nonlocal spoke
            now = time.monotonic()
            if done and not first:
                first.append((now, done))
            # The pace counts from the first one on: before it, workers were started.
            since, already = first[0] if first else (now, done)
            fraction = (done - already) / max(total - already, 1)
            settled = now - since >= _SETTLED_S and fraction >= _SHOWN and done < total
            left = _left((now - since) * (1 - fraction) / fraction) if settled else "" if done else said
            if below is not None:
                self._bar.update(below, completed=done, total=total, said=left, visible=visible or done < total)
            elif lines and done and now - spoke >= _LINE_EVERY_S:
                spoke = now
                _print_line(what, done, total, left)

        try:
            yield show
        finally:
            if below is not None:
                self._bar.remove_task(below)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        if self.on_terminal:
            self._bar.stop()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Without the bar meanwhile, for output to the terminal."""
        self.close()
        yield
        if self.on_terminal:
            self._bar.start()

    def __enter__(self) -> Self:
        if self.on_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def steps(what: str) -> Iterator[Callable[[int], Callable[[], object]]]:
    """For work that counts its steps itself: called with their number, this returns what to call after each.

    Ctrl-C is obeyed between two steps, the second time at once. Raised at any moment it might be lost: what is raised
    inside a weak reference's callback, of which HDF5 files make many, is printed and ignored.
    """
    with stopping() as stop, ExitStack() as shown:

        def begin(count: int) -> Callable[[], object]:
            progress = shown.enter_context(Progress(what, count))

            def done() -> None:
                progress.advance()
                if stop():
                    raise KeyboardInterrupt

            return done

        yield begin


def _print_line(what: str, done: int, total: int, words: str) -> None:
    print(", ".join(filter(None, (f"{what}: {done}/{total}", words))), file=sys.stderr, flush=True)


def _left(seconds: float) -> str:
    return f"{_clock(seconds)} left" if seconds >= 1 else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
