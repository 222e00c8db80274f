"""HDF5 files: what robomimic looks for, every frame, and everything that is known of an episode."""

from __future__ import annotations

import io
import json
import shutil
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from graspline.datasets.edit.compact import compact
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.video import number_on
from graspline.datasets.write.generate import generate
from graspline.errors import DatasetProblem, EnvironmentProblem

from ..conftest import InlinePool, cube_settings
from ..damage import edit_json

h5py = pytest.importorskip("h5py")
from graspline.datasets.export.hdf5 import export_hdf5  # noqa: E402  (it needs h5py)


def test_every_episode_is_a_group_of_what_robomimic_reads(filmed_once: Path, tmp_path: Path) -> None:
    assert export_hdf5(filmed_once, tmp_path / "out.hdf5") == 4
    dataset = Dataset.open(filmed_once)
    with h5py.File(tmp_path / "out.hdf5") as file:
        data = file["data"]
        assert data.attrs["total"] == dataset.info["total_frames"]
        assert sorted(data) == [f"demo_{number}" for number in range(4)]
        for number, row in enumerate(dataset.rows):
            demo, frames = data[f"demo_{number}"], dataset.frames(row)
            length = row["length"]
            assert demo.attrs["num_samples"] == length
            shapes = {name: column.shape for name, column in demo.items() if name != "obs"}
            assert shapes == {
                "actions": (length, 6),
                "rewards": (length,),
                "dones": (length,),
                "targets": (length, 7),
                "state_names": (length,),
                "state_index": (length,),
                "recovery": (length,),
                "intervention": (length,),
                "disturbed": (length,),
                "evidence": (length,),
                "timestamps": (length,),
            }
            assert {name: column.shape for name, column in demo["obs"].items()} == {
                "front": (length, 32, 32, 3),
                "wrist": (length, 34, 32, 3),
                "joint_pos": (length, 5),
                "gripper": (length, 1),
                "ee_pose": (length, 7),
                "object": (length, 7),
            }
            state = np.array(frames.column("observation.state").to_pylist(), np.float32)
            assert np.array_equal(np.hstack([demo["obs/joint_pos"], demo["obs/gripper"]]), state)
            assert demo["actions"][:].tolist() == frames.column("action").to_pylist()
            assert demo["state_names"].asstr()[:].tolist() == frames.column("graspline.state").to_pylist()
            assert demo["dones"][:].tolist() == [0] * (length - 1) + [1]
            assert demo["rewards"][:].tolist() == [0.0] * (length - 1) + [1.0]
            assert list(demo["obs/object"].attrs["names"][:2]) == ["cube.x", "cube.y"]


@pytest.mark.parametrize("packed", [False, True])
def test_pictures_are_the_frames_of_the_videos(filmed: Path, tmp_path: Path, packed: bool) -> None:
    if packed:
        compact(filmed)
    export_hdf5(filmed, tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        for demo in file["data"].values():
            for camera in ("front", "wrist"):
                pictures = demo["obs"][camera]
                assert pictures.chunks == (1, *pictures.shape[1:])
                assert [number_on(rgb) for rgb in pictures] == list(range(demo.attrs["num_samples"]))


def test_pictures_can_be_jpeg_files(filmed_once: Path, tmp_path: Path) -> None:
    export_hdf5(filmed_once, tmp_path / "out.hdf5", jpeg=True)
    with h5py.File(tmp_path / "out.hdf5") as file:
        wrist = file["data/demo_1/obs/wrist"]
        assert wrist.attrs["encoding"] == "jpeg"
        pictures = [np.asarray(Image.open(io.BytesIO(bytes(each)))) for each in wrist]
    assert pictures[0].shape == (34, 32, 3)
    assert [number_on(rgb) for rgb in pictures] == list(range(len(pictures)))


def test_attributes_say_what_is_known_of_an_episode(filmed: Path, tmp_path: Path) -> None:
    # Longer than an attribute could be in the first versions of HDF5; and a column that somebody added.
    path = filmed / "meta/episodes/chunk-000/file-002.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("randomized")
    long = json.dumps({"note": "x" * 100_000})
    table = table.set_column(at, "randomized", pa.array([long])).append_column("rating", pa.array([0.5]))
    pq.write_table(table, path)
    export_hdf5(filmed, tmp_path / "out.hdf5")
    row = Dataset.open(filmed).rows[2]
    with h5py.File(tmp_path / "out.hdf5") as file:
        said = dict(file["data/demo_2"].attrs)
    for name in ("seed", "verdict", "success", "episode_id", "retries", "state_hash", "scenario", "end_s", "rating"):
        assert said[name] == row[name]
    assert said["randomized"] == long
    assert said["task"] == "Lift the cube and hold it still."
    assert json.loads(said["target_objects"]) == ["cube"]
    assert not [name for name in said if name.startswith(("stats/", "data/", "videos/"))]


def test_env_args_make_the_environment(filmed_once: Path, tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    from graspline.envs.environment import TaskEnv
    from graspline.registration import environment_name

    export_hdf5(filmed_once, tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        said = json.loads(file["data"].attrs["env_args"])
    assert said["env_name"] == environment_name("lift-cube") == "graspline/LiftCube-v0"
    assert said["type"] == 2
    assert set(said["env_kwargs"]) <= set(signature(TaskEnv).parameters)
    assert said["env_kwargs"]["cameras"] == "front:32x32,wrist:32x34"


@pytest.mark.usefixtures("unchecked")
def test_env_args_say_only_what_is_so_of_all_that_were_merged(
    filmed_once: Path, filmed_elsewhere: Path, filmed: Path, tmp_path: Path
) -> None:
    merge([filmed_once, filmed_elsewhere], tmp_path / "alike")
    changed = Path(shutil.copytree(filmed_elsewhere, tmp_path / "changed"))
    edit_json(changed, "meta/graspline.json", lambda ours: ours["settings"]["parameters"]["hold"].update(still_s=0.9))
    merge([filmed, changed], tmp_path / "mixed")
    for name, said in (("alike", True), ("mixed", False)):
        export_hdf5(tmp_path / name, tmp_path / f"{name}.hdf5")
        with h5py.File(tmp_path / f"{name}.hdf5") as file:
            environment = json.loads(file["data"].attrs["env_args"])["env_kwargs"]
        assert ("parameters" in environment, "smooth" in environment) == (said, True)


def test_a_dataset_of_60_hz_without_pictures(tmp_path: Path) -> None:
    generate(tmp_path / "states", cube_settings(fps=60, views=()), 1, InlinePool())
    export_hdf5(tmp_path / "states", tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        times = file["data/demo_0/timestamps"][:]
        assert sorted(file["data/demo_0/obs"]) == ["ee_pose", "gripper", "joint_pos", "object"]
    assert np.allclose(np.diff(times), 1 / 60, atol=1e-6)


def test_a_failed_export_leaves_the_file_that_was_there(filmed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.hdf5"
    out.write_bytes(b"of before")
    (filmed / "videos/observation.images.wrist/chunk-000/file-003.mp4").unlink()
    with pytest.raises(DatasetProblem, match=r"file-003\.mp4: is missing"):
        export_hdf5(filmed, out)
    assert out.read_bytes() == b"of before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filmed", "out.hdf5"]


def test_a_disk_that_is_nearly_full_is_told_in_time(
    filmed_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=12_000_000))
    with pytest.raises(EnvironmentProblem, match=r"12\.0 MB are free, and the next episode may take 16"):
        export_hdf5(filmed_once, tmp_path / "out.hdf5")
    assert list(tmp_path.iterdir()) == []
