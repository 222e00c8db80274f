"""Live progress of a run on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from graspline.episodes.run import Episode
from graspline.episodes.statistics import wilson

_LINE_EVERY_S = 10.0


class EpisodeProgress:
    """Counts episodes, or something else; `said` follows the count."""

    def __init__(self, total: int, *, beside_output: bool, what: str = "episodes") -> None:
        """`beside_output`: lines go to standard output meanwhile; on a terminal they would tear the bar apart."""
        self.total, self.done, self._what = total, 0, what
        self._terminal = sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
        self._began = self._spoke = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            # Rich would send what is printed while a bar shows to the bar's console: JSON lines to standard error.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(what, total=total, said="")

    def advance(self, said: str = "") -> None:
        """One more is done."""
        self.done += 1
        if self._terminal:
            self._bar.update(self._task, advance=1, said=said)
        elif time.monotonic() - self._spoke >= _LINE_EVERY_S:
            self._spoke = time.monotonic()
            elapsed = self._spoke - self._began
            left = f"{elapsed / self.done * (self.total - self.done):.0f} s left"
            parts = (f"{self.done}/{self.total} {self._what}", said, left)
            print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if self._terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._bar.stop()


class RunProgress(EpisodeProgress):
    """Also shows the success rate with its interval."""

    succeeded = 0

    def add(self, episode: Episode) -> None:
        self.succeeded += episode.succeeded
        low, high = wilson(self.succeeded, self.done + 1)
        rate = f"{100 * self.succeeded / (self.done + 1):.1f} % ({100 * low:.1f}–{100 * high:.1f})"
        self.advance(f"success {rate}")
