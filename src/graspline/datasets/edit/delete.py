"""Episodes taken out of a dataset, and put back: what is out is kept whole, beside the logs of those that stay.

Episodes lie in the order of their lasting numbers, in which they were made. One that is put back goes where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from graspline.datasets.edit.repack import (
    Progress,
    StoredEpisode,
    build,
    carry_rest,
    rebuilding,
    silent,
    steps_of,
    write_clips,
)
from graspline.datasets.format.atomic_replace import carry
from graspline.datasets.format.files import json_bytes, parquet_bytes
from graspline.datasets.format.removed_episodes import Aside, place_aside
from graspline.datasets.format.rows import Row
from graspline.datasets.format.store import Dataset, deleted_in
from graspline.errors import InputError

# What a note says of the episode beside it; `generate` reads the first two, and gives neither again.
_NOTED = ("episode_id", "seed", "verdict", "success", "state_hash", "length")


def delete(root: Path, episodes: Sequence[int], progress: Progress = silent) -> list[Row]:
    """Take out episodes by their index in the dataset; gives their rows. Those behind them move up."""
    with rebuilding(root) as (dataset, parts, folder):
        gone = sorted(set(episodes))
        _check_indices(dataset, gone)
        staying = [part for index, part in enumerate(parts) if index not in gone]
        carry_rest(dataset, folder)
        for index in gone:
            _put_aside(folder, parts[index])
        build(folder, staying, dataset.info, films="kept", done=progress(steps_of(staying)))
        return [parts[index].row for index in gone]


def restore(root: Path, episode_ids: Sequence[int], progress: Progress = silent) -> list[Row]:
    """Put back episodes by their lasting numbers; gives the rows they had."""
    with rebuilding(root) as (dataset, parts, folder):
        back = sorted(set(episode_ids))
        _check_ids(dataset, back)
        again = [_set_aside(dataset, episode_id) for episode_id in back]
        all_parts = sorted([*parts, *again], key=lambda part: part.episode_id)
        carry_rest(dataset, folder, *(f"{place_aside(episode_id)}{end}" for episode_id in back for end in ("/", ".")))
        build(folder, all_parts, dataset.info, films="kept", done=progress(steps_of(all_parts)))
        return [part.row for part in again]


def _check_indices(dataset: Dataset, episodes: Sequence[int]) -> None:
    wrong = [index for index in episodes if not 0 <= index < len(dataset)]
    if wrong:
        raise InputError([f"--episode {index}: the dataset has episodes 0 to {len(dataset) - 1}" for index in wrong])
    if len(episodes) == len(dataset):
        raise InputError(f"{dataset.root}: this would delete every episode; to do that, remove the folder")


def _check_ids(dataset: Dataset, episode_ids: Sequence[int]) -> None:
    known = [note["episode_id"] for note in deleted_in(dataset.root)]
    allowed = f"deleted are {', '.join(map(str, known))}" if known else "no episode of this dataset is deleted"
    wrong = [episode_id for episode_id in episode_ids if episode_id not in known]
    if wrong:
        raise InputError([f"--restore {episode_id}: {allowed}" for episode_id in wrong])


def _put_aside(folder: Path, part: StoredEpisode) -> None:
    """Everything of an episode into a folder of its own, and a note beside it."""
    aside = folder / place_aside(part.episode_id)
    aside.mkdir(parents=True)
    for key, clip in part.clips.items():
        write_clips(aside / f"{key}.mp4", [clip])
    carry(part.log, aside / "log.npz")
    (aside / "data.parquet").write_bytes(parquet_bytes(part.frames()))
    (aside / "row.parquet").write_bytes(parquet_bytes(pa.Table.from_pylist([part.row], schema=part.columns)))
    note = {name: part.row[name] for name in _NOTED}
    (folder / f"{place_aside(part.episode_id)}.json").write_bytes(json_bytes(note))


def _set_aside(dataset: Dataset, episode_id: int) -> StoredEpisode:
    """An episode as `_put_aside` left it."""
    kept = Aside.read(dataset, episode_id)
    return StoredEpisode(
        row=kept.row,
        columns=pq.read_schema(kept.folder / "row.parquet"),
        data=kept.folder / "data.parquet",
        clips=kept.clips,
        log=kept.folder / "log.npz",
        episode_id=episode_id,
        scene=dataset.scene,
    )
