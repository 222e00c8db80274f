"""A dataset as one HDF5 file, laid out as robomimic reads it."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from graspline.datasets.edit.repack import Progress, StoredEpisode, parts_of, silent, steps_of
from graspline.datasets.format.files import read_locked, sync
from graspline.datasets.format.frames import OURS
from graspline.datasets.format.store import Dataset, origin_in
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.format.video_packets import Clip, Pixels, look_at
from graspline.errors import EnvironmentProblem
from graspline.registration import environment_name

try:
    import h5py
except ImportError:
    raise EnvironmentProblem("HDF5 files need h5py: pip install 'graspline[hdf5]'") from None

# Where columns go. Their own places under robomimic's names; what it does not know keeps the name it has.
_NAMES = {
    "action": "actions",
    "next.done": "dones",
    "next.success": "rewards",
    f"{OURS}tool_pose": "obs/ee_pose",
    f"{OURS}object_poses": "obs/object",
    f"{OURS}tool_target": "targets",
    f"{OURS}state": "state_names",
    f"{OURS}state_index": "state_index",
    f"{OURS}recovery": "recovery",
    f"{OURS}disturbed": "disturbed",
    f"{OURS}evidence": "evidence",
    "timestamp": "timestamps",
}
_TYPES = {"next.done": np.int64, "next.success": np.float64}
# The state is taken apart, and numbers of rows say nothing in a file of groups.
_APART = ("observation.state", "frame_index", "episode_index", "index", "task_index")
# Of an episode's row, where it lies and its statistics stay behind.
_UNSAID = ("stats/", "data/", "videos/", "meta/", "dataset_", "length")
# What robomimic calls an environment of Gymnasium.
_GYM = 2
_JPEG_QUALITY = 95
# For an episode without its pictures, and for closing the file.
_ROOM_BYTES = 16_000_000


def export_hdf5(root: Path, out: Path, *, jpeg: bool = False, progress: Progress = silent) -> int:
    """Write all episodes into a file that appears when it is whole; gives their number.

    Pictures are frames (T, H, W, 3), packed without loss and read one by one, or with `jpeg` a file for each frame.
    """
    half = out.with_name(f".{out.name}.part")
    with read_locked(root):
        dataset = Dataset.open(root)
        parts = parts_of(dataset)
        done = progress(steps_of(parts))
        try:
            # Since version 1.8 of HDF5 attributes may be longer than 64 kB, as the parameters of a scenario could be.
            with h5py.File(half, "w", libver=("v108", "latest")) as file:
                data = file.create_group("data")
                data.attrs["total"] = dataset.info["total_frames"]
                data.attrs["fps"] = dataset.info["fps"]
                data.attrs["units"] = dataset.settings.units
                data.attrs["env_args"] = json.dumps(_environment(dataset))
                for number, part in enumerate(parts):
                    _check_room(out, part)
                    _write_demo(data.create_group(f"demo_{number}"), part, dataset.info["features"])
                    done()
                    for key, clip in part.clips.items():
                        _write_pictures(data[f"demo_{number}/obs"], key, clip, jpeg)
                        done()
            sync(half)
            half.replace(out)
            sync(out.parent)
        except OSError as error:
            raise EnvironmentProblem(f"{out}: cannot be written: {error.strerror or error}") from None
        finally:
            half.unlink(missing_ok=True)
    return len(parts)


def _check_room(out: Path, part: StoredEpisode) -> None:
    """Stop before the disk is full: HDF5 takes a failed write so badly that the process may crash."""
    pictures = sum(clip.frames * look_at(clip.path).frame_bytes for clip in part.clips.values())
    needed, free = pictures + _ROOM_BYTES, shutil.disk_usage(out.parent).free
    if free < needed:
        raise EnvironmentProblem(
            f"{out.parent}: {free / 1e6:.1f} MB are free, and the next episode may take {needed / 1e6:.1f} MB"
        )


def _environment(dataset: Dataset) -> dict[str, Any]:
    """How `gymnasium.make` gives the world that the episodes were played in; see docs/evaluation.md.

    Those of a merged dataset may have been played in several; in what they differ nothing can be said for all.
    """
    settings, made_with = dataset.settings, origin_in(dataset.root).made_with
    shared = {
        name: getattr(settings, name)
        for name in ("smooth", "parameters")
        if all(getattr(each, name) == getattr(settings, name) for each in made_with)
    }
    return {
        "env_name": environment_name(settings.task),
        "type": _GYM,
        "env_version": settings.graspline,
        "env_kwargs": {
            "fps": settings.fps,
            "cameras": ",".join(map(str, settings.views)) or "none",
            "units": settings.units,
            **shared,
        },
    }


def _write_demo(demo: Any, part: StoredEpisode, features: Mapping[str, Any]) -> None:
    table = part.frames()
    demo.attrs["num_samples"] = len(table)
    demo.attrs["task"] = part.row["tasks"][0]
    for name, value in part.row.items():
        if name != "tasks" and not name.startswith(_UNSAID):
            demo.attrs[name] = json.dumps(value) if isinstance(value, list | dict) or value is None else value
    joints = features["observation.state"]["names"]
    state, jaw = numbers_in(table, "observation.state"), part.scene.robot.jaw
    _write_column(demo, "obs/joint_pos", np.delete(state, jaw, axis=1), joints[:jaw] + joints[jaw + 1 :])
    _write_column(demo, "obs/gripper", state[:, [jaw]], [joints[jaw]])
    for name in table.column_names:
        if name not in _APART:
            values = _values_of(table, name)
            values = values.astype(_TYPES.get(name, values.dtype))
            _write_column(demo, str(_NAMES.get(name, name)), values, features.get(name, {}).get("names"))


def _values_of(table: pa.Table, name: str) -> np.ndarray[Any, Any]:
    if pa.types.is_string(table.schema.field(name).type):
        return np.array(table.column(name).to_pylist(), dtype=object)
    return numbers_in(table, name)


def _write_column(demo: Any, name: str, values: np.ndarray[Any, Any], entries: list[str] | None) -> None:
    dtype = h5py.string_dtype() if values.dtype == object else values.dtype
    column = demo.create_dataset(name, data=values, dtype=dtype, compression="gzip", compression_opts=1)
    if entries is not None:
        column.attrs["names"] = entries


def _write_pictures(obs: Any, key: str, clip: Clip, jpeg: bool) -> None:
    """One chunk for each frame: a loader that wants one unpacks one."""
    name = key.removeprefix("observation.images.")
    frames = None
    for number, rgb in enumerate(clip.pictures()):
        if frames is None and jpeg:
            frames = obs.create_dataset(name, (clip.frames,), dtype=h5py.vlen_dtype(np.uint8))
            frames.attrs["encoding"] = "jpeg"
        elif frames is None:
            shape = (clip.frames, *rgb.shape)
            frames = obs.create_dataset(
                name, shape, np.uint8, chunks=(1, *rgb.shape), compression="gzip", compression_opts=1
            )
        frames[number] = _jpeg(rgb) if jpeg else rgb


def _jpeg(rgb: Pixels) -> Pixels:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "jpeg", quality=_JPEG_QUALITY)
    return np.frombuffer(buffer.getvalue(), np.uint8)
