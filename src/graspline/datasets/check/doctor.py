"""A dataset examined from all sides: whatever a loader, a trainer or a replay relies on, and all that is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graspline.datasets.check.contents import Contents, read_contents
from graspline.datasets.check.findings import Finding, Findings
from graspline.datasets.check.frames import check_frames
from graspline.datasets.check.index import check_index
from graspline.datasets.check.leftovers import check_leftovers
from graspline.datasets.check.logs import play_logs, read_logs
from graspline.datasets.check.statistics import check_all_stats
from graspline.datasets.check.videos import check_videos
from graspline.datasets.format.files import folder_bytes, is_there
from graspline.datasets.format.store import STATS
from graspline.errors import DatasetProblem

# At most this many problems are named where something else was asked for.
_NAMED = 20

Done = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetContents:
    """What a dataset holds."""

    episodes: int
    successes: int
    frames: int
    fps: int
    cameras: tuple[str, ...]
    disk_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "episodes": self.episodes,
            "successes": self.successes,
            "frames": self.frames,
            "fps": self.fps,
            "cameras": list(self.cameras),
            "disk_bytes": self.disk_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All problems and notes, and what the dataset holds, if that could be read."""

    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    summary: DatasetContents | None

    @property
    def healthy(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def examine(root: Path, *, fast: bool = False, begin: Callable[[int], Done] = lambda steps: lambda: None) -> Diagnosis:
    """Check everything; `fast` plays no log and decodes no video.

    `begin` gets the number of steps, and gives what is called after each.
    """
    found = Findings(root.resolve())
    contents = read_contents(root, found)
    if contents is not None:
        done = begin(len(contents.rows) * (2 + len(contents.dataset.settings.views)))
        check_index(contents, found)
        check_all_stats(contents, found)
        check_frames(contents, found, done)
        check_videos(contents, found, done, fast=fast)
        (read_logs if fast else play_logs)(contents, found, done)
        check_leftovers(contents, found)
    return Diagnosis(
        problems=found.problems, notes=found.notes, summary=None if contents is None else _summary(contents)
    )


def check_sound(root: Path, on_step: Callable[[int, int], object] = lambda done, steps: None) -> None:
    """Refuse to build on a dataset in which `examine` finds a problem; no log is played and no video decoded for it.

    What statistics of all say is left aside: they are counted anew from the rows. `on_step` is called with how many
    steps are done, and of how many.
    """

    def begin(steps: int) -> Done:
        done = itertools.count(1)
        return lambda: on_step(next(done), steps)

    found = examine(root, fast=True, begin=begin).problems
    problems = [f"{root}/{each}" for each in found if each.where != STATS or not _may_be_rebuilt(root / STATS)]
    if problems:
        messages = problems[:_NAMED]
        if len(problems) > _NAMED:
            messages.append(f"and {len(problems) - _NAMED} more; `graspline doctor {root}` names them all")
        raise DatasetProblem("\n".join(messages))


def _may_be_rebuilt(path: Path) -> bool:
    return path.is_file() or not is_there(path)


def _summary(contents: Contents) -> DatasetContents:
    return DatasetContents(
        episodes=len(contents.rows),
        successes=sum(row["success"] for row in contents.rows),
        frames=sum(row["length"] for row in contents.rows),
        fps=contents.dataset.settings.fps,
        cameras=tuple(str(view) for view in contents.dataset.settings.views),
        disk_bytes=folder_bytes(contents.dataset.root),
    )
