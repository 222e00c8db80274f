"""One support: how the hand may be held over it, the way there, down, off the object and away."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.candidates import ball_open_rad, ball_touch_rad
from graspline.grasping.cartesian_lines import Move, Moves
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, Solutions
from graspline.kinematics.questions import Targets
from graspline.motion.joint_moves import jaw_move, join
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.held import held_clearance
from graspline.placement.parameters import CarryParameters
from graspline.placement.query import CarryPlan, CarryQuery, HandPosture, Support, azimuth_of
from graspline.planning.batched_planning import Planning
from graspline.refusal import Refusal
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

TILT_STEP_RAD = np.radians(3.0)
# Turns of the hand about a ball, relative to the arm, that are tried for letting go; and about an object with sides,
# relative to how it is held.
_BALL_TURNS_RAD = np.radians([90, -90, 70, -70, 110, -110, 50, -50, 130, -130, 30, -30, 150, -150])
_TURNS_RAD = np.radians([0, 15, -15, 30, -30, 50, -50, 75, -75, 100, -100, 130, -130, 160, -160])
# Of those that reach over a ball's place, this many are planned in full.
_POSTURES = 6
# What turning an object with sides by a radian counts as, in length of its way.
_TURN_M = 0.02
# How far over an upright object the open fingers rise at least.
_OVER_M = 0.004
# Obstacles that have moved by less are where a plan that keeps clear of them believed them.
_UNMOVED_M = 0.0002


@dataclass(frozen=True, slots=True)
class _PolarPose:
    """The held point in polar coordinates about the first axis, with pitch and turn of the hand."""

    azimuth: float
    radius: float
    height: float
    pitch: float
    turn: float

    def row(self) -> tuple[float, ...]:
        return self.azimuth, self.radius, self.height, self.pitch, self.turn


def _polar(arm: Arm, point: Array, pitch: float, turn: float) -> _PolarPose:
    radius = float(np.hypot(point[0] - arm.axis_m[0], point[1] - arm.axis_m[1]))
    return _PolarPose(azimuth_of(arm, point), radius, float(point[2]), pitch, turn)


class Placing:
    """Planning for one support: `target` is where the object's centre is let go, `above` where it arrives."""

    def __init__(self, query: CarryQuery, support: Support, target: Array, above: Array) -> None:
        self.query, self.support, self.target, self.above = query, support, target, above
        self.label = f"spot {support.x_m:.3f} {support.y_m:.3f}"
        self._azimuth = azimuth_of(query.arm, target)

    def postures(self) -> Planning[list[HandPosture] | Refusal]:
        """Turns of the hand that reach the support and above it: straight down if enough do, or as steep as each can.

        The least turn of the wrist comes first.
        """
        query, held = self.query, self.query.held
        turns = _BALL_TURNS_RAD if held.round else query.posture().turn + _TURNS_RAD
        every = np.arange(0.0, query.settings.max_tilt_rad + 1e-9, TILT_STEP_RAD)
        branch = held.branch
        for tilts in (every[:1], every):
            turn, tilt = np.repeat(turns, len(tilts)), np.tile(tilts, len(turns))
            count = len(turn)
            solved: Solutions = yield Targets(
                arm=query.arm,
                position_m=np.repeat(np.stack([self.target, self.above]), count, axis=0),
                pitch_rad=np.tile(STRAIGHT_DOWN_RAD - tilt, 2),
                yaw_rad=np.tile(self._azimuth + turn, 2),
                tool_m=np.array(held.centre_m),
                margin_rad=query.margin_rad,
                branch=branch,
            )
            at, above = solved.reached[:, branch].reshape(2, len(turns), len(tilts))
            reached = at & above
            if np.count_nonzero(reached[:, 0]) >= _POSTURES:
                reached = reached[:, :1]
                break
        if not reached.any():
            evidence = solved.explain(count, slice(branch, branch + 1)) or solved.explain(0, slice(branch, branch + 1))
            return Refusal(label=self.label, stage="lower", check="reach", evidence=evidence)
        steepest, wrist = np.argmax(reached, axis=1), query.arm.wrist
        roll = solved.joints_rad[count:, branch, wrist].reshape(len(turns), len(tilts))
        found = [
            (abs(roll[index, steepest[index]] - query.start.position[wrist]), index)
            for index in np.flatnonzero(np.any(reached, axis=1)).tolist()
        ]
        # Neighbours may leave no room for most turns of a hand around an object with sides.
        most = _POSTURES if held.round else len(found)
        return [
            HandPosture(float(turns[index]), float(STRAIGHT_DOWN_RAD - tilts[steepest[index]]))
            for _, index in sorted(found)[:most]
        ]

    def rise(self, now: HandPosture, pitch: float) -> Planning[Path | None]:
        """From `target` to `above`, leaning from as it is to this pitch."""
        pitches = (now.pitch, pitch)
        move = self._straight("raise", self.target, self.above, pitches, now.turn, self.query.settings.lower_speed_m_s)
        paths = yield from self._paths(move)
        if isinstance(paths, Refusal):
            return None
        (path,) = paths
        path.positions[0] = self.query.start.position
        return path if check_path(path, self.query.robot) is None else None

    def plan_from_here(self, posture: HandPosture) -> Planning[CarryPlan | Refusal]:
        """The hand is above the support already: only down and away."""
        rest = yield from self._let_go(posture, self.query.start.position)
        return rest if isinstance(rest, Refusal) else self._plan(posture, "here", [], rest)

    def plan(self, posture: HandPosture, planned: CarryPlan | None = None) -> Planning[CarryPlan | Refusal]:
        """Across, down and away; what was `planned` is used again from where the hand is, and checked again."""
        settings = self.query.settings
        refusal: Refusal | None = None
        for strategy in ("direct", "retreat") if settings.strategy == "auto" else (settings.strategy,):
            ways: list[Path] | Refusal | None = None
            if planned is not None and planned.strategy == strategy:
                ways = yield from self._across_again(planned)
            ways = ways or (yield from self._across(posture, strategy))
            if isinstance(ways, Refusal):
                refusal = refusal or ways
                continue
            end = ways[-1].end
            rest = yield from self._let_go_again(planned, end) if planned is not None else self._let_go(posture, end)
            return rest if isinstance(rest, Refusal) else self._plan(posture, strategy, ways, rest)
        assert refusal is not None
        return refusal

    def _plan(self, posture: HandPosture, strategy: str, ways: list[Path], rest: tuple[Path, Path, Path]) -> CarryPlan:
        lower, opening, withdraw = rest
        return CarryPlan(
            support=self.support,
            posture=posture,
            held=self.query.held,
            strategy=strategy,
            retreat=ways[0] if len(ways) > 1 else None,
            transport=ways[-1] if ways else None,
            lower=lower,
            open=opening,
            withdraw=withdraw,
            obstacles=self.query.obstacles,
        )

    def _across_again(self, planned: CarryPlan) -> Planning[list[Path] | None]:
        """The same ways, the first of them rejoined from where the hand is; None where that passes no check."""
        at, paths = self.query.start.position, list[Path]()
        for _, way in planned.across:
            path = _rejoined(self.query.robot, way, at)
            if (yield from self._refusal("transport", path, self.query.obstacles)) is not None:
                return None
            paths.append(path)
            at = path.end
        return paths or None

    def _across(self, posture: HandPosture, strategy: str) -> Planning[list[Path] | Refusal]:
        """From where the hand is to above the support: one arc, or retracting and one arc."""
        query, point, now = self.query, self.query.held_m(), self.query.posture()
        # The shorter way round.
        turn = posture.turn + float(np.arctan2(np.sin(now.turn - posture.turn), np.cos(now.turn - posture.turn)))
        arm = query.arm
        here = _polar(arm, point, now.pitch, turn)
        poses = [here, _polar(arm, self.above, posture.pitch, posture.turn)]
        if strategy == "retreat":
            safe = _polar(arm, point * (1 - query.settings.retreat_share), here.pitch, here.turn)
            radius = max(safe.radius, min(query.settings.least_radius_m, here.radius))
            poses.insert(1, _PolarPose(safe.azimuth, radius, here.height, here.pitch, here.turn))
        paths: list[Path] = []
        at = query.start.position
        for begin, end in itertools.pairwise(poses):
            path = yield from self._arc(begin, end, at)
            if isinstance(path, Refusal):
                return path
            paths.append(path)
            at = path.end
        return paths

    def _arc(self, begin: _PolarPose, end: _PolarPose, start: Array) -> Planning[Path | Refusal]:
        """Steadily in polar coordinates from one pose to the other, the held object clear of everything on its way."""
        way = tuple(there - here for here, there in zip(begin.row(), end.row(), strict=True))
        length = float(np.hypot(max(begin.radius, end.radius) * way[0], np.hypot(way[1], way[2])))
        if not self.query.held.round:
            length += _TURN_M * abs(way[4])
        move = Move(
            stage="transport",
            start=begin.row(),
            way=way,
            jaw_rad=self.query.held.jaw_rad,
            length_m=max(length, 1e-3),
            speed_m_s=self.query.settings.transport_speed_m_s,
            polar=True,
        )
        paths = yield from self._paths(move)
        if isinstance(paths, Refusal):
            return paths
        (path,) = paths
        path.positions[0] = start
        return (yield from self._refusal("transport", path, self.query.obstacles)) or path

    def _let_go(self, posture: HandPosture, start: Array) -> Planning[tuple[Path, Path, Path] | Refusal]:
        """Down to the support, the jaws open, sideways off the object and back along the fingers."""
        held, settings, hand = self.query.held, self.query.settings, self.query.robot.hand
        yaw, opened = self._azimuth + posture.turn, _opening_rad(self.query.robot, held, settings)
        # Both fingers of a centred hand leave its sides by opening.
        back_off_m = 0.0 if hand.centred else settings.back_off_m
        off = self.target - back_off_m * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        level = np.cos(posture.pitch) * np.array([np.cos(self._azimuth), np.sin(self._azimuth), 0.0])
        back = np.array([0.0, 0.0, np.sin(posture.pitch)]) - level
        pitches = (posture.pitch, posture.pitch)
        paths: list[Path] | Refusal | None = None
        for far_m in _ways_out_m(self.query.robot, held, settings):
            down = self._straight("lower", self.above, self.target, pitches, posture.turn, settings.lower_speed_m_s)
            aside = self._straight("withdraw", self.target, off, pitches, posture.turn, settings.back_off_speed_m_s)
            up = self._straight("withdraw", off, off + far_m * back, pitches, posture.turn, settings.rise_speed_m_s)
            paths = yield from self._paths(down, replace(aside, jaw_rad=opened), replace(up, jaw_rad=opened))
            if not isinstance(paths, Refusal):
                break
        assert paths is not None
        if isinstance(paths, Refusal):
            return paths
        lower, sideways, rising = paths
        rising.positions[0] = sideways.end
        return (yield from self._checked(start, lower, join(sideways, rising)))

    def _let_go_again(self, planned: CarryPlan, start: Array) -> Planning[tuple[Path, Path, Path] | Refusal]:
        """The same ways with the jaw as it is commanded now."""
        lower = replace(planned.lower, positions=planned.lower.positions.copy())
        lower.positions[:, self.query.robot.jaw] = self.query.held.jaw_rad
        withdraw = replace(planned.withdraw, positions=planned.withdraw.positions.copy())
        clear = _unmoved(self.query.obstacles, planned.obstacles)
        return (yield from self._checked(start, lower, withdraw, clear=clear))

    def _checked(
        self, start: Array, lower: Path, withdraw: Path, *, clear: bool = False
    ) -> Planning[tuple[Path, Path, Path] | Refusal]:
        """Both ways joined by the opening of the jaws, if all of it passes every check; `clear` ways touch nothing."""
        robot, settings = self.query.robot, self.query.settings
        lower.positions[0] = start
        # Only on its way down it comes close to what it is put on.
        beside = tuple(each for each in self.query.obstacles if not each.name or each.name != self.support.name)
        refusal = yield from self._refusal("lower", lower, beside, clear=clear)
        if refusal is not None:
            return refusal
        opened = float(withdraw.end[robot.jaw])
        opening = jaw_move(robot, at_rest(lower.end), opened, speed_rad_s=settings.open_speed_rad_s)
        withdraw.positions[0] = opening.end
        for stage, path in (("release", opening), ("withdraw", withdraw)):
            refusal = yield from self._refusal(stage, path, (), clear=clear)
            if refusal is not None:
                return refusal
        return lower, opening, withdraw

    def _straight(
        self, stage: str, start_m: Array, end_m: Array, pitches_rad: tuple[float, float], turn: float, speed_m_s: float
    ) -> Move:
        """A straight line of the held object, the hand leaning steadily from one pitch to the other."""
        x, y, z = (end_m - start_m).tolist()
        return Move(
            stage=stage,
            start=(*start_m.tolist(), pitches_rad[0], self._azimuth + turn),
            way=(x, y, z, pitches_rad[1] - pitches_rad[0], 0.0),
            jaw_rad=self.query.held.jaw_rad,
            length_m=max(math.sqrt(x * x + y * y + z * z), 1e-3),
            speed_m_s=speed_m_s,
        )

    def _paths(self, *moves: Move) -> Planning[list[Path] | Refusal]:
        """Several moves in one solve, or the first sample that cannot be reached."""
        query = self.query
        found = yield Moves(
            robot=query.robot,
            branch=query.held.branch,
            tool_m=query.held.centre_m,
            margin_rad=query.margin_rad,
            label=self.label,
            moves=moves,
        )
        return found

    def _refusal(
        self, stage: str, path: Path, apart_from: tuple[Belief, ...], *, clear: bool = False
    ) -> Planning[Refusal | None]:
        """What is wrong with a path on which the object in the hand has to stay clear of some others."""
        query = self.query
        refused = check_path(path, query.robot)
        if refused is not None:
            return Refusal(label=self.label, stage=stage, check="limits", evidence=refused.evidence)
        if clear:
            return None
        samples = query.world.samples(path.positions)
        bumped = (yield from held_clearance.steps(query, samples, apart_from)) if apart_from else ()
        if bumped:
            return Refusal(label=self.label, stage=stage, check="collision", evidence=bumped)
        query.world.place(query.obstacles)
        hit = query.world.first_collision(samples)
        if hit is not None:
            return Refusal(label=self.label, stage=stage, check="collision", evidence=hit.evidence)
        return None


def _opening_rad(robot: Robot, held: HeldObject, settings: CarryParameters) -> float:
    """How far the jaw opens to let go: clear of a ball, but no further, for there are others beside it."""
    if held.open_rad is not None:
        return held.open_rad
    hand, radius_m, (along, _, across) = robot.hand, held.spread_m, held.centre_m
    across = 0.0 if hand.centred else max(across, hand.face_m + radius_m)
    opened = ball_open_rad(hand, radius_m, along, across, settings.release_clearance_m)
    return ball_touch_rad(hand, radius_m, along) + 0.12 * robot.jaw_unit if opened is None else opened


def _ways_out_m(robot: Robot, held: HeldObject, settings: CarryParameters) -> tuple[float, ...]:
    """How far the open hand goes back along the fingers; less where the arm cannot, but out of the object's sides."""
    if held.round:
        return (settings.rise_m + held.half_height_m,)
    hand = robot.hand
    over_m = held.half_height_m + hand.lowest_m + _OVER_M - (held.centre_m[0] - hand.tool_m[0])
    return max(settings.rise_m, over_m), over_m


def _rejoined(robot: Robot, way: Path, at: Array) -> Path:
    """A way from joints `at` (nu,) that fades into the one that was planned, the jaw as it is."""
    off = at - way.positions[0]
    fading, slope = _fading(way.ticks)
    positions = way.positions + fading * off
    velocities = way.velocities + slope * (off / (way.ticks * way.dt_s))
    positions[:, robot.jaw], velocities[:, robot.jaw] = at[robot.jaw], 0.0
    positions[0] = at
    return Path(positions=positions, velocities=velocities, dt_s=way.dt_s)


def _unmoved(now: tuple[Belief, ...], before: tuple[Belief, ...]) -> bool:
    """Whether the same things are where they were, as large as they were and turned as they were."""
    if [each.name for each in now] != [each.name for each in before]:
        return False
    return bool(np.abs(_rows(now) - _rows(before)).max(initial=0.0) <= _UNMOVED_M)


def _rows(things: tuple[Belief, ...]) -> Array:
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
