"""What lies beside the episodes that the index counts: one that a killed writer left, and nothing more.

A writer puts the files of an episode into their places one after the other, the index last. So there is never more than
one episode that is not counted, and it lies where the next one goes. With more, the index is one that is not this
dataset's, and must not take away what it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graspline.datasets.format.files import file_at
from graspline.datasets.format.index import INFO
from graspline.datasets.format.rows import (
    Row,
    Slot,
    data_file,
    data_slot,
    files_of,
    log_file,
    row_file,
    row_slot,
    video_file,
    video_slot,
)
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.store import Dataset, deleted_in
from graspline.errors import DatasetProblem

# At most this many files are named.
_NAMED = 20
_SLOT = r"chunk-(\d{3}|[1-9]\d{3,})/file-(\d{3}|[1-9]\d{3,})"
_LOG = re.compile(r"graspline/logs/episode-(\d{6}|[1-9]\d{6,})\.npz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the next episode gets: a number that no other had, the seeds from here on, and files of its own."""

    episode_id: int
    seed: int
    slot: Slot

    def files(self, keys: Iterable[str]) -> list[str]:
        """In the order in which they are written; `keys` are the features that are videos."""
        videos = [video_file(key, self.slot) for key in keys]
        return [*videos, log_file(self.episode_id), data_file(self.slot), row_file(self.slot)]


def next_after(rows: Sequence[Row], deleted: Iterable[Mapping[str, Any]], settings: DatasetSettings) -> Next:
    """`deleted` are the notes of episodes that were taken out."""
    known = [*rows, *deleted]
    keys = [view.key for view in settings.views]
    taken = (slot for row in rows for slot in (data_slot(row), row_slot(row), *(video_slot(row, key) for key in keys)))
    return Next(
        episode_id=max((each["episode_id"] for each in known), default=-1) + 1,
        seed=max((settings.seed - 1, *(each["seed"] for each in known))) + 1,
        slot=max(taken).next() if rows else Slot(0, 0),
    )


def left_behind(dataset: Dataset) -> frozenset[str]:
    """Files that a killed writer left; a problem of the dataset if it cannot have been one. Nothing is changed."""
    return leftovers_in(dataset.root, dataset.settings, dataset.rows, dataset.uncounted)


def leftovers_in(
    root: Path, settings: DatasetSettings, rows: Sequence[Row], uncounted: Sequence[Row]
) -> frozenset[str]:
    """The same for a dataset that need not have an index yet: `rows` are those it counts, `uncounted` all others."""
    keys = [view.key for view in settings.views]
    found = strays(root, rows, keys)
    after = next_after(rows, deleted_in(root), settings)
    if len(uncounted) > 1 or (uncounted and row_file(after.slot) not in found):
        counts = f"{INFO} counts {len(rows)}" if (root / INFO).is_file() else f"{INFO} is missing"
        raise DatasetProblem(
            f"{root}: {len(rows) + len(uncounted)} episodes have a row in meta/episodes, and {counts}; "
            "put back the index that counts them"
        )
    others = sorted(found.difference(after.files(keys)))
    if others:
        more = [f"and {len(others) - _NAMED} more"] if len(others) > _NAMED else []
        messages = [f"{root / name}: no episode names it, and no killed writer leaves it" for name in others[:_NAMED]]
        raise DatasetProblem("\n".join([*messages, *more]))
    for name in sorted(found):
        file_at(root / name)
    return frozenset(found)


def strays(root: Path, rows: Sequence[Row], keys: Sequence[str]) -> set[str]:
    """Files with names such as a writer gives that are named by none of these episodes."""
    folders = {"data": "parquet", "meta/episodes": "parquet", **{f"videos/{key}": "mp4" for key in keys}}
    found = {
        name
        for folder, ending in folders.items()
        for name in _names(root, f"{folder}/*/*.{ending}")
        if re.fullmatch(rf"{re.escape(folder)}/{_SLOT}\.{ending}", name)
    }
    found |= {name for name in _names(root, "graspline/logs/*.npz") if _LOG.fullmatch(name)}
    return found.difference(name for row in rows for name in files_of(row, keys))


def _names(root: Path, pattern: str) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.glob(pattern)]
