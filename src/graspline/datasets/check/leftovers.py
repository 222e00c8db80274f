"""Files that no episode names: what a killed writer leaves is harmless, what is read all the same is not."""

from __future__ import annotations

from typing import Any

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.format.files import LOCK, SCRATCH, file_at, is_there, json_in
from graspline.datasets.format.index import INFO
from graspline.datasets.format.removed_episodes import Aside, place_aside
from graspline.datasets.format.rows import files_of, row_file, row_slot
from graspline.datasets.format.store import CARD, DELETED, note_in
from graspline.datasets.format.uncommitted import next_after, strays
from graspline.errors import DatasetProblem

_HARMLESS = "a writer that was stopped leaves such, and the next run overwrites it"
# LeRobot reads every file in these folders, in the order of their names.
_READ = ("data/", "meta/episodes/")
_FILES = ("data/*/*.parquet", "meta/episodes/*/*.parquet", "videos/*/*/*.mp4", "graspline/logs/*.npz", f"{SCRATCH}/*")


def check_leftovers(contents: Contents, found: Findings) -> None:
    """No file is there that no episode names."""
    dataset, keys = contents.dataset, contents.dataset.keys
    for name in (CARD, LOCK):
        try:
            _ = is_there(dataset.root / name) and file_at(dataset.root / name)
        except DatasetProblem as error:
            found.unreadable(str(error))
    deleted = _check_deleted(contents, found)
    rows = (*dataset.rows, *contents.uncounted)
    named = {name for row in rows for name in files_of(row, keys)}
    paths = sorted(path for pattern in _FILES for path in dataset.root.glob(pattern))
    others = [name for path in paths if (name := path.relative_to(dataset.root).as_posix()) not in named]
    ours, following = strays(dataset.root, rows, keys), next_after(dataset.rows, deleted, dataset.settings).files(keys)
    # Read again after everything else: a writer has meanwhile counted what it had not counted then.
    now = _counted_now(contents)
    settled = contents.whole and now == len(dataset.rows)
    for row in contents.uncounted:
        where, episode = row_file(row_slot(row)), row["episode_index"]
        if episode > now:
            message = f"the index counts {now} episodes, and an interrupted writer leaves at most one more"
            found.problem(where, message, episode)
        else:
            found.note(where, f"the index does not count it: {_HARMLESS}", episode)
    for name in others:
        if name.startswith(SCRATCH) or name in following or not settled:
            found.note(name, f"no episode names it: {_HARMLESS}")
        elif name in ours:
            found.problem(name, "no episode names it, and no killed writer leaves it")
        elif name.startswith(_READ):
            found.problem(name, "no episode names it, and LeRobot reads it")
        else:
            found.note(name, "no episode names it")


def _counted_now(contents: Contents) -> int:
    try:
        counted = json_in(contents.dataset.root, INFO).get("total_episodes")
    except DatasetProblem:
        counted = None
    return counted if type(counted) is int and counted > 0 else len(contents.rows)


def _check_deleted(contents: Contents, found: Findings) -> list[dict[str, Any]]:
    """Notes of deleted episodes: a writer that goes on with the dataset reads there what is not to be given again."""
    root, notes = contents.dataset.root, []
    ids = {row["episode_id"] for row in contents.rows}
    for path in sorted((root / DELETED).glob("*.json")):
        name, note = path.relative_to(root).as_posix(), None
        try:
            note = note_in(root, name)
            if is_there(root / place_aside(note["episode_id"])):
                Aside.read(contents.dataset, note["episode_id"])
            else:
                found.note(name, f"there is no {place_aside(note['episode_id'])}, so it cannot be put back")
        except DatasetProblem as error:
            found.unreadable(str(error))
            if note is None:
                continue
        notes.append(note)
        if note["episode_id"] in ids:
            found.problem(name, f"episode {note['episode_id']} is said to be deleted, and is there")
    return notes
