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


class RunProgress:
    """Counts episodes and shows the success rate with its interval."""

    def __init__(self, total: int, *, beside_output: bool) -> None:
        """`beside_output`: lines go to standard output meanwhile; on a terminal they would tear the bar apart."""
        self.total, self.done, self.succeeded = total, 0, 0
        self._terminal = sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
        self._began = self._spoke = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            # Rich would send what is printed while a bar shows to the bar's console: JSON lines to standard error.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("episodes", total=total, rate="")

    def add(self, episode: Episode) -> None:
        self.done += 1
        self.succeeded += episode.succeeded
        if self._terminal:
            self._bar.update(self._task, advance=1, rate=self._rate())
        elif time.monotonic() - self._spoke >= _LINE_EVERY_S:
            self._spoke = time.monotonic()
            elapsed = self._spoke - self._began
            left = elapsed / self.done * (self.total - self.done)
            print(
                f"{self.done}/{self.total} episodes, {self._rate()}, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def _rate(self) -> str:
        low, high = wilson(self.succeeded, self.done)
        return f"success {100 * self.succeeded / self.done:.1f} % ({100 * low:.1f}–{100 * high:.1f})"

    def __enter__(self) -> Self:
        if self._terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._bar.stop()
