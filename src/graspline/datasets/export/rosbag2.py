"""A dataset as bags of ROS 2, one for each episode, written and read without ROS.

Bags are MCAP files, which Foxglove opens and `ros2 bag play` plays. Time is simulated and begins with 0 in each.
"""

from __future__ import annotations

import heapq
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.edit.repack import Done, Progress, StoredEpisode, parts_of, silent, steps_of
from graspline.datasets.export.bags import (
    CAMERA_TYPE,
    JOINTS_TYPE,
    PICTURE_TYPE,
    POSES_TYPE,
    TEXT_TYPE,
    Message,
    camera_message,
    joints_message,
    nanoseconds,
    new_bag,
    picture_message,
    poses_message,
    text_message,
)
from graspline.datasets.export.transforms import Posed, coordinates_in, optical_frame
from graspline.datasets.format.files import read_locked, sync
from graspline.datasets.format.frames import timeline_of
from graspline.datasets.format.log_reader import UNREADABLE, played_by, recording_from
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.video_packets import Clip
from graspline.episodes.camera_views import View
from graspline.episodes.units import units_of
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError
from graspline.scenes.scene import Scene

Array = NDArray[np.float64]
# When, on which topic, what.
Entry = tuple[int, str, Message]

JOINTS, REFERENCE = "/joint_states", "/joint_reference"
TF, TF_STATIC, EVENTS = "/tf", "/tf_static", "/events"
_TYPES = {TF_STATIC: POSES_TYPE, TF: POSES_TYPE, JOINTS: JOINTS_TYPE, REFERENCE: JOINTS_TYPE, EVENTS: TEXT_TYPE}
# Of an episode's row, what a bag says of itself.
_SAID = ("episode_index", "seed", "verdict", "success", "state_hash")


def export_rosbag2(root: Path, out: Path, *, progress: Progress = silent) -> int:
    """Write a bag for each episode into a folder that appears when it is whole; gives their number."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"--out {out}: exists already; choose a new or empty folder")
    with read_locked(root):
        dataset = Dataset.open(root)
        parts = parts_of(dataset)
        done = progress(steps_of(parts))
        with _made_whole(out) as folder:
            for part in parts:
                _write_bag(folder / bag_name(part.row["episode_index"]), dataset, part, done)
                done()
    return len(parts)


def bag_name(episode: int) -> str:
    """The folder name of an episode's bag."""
    return f"episode_{episode:06d}"


def image_topic(camera: str) -> str:
    """Where pictures are, by the names that image transports expect."""
    return f"/camera/{camera}/image_raw/compressed"


def info_topic(camera: str) -> str:
    """The topic of a camera's calibration."""
    return f"/camera/{camera}/camera_info"


@contextmanager
def _made_whole(out: Path) -> Iterator[Path]:
    """An empty folder that becomes `out` when the block ends well."""
    place = out.resolve()
    half = place.with_name(f".{place.name}.part")
    # What a killed export left.
    shutil.rmtree(half, ignore_errors=True)
    try:
        half.mkdir()
        yield half
        for path in (*half.rglob("*"), half):
            sync(path)
        half.rename(place)
        sync(place.parent)
    except OSError as error:
        raise EnvironmentProblem(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(half, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tale:
    """All of one episode that goes into its bag, pictures aside."""

    recording: Recording
    scene: Scene
    posed: Posed
    # qpos of every frame, (T, nq).
    coordinates: Array
    fps: int

    def frame_ns(self, frame: int) -> int:
        return nanoseconds(self.recording.first_tick * self.scene.robot.dt_s + frame / self.fps)


def _tale_of(dataset: Dataset, part: StoredEpisode) -> _Tale:
    kept, settings = dataset.log(part.row), dataset.settings
    try:
        played = played_by(part.row)
        # A merged dataset may have episodes of several scenes.
        scene, recording = played.task.scene(played.parameters), recording_from(part.row, kept)
        timeline = timeline_of(kept.log.ticks, scene.robot.control_hz, settings.fps, recording.first_tick)
        frames, shape = len(timeline), kept.log.positions.shape
        if frames != part.row["length"] or shape[1:] != (len(scene.robot.joints),):
            raise ValueError(f"it has {frames} frames, the row {part.row['length']}, and a reference {shape}")
        if recording.state_hash != part.row["state_hash"]:
            raise ValueError("it ends in another state")
        return _Tale(
            recording=recording,
            scene=scene,
            posed=Posed(scene, kept.log.variation),
            coordinates=coordinates_in(part.frames(), scene, units_of(scene.robot, settings.units)),
            fps=settings.fps,
        )
    except (InputError, *UNREADABLE) as error:
        raise DatasetProblem(f"{part.log}: does not say what happened in the episode: {error}") from None


def _write_bag(path: Path, dataset: Dataset, part: StoredEpisode, done: Done) -> None:
    tale, views = _tale_of(dataset, part), dataset.settings.views
    streams = [
        _still(tale),
        _frames(tale),
        _reference(tale),
        *(_film(tale, view, part.clips[view.key], done) for view in views),
        _events(tale),
    ]
    topics = {**_TYPES}
    for view in views:
        topics |= {image_topic(view.camera): PICTURE_TYPE, info_topic(view.camera): CAMERA_TYPE}
    said = {"task": part.row["tasks"][0], **{name: str(part.row[name]) for name in _SAID}}
    with new_bag(path, topics, latched=[TF_STATIC], said=said) as put:
        # Of what happened at the same time the first stream comes first.
        for entry in heapq.merge(*streams, key=lambda entry: entry[0]):
            put(*entry)


def _still(tale: _Tale) -> Iterator[Entry]:
    yield 0, TF_STATIC, poses_message(0, tale.posed.still)


def _frames(tale: _Tale) -> Iterator[Entry]:
    """Where joints and everything else were, at the dataset's rate."""
    names = tale.scene.robot.joints
    measured = tale.coordinates[:, [tale.scene.joint_address(name) for name in names]]
    for frame, qpos in enumerate(tale.coordinates):
        at_ns = tale.frame_ns(frame)
        yield at_ns, TF, poses_message(at_ns, tale.posed.moving(qpos))
        yield at_ns, JOINTS, joints_message(at_ns, names, measured[frame])


def _reference(tale: _Tale) -> Iterator[Entry]:
    """What was commanded, at the control rate."""
    robot, log = tale.scene.robot, tale.recording.log
    for tick, (position, velocity) in enumerate(zip(log.positions, log.velocities, strict=True)):
        at_ns = nanoseconds(tick / robot.control_hz)
        yield at_ns, REFERENCE, joints_message(at_ns, robot.joints, position, velocity)


def _film(tale: _Tale, view: View, clip: Clip, done: Done) -> Iterator[Entry]:
    """Pictures as JPEG files: they come from videos, and as they are one camera would fill 28 MB a second."""
    frame, fovy_rad = optical_frame(view.camera), tale.posed.fovy_rad(view.camera)
    for number, rgb in enumerate(clip.pictures()):
        at_ns = tale.frame_ns(number)
        yield at_ns, info_topic(view.camera), camera_message(at_ns, frame, view, fovy_rad)
        yield at_ns, image_topic(view.camera), picture_message(at_ns, frame, rgb)
    done()


def _events(tale: _Tale) -> Iterator[Entry]:
    """What happened, as JSON."""
    for happened in events_of(tale.recording):
        yield nanoseconds(happened["t_s"]), EVENTS, text_message(json.dumps(happened))


def events_of(recording: Recording) -> list[dict[str, Any]]:
    """States that were entered and ended, faults that struck and the verdict, in the order they happened."""
    struck = [{"event": "struck", **asdict(each)} for each in recording.strikes]
    return [
        *sorted((*_states(recording), *struck), key=lambda happened: happened["t_s"]),
        {
            "event": "verdict",
            "t_s": recording.sim_time_s,
            "verdict": recording.verdict,
            "success": recording.succeeded,
            "evidence": [each.as_dict() for each in recording.evidence],
        },
    ]


def _states(recording: Recording) -> Iterator[dict[str, Any]]:
    """Entries and ends are logged apart; of two at the same time an end comes first if its state is being played."""
    entries, playing = list(recording.entries), set[str]()
    for ended in recording.transitions:
        while entries and (entries[0][0] < ended.t_s or ended.state not in playing):
            t_s, state = entries.pop(0)
            playing.add(state)
            yield {"event": "entered", "t_s": t_s, "state": state}
        playing.discard(ended.state)
        yield {"event": "ended", **ended.as_dict()}
    for t_s, state in entries:
        yield {"event": "entered", "t_s": t_s, "state": state}
