"""Episodes laid out anew: numbered in the order given, packed into files as large as the index allows.

Compacting, merging, deleting and restoring are this with other episodes. Nothing of an episode is lost on the way:
unknown columns keep their types, pictures their bits, and rows their statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graspline.datasets.check.doctor import check_sound
from graspline.datasets.format.atomic_replace import carry, replaced
from graspline.datasets.format.files import LOCK, PARQUET, SCRATCH, file_at, json_bytes
from graspline.datasets.format.index import INFO
from graspline.datasets.format.rows import (
    CHUNK,
    Row,
    Slot,
    data_file,
    data_slot,
    files_of,
    log_file,
    row_file,
    row_slot,
    stats_in,
    video_file,
)
from graspline.datasets.format.sentences import TASKS, sentences_of, tasks_bytes
from graspline.datasets.format.stats import all_merged, stats_bytes, stats_of
from graspline.datasets.format.store import STATS, Dataset
from graspline.datasets.format.tables import frames_in
from graspline.datasets.format.uncommitted import left_behind
from graspline.datasets.format.video_packets import Clip, clip_in, join, look_at
from graspline.errors import DatasetProblem
from graspline.scenes.scene import Scene

# What `build` writes besides the files of episodes.
_BUILT = (INFO, STATS, TASKS, LOCK)
_MB = 1_000_000

Carry = Callable[[Path, Path], object]
Done = Callable[[], object]
# Told how many steps there will be, gives what is called after each.
Progress = Callable[[int], Done]


def silent(steps: int) -> Done:
    """Progress for callers that do not show it."""
    return lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEpisode:
    """One episode where it lies now: its row, its frames, its pictures by feature, its log."""

    row: Row
    # The types of the row's columns.
    columns: pa.Schema
    data: Path
    clips: Mapping[str, Clip]
    log: Path
    # The lasting number under which it goes on.
    episode_id: int
    # The scene that its columns are of.
    scene: Scene

    def frames(self) -> pa.Table:
        """The rows of the episode's frames."""
        return frames_in(self.data.parent, self.data.name, self.row, self.scene)


@contextmanager
def rebuilding(root: Path) -> Iterator[tuple[Dataset, list[StoredEpisode], Path]]:
    """A dataset, its episodes, and an empty folder that takes the dataset's place when the block ends well."""
    # A folder that is no dataset is refused before it gets a lock.
    Dataset.open(root)
    with replaced(root) as folder:
        dataset = Dataset.open(root.resolve())
        parts = parts_of(dataset)
        check_sound(dataset.root)
        yield dataset, parts, folder


def parts_of(dataset: Dataset) -> list[StoredEpisode]:
    """All episodes of a dataset, in order; one whose index does not count them all is refused."""
    left_behind(dataset)
    dataset.check_stats()
    slots = {row_slot(row) for row in dataset.rows}
    columns = {slot: pq.read_schema(dataset.root / row_file(slot)) for slot in slots}
    return [
        StoredEpisode(
            row=row,
            columns=columns[row_slot(row)],
            data=dataset.root / data_file(data_slot(row)),
            clips={key: clip_in(dataset.video(row, key), row, key, dataset.info["fps"]) for key in dataset.keys},
            log=dataset.root / log_file(row["episode_id"]),
            episode_id=row["episode_id"],
            scene=dataset.scene,
        )
        for row in dataset.rows
    ]


def steps_of(parts: Sequence[StoredEpisode]) -> int:
    """How often `build` reports that something is done."""
    return sum(1 + len(part.clips) for part in parts)


def carry_rest(dataset: Dataset, folder: Path, *but: str) -> None:
    """Bring along all files of a dataset that no episode names, except those below `but`.

    Only what a killed writer left stays behind: its names may be those that `build` gives to others.
    """
    named = {name for row in dataset.rows for name in files_of(row, dataset.keys)}
    behind = {*_BUILT, *named, *left_behind(dataset)}
    for path in dataset.root.rglob("*"):
        name = path.relative_to(dataset.root).as_posix()
        if name in behind or name.startswith((f"{SCRATCH}/", *but)):
            continue
        if path.is_symlink() or not path.is_dir():
            carry(path, folder / name)


def build(
    folder: Path,
    parts: Sequence[StoredEpisode],
    info: Mapping[str, Any],
    *,
    films: Literal["packed", "kept"],
    carry: Carry = carry,
    done: Done = lambda: None,
) -> None:
    """Write these episodes, their statistics and the index. Films that are kept stay in the files they share."""
    for part in parts:
        carry(file_at(part.log), folder / log_file(part.episode_id))
    limits = {kind: info[f"{kind}_files_size_in_mb"] * _MB for kind in ("data", "video")}
    rows = _write_data(folder, parts, limits["data"], done)
    for key in parts[0].clips:
        clips = [part.clips[key] for part in parts]
        groups = _packed(clips, limits["video"]) if films == "packed" else _kept(clips)
        _write_films(folder, key, groups, rows, carry, done)
    _write_rows(folder, parts, rows)
    stats = all_merged(stats_in(row) for row in rows)
    _write(folder / STATS, stats_bytes(stats))
    _write(folder / TASKS, tasks_bytes(sentences_of(rows)))
    _write(folder / INFO, json_bytes({**info, **_totals(info, rows)}))


def _totals(info: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    count = len(rows)
    # Splits are ranges of episodes: where those change, ranges that a user chose mean nothing any more.
    splits = info["splits"] if count == info["total_episodes"] else {"train": f"0:{count}"}
    frames, sentences = rows[-1]["dataset_to_index"], len(sentences_of(rows))
    return {"total_episodes": count, "total_frames": frames, "total_tasks": sentences, "splits": splits}


def _write_data(folder: Path, parts: Sequence[StoredEpisode], limit_bytes: int, done: Done) -> list[Row]:
    """Data files, a row group for each episode; gives the rows with their new numbers and places."""
    rows: list[Row] = []
    sentences = sentences_of(part.row for part in parts)
    slot, first = Slot(0, -1), 0
    writer: pq.ParquetWriter | None = None
    path = folder
    try:
        for part in parts:
            table = _numbered(part.frames(), len(rows), first, sentences.index(part.row["tasks"][0]))
            if writer is None or path.stat().st_size >= limit_bytes or not writer.schema.equals(table.schema):
                if writer is not None:
                    writer.close()
                slot = slot.next()
                path = folder / data_file(slot)
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(path, table.schema, **PARQUET)
            writer.write_table(table, row_group_size=len(table))
            rows.append(_renumbered(part, table, len(rows), slot))
            first += len(table)
            done()
    finally:
        if writer is not None:
            writer.close()
    return rows


def _numbered(table: pa.Table, episode: int, first: int, sentence: int) -> pa.Table:
    counters = {
        "episode_index": np.full(len(table), episode),
        "index": np.arange(first, first + len(table)),
        "task_index": np.full(len(table), sentence),
    }
    for name, values in counters.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values.astype(np.int64)))
    return table


def _renumbered(part: StoredEpisode, table: pa.Table, episode: int, slot: Slot) -> Row:
    first = table.column("index")[0].as_py()
    row = {
        **part.row,
        "episode_index": episode,
        "episode_id": part.episode_id,
        "dataset_from_index": first,
        "dataset_to_index": first + len(table),
        "data/chunk_index": slot.chunk,
        "data/file_index": slot.file,
    }
    for name in ("episode_index", "index", "task_index"):
        lists = stats_of(table.column(name).to_numpy()).as_lists()
        row |= {f"stats/{name}/{which}": value for which, value in lists.items()}
    return row


def _packed(clips: Sequence[Clip], limit_bytes: int) -> Iterator[list[Clip]]:
    """As many in a file as it may hold; those that were encoded in another way begin a new one."""
    group: list[Clip] = []
    size, encoding = 0.0, None
    for clip in clips:
        file = look_at(clip.path)
        if group and (size >= limit_bytes or file.encoding != encoding):
            yield group
            group, size = [], 0.0
        group.append(clip)
        size, encoding = size + file.bytes * clip.frames / max(file.frames, 1), file.encoding
    yield group


def _kept(clips: Sequence[Clip]) -> Iterator[list[Clip]]:
    """Neighbours that share a file go on sharing one."""
    group: list[Clip] = []
    for clip in clips:
        if group and clip.path != group[-1].path:
            yield group
            group = []
        group.append(clip)
    yield group


def _write_films(
    folder: Path, key: str, groups: Iterator[list[Clip]], rows: list[Row], carry: Carry, done: Done
) -> None:
    """One video file for each group, and in the rows where it is; a file that stays as it was is not even read."""
    slot, episode = Slot(0, -1), 0
    for group in groups:
        slot = slot.next()
        path = folder / video_file(key, slot)
        write_clips(path, group, carry, done)
        first = 0
        for clip in group:
            end = first + clip.frames
            rows[episode] |= {
                f"videos/{key}/chunk_index": slot.chunk,
                f"videos/{key}/file_index": slot.file,
                f"videos/{key}/from_timestamp": first / clip.fps,
                f"videos/{key}/to_timestamp": end / clip.fps,
            }
            first, episode = end, episode + 1


def write_clips(path: Path, clips: Sequence[Clip], carry: Carry = carry, done: Done = lambda: None) -> None:
    """Clips as one file: the file they came from, if they are the whole of it, else a new one."""
    if _is_whole_file(clips):
        carry(clips[0].path, path)
        for _ in clips:
            done()
    else:
        join(path, clips, done)


def _is_whole_file(clips: Sequence[Clip]) -> bool:
    begin = 0
    for clip in clips:
        if clip.path != clips[0].path or clip.first != begin:
            return False
        begin += clip.frames
    return look_at(clips[0].path).frames == begin


def _write_rows(folder: Path, parts: Sequence[StoredEpisode], rows: list[Row]) -> None:
    schemas = dict.fromkeys(part.columns for part in parts)
    try:
        columns = pa.unify_schemas(list(schemas), promote_options="permissive")
    except pa.ArrowException as error:
        raise DatasetProblem(f"the rows of these episodes do not go together: {error}") from None
    slot = Slot(0, 0)
    for begin in range(0, len(rows), CHUNK):
        some = rows[begin : begin + CHUNK]
        for row in some:
            row |= {"meta/episodes/chunk_index": slot.chunk, "meta/episodes/file_index": slot.file}
        path = folder / row_file(slot)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(some, schema=columns), path, **PARQUET)
        slot = slot.next()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
