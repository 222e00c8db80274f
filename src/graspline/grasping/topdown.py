"""Grasping from above: the whole plan, checked before anything moves.

One planning function serves the sampler that certifies scenes, the pre-check and the state that executes: what is
certified is exactly what is played.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.candidates import DEEPER, Grasp, JawParameters, ball_grasps, box_grasps
from graspline.grasping.cartesian_lines import Lines, ReachParameters, ToolLine, leans_rad
from graspline.grasping.pose_candidates import BRAKING_M, Candidate, PoseCandidates, back
from graspline.kinematics.arms import arm_of
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, Path, at_rest, check_path, seal_kept
from graspline.perception.core.beliefs import Belief
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CollisionWorld
from graspline.planning.routes import by_home, route, straight
from graspline.refusal import Refusal
from graspline.robots.hand import Hand
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# From the cheapest check to the dearest; a refusal reports the candidate that came furthest.
_CHECKS = ("shape", "jaw_width", "reach", "jaw_alignment", "limits", "collision")

# About where straight down ends, for an arm of relative size 1.
_STRAIGHT_DOWN_M = 0.29
# Jaws that lean less than this against the faces count as square to them.
_SQUARE_RAD = 0.01
# Of the tilts at which a candidate reaches, whole plans are tried this far apart.
_NEXT_TILT_RAD = np.radians(7.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraspPlan:
    """A grasp with every motion to it and away from it."""

    grasp: Grasp
    pitch_rad: float
    # The pitch at which the raised object is still reached, also from where seating may take the hand.
    top_pitch_rad: float
    # Which elbow reaches it: 0 up, 1 down.
    branch: int
    approach: Path
    # Turning and opening the hand above the object, where that is a move of its own.
    posture: Path | None
    descend: Path
    # Sideways until the fixed jaw touches, or as far as the estimate may be wrong.
    seat: Path
    # From the unseated grasp; certified here, and planned again by `plan_lift` from where the hand really is.
    lift: Path
    lift_m: float


def reversed_path(path: Path) -> Path:
    """The way back, at the same speeds."""
    return Path(positions=path.positions[::-1].copy(), velocities=-path.velocities[::-1], dt_s=path.dt_s)


@together
def plan_grasp(
    robot: Robot,
    world: CollisionWorld,
    estimate: Belief,
    start: Command,
    jaw: JawParameters,
    reach: ReachParameters,
    tried: tuple[str, ...] = (),
    others: tuple[Belief, ...] = (),
    posture_apart: bool = False,
) -> Planning[GraspPlan | Refusal]:
    """The best grasp that passes every check on its whole path, or why none does.

    Of grasps that are equally good, the one that turns the wrist least from where it is comes first, so that the choice
    follows from what can be seen; grasps already `tried` come last. What else stands around, `others`, is kept clear
    of. With `posture_apart` the hand is turned and opened in a move of its own, above the object.
    """
    if estimate.shape == "ball":
        grasps = ball_grasps(robot, estimate, jaw, start.position)
    else:
        grasps = box_grasps(robot.hand, estimate, jaw, deeper=bool(tried))
    if isinstance(grasps, Refusal):
        return grasps
    query = _GraspQuery(
        robot=robot,
        world=world,
        estimate=estimate,
        start=start,
        reach=reach,
        others=others,
        posture_apart=posture_apart,
    )
    leans, failed = leans_rad(reach.max_tilt_rad), list[tuple[Candidate, Refusal]]()
    refused: list[Refusal | PoseCandidates] = []
    # Nearby, straight down alone will mostly do; far out it will not.
    far = np.hypot(*(estimate.position_m[:2] - arm_of(robot).axis_m)) > _STRAIGHT_DOWN_M * robot.relative_size
    for tilts in (leans,) if far else (leans[:1], leans):
        poses = PoseCandidates(robot, estimate.position_m, start.position, grasps, tilts, reach, tried)
        if len(tilts) < len(leans) and not (yield from poses.all_usable()):
            # Leaning, a grasp that turns the wrist less may do.
            continue
        planned: dict[str, list[float]] = {}
        while (candidate := (yield from poses.next())) is not None:
            pitches = planned.setdefault(candidate.grasp.label, [])
            if any(abs(candidate.pitch_rad - other) < _NEXT_TILT_RAD for other in pitches):
                continue
            plan = yield from _plan_of(query, candidate, jaw, failed)
            if isinstance(plan, GraspPlan):
                return plan
            refused.append(plan)
            # With room for leaning fingers the hand stands a little farther out: a little more tilt may reach.
            if (plan.stage, plan.check) != ("descend", "reach"):
                pitches.append(candidate.pitch_rad)
        if not poses.any_usable:
            refused.append(poses)
    whys: list[Refusal] = []
    for each in refused:
        whys.append((yield from each.why()) if isinstance(each, PoseCandidates) else each)
    return max(whys, key=lambda each: _CHECKS.index(each.check))


def _plan_of(
    query: _GraspQuery, candidate: Candidate, jaw: JawParameters, failed: list[tuple[Candidate, Refusal]]
) -> Planning[GraspPlan | Refusal]:
    """The whole plan of a candidate, with room for fingers that lean; or why there is none, which is added to `failed`.

    Others that failed may say so before anything is planned.
    """
    arm, grasp = arm_of(query.robot), candidate.grasp
    known = next((why for other, why in failed if candidate.fails_as(other, why, arm)), None)
    if known is not None:
        return known
    if candidate.lean_rad > _SQUARE_RAD and not grasp.round:
        leaning = _leaning(query.robot.hand, grasp, candidate.lean_rad, query.estimate, jaw)
        if isinstance(leaning, Refusal):
            return leaning
        grasp, candidate = leaning, dataclasses.replace(candidate, top_pitch_rad=None)
    lines = Lines(query.robot, query.reach, grasp, candidate.branch)
    top: float | Refusal | None = candidate.top_pitch_rad
    if top is None:
        centre, (_, braked), up = query.estimate.position_m, _seated(query, grasp), _up(query)
        top = yield from lines.top_pitch(candidate.pitch_rad, np.stack([centre + up, braked + up]))
        if isinstance(top, Refusal):
            return top
        candidate = dataclasses.replace(candidate, top_pitch_rad=top)
        known = next((why for other, why in failed if candidate.fails_as(other, why, arm)), None)
        if known is not None:
            return known
    plan = yield from _whole_plan(query, lines, candidate.pitch_rad, top)
    if isinstance(plan, Refusal):
        failed.append((candidate, plan))
    return plan


def _seated(query: _GraspQuery, grasp: Grasp) -> tuple[Array, Array]:
    """Where seating takes the tool point, (3,), and as far as braking may take it from there."""
    centre, sideways = query.estimate.position_m, grasp.sideways
    return centre + grasp.seat_m * sideways, centre + (grasp.seat_m + BRAKING_M) * sideways


def _up(query: _GraspQuery) -> Array:
    return np.array([0.0, 0.0, query.reach.lift_m])


def _leaning(hand: Hand, grasp: Grasp, lean: float, estimate: Belief, jaw: JawParameters) -> Grasp | Refusal:
    """The same grasp with room for fingers that lean against the faces."""
    roomier = box_grasps(hand, estimate, jaw, deeper=grasp.label.endswith(DEEPER), lean_rad=lean)
    if isinstance(roomier, Refusal):
        return roomier
    return next((each for each in roomier if each.label == grasp.label), grasp)


@dataclass(frozen=True, slots=True, kw_only=True)
class _GraspQuery:
    robot: Robot
    world: CollisionWorld
    estimate: Belief
    start: Command
    reach: ReachParameters
    others: tuple[Belief, ...]
    posture_apart: bool


def _whole_plan(query: _GraspQuery, lines: Lines, pitch: float, top: float) -> Planning[GraspPlan | Refusal]:
    """Every motion of one grasp, each checked against limits and collisions."""
    robot, reach, centre, grasp = query.robot, query.reach, query.estimate.position_m, lines.grasp
    (seated, braked), up = _seated(query, grasp), _up(query)
    beside = centre - grasp.aside_m * grasp.sideways
    above = beside + grasp.standoff_m * back(arm_of(robot), centre, np.array(pitch))
    paths = yield from lines.planning(
        ToolLine("descend", above, beside, (pitch, pitch), reach.descend_speed_m_s),
        ToolLine("seat", beside, seated, (pitch, pitch), reach.seat_speed_m_s),
        # From about where the hand begins to touch, and from as far as seating and braking may take it.
        ToolLine("lift", centre, centre + up, (pitch, top), reach.lift_speed_m_s),
        ToolLine("lift", braked, braked + up, (pitch, top), reach.lift_speed_m_s),
    )
    if isinstance(paths, Refusal):
        return paths
    descend, seat, lift, _ = paths
    yield _Ways(robot=robot, paths=(descend, seat, lift))
    speed = np.full(len(robot.joints), reach.travel_speed)
    ready, posture = descend.positions[0], None
    if query.posture_apart:
        ready = np.concatenate([ready[:-2], query.start.position[-2:]])
        posture = joint_move(robot, at_rest(ready), descend.positions[0], speed=speed)
    stages: list[tuple[str, Path]] = [("descend", descend), ("seat", seat), ("lift", lift)]
    if posture is not None:
        stages.insert(0, ("posture", posture))
    for stage, path in stages:
        refusal = _check(query, grasp, stage, path)
        if refusal is not None:
            return refusal
    approach = _approach(query, grasp, ready, speed)
    if isinstance(approach, Refusal):
        return approach
    return GraspPlan(
        grasp=grasp,
        pitch_rad=pitch,
        top_pitch_rad=top,
        branch=lines.branch,
        approach=approach,
        posture=posture,
        descend=descend,
        seat=seat,
        lift=lift,
        lift_m=reach.lift_m,
    )


def _approach(query: _GraspQuery, grasp: Grasp, ready: Array, speed: Array) -> Path | Refusal:
    """The way to above the object: straight in joint space, or around by retracting the arm first."""
    ways = (straight,) if query.start.moving else (straight, by_home)
    check = functools.partial(_check, query, grasp, "approach")
    return route(query.robot, query.start, ready, check, ways=ways, speed=speed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ways:
    """Paths that are about to be checked, so that those of many planners can be held against limits at once."""

    robot: Robot
    paths: tuple[Path, ...]

    @classmethod
    def answered(cls, asked: Sequence[_Ways]) -> list[None]:
        """Nothing: what keeps the limits is sealed, and what does not is refused in its turn."""
        for robot, ways in itertools.groupby(asked, key=lambda each: each.robot):
            seal_kept([path for each in ways for path in each.paths], robot)
        return [None] * len(asked)


def _check(query: _GraspQuery, grasp: Grasp, stage: str, path: Path) -> Refusal | None:
    refused = check_path(path, query.robot)
    if refused is not None:
        return Refusal(label=grasp.label, stage=stage, check="limits", evidence=refused.evidence)
    # From the seat on the object is in the hand, where touching it is the point.
    query.world.place((query.estimate, *query.others) if stage in ("approach", "posture", "descend") else query.others)
    hit = query.world.first_collision(query.world.samples(path.positions))
    if hit is not None:
        return Refusal(label=grasp.label, stage=stage, check="collision", evidence=hit.evidence)
    return None


@together
def plan_lift(
    robot: Robot, plan: GraspPlan, start: Command, lift_m: float, reach: ReachParameters
) -> Planning[Path | Refusal]:
    """Straight up from where the hand is, turning as little as reach allows, the jaw as it is commanded."""
    here, pitch, _, lines = _as_it_is(robot, plan, start, reach)
    raised = here + np.array([0.0, 0.0, lift_m])
    paths = yield from lines.planning(ToolLine("lift", here, raised, (pitch, plan.top_pitch_rad), reach.lift_speed_m_s))
    if isinstance(paths, Refusal):
        top = yield from lines.top_pitch(pitch, raised[None])
        if isinstance(top, Refusal):
            return top
        paths = yield from lines.planning(ToolLine("lift", here, raised, (pitch, top), reach.lift_speed_m_s))
    return _from_start(paths, start)


@together
def plan_shift(
    robot: Robot, plan: GraspPlan, start: Command, along_m: float, reach: ReachParameters, up_m: float = 0.0
) -> Planning[Path | Refusal]:
    """A short straight way from where the hand is, leaning as it does: towards its moving jaw's side, and up."""
    here, pitch, yaw, lines = _as_it_is(robot, plan, start, reach)
    end = here + np.array([along_m * np.cos(yaw), along_m * np.sin(yaw), up_m])
    paths = yield from lines.planning(ToolLine("seat", here, end, (pitch, pitch), reach.seat_speed_m_s))
    return _from_start(paths, start)


def _as_it_is(
    robot: Robot, plan: GraspPlan, start: Command, reach: ReachParameters
) -> tuple[Array, float, float, Lines]:
    """Where the hand really is, with its pitch and yaw, and lines of a grasp like that: braking moves it off plans."""
    arm, joints = arm_of(robot), start.position[robot.arm]
    position, rotation = arm.forward(joints[None], np.array(plan.grasp.tool_m))
    pitch, yaw = float(arm.pitch_rad(joints[None])[0]), float(np.arctan2(rotation[0, 1, 2], rotation[0, 0, 2]))
    grasp = dataclasses.replace(plan.grasp, yaw_rad=yaw, open_rad=float(start.position[robot.jaw]))
    return position[0], pitch, yaw, Lines(robot, reach, grasp, plan.branch)


def _from_start(paths: list[Path] | Refusal, start: Command) -> Path | Refusal:
    """The first path, with the same joints to the last bit, so that it starts where the last motion ended."""
    if isinstance(paths, Refusal):
        return paths
    paths[0].positions[0] = start.position
    return paths[0]
