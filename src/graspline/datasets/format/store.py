"""A dataset on disk, read as it was committed.

What the index, `meta/info.json`, does not count is not there, whatever files a killed writer left behind. Whatever is
here when a file has been read can be relied on: what a file lacks, or has of another kind, is reported when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from graspline.datasets.format.files import file_at, is_there, json_in
from graspline.datasets.format.frames import stats_widths
from graspline.datasets.format.index import INFO, index_in
from graspline.datasets.format.recording import KeptLog, unpack
from graspline.datasets.format.rows import (
    Row,
    data_file,
    data_slot,
    log_file,
    order_problems,
    row_problems,
    stats_problems,
    video_file,
    video_slot,
)
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.tables import frames_in, table_in
from graspline.episodes.camera_views import ticks_per_frame
from graspline.errors import DatasetProblem, InputError
from graspline.robots.catalogue import is_description
from graspline.scenes.scene import Scene
from graspline.tasks.catalogue import TASKS

STATS, OURS, CARD = "meta/stats.json", "meta/graspline.json", "README.md"
# Notes of episodes that were taken out again; their numbers and seeds are not given a second time.
DELETED = "graspline/deleted"
# In our own file: of which datasets this one was merged. Their seeds were counted apart, so none can be the next one.
MERGED = "merged_from"
# Changes with what files hold: 2 has digests of films in rows, and targets in logs.
FORMAT = 2


@dataclass(frozen=True)
class Dataset:
    """A dataset as its index describes it."""

    root: Path
    info: dict[str, Any]
    settings: DatasetSettings
    # One for each episode the index counts, in order.
    rows: tuple[Row, ...]
    # Those behind them, as they lie there.
    uncounted: tuple[Row, ...] = ()

    @classmethod
    def open(cls, root: Path) -> Self:
        """Read index, settings and rows; what is missing or cannot be read is said at once, by file."""
        if not root.is_dir():
            raise InputError(f"{root}: no such folder")
        if not (root / OURS).is_file():
            raise InputError(f"{root}: not a graspline dataset ({OURS} is missing)")
        settings = origin_in(root).settings
        if not is_there(root / INFO):
            raise DatasetProblem(f"{root}: no episode has been committed yet ({INFO} is missing)")
        info = index_in(root, settings, _scene_of(settings))
        rows, counted = rows_in(root), info["total_episodes"]
        if len(rows) < counted:
            raise DatasetProblem(
                f"{root}: the index counts {counted} episodes, {len(rows)} have a row in meta/episodes"
            )
        problems = [
            (number, each) for number, row in enumerate(rows[:counted]) for each in row_problems(row, settings.views)
        ]
        _refuse_rows(root, problems or order_problems(rows[:counted]))
        return cls(root, info, settings, rows[:counted], rows[counted:])

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def scene(self) -> Scene:
        """The scene."""
        return _scene_of(self.settings)

    @property
    def keys(self) -> list[str]:
        """Features that are videos."""
        return [view.key for view in self.settings.views]

    def row(self, episode: int) -> Row:
        """The row of an episode."""
        if not 0 <= episode < len(self.rows):
            raise InputError(f"--episode {episode}: the dataset has episodes 0 to {len(self.rows) - 1}")
        return self.rows[episode]

    def frames(self, row: Mapping[str, Any]) -> pa.Table:
        """The rows of one episode."""
        return frames_in(self.root, data_file(data_slot(row)), row, self.scene)

    def video(self, row: Mapping[str, Any], key: str) -> Path:
        """The video file that has a camera's images of an episode."""
        return self.root / video_file(key, video_slot(row, key))

    def log(self, row: Mapping[str, Any]) -> KeptLog:
        """The log of an episode."""
        path = self.root / log_file(row["episode_id"])
        try:
            return unpack(file_at(path).read_bytes())
        except OSError as error:
            raise DatasetProblem(f"{path}: cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            raise DatasetProblem(f"{path}: {error}") from None

    def check_stats(self) -> None:
        """Refuse rows whose statistics could not be merged with those of others."""
        widths = stats_widths(self.settings, self.scene)
        _refuse_rows(
            self.root,
            [(number, each) for number, row in enumerate(self.rows) for each in stats_problems(row, widths)],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOrigin:
    """What made a dataset."""

    settings: DatasetSettings
    # By the numbers that `graspline.state_index` has.
    states: tuple[str, ...]
    # Name, number of episodes and settings of each dataset that this one was merged from.
    merged_from: tuple[dict[str, Any], ...] = ()

    @property
    def made_with(self) -> tuple[DatasetSettings, ...]:
        """Of every dataset that was generated and is in this one: its settings."""
        found = [each for source in self.merged_from for each in _settings_in(source)]
        return tuple(found) or (self.settings,)


def origin_in(root: Path) -> DatasetOrigin:
    """`meta/graspline.json`; a problem of the dataset if it cannot be followed.

    What is wrong with its task as it is installed here is no problem of the dataset, and raised as it is.
    """
    plain = json_in(root, OURS)
    if plain.get("format") != FORMAT:
        raise DatasetProblem(f"{root / OURS}: format {plain.get('format')!r}, this version reads {FORMAT}")
    try:
        settings = DatasetSettings.from_dict(plain["settings"])
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetProblem(f"{root / OURS}: {type(error).__name__}: {error}") from None
    TASKS.again(settings.origin)
    try:
        ticks_per_frame(settings.fps, _scene_of(settings).robot.control_hz)
        return DatasetOrigin(
            settings=settings, states=_states(plain["states"]), merged_from=_sources(plain.get(MERGED, []))
        )
    except InputError as error:
        hint = _missing_robot(settings)
        raise DatasetProblem("\n".join(f"{root / OURS}: {each}{hint}" for each in error.problems)) from None
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetProblem(f"{root / OURS}: {type(error).__name__}: {error}") from None


def _missing_robot(settings: DatasetSettings) -> str:
    """What to do about a robot whose files are not where the dataset has them from."""
    named = str(settings.parameters.get("robot", ""))
    if not is_description(named):
        return ""
    return f"; this dataset needs its robot at {named}: put the description and its model back there"


def rows_in(root: Path) -> tuple[Row, ...]:
    """All rows on disk, in order, those beyond the index included."""
    rows: list[Row] = []
    for path in sorted((root / "meta/episodes").glob("*/*.parquet")):
        rows += table_in(root, str(path.relative_to(root))).to_pylist()
    return tuple(rows)


def deleted_in(root: Path) -> list[dict[str, Any]]:
    """Notes of all episodes that are out, in the order of their lasting numbers."""
    notes = [note_in(root, f"{DELETED}/{path.name}") for path in sorted((root / DELETED).glob("*.json"))]
    return sorted(notes, key=lambda note: note["episode_id"])


def note_in(root: Path, name: str) -> dict[str, Any]:
    """One of them: it says at least which number and seed are not to be given again."""
    note = json_in(root, name)
    problems = [
        f"{root / name}: {key} is {note.get(key)!r}, expected a whole number"
        for key in ("episode_id", "seed")
        if type(note.get(key)) is not int
    ]
    if problems:
        raise DatasetProblem("\n".join(problems))
    return note


def _scene_of(settings: DatasetSettings) -> Scene:
    task, parameters = settings.found_task()
    return task.scene(parameters)


def _states(plain: Any) -> tuple[str, ...]:
    if not isinstance(plain, list) or not all(isinstance(each, str) for each in plain):
        raise ValueError(f"states are {plain!r}")
    return tuple(plain)


def _sources(plain: Any) -> tuple[dict[str, Any], ...]:
    """Datasets that were merged, some of which may have been merged themselves."""
    for each in plain if isinstance(plain, list) else [plain]:
        if not isinstance(each, dict) or type(each.get("name")) is not str or type(each.get("episodes")) is not int:
            raise ValueError(f"{MERGED} holds {each!r}, expected name, episodes and settings")
        DatasetSettings.from_dict(each["settings"])
        _sources(each.get(MERGED, []))
    return tuple(plain)


def _settings_in(source: Mapping[str, Any]) -> list[DatasetSettings]:
    inner = [each for source in source.get(MERGED, []) for each in _settings_in(source)]
    return inner or [DatasetSettings.from_dict(source["settings"])]


def _refuse_rows(root: Path, problems: Iterable[tuple[int, str]]) -> None:
    messages = [f"{root}: row {number} of meta/episodes: {each}" for number, each in problems]
    if messages:
        raise DatasetProblem("\n".join(messages))
