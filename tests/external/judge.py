"""What lerobot itself reads from a dataset, compared with its files; started by check_lerobot.py, in lerobot's own
environment. Nothing of graspline is imported: what is expected comes from the format and from the files alone.
"""
# lerobot is not there where this repository is type-checked.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from lerobot.configs.types import FeatureType, NormalizationMode
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.datasets.sampler import EpisodeAwareSampler
from lerobot.datasets.utils import dataset_to_policy_features
from lerobot.processor import NormalizerProcessorStep, TransitionKey
from numpy.typing import NDArray

LOW, HIGH = ("q01", "q10", "q50"), ("q90", "q99")
STATS = ("min", "max", "mean", "std", "count", *LOW, *HIGH)
# Columns of every dataset of graspline that are no policy's business, and what an episode's row says beside LeRobot's.
OURS = (
    "graspline.state",
    "graspline.state_index",
    "graspline.recovery",
    "graspline.disturbed",
    "graspline.tool_pose",
    "graspline.tool_target",
    "graspline.object_poses",
    "graspline.evidence",
)
ROW_TEXTS = ("verdict", "state_hash", "scenario", "randomized", "strikes", "rejected_before")
ROW_NUMBERS = ("episode_id", "seed", "retries", "start_s", "end_s")
ROW_FLAGS = ("success", "recovered")
CHUNK_FRAMES, LOOK_BACK_S = 16, 0.1
# Characters of what an error says; the end tells most.
_LONGEST = 600


class Wrong(Exception):
    """Something lerobot reads is not what it should be."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise Wrong(what)


@dataclass(frozen=True)
class Case:
    """A dataset on disk, as its files have it, and how closely to look."""

    root: Path
    samples: int
    numbered: bool

    @cached_property
    def info(self) -> dict[str, Any]:
        return json.loads((self.root / "meta/info.json").read_text())

    @property
    def fps(self) -> int:
        return self.info["fps"]

    @cached_property
    def all_rows(self) -> list[dict[str, Any]]:
        """Of all episodes on disk, also of one that a killed writer did not commit."""
        paths = sorted((self.root / "meta/episodes").glob("*/*.parquet"))
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.all_rows[: self.info["total_episodes"]]

    @cached_property
    def all_frames(self) -> pa.Table:
        paths = sorted((self.root / "data").glob("*/*.parquet"))
        return pa.concat_tables([pq.ParquetFile(path).read() for path in paths])

    @cached_property
    def table(self) -> pa.Table:
        return self.all_frames.slice(0, self.info["total_frames"])

    def column(self, name: str) -> NDArray[Any]:
        return _values(self.table, name)

    @property
    def cameras(self) -> list[str]:
        return [key for key, feature in self.info["features"].items() if feature["dtype"] == "video"]

    @cached_property
    def chosen(self) -> list[int]:
        """Frames to look at: random ones, and all that touch an episode's border."""
        count = self.info["total_frames"]
        drawn = np.random.default_rng(0).choice(count, min(self.samples, count), replace=False)
        edges = {
            min(max(row[end] + step, 0), count - 1) for row in self.rows for end in _ENDS for step in (-2, -1, 0, 1)
        }
        return sorted({*drawn.tolist(), *edges})

    def open(self, **options: Any) -> LeRobotDataset:
        return LeRobotDataset(repo_id="local/x", root=self.root, **options)


_ENDS = ("dataset_from_index", "dataset_to_index")


def _values(table: pa.Table, name: str) -> NDArray[Any]:
    return np.stack(table.column(name).to_numpy())


def check_counts(case: Case) -> str:
    dataset, info = case.open(episodes=None), case.info
    require(info["codebase_version"] == "v3.0", f"codebase_version {info['codebase_version']}")
    lengths = [row["length"] for row in case.rows]
    require(dataset.num_episodes == info["total_episodes"] == len(lengths), f"{dataset.num_episodes} episodes")
    require(len(dataset) == info["total_frames"] == sum(lengths), f"len {len(dataset)}, episodes add to {sum(lengths)}")
    require(dataset.fps == case.fps and isinstance(dataset.fps, int), f"fps {dataset.fps}")
    require(info["splits"] == {"train": f"0:{len(lengths)}"}, f"splits {info['splits']}")
    require(dataset.meta.robot_type == info["robot_type"], f"robot_type {dataset.meta.robot_type}")
    beyond = len(case.all_rows) - len(case.rows), len(dataset.hf_dataset) - len(dataset)
    tail = f", and on disk {beyond[0]} rows and {beyond[1]} frames that are not committed" if any(beyond) else ""
    return f"{len(lengths)} episodes, {len(dataset)} frames, {dataset.fps} fps, {dataset.meta.robot_type}{tail}"


def check_features(case: Case) -> str:
    meta = case.open().meta
    features = meta.features
    missing = {"observation.state", "action", "next.done", "next.success", *OURS} - features.keys()
    require(not missing, f"missing: {sorted(missing)}")
    require(features["observation.state"]["names"] == features["action"]["names"], "state and action name other joints")
    require(set(meta.camera_keys) == set(case.cameras), f"cameras {meta.camera_keys}")
    require((meta.video_path is None) == (not case.cameras), f"video_path {meta.video_path}")
    seen = dataset_to_policy_features(features)
    require(set(seen) == {"observation.state", "action", *case.cameras}, f"a policy would be given {sorted(seen)}")
    return f"{len(features)}, of which a policy is given {', '.join(sorted(seen))}"


def check_samples(case: Case) -> str:
    """Every value of some samples, by type and shape, and against the files."""
    dataset = case.open(video_backend="pyav")
    for index in case.chosen[:: max(1, len(case.chosen) // 20)]:
        sample = dataset[index]
        for name, feature in case.info["features"].items():
            value = sample[name]
            if feature["dtype"] == "string":
                require(value == case.table.column(name)[index].as_py(), f"{name} of frame {index} is {value!r}")
            elif feature["dtype"] == "video":
                height, width, channels = feature["shape"]
                require(value.shape == (channels, height, width), f"{name} has the shape {tuple(value.shape)}")
            else:
                shape = () if feature["shape"] == [1] else tuple(feature["shape"])
                require(tuple(value.shape) == shape, f"{name} has the shape {tuple(value.shape)}")
                require(value.dtype == getattr(torch, feature["dtype"]), f"{name} has the type {value.dtype}")
                written = case.table.column(name)[index].as_py()
                require(np.array_equal(value.numpy(), written), f"{name} of frame {index} differs from the file")
    return "types, shapes and values are those of the files"


def check_tasks(case: Case) -> str:
    dataset = case.open(video_backend="pyav")
    for row in case.rows:
        sample = dataset[row["dataset_from_index"]]
        require(isinstance(sample["task"], str), f"the task of episode {row['episode_index']} is {sample['task']!r}")
        require([sample["task"]] == row["tasks"], f"task {sample['task']!r}, its row says {row['tasks']}")
    sentences = dataset.meta.tasks.index.tolist()
    require(len(sentences) == case.info["total_tasks"], f"{len(sentences)} tasks")
    return repr(sentences[0]) if len(sentences) == 1 else f"{len(sentences)} tasks"


def check_grid(case: Case) -> str:
    """Counters and times of all frames."""
    require(np.array_equal(case.column("index"), np.arange(case.info["total_frames"])), "index has gaps")
    frame = case.column("frame_index")
    for number, row in enumerate(case.rows):
        span = slice(row["dataset_from_index"], row["dataset_to_index"])
        require(row["episode_index"] == number, f"row {number} is of episode {row['episode_index']}")
        require(span.stop - span.start == row["length"], f"episode {number}: {span} is not {row['length']} long")
        require((case.column("episode_index")[span] == number).all(), f"episode {number}: other frames in {span}")
        require(np.array_equal(frame[span], np.arange(row["length"])), f"episode {number}: frame_index")
    exact = (frame / case.fps).astype(np.float32)
    require(np.array_equal(case.column("timestamp"), exact), "timestamps are not frame_index / fps")
    return "index, frame_index, episode_index and timestamp of all frames"


def check_labels(case: Case) -> str:
    """Ends, success, and the columns for people and audits."""
    last = np.zeros(case.info["total_frames"], bool)
    won = last.copy()
    for row in case.rows:
        last[row["dataset_to_index"] - 1], won[row["dataset_to_index"] - 1] = True, row["success"]
    require(np.array_equal(case.column("next.done"), last), "next.done is not the last frame of each episode")
    require(np.array_equal(case.column("next.success"), won), "next.success is not what the episodes' rows say")
    require(all(case.column("graspline.state")), "a frame has no state")
    told = [json.loads(text) for text in case.column("graspline.evidence") if text]
    require(all({"state", "outcome", "evidence"} <= each.keys() for frame in told for each in frame), "evidence")
    for name in ("graspline.tool_pose", "graspline.tool_target", "graspline.object_poses"):
        poses = case.column(name).reshape(case.info["total_frames"], -1, 7)
        require(np.allclose(np.linalg.norm(poses[..., 3:], axis=-1), 1.0, atol=1e-4), f"{name}: no unit quaternions")
    return f"{last.sum()} ends, {won.sum()} successes, {len(told)} frames with evidence"


def check_rows(case: Case) -> str:
    """Extra columns of `meta.episodes`."""
    episodes = case.open().meta.episodes
    for name, kind in (
        *((n, str) for n in ROW_TEXTS),
        *((n, (int, float)) for n in ROW_NUMBERS),
        *((n, bool) for n in ROW_FLAGS),
    ):
        require(name in episodes.column_names, f"{name} is missing")
        require(all(isinstance(value, kind) for value in episodes[name]), f"{name}: {list(episodes[name])[:3]}")
    for name in ("scenario", "randomized", "strikes", "rejected_before"):
        require([json.loads(value) for value in episodes[name]], name)
    require(not any(name.startswith("stats/") for name in episodes.column_names), "statistics were not left out")
    return f"{', '.join((*ROW_TEXTS, *ROW_NUMBERS, *ROW_FLAGS))}"


def check_stats(case: Case) -> str:
    stats, features = case.open().meta.stats, case.info["features"]
    numeric = {name for name, feature in features.items() if feature["dtype"] != "string"}
    require(set(stats) == numeric, f"statistics of {sorted(set(stats) ^ numeric)} missing or too many")
    for name in sorted(numeric):
        found, picture = stats[name], features[name]["dtype"] == "video"
        shape = (3, 1, 1) if picture else tuple(features[name]["shape"])
        for each in STATS:
            expected = (1,) if each == "count" else shape
            require(found[each].shape == expected, f"{name}/{each}: shape {found[each].shape}, expected {expected}")
            require(np.isfinite(found[each]).all(), f"{name}/{each}: {found[each]}")
        order = [found[each] for each in ("min", *LOW, *HIGH, "max")]
        require(all((a <= b + 1e-9).all() for a, b in itertools.pairwise(order)), f"{name}: quantiles")
        if not picture:
            _compare_stats(name, found, case)
    return f"{len(numeric)} features finite, of the right shape, and those of all frames"


def _compare_stats(name: str, found: dict[str, NDArray[Any]], case: Case) -> None:
    """Against all frames: the committed ones, or those on disk, for statistics are written just before the commit."""
    count = int(found["count"][0])
    require(count in (len(case.table), len(case.all_frames)), f"{name}: {count} frames counted of {len(case.table)}")
    frames = case.table if count == len(case.table) else case.all_frames
    rows = _values(frames, name).reshape(count, -1).astype(np.float64)
    for each in ("min", "max", "mean", "std"):
        exact = getattr(np, each)(rows, axis=0)
        near = np.allclose(found[each], exact, rtol=1e-6, atol=1e-6)
        require(near, f"{name}/{each}: {found[each]}, frames give {exact}")
    span = rows.max(axis=0) - rows.min(axis=0)
    for each in (*LOW, *HIGH):
        # Merged quantiles are a wide envelope of the true ones.
        within = np.quantile(rows, int(each[1:]) / 100, axis=0) - found[each]
        within *= 1 if each in LOW else -1
        require((within >= -0.01 * span - 1e-6).all(), f"{name}/{each}: {found[each]}")


def check_normalised(case: Case) -> str:
    """lerobot's own normaliser, in each of its modes, on state and action of all frames."""
    dataset = case.open()
    features = {
        name: each
        for name, each in dataset_to_policy_features(dataset.meta.features).items()
        if name not in case.cameras
    }
    largest = 0.0
    for mode in (NormalizationMode.MEAN_STD, NormalizationMode.MIN_MAX, NormalizationMode.QUANTILES):
        norm_map = {FeatureType.STATE: mode, FeatureType.ACTION: mode}
        step = NormalizerProcessorStep(features=features, norm_map=norm_map, stats=dataset.meta.stats)
        state, action = (torch.from_numpy(case.column(name)) for name in ("observation.state", "action"))
        out = step({TransitionKey.OBSERVATION: {"observation.state": state}, TransitionKey.ACTION: action})
        for value in (out[TransitionKey.OBSERVATION]["observation.state"], out[TransitionKey.ACTION]):
            require(torch.isfinite(value).all(), f"{mode}: not finite")
            largest = max(largest, float(value.abs().max()))
    # A joint that hardly moves would be blown up by its small deviation.
    require(largest < 100, f"normalised values reach {largest:.0f}")
    return f"state and action, by three modes; the largest value is {largest:.1f}"


def check_video_files(case: Case) -> str:
    """One packet per frame, each at its exact time, in every video."""
    count = 0
    for row in case.rows:
        for key in case.cameras:
            slot = {"chunk_index": row[f"videos/{key}/chunk_index"], "file_index": row[f"videos/{key}/file_index"]}
            begin, end = (round(row[f"videos/{key}/{side}_timestamp"] * case.fps) for side in ("from", "to"))
            require(end - begin == row["length"], f"{key}: episode {row['episode_index']} lasts {end - begin} frames")
            with av.open(str(case.root / case.info["video_path"].format(video_key=key, **slot))) as file:
                stream = file.streams.video[0]
                times = sorted(
                    packet.pts * (stream.time_base or 0) for packet in file.demux(stream) if packet.pts is not None
                )
                require(stream.average_rate == case.fps, f"{file.name}: {stream.average_rate} fps")
                require(
                    all(time * case.fps == k for k, time in enumerate(times)), f"{file.name}: times are off the grid"
                )
                require(len(times) >= end, f"{file.name}: {len(times)} frames, needed {end}")
            count += 1
    return f"{count} videos with one packet per frame, on the grid"


def check_frames(case: Case, backend: str) -> str:
    """Frames by random access; numbered ones must be the frames that were asked for."""
    dataset = case.open(video_backend=backend)
    frames = {key: [] for key in case.cameras}
    for index in case.chosen:
        sample = dataset[index]
        for key in case.cameras:
            _require_number(case, sample[key], int(sample["frame_index"]), f"{key} of frame {index}")
            frames[key].append(sample[key][:, 4::8, 4::8])
    for key, seen in frames.items():
        mean, spread = dataset.meta.stats[key]["mean"].ravel(), dataset.meta.stats[key]["std"].ravel()
        pixels = torch.stack(seen).numpy()
        off = np.abs(pixels.mean(axis=(0, 2, 3)) - mean).max(), np.abs(pixels.std(axis=(0, 2, 3)) - spread).max()
        require(max(off) < 0.08, f"{key}: mean and deviation of these pictures are {off} away from the statistics")
    said = "each with the number asked for" if case.numbered else "without numbers"
    return f"{len(case.chosen)} frames of {len(case.cameras)} cameras, {said}"


def check_chunks(case: Case, backend: str) -> str:
    """Several frames at once: the next actions, and pictures of now and before, padded at both ends of an episode."""
    dataset, back = case.open(video_backend=backend, delta_timestamps=_deltas(case)), round(LOOK_BACK_S * case.fps)
    actions, padded = case.column("action"), 0
    for index in case.chosen:
        sample = dataset[index]
        row = case.rows[int(sample["episode_index"])]
        ahead = index + np.arange(CHUNK_FRAMES)
        held = np.minimum(ahead, row["dataset_to_index"] - 1)
        require(np.array_equal(sample["action"].numpy(), actions[held]), f"actions from frame {index}")
        require(np.array_equal(sample["action_is_pad"].numpy(), ahead > held), f"action_is_pad of frame {index}")
        padded += int((ahead > held).any())
        before = max(index - back, row["dataset_from_index"])
        for key in case.cameras:
            require(sample[key].shape[0] == 2, f"{key} has the shape {tuple(sample[key].shape)}")
            require(
                sample[f"{key}_is_pad"].tolist() == [before > index - back, False], f"{key}_is_pad of frame {index}"
            )
            for picture, shown in zip(sample[key], (before, index), strict=True):
                _require_number(case, picture, shown - row["dataset_from_index"], f"{key} around frame {index}")
    return f"{len(case.chosen)} times {CHUNK_FRAMES} actions and two pictures per camera, {padded} of them padded"


def check_one_episode(case: Case, backend: str) -> str:
    """Opened by one episode alone, the last one."""
    row = case.rows[-1]
    dataset = case.open(episodes=[row["episode_index"]], video_backend=backend, delta_timestamps=_deltas(case))
    require(len(dataset) == row["length"], f"{len(dataset)} frames of {row['length']}")
    for index in (0, row["length"] // 2, row["length"] - 1):
        sample = dataset[index]
        require(int(sample["frame_index"]) == index, f"frame {index} is {int(sample['frame_index'])}")
        for key in case.cameras:
            _require_number(case, sample[key][-1], index, f"{key} of frame {index}")
    return f"episode {row['episode_index']}, {len(dataset)} frames"


def check_loader(case: Case, backend: str) -> str:
    """A shuffled pass in batches, by two processes, over what lerobot's own sampler gives."""
    dataset = case.open(video_backend=backend, delta_timestamps=_deltas(case))
    rows = dataset.meta.episodes
    sampler = EpisodeAwareSampler(*(list(rows[end]) for end in _ENDS))
    torch.manual_seed(0)
    picked = [sampler.indices[at] for at in torch.randperm(len(sampler))[: case.samples].tolist()]
    subset = torch.utils.data.Subset(dataset, picked)
    seen = 0
    for batch in torch.utils.data.DataLoader(subset, batch_size=8, num_workers=2):
        seen += len(batch["index"])
        require(batch["action"].shape[1] == CHUNK_FRAMES, f"actions {tuple(batch['action'].shape)}")
        require(all(isinstance(task, str) for task in batch["task"]), f"tasks {batch['task']}")
        for key in case.cameras:
            require(torch.isfinite(batch[key]).all() and 0 <= batch[key].min() <= batch[key].max() <= 1, key)
    require(seen == len(picked), f"{seen} of {len(picked)} frames came")
    return f"{seen} of {len(sampler)} frames in batches of 8"


def _deltas(case: Case) -> dict[str, list[float]]:
    back = round(LOOK_BACK_S * case.fps) / case.fps
    return {
        "action": [step / case.fps for step in range(CHUNK_FRAMES)],
        "observation.state": [-back, 0.0],
        **{key: [-back, 0.0] for key in case.cameras},
    }


def _require_number(case: Case, picture: torch.Tensor, expected: int, which: str) -> None:
    require(picture.min() >= 0 and picture.max() <= 1, f"{which}: not between 0 and 1")
    if case.numbered:
        found = number_on(picture.numpy())
        require(found == expected, f"{which}: shows {found}, expected {expected}")


def number_on(picture: NDArray[np.float32]) -> int:
    """The number in the top left corner of (3, H, W): 4 by 4 squares of 8 pixels, white for 1, the lowest bit first."""
    number = 0
    for bit in range(16):
        row, column = divmod(bit, 4)
        square = picture[:, row * 8 + 2 : row * 8 + 6, column * 8 + 2 : column * 8 + 6]
        number |= int(square.mean() > 0.5) << bit
    return number


def checks_of(case: Case, backends: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    plain = (check_counts, check_features, check_grid, check_labels, check_rows, check_stats, check_normalised)
    for check in (*plain, check_tasks, check_samples):
        yield check.__name__.removeprefix("check_"), partial(check, case)
    if case.cameras:
        yield "video files", partial(check_video_files, case)
    for backend in backends if case.cameras else ["pyav"]:
        # Loading in other processes comes first: torchcodec's decoders do not outlive a fork.
        for check in (check_loader, check_chunks, check_one_episode, *([check_frames] if case.cameras else [])):
            name = check.__name__.removeprefix("check_").replace("_", " ")
            yield (f"{name}, {backend}" if case.cameras else name), partial(check, case, backend)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--numbered", action="store_true")
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--backend", action="append", required=True)
    asked = parser.parse_args()
    case, failed = Case(asked.root, asked.samples, asked.numbered), 0
    for name, check in checks_of(case, asked.backend):
        began_s = time.monotonic()
        try:
            said, good = check(), True
        except Exception as error:  # Whatever lerobot raises is a verdict on the dataset.
            said, good = f"{type(error).__name__}: {' '.join(str(error).split())[-_LONGEST:]}", False
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {said} [{time.monotonic() - began_s:.0f} s]", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
