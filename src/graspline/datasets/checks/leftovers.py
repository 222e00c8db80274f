"""Files that no episode names: what a killed writer leaves is harmless, what is read all the same is not."""

from __future__ import annotations

from graspline.datasets.checks.contents import Contents
from graspline.datasets.checks.findings import Findings
from graspline.datasets.files import SCRATCH
from graspline.datasets.rows import Row, data_file, data_slot, log_file, row_file, row_slot, video_file, video_slot
from graspline.datasets.store import DELETED, json_in
from graspline.errors import DatasetProblem

_HARMLESS = "a writer that was stopped leaves such, and the next run overwrites it"


def check_leftovers(contents: Contents, found: Findings) -> None:
    root = contents.dataset.root
    named = {name for row in contents.rows for name in _files_of(contents, row)}
    uncounted = {name for row in contents.uncounted for name in _files_of(contents, row)}
    for row in contents.uncounted:
        found.note(row_file(row_slot(row)), f"the index does not count it: {_HARMLESS}", row["episode_index"])
    # LeRobot reads every file in these folders, in the order of their names.
    for folder in ("data", "meta/episodes"):
        last = max((name for name in named if name.startswith(f"{folder}/")), default="")
        for path in sorted((root / folder).glob("*/*.parquet")):
            name = path.relative_to(root).as_posix()
            if name in named:
                continue
            if name < last and contents.whole:
                found.problem(name, "no episode names it, and LeRobot reads it before others")
            elif name not in uncounted:
                found.note(name, f"no episode names it: {_HARMLESS}")
    for folder, files in (("videos", "*/*/*.mp4"), ("graspline/logs", "*.npz"), (SCRATCH, "*")):
        for path in sorted((root / folder).glob(files)):
            name = path.relative_to(root).as_posix()
            if name not in named | uncounted:
                found.note(name, f"no episode names it: {_HARMLESS}")
    _check_deleted(contents, found)


def _check_deleted(contents: Contents, found: Findings) -> None:
    """Notes of deleted episodes: whoever goes on with the dataset reads from them what is not to be given again."""
    root = contents.dataset.root
    for path in sorted((root / DELETED).glob("*.json")):
        name = path.relative_to(root).as_posix()
        try:
            note = json_in(root, name)
        except DatasetProblem as error:
            found.unreadable(str(error))
            continue
        for key in ("episode_id", "seed"):
            if type(note.get(key)) is not int:
                found.problem(name, f"{key} is {note.get(key)!r}, expected a whole number")
        if note.get("episode_id") in {row["episode_id"] for row in contents.rows}:
            found.problem(name, f"episode {note['episode_id']} is said to be deleted, and is there")


def _files_of(contents: Contents, row: Row) -> list[str]:
    views = contents.dataset.settings.views
    return [
        data_file(data_slot(row)),
        row_file(row_slot(row)),
        log_file(row["episode_id"]),
        *(video_file(view.key, video_slot(row, view.key)) for view in views),
    ]
