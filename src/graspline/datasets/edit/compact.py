"""Many small files into few large ones: a dataset of thousands of episodes is opened and copied faster so."""

from __future__ import annotations

from pathlib import Path

from graspline.datasets.edit.repack import Progress, build, carry_rest, rebuilding, silent, steps_of
from graspline.datasets.format.files import LOCK


def compact(root: Path, progress: Progress = silent) -> tuple[int, int]:
    """Pack the files of all episodes; gives how many files there were and how many there are.

    Episodes, their numbers and their pictures' bits stay as they are, and so does everything else in the folder.
    """
    with rebuilding(root) as (dataset, parts, folder):
        before = _count(dataset.root)
        carry_rest(dataset, folder)
        build(folder, parts, dataset.info, films="packed", done=progress(steps_of(parts)))
        return before, _count(folder)


def _count(root: Path) -> int:
    return sum(path.is_file() and path.name != LOCK for path in root.rglob("*"))
