"""What a dataset's files say it holds, as far as they can be read: settings, index, rows and sentences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from graspline.datasets.check.findings import Findings
from graspline.datasets.format.files import is_there, json_in
from graspline.datasets.format.index import INFO
from graspline.datasets.format.rows import Row, row_file, row_problems, row_slot
from graspline.datasets.format.sentences import TASKS
from graspline.datasets.format.store import OURS, STATS, Dataset, origin_in
from graspline.datasets.format.tables import footer_problems, table_in
from graspline.episodes.camera_views import View
from graspline.errors import DatasetProblem, InputError

# At most this many missing episodes are named.
_NAMED = 20
EPISODES = "meta/episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A dataset that may be damaged: what is here can be relied on, what could not be read is a problem already."""

    # With the rows that the index counts, as far as they could be read.
    dataset: Dataset
    # Whether all of them could.
    whole: bool
    # The index and the statistics; None for what could not be read.
    info: dict[str, Any] | None
    stats: dict[str, Any] | None
    # Rows that a writer left before it counted them.
    uncounted: tuple[Row, ...]
    # What tasks are called, by their number; None if that could not be read.
    sentences: tuple[str, ...] | None
    # States by the numbers that `graspline.state_index` has.
    states: tuple[str, ...]
    merged: bool

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all episodes."""
        return self.dataset.rows


def read_contents(root: Path, found: Findings) -> Contents | None:
    """Everything that the checks start from; None if there is nothing to start from."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder")
    if not (root / OURS).is_file():
        what = "a LeRobot dataset, but not made by graspline" if (root / INFO).is_file() else "not a graspline dataset"
        raise InputError(f"{root}: {what} ({OURS} is missing)")
    # Findings name files below the folder, however it was named.
    root = root.resolve()
    try:
        origin = origin_in(root)
    except DatasetProblem as error:
        found.unreadable(str(error))
        return None
    if not any(map(is_there, (root / INFO, root / STATS, root / EPISODES))):
        found.problem(INFO, "no episode has been committed yet; `graspline generate` with the same settings continues")
        return None
    # These two first: a writer may be adding episodes meanwhile.
    info, stats = _object(root, INFO, found), _object(root, STATS, found)
    rows, whole = _rows(root, origin.settings.views, found)
    if not rows:
        found.problem(INFO, "no episode has been committed, or none can be read")
        return None
    counted = (info or {}).get("total_episodes")
    if type(counted) is not int or counted < 1:
        counted = len(rows)
    committed = tuple(row for row in rows if row["episode_index"] < counted)
    # Where files cannot be read, that rows are missing is no news.
    if whole:
        _check_count(counted, committed, found)
    return Contents(
        dataset=Dataset(root, info or {}, origin.settings, committed),
        whole=whole and len(committed) == counted,
        info=info,
        stats=stats,
        uncounted=tuple(row for row in rows if row["episode_index"] >= counted),
        sentences=_sentences(root, found),
        states=origin.states,
        merged=bool(origin.merged_from),
    )


def _check_count(counted: int, committed: Sequence[Row], found: Findings) -> None:
    there = {row["episode_index"] for row in committed}
    missing = list(itertools.islice((each for each in range(counted) if each not in there), _NAMED + 1))
    if missing:
        named = ", ".join(map(str, missing[:_NAMED])) + (", …" if len(missing) > _NAMED else "")
        found.problem(INFO, f"total_episodes is {counted}, and there is no row in meta/episodes for {named}")


def _object(root: Path, name: str, found: Findings) -> dict[str, Any] | None:
    try:
        return json_in(root, name)
    except DatasetProblem as error:
        found.unreadable(str(error))
        return None


def _rows(root: Path, views: Sequence[View], found: Findings) -> tuple[list[Row], bool]:
    """Sound rows in the order in which LeRobot reads them, and whether all are sound."""
    rows: list[Row] = []
    whole = True
    for path in sorted((root / EPISODES).glob("*/*.parquet")):
        name = path.relative_to(root).as_posix()
        try:
            table = table_in(root, name)
            plain = table.to_pylist()
            for each in footer_problems(root, name, table):
                found.problem(name, each)
        except DatasetProblem as error:
            found.unreadable(str(error))
            whole = False
            continue
        except ValueError as error:
            found.problem(name, f"cannot be read: {error}")
            whole = False
            continue
        for number, row in enumerate(plain):
            problems = row_problems(row, views)
            for each in problems:
                found.problem(name, f"row {number}: {each}")
            if problems:
                whole = False
                continue
            if row_file(row_slot(row)) != name:
                found.problem(name, f"its row says that it is in {row_file(row_slot(row))}", row["episode_index"])
            rows.append(row)
    return rows, whole


def _sentences(root: Path, found: Findings) -> tuple[str, ...] | None:
    """As pandas would find them: in the index, by position."""
    try:
        table = table_in(root, TASKS)
        for each in footer_problems(root, TASKS, table):
            found.problem(TASKS, each)
    except DatasetProblem as error:
        found.unreadable(str(error))
        return None
    if _index_columns(table) != ["task"]:
        found.problem(TASKS, "does not tell pandas that column task is its index, so LeRobot would read numbers")
    types = {"task": pa.types.is_string, "task_index": pa.types.is_int64}
    if not all(name in table.column_names and fits(table.schema.field(name).type) for name, fits in types.items()):
        found.problem(TASKS, f"has the columns {', '.join(table.column_names)}, expected task and task_index")
        return None
    if table.column("task_index").to_pylist() != list(range(len(table))):
        found.problem(TASKS, "task_index does not count from 0")
    return tuple(str(each) for each in table.column("task").to_pylist())


def _index_columns(table: pa.Table) -> Any:
    try:
        return (table.schema.pandas_metadata or {}).get("index_columns")
    except (AttributeError, ValueError):
        return None
