"""How the robot gets about: planned ways, straight moves of the hand, and what ends them early."""

from __future__ import annotations

import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.grasping.reaching import Surroundings, Touching, go, straight_path
from graspline.motion.guards import Guard, HoldLost, TrackingError, Tugged
from graspline.motion.joint_moves import brake
from graspline.motion.waypoints import through
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.fittings import Fitting
from graspline.scenes.household import KNOWN
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.house import House, before
from graspline.tasks.tidy.parameters import GraspParameters
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]
# x, y and heading of the base.
Base = tuple[float, float, float]

_PARTS = {item.name: item.parts for item in KNOWN}

BLOCKED = TrackingError(error_rad=0.12)
# From up there less is hidden behind things; the arm, which goes up as well, is turned aside.
_LOOKING_LIFT_M, _ARM_ASIDE_RAD = 0.55, 0.9
# So long before it was stopped, nothing was in its way.
_BACK_S = 1.0
# Where the base stands to look at table and shelf, from their front edges.
TABLE_AWAY_M, SHELF_AWAY_M = 0.75, 0.80
# So much room must be left above it on a board: for what it keeps clear of, and for how well heights are known.
SPARE_M = 0.012
# Where the hand is while something is carried, from the base: ahead, to the left, and above the floor.
_CARRIED_M = ((0.45, 0.08), (0.40, 0.20), (0.50, 0.0))
_CARRIED_UP_M = (0.55, 0.62, 0.70, 0.80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Why a move did not get to its end."""

    why: str
    evidence: Evidence = ()
    by: Guard | None = None

    @property
    def lost(self) -> bool:
        return isinstance(self.by, HoldLost)


def travel(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    around: Surroundings,
    goals: Array,
    guards: tuple[Guard, ...] = (),
    *,
    speed: float = 1.0,
    touching: Touching = (),
) -> Generator[Request, Reply, Reply | Stopped]:
    """Go to any of the goals (K, nu) around everything, the base turned the short way."""
    start, goals = last.command.position, goals.copy()
    goals[:, 2] = start[2] + (goals[:, 2] - start[2] + np.pi) % (2 * np.pi) - np.pi
    path = yield from solved(go, robot, world, around, start, goals, _seed(last), speed, touching)
    if isinstance(path, str):
        return Stopped(why=path, evidence=(at_least("ways_found", 0, 1),))
    return (yield from play(robot, Motion("travel", path, guards=(BLOCKED, *guards))))


def straight(
    last: Reply,
    robot: Robot,
    way_m: Array,
    guards: tuple[Guard, ...] = (),
    *,
    name: str,
    speed: float = 1.0,
    gives_way: bool = True,
) -> Generator[Request, Reply, Reply | Stopped]:
    """Move the hand straight by base and lift."""
    path = straight_path(robot, last.command.position, way_m, speed=speed)
    return (yield from play(robot, Motion(name, path, guards=(BLOCKED, *guards)), gives_way=gives_way))


def play(robot: Robot, motion: Motion, *, gives_way: bool = True) -> Generator[Request, Reply, Reply | Stopped]:
    """A motion to its end; at rest where a guard ended it, or some way back if something was in the way."""
    reply = yield motion
    if reply.by == "completed":
        return reply
    by, stopped = None if isinstance(reply.by, str) else reply.by, reply
    if reply.command.moving:
        stopped = yield Motion("brake", brake(robot, reply.command))
    if gives_way and isinstance(by, TrackingError):
        rows = motion.path.positions
        here = int(np.linalg.norm(rows - reply.command.position, axis=1).argmin())
        back = rows[max(0, here - round(_BACK_S / motion.path.dt_s))]
        if not np.array_equal(back, stopped.command.position):
            path = through(robot, np.stack([stopped.command.position, back]), speed=0.3)
            yield Motion("give_way", path)
    what = "timed out" if by is None else type(by).__name__
    return Stopped(why=f"{motion.name} ended by {what}", evidence=reply.evidence, by=by)


def looking(robot: Robot, fitting: Fitting, away_m: float, height_m: float) -> Array:
    """(nu,): before a piece of furniture, the arm out of the way, the head looking at a surface of this height."""
    joints = robot.home.copy()
    (x, y, turn), joints[BODY.LIFT] = before(fitting, away_m), _LOOKING_LIFT_M
    joints[:3] = x, y, turn + _ARM_ASIDE_RAD
    return BODY.gazing(joints, fitting.in_world((0.0, 0.0, height_m)))


def looking_from(robot: Robot, table: Fitting, base_m: Array) -> Array:
    """(nu,): beside a table on the side of a place of the base, (2,), the arm out of the way, looking at its middle."""
    level = table.levels[0]
    (x, y), (half_x, half_y) = table.in_own_frame(base_m), level.half_extents_m
    # The side that it is the farthest beyond.
    if abs(x) - half_x > abs(y) - half_y:
        side = float(np.sign(x))
        at, inwards = table.in_world((side * (half_x + TABLE_AWAY_M), 0.0, 0.0)), (0.0 if x < 0 else np.pi)
    else:
        side = float(np.sign(y))
        at, inwards = table.in_world((0.0, side * (half_y + TABLE_AWAY_M), 0.0)), -side * np.pi / 2
    joints = robot.home.copy()
    joints[0], joints[1], joints[2] = at[0], at[1], table.yaw_rad + inwards + _ARM_ASIDE_RAD
    joints[BODY.LIFT] = _LOOKING_LIFT_M
    return BODY.gazing(joints, table.in_world((0.0, 0.0, level.position_m[2])))


def carrying(held: HeldObject, start: Array, base: Base, gaze_m: Array) -> Array:
    """(K, nu): postures at a base pose that carry a thing upright, close to the robot and low; nearest first."""
    points = [(ahead, left, up) for ahead, left in _CARRIED_M for up in _CARRIED_UP_M]
    found = postures(held, start, base, points, each=4)
    return np.array([BODY.gazing(row, gaze_m) for row in found]).reshape(-1, len(start))


def postures(
    held: HeldObject, start: Array, base: Base, points: Sequence[tuple[float, float, float]], *, each: int
) -> Array:
    """(K, nu): postures at a base pose with a thing upright and the tool at points: ahead, left, above the floor.

    The hand points ahead, too, unless it holds the thing from the top. A number of rows for each point.
    """
    x, y, turn = base
    heading = np.arctan2(held.R_OH[1, 0], held.R_OH[0, 0]) if not held.top else turn
    rotation = rotation_z(turn - heading) @ held.R_OH
    found = list[Array]()
    for point in points:
        tool = np.array([x, y, 0.0]) + rotation_z(turn) @ np.array(point)
        (near,) = BODY.postures(tool[None], rotation, start, margin=0.02, facing_rad=turn)
        for posture in near[:each]:
            row = start.copy()
            row[: len(posture)] = posture
            found.append(row)
    return np.array(found).reshape(-1, len(start))


def shifted(joints: Array, base: tuple[float, float, float]) -> Array:
    """The same posture elsewhere, the base turned the short way."""
    row, (x, y, turn) = joints.copy(), base
    row[0], row[1] = x, y
    row[2] = joints[2] + (turn - joints[2] + np.pi) % (2 * np.pi) - np.pi
    return row


def around(house: House, things: tuple[Belief, ...], held: HeldObject | None = None) -> Surroundings:
    return Surroundings(solids=(*house.solids, *(whole(each) for each in things)), held=held)


def without(surroundings: Surroundings, solid: Belief, held: HeldObject | None) -> Surroundings:
    """The same with a thing taken up."""
    left = tuple(each for each in surroundings.solids if each is not whole(solid))
    return replace(surroundings, solids=left, held=held)


@functools.lru_cache(maxsize=1024)
def whole(solid: Belief) -> Belief:
    """A known thing with all its parts, as a box around them where they stick out: a mug with its handle."""
    low, high = _bounds(solid.name)
    if (high <= solid.half_extents_m + 1e-6).all() and (-low <= solid.half_extents_m + 1e-6).all():
        return solid
    middle = solid.position_m + solid.rotation @ ((low + high) / 2)
    return replace(solid, shape="box", position_m=middle, half_extents_m=(high - low) / 2)


def parts_of(solid: Belief) -> tuple[Belief, ...]:
    """A known thing, given as `whole` has it, in parts: each a solid of its own; any other as it is."""
    parts = [part for part in _PARTS.get(solid.name, ()) if part.solid]
    if len(parts) < 2:
        return (solid,)
    low, high = _bounds(solid.name)
    main = solid.position_m - solid.rotation @ ((low + high) / 2)
    return tuple(
        replace(
            solid,
            shape=part.shape,
            position_m=main + solid.rotation @ np.array(part.position_m),
            half_extents_m=np.array(part.half_extents_m),
        )
        for part in parts
    )


def _bounds(name: str) -> tuple[Array, Array]:
    """Corners, (3,) each, of the box around all parts of a known thing in its frame; of others all zeros."""
    parts = [part for part in _PARTS.get(name, ()) if part.solid]
    corners = [np.array(part.position_m) + sign * np.array(part.half_extents_m) for part in parts for sign in (-1, 1)]
    return (np.min(corners, axis=0), np.max(corners, axis=0)) if corners else (np.zeros(3), np.zeros(3))


def hold_guard(held: HeldObject, grasp: GraspParameters) -> HoldLost:
    """Ends a motion once nothing as wide is held any more."""
    return HoldLost(least_jaw_rad=held.least_jaw_rad, force_n=grasp.lost_n, for_s=0.05)


def held_now(held: HeldObject, last: Reply) -> Belief:
    """The thing where it is held now."""
    return held.at(tool_at(last) @ held.X_HO)


def tool_at(last: Reply) -> Pose:
    return Pose(position_m=last.readings.tool_position_m, rotation=last.readings.tool_rotation)


def tug(reply: Reply, toward: Array, force_n: float, *, within_rad: float, for_s: float) -> Tugged:
    """Fires when something tugs at the hand that way, in O, harder than now; weighed while the robot is still."""
    mass = felt_kg(reply)
    rest = mass * reply.readings["wrist_acceleration"] - reply.readings["wrist_force"]
    _, rotation = BODY.wrist_force_frame(reply.readings.joints)
    (x, y, z), (rest_x, rest_y, rest_z) = (rotation.T @ toward).tolist(), rest.tolist()
    return Tugged(
        force_n=force_n,
        toward=(x, y, z),
        within_rad=within_rad,
        mass_kg=mass,
        bias_n=(rest_x, rest_y, rest_z),
        for_s=for_s,
    )


def felt_kg(reply: Reply) -> float:
    """What hangs on the wrist, by force and acceleration there."""
    force, acceleration = reply.readings["wrist_force"], reply.readings["wrist_acceleration"]
    return float(force @ acceleration / (acceleration @ acceleration))


def _seed(last: Reply) -> int:
    return round(1000 * last.time_s)
