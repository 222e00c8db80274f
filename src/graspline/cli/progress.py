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
from graspline.episodes.run import Episode
from graspline.episodes.statistics import wilson

_LINE_EVERY_S = 10.0


class Progress:
    """How many of something are done, what the caller says of it, and how long the rest will take."""

    def __init__(
        self, what: str, total: int, *, said: str = "", beside_output: bool = False, lines: bool = True
    ) -> None:
        """`beside_output`: lines go to standard output meanwhile; on a terminal they would tear the bar apart.

        Without `lines` there is nothing but the bar: the caller speaks where there is no terminal.
        """
        self.total, self.done, self._what, self._lines = total, 0, what, lines
        # Done by an earlier run, which says nothing about the pace.
        self.began_with = 0
        self.on_terminal = sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
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
        return (self.done - self.began_with) / max(time.monotonic() - self._began, 1e-9)

    @property
    def left_s(self) -> float:
        return (self.total - self.done) / max(self.per_s, 1e-9)

    def advance(self, said: str = "") -> None:
        """One more is done."""
        self.done += 1
        self.show(said)

    def show(self, said: str = "") -> None:
        """Show how far it is; off a terminal, every ten seconds."""
        words = ", ".join(part for part in (said, f"{_clock(self.left_s)} left") if part)
        if self.on_terminal:
            self._bar.update(self._task, completed=self.done, said=words)
        elif self._lines and time.monotonic() - self._spoke >= _LINE_EVERY_S:
            self._spoke = time.monotonic()
            print(f"{self._what}: {self.done}/{self.total}, {words}", file=sys.stderr, flush=True)

    @contextmanager
    def part(
        self, what: str, *, visible: bool = True, lines: bool | None = None
    ) -> Iterator[Callable[[int, int], None]]:
        """A part of the work with a bar of its own below: what is given back is told how many of how many are done.

        Without `visible` the bar is shown only from the first of these calls to the last.
        """
        lines = self._lines if lines is None else lines
        below = self._bar.add_task(what, total=None, said="", visible=visible) if self.on_terminal else None
        began = spoke = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal spoke
            now = time.monotonic()
            left = f"{_clock((now - began) / done * (total - done))} left" if done else ""
            if below is not None:
                self._bar.update(below, completed=done, total=total, said=left, visible=visible or done < total)
            elif lines and done and now - spoke >= _LINE_EVERY_S:
                spoke = now
                print(f"{what}: {done}/{total}, {left}", file=sys.stderr, flush=True)

        try:
            yield show
        finally:
            if below is not None:
                self._bar.remove_task(below)

    def close(self) -> None:
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


class RunProgress(Progress):
    """Of episodes; shows the success rate with its interval."""

    succeeded = accepted = 0

    def add_recorded(self, *, succeeded: bool) -> None:
        """An episode that was played before."""
        self.succeeded += succeeded
        self.accepted += 1
        self.done += 1
        self.began_with += 1

    def add(self, episode: Episode) -> None:
        self.succeeded += episode.succeeded
        self.accepted += not episode.declined
        self.advance(success_text(self.succeeded, self.accepted) if self.accepted else "")


@contextmanager
def steps(what: str) -> Iterator[Callable[[int], Callable[[], object]]]:
    """For work that finds out on its way how many steps it has: told so, this gives what is called after each.

    Ctrl-C is obeyed between two steps, the second time at once. Struck at any moment it may be lost: what is raised
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


def success_text(succeeded: int, count: int) -> str:
    low, high = wilson(succeeded, count)
    return f"success {100 * succeeded / count:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
