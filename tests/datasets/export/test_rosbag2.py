"""Bags of ROS 2, read back as somebody without ROS would: every frame, every pose and everything that happened."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from graspline.datasets.edit.compact import compact
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import log_file
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.format.video import number_on
from graspline.datasets.write.generate import generate
from graspline.episodes.units import units_of
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError
from graspline.rendering.picture import pixel_rays

from ..conftest import InlinePool, cube_settings
from ..damage import edit_log

highlevel = pytest.importorskip("rosbags.highlevel")
from rosbags.interfaces import QosDurability  # noqa: E402  (it needs rosbags)
from rosbags.typesys import Stores, get_typestore  # noqa: E402

from graspline.datasets.export import bags as ros  # noqa: E402
from graspline.datasets.export.rosbag2 import events_of, export_rosbag2  # noqa: E402

TOPICS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/joint_reference": "sensor_msgs/msg/JointState",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    "/events": "std_msgs/msg/String",
}
PICTURES = {
    "/camera/front/image_raw/compressed": "sensor_msgs/msg/CompressedImage",
    "/camera/front/camera_info": "sensor_msgs/msg/CameraInfo",
    "/camera/wrist/image_raw/compressed": "sensor_msgs/msg/CompressedImage",
    "/camera/wrist/camera_info": "sensor_msgs/msg/CameraInfo",
}
Messages = list[tuple[int, Any]]


@pytest.fixture(scope="module")
def bags(filmed_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bags") / "bags"
    assert export_rosbag2(filmed_once, out) == 4
    return out


def read(bag: Path) -> dict[str, Messages]:
    """Everything in a bag by topic: when, and what. Nothing but the bag says what its messages are made of."""
    found: dict[str, Messages] = defaultdict(list)
    with highlevel.AnyReader([bag]) as reader:
        times = []
        for connection, at_ns, raw in reader.messages():
            times.append(at_ns)
            found[connection.topic].append((at_ns, reader.deserialize(raw, connection.msgtype)))
    assert times == sorted(times)
    return found


def test_every_episode_is_a_bag_that_anybody_can_read(bags: Path, filmed_once: Path) -> None:
    assert sorted(path.name for path in bags.iterdir()) == [f"episode_{number:06d}" for number in range(4)]
    for row in Dataset.open(filmed_once).rows:
        bag = bags / f"episode_{row['episode_index']:06d}"
        assert sorted(path.name for path in bag.iterdir()) == [f"{bag.name}.mcap", "metadata.yaml"]
        said = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        assert (said["version"], said["storage_identifier"]) == (8, "mcap")
        assert said["custom_data"]["seed"] == str(row["seed"])
        assert said["custom_data"]["task"] == "Lift the cube and hold it still."
        with highlevel.AnyReader([bag]) as reader:
            assert {name: topic.msgtype for name, topic in reader.topics.items()} == {**TOPICS, **PICTURES}
            assert all(reader.topics[name].msgcount == row["length"] for name in ("/tf", "/joint_states", *PICTURES))
            latched = reader.topics["/tf_static"].connections[0].ext.offered_qos_profiles
        assert [each.durability for each in latched] == [QosDurability.TRANSIENT_LOCAL]


def test_stamps_are_simulated_time_and_agree_with_the_bag(bags: Path, filmed_once: Path) -> None:
    row = Dataset.open(filmed_once).rows[0]
    found = read(bags / "episode_000000")
    for topic, messages in found.items():
        for at_ns, message in messages:
            headers = [each.header for each in message.transforms] if topic.startswith("/tf") else []
            for header in headers or ([message.header] if topic != "/events" else []):
                assert header.stamp.sec * 10**9 + header.stamp.nanosec == at_ns
    assert [at_ns for at_ns, _ in found["/joint_states"]] == [number * 10**8 for number in range(row["length"])]
    assert np.allclose(np.diff([at_ns for at_ns, _ in found["/joint_reference"]]), 1e9 / 60, atol=1)
    assert found["/joint_reference"][-1][0] == found["/events"][-1][0]


def test_joints_are_the_rows_in_radians_and_the_reference_is_the_logs(bags: Path, filmed_once: Path) -> None:
    dataset = Dataset.open(filmed_once)
    robot = dataset.scene.robot
    for row in dataset.rows:
        found = read(bags / f"episode_{row['episode_index']:06d}")
        states = [message for _, message in found["/joint_states"]]
        assert states[0].name == ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
        frames, log = dataset.frames(row), dataset.log(row).log
        rad = np.array([message.position for message in states])
        outward = units_of(robot, dataset.settings.units).outward
        assert np.array_equal(outward(rad).astype(np.float32), numbers_in(frames, "observation.state"))
        asked = [message for _, message in found["/joint_reference"]]
        assert np.array_equal([message.position for message in asked], log.positions)
        assert np.array_equal([message.velocity for message in asked], log.velocities)
        # A row's action is the reference where its frame ends.
        actions = numbers_in(frames, "action")
        assert np.array_equal(outward(log.positions[6]).astype(np.float32), actions[0])


def test_poses_are_those_of_the_rows(bags: Path, filmed_once: Path) -> None:
    dataset = Dataset.open(filmed_once)
    frames = dataset.frames(dataset.rows[2])
    found = read(bags / "episode_000002")
    told_poses = numbers_in(frames, "graspline.object_poses")
    for (_, message), expected in zip(found["/tf"], told_poses, strict=True):
        (cube,) = (each for each in message.transforms if each.child_frame_id == "cube")
        assert cube.header.frame_id == "world"
        moved, turned = cube.transform.translation, cube.transform.rotation
        assert np.array_equal(np.array([moved.x, moved.y, moved.z], np.float32), expected[:3])
        quaternion = np.array([turned.w, turned.x, turned.y, turned.z])
        assert np.isclose(abs(quaternion @ expected[3:]), 1, atol=1e-6)
        assert np.isclose(np.linalg.norm(quaternion), 1)
    ((_, still),) = found["/tf_static"]
    assert {each.child_frame_id for each in still.transforms} == {
        "base",
        "fixed_pad",
        "tool",
        "front_camera_optical_frame",
        "wrist_camera_optical_frame",
    }


@pytest.mark.parametrize("is_packed", [False, True])
def test_pictures_are_the_frames_of_the_videos(filmed: Path, tmp_path: Path, is_packed: bool) -> None:
    if is_packed:
        compact(filmed)
    export_rosbag2(filmed, tmp_path / "bags")
    for bag in (tmp_path / "bags").iterdir():
        found = read(bag)
        for camera, size in (("front", (32, 32)), ("wrist", (32, 34))):
            messages = [message for _, message in found[f"/camera/{camera}/image_raw/compressed"]]
            pictures = [Image.open(io.BytesIO(message.data.tobytes())) for message in messages]
            assert {(message.format, message.header.frame_id) for message in messages} == {
                ("jpeg", f"{camera}_camera_optical_frame")
            }
            assert {picture.size for picture in pictures} == {size}
            assert [number_on(np.asarray(picture)) for picture in pictures] == list(range(len(found["/joint_states"])))


def test_camera_info_sees_along_the_rays_of_the_pixels(bags: Path) -> None:
    (_, info), *_ = read(bags / "episode_000001")["/camera/wrist/camera_info"]
    rays = pixel_rays(32, 34, np.radians(62)) * [1, -1, -1]
    seen = rays.reshape(-1, 3) @ np.reshape(info.k, (3, 3)).T
    rows, columns = np.mgrid[:34, :32]
    assert np.allclose(seen[:, 0], columns.ravel())
    assert np.allclose(seen[:, 1], rows.ravel())
    assert (info.width, info.height, info.header.frame_id) == (32, 34, "wrist_camera_optical_frame")
    assert np.array_equal(np.reshape(info.p, (3, 4))[:, :3].ravel(), info.k)


def test_what_happened_is_told_up_to_the_verdict(bags: Path, filmed_once: Path) -> None:
    dataset = Dataset.open(filmed_once)
    happened = [(at_ns, json.loads(message.data)) for at_ns, message in read(bags / "episode_000003")["/events"]]
    assert all(at_ns == round(event["t_s"] * 1e9) for at_ns, event in happened)
    *states, verdict = [event for _, event in happened]
    assert (verdict["event"], verdict["verdict"], verdict["success"]) == ("verdict", dataset.rows[3]["verdict"], True)
    assert all(measured["passed"] for measured in verdict["evidence"])
    kept = dataset.log(dataset.rows[3])
    ended = [(event["state"], event["outcome"]) for event in states if event["event"] == "ended"]
    assert ended == [(each.state, each.outcome) for each in kept.transitions]
    entered = [event["state"] for event in states if event["event"] == "entered"]
    assert entered == [state for _, state in kept.facts["entries"]]


def test_no_state_ends_before_it_was_entered_and_faults_are_told(recovered: Recording) -> None:
    playing, kinds = list[str](), list[str]()
    for event in events_of(recovered):
        kinds.append(event["event"])
        if event["event"] == "entered":
            playing.append(event["state"])
        elif event["event"] == "ended":
            playing.remove(event["state"])
    assert playing == []
    assert (kinds[0], kinds[-1], kinds.count("struck")) == ("entered", "verdict", 1)


def test_a_dataset_of_60_hz_without_pictures(tmp_path: Path) -> None:
    generate(tmp_path / "states", cube_settings(fps=60, views=()), 1, InlinePool())
    export_rosbag2(tmp_path / "states", tmp_path / "bags")
    found = read(tmp_path / "bags/episode_000000")
    assert set(found) == set(TOPICS)
    states, asked = ([at_ns for at_ns, _ in found[topic]] for topic in ("/joint_states", "/joint_reference"))
    # The last of the reference is where the last frame ends.
    assert states == asked[:-1]


@pytest.mark.parametrize("distribution", [Stores.ROS2_JAZZY, Stores.LATEST])
def test_types_are_the_same_in_later_distributions(distribution: Stores) -> None:
    later = get_typestore(distribution)
    for kind in {*TOPICS.values(), *PICTURES.values()}:
        assert later.hash_rihs01(kind) == ros.STORE.hash_rihs01(kind)


def test_a_folder_with_something_in_it_is_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "bags").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bags/mine.txt").touch()
    with pytest.raises(InputError, match="bags: exists already; choose a new or empty folder"):
        export_rosbag2(made, tmp_path / "bags")
    with pytest.raises(InputError, match=r"mine\.txt: exists already"):
        export_rosbag2(made, tmp_path / "bags/mine.txt")
    assert export_rosbag2(made, tmp_path / "empty") == 3


def test_a_failed_export_leaves_nothing(filmed: Path, tmp_path: Path) -> None:
    (filmed / "videos/observation.images.wrist/chunk-000/file-003.mp4").unlink()
    with pytest.raises(DatasetProblem, match=r"file-003\.mp4: is missing"):
        export_rosbag2(filmed, tmp_path / "bags")
    assert [path.name for path in tmp_path.iterdir()] == ["filmed"]


def test_what_a_killed_export_left_is_cleared_away(made: Path, tmp_path: Path) -> None:
    (tmp_path / ".bags.part/episode_000000").mkdir(parents=True)
    assert export_rosbag2(made, tmp_path / "bags") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["bags"]


def test_a_disk_that_is_full_is_told(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*message: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ros.Writer, "write", full)
    with pytest.raises(EnvironmentProblem, match="bags: cannot be written: No space left on device"):
        export_rosbag2(made, tmp_path / "bags")
    assert list(tmp_path.iterdir()) == []


def test_a_log_of_something_else_is_named(dataset: Path, tmp_path: Path) -> None:
    def shortened(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
        arrays.update({name: arrays[name][:-60] for name in ("positions", "velocities")})

    edit_log(dataset, 2, lambda arrays, facts: facts.update(state_hash="another"))
    with pytest.raises(DatasetProblem, match=r"episode-000002\.npz: does not say what happened.* another state"):
        export_rosbag2(dataset, tmp_path / "bags")
    edit_log(dataset, 1, shortened)
    with pytest.raises(DatasetProblem, match=r"episode-000001\.npz: does not say what happened.* frames"):
        export_rosbag2(dataset, tmp_path / "bags")
    (dataset / log_file(0)).unlink()
    with pytest.raises(DatasetProblem, match=r"episode-000000\.npz: is missing"):
        export_rosbag2(dataset, tmp_path / "bags")
    assert not (tmp_path / "bags").exists()
