"""What the tests of `tidy` share: things that stand about, a thing in the hand, and replies painted by hand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.layout import Readings, layout_of
from graspline.execution.requests import Announce, Ask, Look, Motion, Reply, Solve
from graspline.grasping.hand_poses import HandPose, hand_poses
from graspline.grasping.whole_body_reach import tool_of
from graspline.kinematics import hsr
from graspline.motion.guards import Rows, Tugged
from graspline.motion.path import Command, at_rest
from graspline.parameters import build
from graspline.perception.core.beliefs import UNKNOWN, Belief, Shape
from graspline.perception.core.held import HeldObject
from graspline.rendering.picture import Picture
from graspline.robots.hsr import HSR
from graspline.scenes.fittings import SHELF, TABLE
from graspline.scenes.household import KNOWN, item_of
from graspline.scenes.room import room
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import quaternion_from_matrix, rotation_z
from graspline.tasks.tidy.base_motion import TidyCell
from graspline.tasks.tidy.believed_room import House, whole
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import TABLE_AWAY_M, looking
from graspline.tasks.tidy.sight import HeadEye
from graspline.tasks.tidy.task import cell_of

Array = NDArray[np.float64]

SETTINGS = Tidy()
HOUSE = House(table=TABLE, shelf=SHELF)
CELL = cell_of(SETTINGS)
LAYOUT = layout_of(room(HSR).model)
TABLE_M = TABLE.levels[0].position_m[2]
# Before the table, arm out of the way, as the robot is after its setup.
READY = looking(HSR, TABLE, TABLE_AWAY_M, TABLE_M)
HAND_KG = 0.8
BLACK = Picture(
    rgb=np.zeros((480, 640, 3), np.uint8),
    camera="head",
    position_m=np.ones(3),
    rotation=np.eye(3),
    fovy_rad=0.8,
    depth_m=np.full((480, 640), np.nan, np.float32),
)


def solid(
    name: str = UNKNOWN,
    at: tuple[float, float, float] = (1.15, 0.05, TABLE_M),
    *,
    yaw_rad: float = 0.0,
    shape: Shape = "box",
    half_m: tuple[float, float, float] = (0.03, 0.04, 0.06),
) -> Belief:
    """Something whose bottom stands at a point; known things have the shape and size they have."""
    known = {item.name: item for item in KNOWN}.get(name)
    shape, half = (shape, half_m) if known is None else (known.shape, known.half_extents_m)
    x, y, z = at
    return Belief(
        name=name,
        shape=shape,
        position_m=np.array([x, y, z + half[2]]),
        quaternion=quaternion_from_matrix(rotation_z(yaw_rad)),
        half_extents_m=np.array(half),
        position_sigma_m=0.002,
        yaw_sigma_rad=0.01,
    )


def pose_of(thing: Belief, down_rad: float = 0.0) -> HandPose:
    """The known grasp of a thing that looks so far down, and of those the one that comes most along x."""
    poses = hand_poses(thing, item_of(thing.name).grasps if thing.name != UNKNOWN else ())
    return min(poses, key=lambda each: (round(abs(each.pitch_rad - down_rad), 3), -each.rotation[0, 0]))


def held_object(thing: Belief, down_rad: float = 0.0) -> HeldObject:
    """The thing in the hand, taken without any error."""
    pose = pose_of(thing, down_rad)
    tool = tool_of(HSR, pose)
    bottom = thing.position_m - np.array([0.0, 0.0, thing.half_extents_m[2]])
    return replace(
        HeldObject.of(whole(thing), tool),
        stood=Pose(position_m=bottom, rotation=np.eye(3)).seen_from(tool),
        gap_m=pose.width_m,
        least_jaw_rad=float(HSR.jaw_law.angle_rad(pose.width_m - 0.012)),
        mass_kg=HAND_KG + 0.3,
        top=pose.top,
    )


def answer(
    command: Command | Array,
    *,
    pads_n: tuple[float, float] = (0.0, 0.0),
    jaw_rad: float | None = None,
    mass_kg: float = HAND_KG,
    **more: Any,
) -> Reply:
    """What a robot at rest feels that has followed its command, but for a jaw held off by what it grips."""
    command = command if isinstance(command, Command) else at_rest(command)
    joints = command.position.copy()
    if jaw_rad is not None:
        joints[HSR.jaw] = jaw_rad
    tool, rotation = hsr.forward(joints)
    _, sensor = hsr.wrist_force_frame(joints)
    gravity = sensor.T @ np.array([0.0, 0.0, 9.81])
    told = {
        "joint_position": joints,
        "pad_force": (0.0, 0.0, pads_n[0], 0.0, -pads_n[1], 0.0),
        "tool_position": tool,
        "tool_axes": rotation.T.ravel(),
        "wrist_force": mass_kg * gravity,
        "wrist_acceleration": gravity,
    }
    row = np.zeros(LAYOUT.readings_size)
    for name, values in told.items():
        row[LAYOUT.readings[name]] = values
    given = {"by": "completed", "evidence": (), "value": None, "time_s": 1.0, **more}
    return Reply(readings=Readings(row, LAYOUT), command=command, **given)


def played(*, by: Mapping[str, type] | None = None, **feels: Any) -> Callable[[Any], Reply]:
    """Motions named in `by` are ended half way by their guard of that kind; all others are played to their end.

    Solves are solved, pictures are black, and questions get their default.
    """
    ending, now = by or {}, at_rest(READY)

    def how(request: Any) -> Reply:
        nonlocal now
        match request:
            case Solve():
                return answer(now, value=request.function(*request.arguments), **feels)
            case Look():
                return answer(now, value=BLACK, **feels)
            case Ask():
                return answer(now, value=request.default, **feels)
            case Announce():
                return answer(now, **feels)
        assert isinstance(request, Motion)
        if request.name not in ending:
            now = at_rest(request.path.end)
            return answer(now, **feels)
        guard = next(each for each in request.guards if isinstance(each, ending[request.name]))
        now = request.path.command_at(request.path.ticks // 2)
        return answer(now, by=guard, evidence=guard.evidence([1.0] * 4), **feels)

    return how


def drive(stage: Generator[Any, Any, Any], how: Callable[[Any], Reply] | None = None) -> tuple[list[Any], Any]:
    """Play a state to its end; what it asked for, and what it returned."""
    how, asked = how or played(), []
    try:
        asked.append(next(stage))
        while True:
            asked.append(stage.send(how(asked[-1])))
    except StopIteration as stop:
        return asked, stop.value


def motions(asked: list[Any]) -> dict[str, Motion]:
    return {each.name: each for each in asked if isinstance(each, Motion)}


def settings(*assignments: str) -> Tidy:
    return build(Tidy, None, list(assignments))


def cell(*assignments: str) -> TidyCell:
    return cell_of(settings(*assignments))


def seeing(*looks: Any) -> TidyCell:
    """A cell whose eye sees what it is told."""
    return replace(CELL, eye=sees(*looks))


def house(*things: Belief) -> House:
    """The room with things on its table."""
    return replace(HOUSE, things=things)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sees(HeadEye):
    """An eye that sees what it is told, one look after the other, without pictures."""

    looks: list[Any]
    # What it was told to be no things, look by look.
    known: list[Sequence[Belief]] = field(default_factory=list)

    def table(self, last: Reply, house: House, own: Sequence[Belief] = ()) -> Generator[Any, Any, Any]:
        self.known.append(own)
        yield Look("head", depth=True)
        return self.looks.pop(0)

    def board(self, last: Reply, house: House, board: str) -> Generator[Any, Any, Any]:
        return (yield from self.table(last, house))


def sees(*looks: Any) -> Sees:
    return Sees(looks=list(looks))


def counted_n(guard: Tugged, joints: Array, force_n: tuple[float, float, float]) -> float:
    """What a guard makes of a force on the hand, in O, while the robot is at rest and holds what the guard knows of."""
    _, sensor = hsr.wrist_force_frame(joints)
    gravity = sensor.T @ np.array([0.0, 0.0, 9.81])
    felt = guard.mass_kg * gravity - sensor.T @ np.array(force_n)
    tool, rotation = hsr.forward(joints)
    rows = Rows(
        joint_position=joints[None],
        tool_position=tool[None],
        tool_axes=rotation.T[None],
        pad_force=np.zeros((1, 2, 3)),
        command=joints[None],
        watched=np.full((1, 3), np.nan),
        spread=np.full(1, np.nan),
        place=np.full((1, 3), np.nan),
        jaw=HSR.jaw,
        wrist_force=felt[None],
        wrist_acceleration=gravity[None],
    )
    _, (counted,) = Tugged.evaluate(rows, np.array([guard.parameters()]))
    return float(counted[0])
