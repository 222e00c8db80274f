"""Whether the data files hold the frames that rows promise: numbered, timed and labelled, and all of them numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.check.motion import check_motion
from graspline.datasets.check.statistics import check_episode_stats
from graspline.datasets.format.frames import OURS, columns_of, schema_problems
from graspline.datasets.format.rows import Row, data_file, data_slot
from graspline.datasets.format.sentences import sentences_of
from graspline.datasets.format.tables import footer_problems, numbers_in, table_in
from graspline.errors import DatasetProblem


def check_frames(contents: Contents, found: Findings, done: Callable[[], object]) -> None:
    """All data files, each read once; `done` is called for every episode."""
    files: dict[str, list[Row]] = {}
    for row in contents.rows:
        files.setdefault(data_file(data_slot(row)), []).append(row)
    numbers = {each: number for number, each in enumerate(contents.sentences or sentences_of(contents.rows))}
    for name, rows in files.items():
        _check_file(contents, name, rows, numbers, found)
        for _ in rows:
            done()


def _check_file(
    contents: Contents, name: str, rows: Sequence[Row], numbers: Mapping[str, int], found: Findings
) -> None:
    root, scene = contents.dataset.root, contents.dataset.scene
    only = rows[0]["episode_index"] if len(rows) == 1 else None
    try:
        table = table_in(root, name)
    except DatasetProblem as error:
        found.unreadable(str(error), only)
        return
    problems = schema_problems(table, scene)
    for each in footer_problems(root, name, table):
        found.problem(name, each, only)
    declared = contents.dataset.info.get("features")
    if isinstance(declared, dict):
        problems += [f"column {each} is not among the features" for each in table.column_names if each not in declared]
    promised = sum(row["length"] for row in rows)
    if len(table) != promised:
        problems.append(f"holds {len(table)} frames, its episodes have {promised}")
    for each in problems:
        found.problem(name, each, only)
    if problems:
        return
    at = 0
    for row in rows:
        _check_episode(contents, name, row, table.slice(at, row["length"]), numbers, found)
        at += row["length"]


def _check_episode(
    contents: Contents, name: str, row: Row, table: pa.Table, numbers: Mapping[str, int], found: Findings
) -> None:
    episode, length = row["episode_index"], row["length"]
    values = {
        column.name: numbers_in(table, column.name)
        for column in columns_of(contents.dataset.scene)
        if column.dtype != "string"
    }
    frames = np.arange(length)
    last = frames == length - 1
    expected: dict[str, NDArray[Any]] = {
        "index": row["dataset_from_index"] + frames,
        "frame_index": frames,
        "episode_index": np.full(length, episode),
        "task_index": np.full(length, numbers.get(row["tasks"][0], 0)),
        "timestamp": (frames / contents.dataset.settings.fps).astype(np.float32),
        "next.done": last,
        "next.success": last & row["success"],
    }
    for column, wanted in expected.items():
        wrong = np.flatnonzero(values[column] != wanted)
        if len(wrong):
            at = int(wrong[0])
            message = f"{column} is {values[column][at]} in frame {at}, expected {wanted[at]}"
            found.problem(name, message + (f", and wrong in {len(wrong)} frames" if len(wrong) > 1 else ""), episode)
    states = numbers_in(table, f"{OURS}state")
    named = {(each, contents.states.index(each) if each in contents.states else -1) for each in set(states)}
    strange = set(zip(states, values[f"{OURS}state_index"].tolist(), strict=True)) - named
    for state, number in sorted(strange):
        found.problem(name, f"state {state!r} has the number {number}, which is another's", episode)
    broken = [column for column, numbers in values.items() if not np.isfinite(numbers).all()]
    for column in broken:
        rows_of = np.flatnonzero(~np.isfinite(values[column].reshape(length, -1)).all(axis=1))
        found.problem(name, f"{column} is not a number in {len(rows_of)} frames, first in frame {rows_of[0]}", episode)
    if not broken:
        check_episode_stats(row, values, found)
        check_motion(contents, name, row, values["observation.state"], values["action"], found)
