"""What must be so in every dataset, whoever laid it out, and what an episode is apart from where it lies."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import av
import pyarrow.parquet as pq

from graspline.datasets.format.rows import data_file, data_slot, row_file, row_slot, stats_in
from graspline.datasets.format.stats import all_merged
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.video import number_on
from graspline.datasets.format.video_packets import clip_in

# Columns of a row that say where the episode lies, not what it is.
PLACES = ("data/", "meta/", "videos/", "dataset_", "episode_index", "episode_id", "stats/episode_index", "stats/index")


def check_whole(root: Path) -> Dataset:
    """Open a dataset and check all that a loader relies on, down to the number on every picture."""
    dataset = Dataset.open(root)
    fps, begin, before = dataset.info["fps"], 0, ("", "")
    for index, row in enumerate(dataset.rows):
        assert (row["episode_index"], row["dataset_from_index"]) == (index, begin)
        begin = row["dataset_to_index"]
        # Loaders find files by name, in order, and take episodes as they come.
        files = data_file(data_slot(row)), row_file(row_slot(row))
        assert files[0] >= before[0]
        assert files[1] >= before[1]
        before = files
        frames = dataset.frames(row)
        assert frames.column("index").to_pylist() == list(range(row["dataset_from_index"], begin))
        assert frames.column("frame_index").to_pylist() == list(range(row["length"]))
        assert set(frames.column("episode_index").to_pylist()) == {index}
        for view in dataset.settings.views:
            clip = clip_in(dataset.video(row, view.key), row, view.key, fps)
            assert [number_on(rgb) for rgb in clip.pictures()] == list(range(row["length"]))
            assert row[f"videos/{view.key}/from_timestamp"] == clip.first / fps
            assert row[f"videos/{view.key}/to_timestamp"] == (clip.first + clip.frames) / fps
        assert dataset.log(row).facts["state_hash"] == row["state_hash"]
    assert dataset.info["total_frames"] == begin
    assert dataset.info["splits"] == {"train": f"0:{len(dataset)}"}
    stats = {name: each.as_lists() for name, each in all_merged(stats_in(row) for row in dataset.rows).items()}
    assert json.loads((root / "meta/stats.json").read_bytes()) == stats
    _check_files(dataset, fps)
    return dataset


def _check_files(dataset: Dataset, fps: int) -> None:
    tables = [pq.ParquetFile(path).metadata for path in sorted(dataset.root.glob("data/*/*.parquet"))]
    lengths = [each.row_group(group).num_rows for each in tables for group in range(each.num_row_groups)]
    assert lengths == [row["length"] for row in dataset.rows]
    for path in dataset.root.glob("videos/*/*/*.mp4"):
        with av.open(path) as file:
            stream = file.streams.video[0]
            assert stream.average_rate == fps
            assert stream.frames == sum(1 for packet in file.demux(stream) if packet.pts is not None)


def episodes_in(root: Path) -> list[dict[str, Any]]:
    """Every episode without its place: the rest of its row, its frames, its log and its pictures as decoded."""
    dataset = Dataset.open(root)
    found = []
    for row in dataset.rows:
        frames = dataset.frames(row).drop_columns(["episode_index", "index"])
        clips = [
            clip_in(dataset.video(row, view.key), row, view.key, dataset.info["fps"]) for view in dataset.settings.views
        ]
        found.append(
            {
                "row": {name: value for name, value in row.items() if not name.startswith(PLACES)},
                "frames": frames.to_pylist(),
                "log": (root / f"graspline/logs/episode-{row['episode_id']:06d}.npz").read_bytes(),
                "pictures": [hashlib.sha256(rgb.tobytes()).hexdigest() for clip in clips for rgb in clip.pictures()],
            }
        )
    return found


def tree(root: Path) -> dict[str, bytes]:
    """Every file's contents but the lock's."""
    files = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def counts(root: Path) -> dict[str, int]:
    """How many files a dataset has of each kind."""
    kinds = {"data": "data/*/*", "rows": "meta/episodes/*/*", "videos": "videos/*/*/*"}
    return {kind: len(list(root.glob(pattern))) for kind, pattern in kinds.items()}
