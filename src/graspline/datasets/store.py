"""A dataset on disk: read as it was committed, written one whole episode at a time.

The order of an episode's files makes the commit: videos, log, data, its row, statistics, and last the index,
`meta/info.json`. What the index does not count is not there, whatever files a killed writer left behind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graspline.datasets.card import card_of
from graspline.datasets.files import LOCK, half_file, json_bytes, locked, parquet_bytes, remove, write, write_all
from graspline.datasets.films import ENCODER_INFO, Film
from graspline.datasets.frames import columns_of, features_of, schema_problems, table_of
from graspline.datasets.recording import KeptLog, Recording, pack, unpack
from graspline.datasets.rows import (
    CHUNK,
    Rejected,
    Row,
    Slot,
    data_file,
    data_slot,
    episode_row,
    log_file,
    row_file,
    row_problems,
    row_slot,
    rows_table,
    stats_in,
    video_file,
    video_slot,
)
from graspline.datasets.settings import DatasetSettings, differences
from graspline.datasets.stats import Stats, all_merged, stats_of
from graspline.episodes.views import ticks_per_frame
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError
from graspline.scenes.scene import Scene

INFO, STATS, TASKS, OURS, CARD = (
    "meta/info.json",
    "meta/stats.json",
    "meta/tasks.parquet",
    "meta/graspline.json",
    "README.md",
)
# Notes of episodes that were taken out again; their numbers and seeds are not given a second time.
DELETED = "graspline/deleted"
# In our own file: of which datasets this one was merged. Their seeds were counted apart, so none can be the next one.
MERGED = "merged_from"
_FORMAT = 1


@dataclass(frozen=True)
class Dataset:
    """A dataset as its index describes it."""

    root: Path
    info: dict[str, Any]
    settings: DatasetSettings
    # One for each episode the index counts, in order.
    rows: tuple[Row, ...]

    @classmethod
    def open(cls, root: Path) -> Self:
        """Read index, settings and rows; what is missing or cannot be read is said at once, by file."""
        if not root.is_dir():
            raise InputError(f"{root}: no such dataset folder")
        if not (root / OURS).is_file():
            raise InputError(f"{root}: not a dataset of graspline ({OURS} is missing)")
        settings = settings_in(root)
        if not (root / INFO).is_file():
            raise DatasetProblem(f"{root}: no episode has been committed yet ({INFO} is missing)")
        info = json_in(root, INFO)
        try:
            rows = rows_in(root)[: int(info["total_episodes"])]
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetProblem(f"{root / INFO}: {type(error).__name__}: {error}") from None
        if len(rows) < info["total_episodes"]:
            raise DatasetProblem(
                f"{root}: the index counts {info['total_episodes']} episodes, {len(rows)} have a row in meta/episodes"
            )
        problems = [
            f"{root}: row {number} of meta/episodes: {each}"
            for number, row in enumerate(rows)
            for each in row_problems(row, settings.views)
        ]
        if problems:
            raise DatasetProblem("\n".join(problems))
        return cls(root, info, settings, rows)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def scene(self) -> Scene:
        task, parameters = self.settings.found_task()
        return task.scene(parameters)

    def row(self, episode: int) -> Row:
        if not 0 <= episode < len(self.rows):
            raise InputError(f"--episode {episode}: the dataset has episodes 0 to {len(self.rows) - 1}")
        return self.rows[episode]

    def frames(self, row: Mapping[str, Any]) -> pa.Table:
        """The rows of one episode."""
        name = data_file(data_slot(row))
        table = frames_in(self.root, name, row)
        problems = schema_problems(table, self.scene)
        if problems:
            raise DatasetProblem("\n".join(f"{self.root / name}: {each}" for each in problems))
        return table

    def video(self, row: Mapping[str, Any], key: str) -> Path:
        return self.root / video_file(key, video_slot(row, key))

    def log(self, row: Mapping[str, Any]) -> KeptLog:
        path = self.root / log_file(row["episode_id"])
        try:
            return unpack(path.read_bytes())
        except FileNotFoundError:
            raise DatasetProblem(f"{path}: the episode's log is missing") from None
        except ValueError as error:
            raise DatasetProblem(f"{path}: {error}") from None


class Writer:
    """The one process that adds episodes. What it has committed stays, whatever happens to it."""

    def __init__(self, root: Path, settings: DatasetSettings, sentence: str, rows: Sequence[Row]) -> None:
        self.root, self.settings, self._sentence = root, settings, sentence
        task, parameters = settings.found_task()
        self._scene = task.scene(parameters)
        self.committed, self.frames = len(rows), rows[-1]["dataset_to_index"] if rows else 0
        ids, seeds = zip(*((row["episode_id"], row["seed"]) for row in rows), strict=True) if rows else ((), ())
        gone = [json_in(root, f"{DELETED}/{path.name}") for path in sorted((root / DELETED).glob("*.json"))]
        self._next_id = max((-1, *ids, *(each["episode_id"] for each in gone))) + 1
        self.next_seed = max((settings.seed - 1, *seeds, *(each["seed"] for each in gone))) + 1
        keys = [view.key for view in settings.views]
        taken = (
            slot for row in rows for slot in (data_slot(row), row_slot(row), *(video_slot(row, key) for key in keys))
        )
        last = max(taken, default=Slot(0, -1))
        self._slot = last.next() if rows else Slot(0, 0)
        self._stats = all_merged(stats_in(row) for row in rows)
        self._drop_leftovers()
        self.disk_bytes = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())

    def commit(
        self,
        recording: Recording,
        values: Mapping[str, NDArray[Any]],
        films: Mapping[str, Film],
        rejected: Sequence[Rejected] = (),
    ) -> Row:
        """Add one episode: after this returns it is in the dataset, and before it nothing of it is."""
        length = len(values["timestamp"])
        table = table_of(values, self._scene, self.committed, self.frames)
        stats = {
            column.name: stats_of(numbers_in(table, column.name))
            for column in columns_of(self._scene)
            if column.dtype != "string"
        }
        stats |= {key: film.stats for key, film in films.items()}
        row = episode_row(
            recording,
            index=self.committed,
            episode_id=self._next_id,
            task=self._sentence,
            length=length,
            first_row=self.frames,
            fps=self.settings.fps,
            views=self.settings.views,
            slot=self._slot,
            stats=stats,
            rejected=rejected,
        )
        total = all_merged([self._stats, stats] if self._stats else [stats])
        files = {video_file(key, self._slot): film.mp4 for key, film in films.items()}
        files |= {
            log_file(self._next_id): pack(recording),
            data_file(self._slot): parquet_bytes(table),
            row_file(self._slot): parquet_bytes(rows_table([row])),
            STATS: _stats_bytes(total),
            INFO: json_bytes(info_of(self.settings, self._scene, self.committed + 1, self.frames + length)),
        }
        # The index last: it counts the episode when everything else is there.
        write_all(self.root, files)
        self.disk_bytes += sum(len(data) for name, data in files.items() if name not in (STATS, INFO))
        self._stats = total
        self.committed, self.frames = self.committed + 1, self.frames + length
        self._next_id, self.next_seed, self._slot = self._next_id + 1, recording.seed + 1, self._slot.next()
        return row

    def _drop_leftovers(self) -> None:
        """Take away what a killed writer left of an episode that the index does not count.

        Readers that go by the index do not see it, but LeRobot's takes every file it finds.
        """
        for view in self.settings.views:
            remove(self.root, video_file(view.key, self._slot))
        for name in (log_file(self._next_id), data_file(self._slot), row_file(self._slot)):
            remove(self.root, name)
        stats = self.root / STATS
        if not self.committed:
            remove(self.root, STATS)
        elif not stats.is_file() or stats.read_bytes() != _stats_bytes(self._stats):
            write(self.root, STATS, _stats_bytes(self._stats))


def _stats_bytes(stats: Mapping[str, Stats]) -> bytes:
    return json_bytes({name: each.as_lists() for name, each in stats.items()})


def info_of(settings: DatasetSettings, scene: Scene, episodes: int, frames: int) -> dict[str, Any]:
    """The index, `meta/info.json`, of so many episodes and frames."""
    return {
        "codebase_version": "v3.0",
        "robot_type": settings.robot_type,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": 1,
        "chunks_size": CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": settings.fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
        if settings.views
        else None,
        "features": features_of(settings, scene, ENCODER_INFO),
    }


@contextmanager
def open_writer(root: Path, settings: DatasetSettings, sentence: str) -> Iterator[Writer]:
    """Begin a dataset, or go on with one that has the same settings; anything else is refused and left as it is."""
    _prepare_folder(root)
    with locked(root):
        if (root / OURS).is_file():
            if json_in(root, OURS).get(MERGED):
                raise InputError(f"{root}: was merged; generate into a folder of its own and merge that too")
            found = differences(settings_in(root), settings)
            if found:
                raise InputError(
                    [f"{root}: the dataset was made with other settings:", *(f"  {each}" for each in found)]
                )
        _begin(root, settings, sentence)
        rows = Dataset.open(root).rows if (root / INFO).is_file() else ()
        yield Writer(root, settings, sentence, rows)


def _begin(root: Path, settings: DatasetSettings, sentence: str) -> None:
    """What does not change from episode to episode, if it is not there yet; first what makes the folder ours."""
    task, parameters = settings.found_task()
    states = list(task.machine(parameters).paths())
    files = {
        OURS: json_bytes({"format": _FORMAT, "settings": settings.as_dict(), "states": states}),
        CARD: card_of(settings, sentence).encode(),
        TASKS: parquet_bytes(tasks_table([sentence])),
    }
    for name, data in files.items():
        if not (root / name).is_file():
            write(root, name, data)


def _prepare_folder(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: is a file, expected a folder")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not (root / OURS).is_file() and _holds_other_files(root):
            raise InputError(f"{root}: holds other files and is no dataset of graspline; choose a new or empty folder")
        (root / LOCK).touch()
    except OSError as error:
        raise EnvironmentProblem(f"{root}: cannot be written to: {error.strerror or error}") from None


def _holds_other_files(root: Path) -> bool:
    """Whether there is anything that a writer killed before it had begun would not have left."""
    ours = {root / LOCK, half_file(root, OURS)}
    return any(path not in ours and (path.is_symlink() or not path.is_dir()) for path in root.rglob("*"))


def tasks_table(sentences: Sequence[str]) -> pa.Table:
    """Sentences as LeRobot reads them: a frame of pandas whose index they are."""
    table = pa.table({"task_index": pa.array(range(len(sentences)), pa.int64()), "task": pa.array(list(sentences))})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": plain, "metadata": None}
        for name, kind, plain in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def rows_in(root: Path) -> tuple[Row, ...]:
    """All rows on disk, in order, those beyond the index included."""
    rows: list[Row] = []
    for path in sorted((root / "meta/episodes").glob("*/*.parquet")):
        rows += table_in(root, str(path.relative_to(root))).to_pylist()
    return tuple(rows)


def settings_in(root: Path) -> DatasetSettings:
    plain = json_in(root, OURS)
    if plain.get("format") != _FORMAT:
        raise DatasetProblem(f"{root / OURS}: format {plain.get('format')!r}, this version reads {_FORMAT}")
    try:
        settings = DatasetSettings.from_dict(plain["settings"])
        task, parameters = settings.found_task()
        ticks_per_frame(settings.fps, task.scene(parameters).robot.control_hz)
    except InputError as error:
        raise DatasetProblem("\n".join(f"{root / OURS}: {each}" for each in error.problems)) from None
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetProblem(f"{root / OURS}: {type(error).__name__}: {error}") from None
    return settings


def json_in(root: Path, name: str) -> dict[str, Any]:
    try:
        value = json.loads((root / name).read_bytes())
    except FileNotFoundError:
        raise DatasetProblem(f"{root / name}: is missing") from None
    except (OSError, ValueError) as error:
        raise DatasetProblem(f"{root / name}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise DatasetProblem(f"{root / name}: expected an object")
    return value


def table_in(root: Path, name: str) -> pa.Table:
    return _read(root, name, lambda path: pq.ParquetFile(path, page_checksum_verification=True).read())


def frames_in(root: Path, name: str, row: Mapping[str, Any]) -> pa.Table:
    """The frames of one episode out of a data file; of a file that holds many episodes, only its own are read."""
    first, last = row["dataset_from_index"], row["dataset_to_index"]
    table = _read(root, name, lambda path: _read_between(path, first, last))
    if "index" not in table.column_names:
        raise DatasetProblem(f"{root / name}: column index is missing")
    index = table.column("index").to_numpy()
    chosen = np.flatnonzero((index >= first) & (index < last))
    if len(chosen) != row["length"]:
        raise DatasetProblem(f"{root / name}: {len(chosen)} rows of an episode of {row['length']}")
    return table.slice(int(chosen[0]), len(chosen))


def _read_between(path: Path, first: int, last: int) -> pa.Table:
    """The row groups that may hold rows from `first` up to `last`."""
    stamp = path.stat()
    metadata, ranges = _footer(path, (stamp.st_ino, stamp.st_mtime_ns, stamp.st_size))
    groups = [number for number, (low, high) in enumerate(ranges) if low < last and high >= first]
    return pq.ParquetFile(path, metadata=metadata, page_checksum_verification=True).read_row_groups(groups)


@lru_cache(maxsize=4)
def _footer(path: Path, stamp: tuple[int, int, int]) -> tuple[pq.FileMetaData, list[tuple[float, float]]]:
    """What a file says of itself, and from where to where each of its row groups goes, as far as it says.

    That of 3,000 episodes takes a tenth of a second to read, too long to do it for each of them.
    """
    metadata = pq.ParquetFile(path).metadata
    index = next((at for at in range(metadata.num_columns) if metadata.schema.column(at).path == "index"), None)
    ranges = []
    for number in range(metadata.num_row_groups):
        says = None if index is None else metadata.row_group(number).column(index).statistics
        ranges.append((says.min, says.max) if says is not None and says.has_min_max else (-math.inf, math.inf))
    return metadata, ranges


def _read(root: Path, name: str, read: Callable[[Path], pa.Table]) -> pa.Table:
    try:
        table = read(root / name)
        table.validate(full=True)
        return table
    except FileNotFoundError:
        raise DatasetProblem(f"{root / name}: is missing") from None
    except (OSError, pa.ArrowException) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetProblem(f"{root / name}: cannot be read: {what}") from None


def numbers_in(table: pa.Table, name: str) -> NDArray[Any]:
    column = table.column(name).combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return column.to_numpy(zero_copy_only=False)
