"""Carrying a ball to a spot, letting go of it there and leaving: the whole way, checked before it is played."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import Evidence, at_least, failures
from graspline.grasping.candidates import GraspRejected, ball_open_rad, ball_touch_rad
from graspline.grasping.straight import Missed, Move, Moves
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, Solutions
from graspline.kinematics.arms import arm_of
from graspline.kinematics.questions import Stances, Targets
from graspline.motion.joint_moves import jaw_move, join
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.parameters import Parameters
from graspline.perception.estimates import Estimate
from graspline.planning.collision import CollisionWorld
from graspline.planning.together import Planning, together
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

_TILT_STEP_RAD = np.radians(3.0)
# Turns of the hand about the fruit, relative to the arm, that are tried for letting go.
_TURNS_RAD = np.radians([90, -90, 70, -70, 110, -110, 50, -50, 130, -130, 30, -30, 150, -150])
# Of those that reach the spot, this many are planned in full.
_POSTURES = 6
# A ball that sits this near to where a plan believed it is carried by that plan.
_AS_PLANNED_M = 0.001
# Obstacles that have moved by less are where a plan that keeps clear of them believed them.
_UNMOVED_M = 0.0002


class CarryParameters(Parameters):
    """How a held fruit travels to its spot and is let go there."""

    clear_height_m: float = Field(
        default=0.085, ge=0.02, le=0.15, description="height of the underside of a carried fruit above the table"
    )
    clearance_m: float = Field(
        default=0.008, ge=0, le=0.05, description="clearance of a carried fruit from everything it passes"
    )
    strategy: Literal["auto", "direct", "retreat"] = Field(
        default="auto",
        description="path of a carried fruit: straight across, or back by `retreat_share` first; auto tries both",
    )
    least_radius_m: float = Field(
        default=0.165, ge=0.1, le=0.25, description="smallest distance from the pan axis when the hand draws back"
    )
    retreat_share: float = Field(
        default=2 / 7,
        ge=0,
        le=0.9,
        description="fraction of the distance to the robot's origin by which the hand draws back",
    )
    max_tilt_rad: float = Field(default=0.75, ge=0.1, le=1.0, description="largest tilt of the hand")
    transport_speed_m_s: float = Field(default=0.25, ge=0.02, le=0.6, description="peak speed of a carried fruit")
    lower_speed_m_s: float = Field(default=0.12, ge=0.01, le=0.4, description="peak speed on the way down to the spot")
    release_height_m: float = Field(
        default=0.002, ge=0.0, le=0.05, description="gap between fruit and plate when the jaws open"
    )
    release_clearance_m: float = Field(
        default=0.006, ge=0.002, le=0.02, description="how far the moving jaw opens away from the fruit"
    )
    back_off_m: float = Field(
        default=0.004, ge=0, le=0.01, description="how far the fixed jaw then moves away from the fruit"
    )
    open_speed_rad_s: float = Field(default=1.5, ge=0.1, le=3, description="jaw speed during the release")
    back_off_speed_m_s: float = Field(
        default=0.05, ge=0.005, le=0.2, description="peak speed at which the fixed jaw moves away from the fruit"
    )
    rise_speed_m_s: float = Field(default=0.2, ge=0.01, le=0.5, description="peak speed of the withdrawing hand")
    rise_m: float = Field(default=0.02, ge=0.01, le=0.1, description="how far above the fruit the open hand withdraws")
    already_there_m: float = Field(default=0.01, ge=0, le=0.05, description="a move shorter than this is skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip:
    """A ball in the hand: its centre in the gripper frame, its radius, and the jaw angle that is commanded."""

    centre_m: tuple[float, float, float]
    radius_m: float
    jaw_rad: float
    # Which branch of the arm holds it.
    branch: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryPlan:
    """The way to a spot and away from it."""

    spot_m: tuple[float, float]
    posture: Posture
    grip: Grip
    strategy: str
    # Drawing back first; None where straight across is clear.
    retreat: Path | None
    # None where the hand is already there.
    transport: Path | None
    lower: Path
    open: Path
    # Sideways off the fruit, then back along the fingers.
    withdraw: Path
    # What all of it was checked against.
    obstacles: tuple[Estimate, ...]


@dataclass(frozen=True, kw_only=True)
class CarryQuery:
    """Everything a carry plan depends on; `obstacles` are all things but the held one, the plate among them."""

    robot: Robot
    world: CollisionWorld
    grip: Grip
    start: Command
    obstacles: tuple[Estimate, ...]
    # Height of the surface at the spot.
    floor_m: float
    carry: CarryParameters
    margin_rad: float
    # What was planned before, from about here and with about this grip.
    planned: CarryPlan | None = None

    def held_m(self) -> Array:
        """Where the held ball's centre is now."""
        return self._hand[0]

    def posture(self) -> Posture:
        """How the hand is held now."""
        point, rotation = self._hand
        turn = float(np.arctan2(rotation[1, 2], rotation[0, 2])) - _azimuth(self.arm, point)
        return Posture(turn, float(self.arm.pitch_rad(self.start.position[None])[0]))

    @property
    def arm(self) -> Arm:
        return arm_of(self.robot)

    @functools.cached_property
    def _hand(self) -> tuple[Array, Array]:
        """Where the held ball is and how the hand is turned."""
        points, rotations = self.arm.forward(self.start.position[None, self.robot.arm], np.array(self.grip.centre_m))
        return points[0], rotations[0]


@dataclass(frozen=True, slots=True)
class Posture:
    """How the hand is held: its turn relative to the arm, and its pitch."""

    turn: float
    pitch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSpot:
    """No spot can be used, and why each of them cannot."""

    refused: tuple[GraspRejected, ...]

    @property
    def evidence(self) -> Evidence:
        return self.refused[0].evidence if self.refused else (at_least("free_spots", 0, 1),)


@together
def plan_carry(query: CarryQuery, spots: Sequence[tuple[float, float]]) -> Planning[CarryPlan | NoSpot]:
    """The first spot with a way to it and away from it that passes every check, or why none has."""
    refused: list[GraspRejected] = []
    for spot in spots:
        found = yield from _to_spot(query, spot)
        if isinstance(found, CarryPlan):
            return found
        refused.append(found)
    return NoSpot(refused=tuple(refused))


@together
def plan_raise(query: CarryQuery) -> Planning[Path | None]:
    """Straight up to carrying height from wherever the hand is, also out of a crowd it has come too close to.

    Nothing is farther from everything than up, so only limits are checked. None where the arm cannot get there.
    """
    here, now = query.held_m(), query.posture()
    top = here + np.array([0.0, 0.0, query.carry.clear_height_m + query.grip.radius_m - here[2]])
    if top[2] - here[2] < query.carry.already_there_m:
        return None
    line = _Release(query, "here", here, top)
    for pitch in sorted(
        STRAIGHT_DOWN_RAD - np.arange(0.0, query.carry.max_tilt_rad, _TILT_STEP_RAD),
        key=lambda each: abs(each - now.pitch),
    ):
        path = yield from line.rise(now, float(pitch))
        if path is not None:
            return path
    return None


def _to_spot(query: CarryQuery, spot: tuple[float, float]) -> Planning[CarryPlan | GraspRejected]:
    planned = query.planned
    as_planned = planned is not None and planned.spot_m == spot and _alike(query.grip, planned.grip)
    if planned is not None and as_planned:
        query = replace(query, grip=replace(planned.grip, jaw_rad=query.grip.jaw_rad))
    grip, carry = query.grip, query.carry
    target = np.array([*spot, query.floor_m + grip.radius_m + carry.release_height_m])
    above = np.array([*spot, carry.clear_height_m + grip.radius_m])
    here = query.held_m()
    there = float(np.linalg.norm(here - above)) <= carry.already_there_m
    release = _Release(query, f"spot {spot[0]:.3f} {spot[1]:.3f}", target, here if there else above)
    refused: list[GraspRejected] = []
    if planned is not None and not there:
        found = yield from release.plan(planned.posture, planned if as_planned else None)
        if isinstance(found, CarryPlan):
            return found
    postures = [query.posture()] if there else (yield from release.postures())
    if isinstance(postures, GraspRejected):
        return postures
    for posture in postures:
        found = yield from release.plan_from_here(posture) if there else release.plan(posture)
        if isinstance(found, CarryPlan):
            return found
        refused.append(found)
    return refused[0]


def _alike(grip: Grip, planned: Grip) -> bool:
    apart = np.subtract(grip.centre_m, planned.centre_m)
    same = (grip.radius_m, grip.branch) == (planned.radius_m, planned.branch)
    return same and bool(np.abs(apart).max() <= _AS_PLANNED_M)


@dataclass(frozen=True, slots=True)
class _Pose:
    """The held point in polar coordinates about the pan axis, with pitch and turn of the hand."""

    azimuth: float
    radius: float
    height: float
    pitch: float
    turn: float

    def row(self) -> tuple[float, ...]:
        return self.azimuth, self.radius, self.height, self.pitch, self.turn


def _azimuth(arm: Arm, point: Array) -> float:
    return float(np.arctan2(point[1] - arm.axis_m[1], point[0] - arm.axis_m[0]))


def _polar(arm: Arm, point: Array, pitch: float, turn: float) -> _Pose:
    radius = float(np.hypot(point[0] - arm.axis_m[0], point[1] - arm.axis_m[1]))
    return _Pose(_azimuth(arm, point), radius, float(point[2]), pitch, turn)


class _Release:
    """Planning for one spot: `target` is where the ball's centre is let go, `above` where it arrives."""

    def __init__(self, query: CarryQuery, label: str, target: Array, above: Array) -> None:
        self.query, self.label, self.target, self.above = query, label, target, above
        self._azimuth = _azimuth(query.arm, target)

    def postures(self) -> Planning[list[Posture] | GraspRejected]:
        """Turns of the hand that reach the spot and above it: straight down if enough do, or each as steep as it can.

        The least turn of the wrist comes first.
        """
        tilts = np.arange(0.0, self.query.carry.max_tilt_rad + 1e-9, _TILT_STEP_RAD)
        turn, tilt = np.repeat(_TURNS_RAD, len(tilts)), np.tile(tilts, len(_TURNS_RAD))
        count, branch = len(turn), self.query.grip.branch
        solved: Solutions = yield Targets(
            arm=self.query.arm,
            position_m=np.repeat(np.stack([self.target, self.above]), count, axis=0),
            pitch_rad=np.tile(STRAIGHT_DOWN_RAD - tilt, 2),
            yaw_rad=np.tile(self._azimuth + turn, 2),
            tool_m=np.array(self.query.grip.centre_m),
            margin_rad=self.query.margin_rad,
        )
        at, above = solved.reached[:, branch].reshape(2, len(_TURNS_RAD), len(tilts))
        reached = at & above
        if not reached.any():
            evidence = solved.explain(count, slice(branch, branch + 1)) or solved.explain(0, slice(branch, branch + 1))
            return GraspRejected(label=self.label, stage="lower", check="reach", evidence=evidence)
        if np.count_nonzero(reached[:, 0]) >= _POSTURES:
            reached = reached[:, :1]
        steepest = np.argmax(reached, axis=1)
        wrist = self.query.arm.wrist
        roll = solved.joints_rad[count:, branch, wrist].reshape(len(_TURNS_RAD), len(tilts))
        found = [
            (abs(roll[index, steepest[index]] - self.query.start.position[wrist]), index)
            for index in np.flatnonzero(np.any(reached, axis=1)).tolist()
        ]
        return [
            Posture(float(_TURNS_RAD[index]), float(STRAIGHT_DOWN_RAD - tilts[steepest[index]]))
            for _, index in sorted(found)[:_POSTURES]
        ]

    def rise(self, now: Posture, pitch: float) -> Planning[Path | None]:
        """From `target` to `above`, leaning from as it is to this pitch."""
        pitches = (now.pitch, pitch)
        move = self._straight(self.target, self.above, pitches, now.turn, self.query.carry.lower_speed_m_s)
        paths = yield from self._paths("raise", move)
        if isinstance(paths, GraspRejected):
            return None
        (path,) = paths
        path.positions[0] = self.query.start.position
        return path if check_path(path, self.query.robot) is None else None

    def plan_from_here(self, posture: Posture) -> Planning[CarryPlan | GraspRejected]:
        """The hand is above the spot already: only down and away."""
        rest = yield from self._let_go(posture, self.query.start.position)
        if isinstance(rest, GraspRejected):
            return rest
        lower, opening, withdraw = rest
        spot = float(self.target[0]), float(self.target[1])
        return CarryPlan(
            spot_m=spot,
            posture=posture,
            grip=self.query.grip,
            strategy="here",
            retreat=None,
            transport=None,
            lower=lower,
            open=opening,
            withdraw=withdraw,
            obstacles=self.query.obstacles,
        )

    def plan(self, posture: Posture, planned: CarryPlan | None = None) -> Planning[CarryPlan | GraspRejected]:
        """Across, down and away; what was `planned` is used again from where the hand is, and checked again."""
        carry = self.query.carry
        refused: list[GraspRejected] = []
        for strategy in ("direct", "retreat") if carry.strategy == "auto" else (carry.strategy,):
            ways: list[Path] | GraspRejected | None = None
            if planned is not None and planned.strategy == strategy:
                ways = yield from self._across_again(planned)
            ways = ways or (yield from self._across(posture, strategy))
            if isinstance(ways, GraspRejected):
                refused.append(ways)
                continue
            end = ways[-1].end
            rest = yield from self._let_go_again(planned, end) if planned is not None else self._let_go(posture, end)
            if isinstance(rest, GraspRejected):
                return rest
            lower, opening, withdraw = rest
            return CarryPlan(
                spot_m=(float(self.target[0]), float(self.target[1])),
                posture=posture,
                grip=self.query.grip,
                strategy=strategy,
                retreat=ways[0] if len(ways) > 1 else None,
                transport=ways[-1],
                lower=lower,
                open=opening,
                withdraw=withdraw,
                obstacles=self.query.obstacles,
            )
        return refused[0]

    def _across_again(self, planned: CarryPlan) -> Planning[list[Path] | None]:
        """The same ways, the first of them rejoined from where the hand is; None where that passes no check."""
        robot = self.query.robot
        at = self.query.start.position
        paths: list[Path] = []
        for way in (planned.retreat, planned.transport):
            if way is None:
                continue
            off = at - way.positions[0]
            fading, slope = _fading(way.ticks)
            positions = way.positions + fading * off
            velocities = way.velocities + slope * (off / (way.ticks * way.dt_s))
            positions[:, robot.jaw], velocities[:, robot.jaw] = at[robot.jaw], 0.0
            positions[0] = at
            path = Path(positions=positions, velocities=velocities, dt_s=way.dt_s)
            if (yield from self._refusal("transport", path, held=True)) is not None:
                return None
            paths.append(path)
            at = path.end
        return paths or None

    def _across(self, posture: Posture, strategy: str) -> Planning[list[Path] | GraspRejected]:
        """From where the hand is to above the spot: one arc, or drawing back and one arc."""
        query, point, now = self.query, self.query.held_m(), self.query.posture()
        # The shorter way round.
        turn = posture.turn + float(np.arctan2(np.sin(now.turn - posture.turn), np.cos(now.turn - posture.turn)))
        arm = query.arm
        here = _polar(arm, point, now.pitch, turn)
        poses = [here, _polar(arm, self.above, posture.pitch, posture.turn)]
        if strategy == "retreat":
            safe = _polar(arm, point * (1 - query.carry.retreat_share), here.pitch, here.turn)
            radius = max(safe.radius, min(query.carry.least_radius_m, here.radius))
            poses.insert(1, _Pose(safe.azimuth, radius, here.height, here.pitch, here.turn))
        paths: list[Path] = []
        at = query.start.position
        for begin, end in itertools.pairwise(poses):
            path = yield from self._arc(begin, end, at)
            if isinstance(path, GraspRejected):
                return path
            paths.append(path)
            at = path.end
        return paths

    def _arc(self, begin: _Pose, end: _Pose, start: Array) -> Planning[Path | GraspRejected]:
        """Steadily in polar coordinates from one pose to the other, the held ball clear of everything on its way."""
        way = tuple(there - here for here, there in zip(begin.row(), end.row(), strict=True))
        length = float(np.hypot(max(begin.radius, end.radius) * way[0], np.hypot(way[1], way[2])))
        move = Move(
            start=begin.row(),
            way=way,
            jaw_rad=self.query.grip.jaw_rad,
            length_m=max(length, 1e-3),
            speed_m_s=self.query.carry.transport_speed_m_s,
            polar=True,
        )
        paths = yield from self._paths("transport", move)
        if isinstance(paths, GraspRejected):
            return paths
        (path,) = paths
        path.positions[0] = start
        return (yield from self._refusal("transport", path, held=True)) or path

    def _let_go(self, posture: Posture, start: Array) -> Planning[tuple[Path, Path, Path] | GraspRejected]:
        """Down to the spot, the jaws open, sideways off the fruit and back along the fingers."""
        grip, carry = self.query.grip, self.query.carry
        yaw, hand = self._azimuth + posture.turn, self.query.robot.hand
        opened, back_off_m = _opening_rad(self.query.robot, grip, carry), 0.0 if hand.centred else carry.back_off_m
        off = self.target - back_off_m * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        level = np.cos(posture.pitch) * np.array([np.cos(self._azimuth), np.sin(self._azimuth), 0.0])
        back = np.array([0.0, 0.0, np.sin(posture.pitch)]) - level
        away = off + (carry.rise_m + grip.radius_m) * back
        pitches = (posture.pitch, posture.pitch)
        down = self._straight(self.above, self.target, pitches, posture.turn, carry.lower_speed_m_s)
        aside = self._straight(self.target, off, pitches, posture.turn, carry.back_off_speed_m_s)
        up = self._straight(off, away, pitches, posture.turn, carry.rise_speed_m_s)
        stages = ("lower", "withdraw", "withdraw")
        paths = yield from self._paths(stages, down, replace(aside, jaw_rad=opened), replace(up, jaw_rad=opened))
        if isinstance(paths, GraspRejected):
            return paths
        lower, sideways, rising = paths
        rising.positions[0] = sideways.end
        return (yield from self._checked(start, lower, join(sideways, rising)))

    def _let_go_again(self, planned: CarryPlan, start: Array) -> Planning[tuple[Path, Path, Path] | GraspRejected]:
        """The same ways with the jaw as it is commanded now."""
        lower = replace(planned.lower, positions=planned.lower.positions.copy())
        lower.positions[:, self.query.robot.jaw] = self.query.grip.jaw_rad
        withdraw = replace(planned.withdraw, positions=planned.withdraw.positions.copy())
        clear = _unmoved(self.query.obstacles, planned.obstacles)
        return (yield from self._checked(start, lower, withdraw, clear=clear))

    def _checked(
        self, start: Array, lower: Path, withdraw: Path, *, clear: bool = False
    ) -> Planning[tuple[Path, Path, Path] | GraspRejected]:
        """Both ways joined by the opening of the jaws, if all of it passes every check; `clear` ways touch nothing."""
        robot, carry = self.query.robot, self.query.carry
        lower.positions[0] = start
        refusal = yield from self._refusal("lower", lower, held=True, clear=clear)
        if refusal is not None:
            return refusal
        opened = float(withdraw.end[robot.jaw])
        opening = jaw_move(robot, at_rest(lower.end), opened, speed_rad_s=carry.open_speed_rad_s)
        withdraw.positions[0] = opening.end
        for stage, path in (("release", opening), ("withdraw", withdraw)):
            refusal = yield from self._refusal(stage, path, held=False, clear=clear)
            if refusal is not None:
                return refusal
        return lower, opening, withdraw

    def _straight(
        self, start_m: Array, end_m: Array, pitches_rad: tuple[float, float], turn: float, speed_m_s: float
    ) -> Move:
        """A straight line of the held ball, the hand leaning steadily from one pitch to the other."""
        x, y, z = (end_m - start_m).tolist()
        return Move(
            start=(*start_m.tolist(), pitches_rad[0], self._azimuth + turn),
            way=(x, y, z, pitches_rad[1] - pitches_rad[0], 0.0),
            jaw_rad=self.query.grip.jaw_rad,
            length_m=max(math.sqrt(x * x + y * y + z * z), 1e-3),
            speed_m_s=speed_m_s,
        )

    def _paths(self, stages: Sequence[str] | str, *moves: Move) -> Planning[list[Path] | GraspRejected]:
        """Several moves in one solve, or the first sample that cannot be reached."""
        query = self.query
        found = yield Moves(
            robot=query.robot,
            branch=query.grip.branch,
            tool_m=query.grip.centre_m,
            margin_rad=query.margin_rad,
            moves=moves,
        )
        if isinstance(found, Missed):
            stage = stages if isinstance(stages, str) else stages[found.move]
            return GraspRejected(label=self.label, stage=stage, check="reach", evidence=found.evidence)
        return found

    def _refusal(self, stage: str, path: Path, *, held: bool, clear: bool = False) -> Planning[GraspRejected | None]:
        query = self.query
        refused = check_path(path, query.robot)
        if refused is not None:
            return GraspRejected(label=self.label, stage=stage, check="limits", evidence=refused.evidence)
        if clear:
            return None
        samples = query.world.samples(path.positions)
        bumped = (yield from held_clearance.steps(query, samples)) if held else ()
        if bumped:
            return GraspRejected(label=self.label, stage=stage, check="collision", evidence=bumped)
        query.world.place(query.obstacles)
        hit = query.world.first_collision(samples)
        if hit is not None:
            return GraspRejected(label=self.label, stage=stage, check="collision", evidence=hit.evidence)
        return None


def _unmoved(now: tuple[Estimate, ...], before: tuple[Estimate, ...]) -> bool:
    """Whether the same things are where they were, as large as they were and turned as they were."""
    if [each.name for each in now] != [each.name for each in before]:
        return False
    return bool(np.abs(_rows(now) - _rows(before)).max(initial=0.0) <= _UNMOVED_M)


def _rows(things: tuple[Estimate, ...]) -> Array:
    """Position, size and turn of each, a turn in what it moves a thing of a decimetre by."""
    rows = np.empty((len(things), 10))
    for row, each in zip(rows, things, strict=True):
        row[:3], row[3:6], row[6:] = each.position_m, each.half_extents_m, each.quaternion
    rows[:, 6:] *= 0.1
    return rows


@functools.lru_cache(maxsize=512)
def _fading(ticks: int) -> tuple[Array, Array]:
    """From one to nothing over `ticks` ticks, smooth at both ends, (ticks + 1, 1), and its slope over the whole."""
    share = np.linspace(0.0, 1.0, ticks + 1)[:, None]
    return 1 - minimum_jerk(share), -30 * (share * (1 - share)) ** 2


def _opening_rad(robot: Robot, grip: Grip, carry: CarryParameters) -> float:
    """How far the jaw opens to let go: clear of the fruit, but no further, for there are others beside it."""
    hand, (along, _, across) = robot.hand, grip.centre_m
    across = 0.0 if hand.centred else max(across, hand.face_m + grip.radius_m)
    opened = ball_open_rad(hand, grip.radius_m, along, across, carry.release_clearance_m)
    return ball_touch_rad(hand, grip.radius_m, along) + 0.12 * robot.jaw_unit if opened is None else opened


@together
def held_clearance(query: CarryQuery, samples: Array) -> Planning[Evidence]:
    """What a ball in the hand comes too close to along these joint positions (T, nu); empty if nothing."""
    centre: Array = yield Stances(arm=query.arm, joints_rad=samples, tool_m=query.grip.centre_m)
    found = []
    for other in query.obstacles:
        apart = other.distance_m(centre)
        if apart is not None:
            gap = float(apart.min()) - query.grip.radius_m
            found.append(at_least(f"held_to_{other.name}", gap, query.carry.clearance_m, "m"))
    return failures(tuple(found))
