"""Demonstrations and grasps, read from a dataset of graspline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graspline.datasets.format.frames import OURS
from graspline.datasets.format.log_reader import UNREADABLE, played_by
from graspline.datasets.format.rows import Row
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.teachability.demonstrations import DEGREES, MILLIMETRES, Demonstrations, Grasps
from graspline.datasets.teachability.hand import hand_of
from graspline.datasets.teachability.scenes import SceneStart, StartObject, grip_period_rad, kinds_of, start_of
from graspline.episodes.units import units_of
from graspline.errors import DatasetProblem, InputError
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.spatial.rotations import matrix_from_quaternion, rotate
from graspline.tasks.task import Claim

Array = NDArray[np.float64]

# What a task claims of an object that is in its hand.
HELD = "held"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _MeasuredEpisode:
    """What is kept of one episode: its columns, and of its first grasp the frame and the object."""

    actions: Array
    measured: Array
    tool: Array
    states: list[str]
    scene: SceneStart
    # None if nothing was ever held.
    grasp: int | None
    about: str


def read_dataset(dataset: Dataset, done: Callable[[], object] = lambda: None) -> tuple[Demonstrations, Grasps]:
    """All episodes; `done` is called after each. What does not fit together is reported by episode."""
    scene, kinds = dataset.scene, kinds_of(dataset.scene)
    episodes = []
    for row in dataset.rows:
        try:
            episodes.append(_read(dataset, row, scene, kinds))
        except (InputError, *UNREADABLE) as error:
            raise DatasetProblem(
                f"{dataset.root}: episode {row['episode_index']} cannot be measured: {type(error).__name__}: {error}"
            ) from None
        done()
    demonstrations = _joined(dataset, episodes)
    return demonstrations, _grasps(scene, demonstrations, episodes)


def _read(dataset: Dataset, row: Row, scene: Scene, kinds: Mapping[str, str]) -> _MeasuredEpisode:
    frames, facts = dataset.frames(row), dataset.log(row).facts
    columns = {
        name: numbers_in(frames, name).astype(np.float64)
        for name in ("action", "observation.state", f"{OURS}tool_target", f"{OURS}object_poses")
    }
    wrong = [name for name, values in columns.items() if not np.isfinite(values).all()]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} is not a number")
    tool, poses = columns[f"{OURS}tool_target"], columns[f"{OURS}object_poses"][0].reshape(-1, 7)
    sizes = {name: thing["size_m"] for name, thing in facts["truth"]["objects"].items()}
    grasp, about = _first_hold(frames, played_by(row).task.claims.outcomes)
    return _MeasuredEpisode(
        actions=columns["action"],
        measured=columns["observation.state"],
        tool=tool,
        states=frames.column(f"{OURS}state").to_pylist(),
        scene=start_of(scene, kinds, poses, sizes, tool[0, :3], row["tasks"][0]),
        grasp=grasp,
        about=about or next(iter(row["target_objects"]), ""),
    )


def _first_hold(frames: pa.Table, claims: Mapping[tuple[str, str], Claim]) -> tuple[int | None, str]:
    """The frame in which the task first claims to hold an object, and the name of the object.

    The claim is what every task declares of its own outcomes and what audits compare with the simulator: it comes when
    the jaw has closed and pressed, whatever the states are called.
    """
    for frame, text in enumerate(frames.column(f"{OURS}evidence").to_pylist()):
        for each in json.loads(text) if text else ():
            claim = claims.get((each["state"], each["outcome"]))
            if claim is not None and claim.asserted and claim.name == HELD:
                return frame, str(each["about"])
    return None, ""


def _joined(dataset: Dataset, episodes: list[_MeasuredEpisode]) -> Demonstrations:
    robot = dataset.scene.robot
    names = dict.fromkeys(state for each in episodes for state in each.states)
    order = {name: number for number, name in enumerate(names)}
    lengths = [len(each.actions) for each in episodes]
    return Demonstrations(
        joints=robot.joints,
        units=tuple(MILLIMETRES if slides else DEGREES for slides in robot.sliding),
        jaw=robot.jaw,
        fps=dataset.settings.fps,
        first=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        actions=_plain(dataset, robot, np.concatenate([each.actions for each in episodes])),
        measured=_plain(dataset, robot, np.concatenate([each.measured for each in episodes])),
        states=np.array([order[state] for each in episodes for state in each.states], dtype=np.int64),
        state_names=tuple(names),
        tool_mm=1000 * np.concatenate([each.tool[:, :3] for each in episodes]),
    )


def _plain(dataset: Dataset, robot: Robot, values: Array) -> Array:
    """Joints in degrees and millimetres, the jaw too, whatever the dataset's units are."""
    si = units_of(robot, dataset.settings.units).inward(values)
    return si * np.where(robot.sliding, 1000.0, np.degrees(1.0))


def _grasps(scene: Scene, demonstrations: Demonstrations, episodes: list[_MeasuredEpisode]) -> Grasps:
    """Of every episode in which something that lay there at the start was held."""
    hand, widest_m = hand_of(scene.robot), float(scene.robot.jaw_law.gaps_m.max())
    shapes = {each.name: each.shape for each in scene.objects}
    found: list[tuple[int, int, Array, StartObject]] = []
    for number, each in enumerate(episodes):
        thing = each.scene.named(each.about)
        if each.grasp is not None and thing is not None:
            found.append((number, each.grasp, each.tool[each.grasp, 3:], thing))
    numbers = np.array([each[0] for each in found], dtype=np.int64)
    rotations = matrix_from_quaternion(np.array([each[2] for each in found]).reshape(-1, 4))
    return Grasps(
        hand=hand,
        episodes=numbers,
        frames=demonstrations.first[numbers] + np.array([each[1] for each in found], dtype=np.int64),
        scenes=[episodes[number].scene for number in numbers],
        objects=[each[3] for each in found],
        axes=rotate(rotations, hand.axis),
        closings=rotate(rotations, hand.closing),
        grips_rad=np.array(
            [grip_period_rad(shapes[thing.name], thing.half_mm / 1000, widest_m) for *_, thing in found], dtype=float
        ),
    )
