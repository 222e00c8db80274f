"""A grab that says what to do when it cannot be done: the chain of checks, and the nearest pose that would pass it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_checks import GraspChecks, jaws_for, room_beside_m
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabQuery, GrabRefusal, Nearest
from graspline.spatial.rotations import wrap

Array = NDArray[np.float64]

# Where else the object is tried: distances, number of directions, and turns.
_SHIFTS_M = np.concatenate([np.arange(0.005, 0.04, 0.005), np.arange(0.04, 0.301, 0.01)])
_DIRECTIONS = 24
_TURNS_RAD = np.radians([0, 10, -10, 20, -20, 35, -35, 60, -60, 90])
# From how much lower it is approached, and how much higher or lower it is grasped.
_APPROACHES = (1.0, 0.8, 0.6, 0.4, 0.2)
_HEIGHTS_M = np.concatenate([np.arange(0.0, 0.03, 0.001), np.arange(0.03, 0.12, 0.005)])
# A turn of a radian counts like this way.
_TURN_M = 0.03
# Poses that inverse kinematics reaches and that are planned in full, none of them close to one that failed.
_TRIED = 40
_ALIKE_M = 0.004
# How far a moved object keeps from others.
_APART_M = 0.003
# Lengths that are advised are rounded to tenths of a millimetre.
_FINE = 1e4


def plan_grab(query: GrabQuery) -> GrabPlan | GrabRefusal:
    """A plan that passes every check on both stages; or the first that fails, and the nearest pose that passes all."""
    found = attempt(query)
    if isinstance(found, GrabPlan):
        return found
    advice, change = _advice(query, found)
    found = replace(found, advice=advice, change=change)
    if found.check in ("shape", "jaw_width", "open_clearance"):
        return found
    return replace(found, nearest=_nearest(query))


# What to set, in words and as variables.
_Advice = tuple[str, Mapping[str, float | bool]]
_NO_ADVICE: _Advice = ("", {})


def _advice(query: GrabQuery, refused: GrabRefusal) -> _Advice:
    """Which variables to set to what, where that is all it takes."""
    closed = refused.evidence[0].name == "open_gap" and refused.evidence[0].relation == ">="
    if refused.check == "open_clearance" or (refused.check == "jaw_width" and closed):
        return _wider(query)
    return _lower(query) if refused.stage == "approach" else _NO_ADVICE


def _wider(query: GrabQuery) -> _Advice:
    """The least clearances with which both jaws clear the object on the way down."""
    variables, least_m = query.variables, room_beside_m(query.estimate)
    if variables.tcp == "fixed_tip" and not variables.tcp_offset:
        words = "set tcp_offset to true: without it the fixed jaw comes down on the object"
        return words, _if_it_works(query, {"tcp_offset": True})
    advice, changed = list[str](), dict[str, float]()
    if variables.tcp_clearance_m < least_m:
        changed["tcp_clearance_m"] = float(np.ceil(least_m * _FINE) / _FINE)
        advice.append(f"tcp_clearance_m to at least {changed['tcp_clearance_m']:g}")
    for opened_m in (variables.open_clearance_m, *np.arange(0.0, 0.0501, 0.0005).tolist()):
        if opened_m < variables.open_clearance_m:
            continue
        trial = replace(query, variables=variables.model_copy(update={**changed, "open_clearance_m": opened_m}))
        jaws = jaws_for(query.robot, query.estimate, trial.variables)
        if not isinstance(jaws, GrabRefusal) and GraspChecks(trial).room(jaws) is None:
            if opened_m > variables.open_clearance_m:
                advice.append(f"open_clearance_m to at least {opened_m:g}")
                changed["open_clearance_m"] = opened_m
            return f"raise {' and '.join(advice)}", _if_it_works(query, changed)
    return _NO_ADVICE


def _if_it_works(query: GrabQuery, change: Mapping[str, float | bool]) -> Mapping[str, float | bool]:
    """The same change if the whole grasp passes with it, not only the check that failed; else none."""
    changed = replace(query, variables=query.variables.model_copy(update=dict(change)))
    return change if isinstance(attempt(changed), GrabPlan) else {}


def _lower(query: GrabQuery) -> _Advice:
    """The highest approach from which the same grasp works."""
    asked_m = query.variables.approach_height_m
    for share in _APPROACHES[1:]:
        height_m = float(np.floor(share * asked_m * _FINE) / _FINE)
        if change := _if_it_works(query, {"approach_height_m": height_m}):
            words = (
                f"an approach from {1000 * asked_m:g} mm above is too high here; it works from {1000 * height_m:g} mm "
                f"(approach_height_m {height_m:g})"
            )
            return words, change
    return _NO_ADVICE


@dataclass(frozen=True, slots=True)
class _ShiftedPose:
    cost_m: float
    centre: Array
    turn_rad: float
    approach_m: float


def _nearest(query: GrabQuery) -> Nearest | None:
    """The nearest of a fan of poses that passes every check; None if none of them does."""
    case, failed = GraspChecks(query), list[_ShiftedPose]()
    for pose in _reached(query, case):
        if any(_alike(pose, each) for each in failed):
            continue
        elsewhere = _moved(query, case, pose)
        if _lies_free(elsewhere) and isinstance(attempt(elsewhere), GrabPlan):
            return _as_nearest(query, case, pose)
        failed.append(pose)
        if len(failed) == _TRIED:
            return None
    return None


def _alike(pose: _ShiftedPose, other: _ShiftedPose) -> bool:
    same = pose.turn_rad == other.turn_rad and pose.approach_m == other.approach_m
    return same and float(np.abs(pose.centre - other.centre).max()) < _ALIKE_M


def _reached(query: GrabQuery, case: GraspChecks) -> Iterator[_ShiftedPose]:
    """Poses that inverse kinematics reaches at every stage, nearest first."""
    height, approach = float(case.centre[2]), query.variables.approach_height_m
    angles = np.linspace(0.0, 2 * np.pi, _DIRECTIONS, endpoint=False)
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    shifts = np.concatenate([np.zeros((1, 2)), *(shift * rays for shift in _SHIFTS_M)])
    found: list[_ShiftedPose] = []
    z = _passing_height(query, height)
    if z is None:
        return
    for turn in np.zeros(1) if case.round else _TURNS_RAD:
        for lower in dict.fromkeys(share * approach for share in _APPROACHES):
            at = np.concatenate([case.centre[:2] + shifts, np.full((len(shifts), 1), z)], axis=1)
            case.heights_m = [lower, 0.0] if lower else [0.0]
            reached = np.all([each.reached for each in case.solved(at, case.headings + turn)], axis=0)
            usable = np.flatnonzero(reached.reshape(len(at), -1).any(axis=1))
            cost = np.hypot(*shifts.T) + abs(z - height) + _TURN_M * abs(turn) + (approach - lower)
            found += [_ShiftedPose(float(cost[each]), at[each], float(turn), float(lower)) for each in usable]
    yield from sorted(found, key=lambda each: each.cost_m)


def _passing_height(query: GrabQuery, height: float) -> float | None:
    """The height nearest to this one at which fingers clear the table and pads meet the object."""
    for z in sorted((height, *_HEIGHTS_M[1:].tolist()), key=lambda each: abs(each - height)):
        case = GraspChecks(replace(query, variables=query.variables.model_copy(update={"object_z_m": float(z)})))
        if case.ground() is None and case.overlap() is None:
            return float(z)
    return None


def _lies_free(query: GrabQuery) -> bool:
    """Whether the moved object would not lie in another one."""
    thing = query.estimate
    spread = thing.radius_m if thing.shape == "ball" else float(np.hypot(*thing.half_extents_m[:2]))
    spread = spread if thing.solid is None else thing.spread_m
    for other in query.others:
        apart = other.distance_m(thing.position_m[None])
        if apart is not None and float(apart[0]) < spread + _APART_M:
            return False
    return True


def _stands_m(query: GrabQuery, case: GraspChecks, pose: _ShiftedPose) -> tuple[float, float]:
    """Where the object's own position is, if the point between its sides is at this pose."""
    x, y = (float(each) for each in query.estimate.position_m[:2] - case.grip.centre_m[:2])
    cosine, sine = np.cos(pose.turn_rad), np.sin(pose.turn_rad)
    return float(pose.centre[0] + (cosine * x - sine * y)), float(pose.centre[1] + (sine * x + cosine * y))


def _moved(query: GrabQuery, case: GraspChecks, pose: _ShiftedPose) -> GrabQuery:
    """The same question about the object elsewhere on the table; another height is the hand's, not the object's."""
    estimate, half = query.estimate, pose.turn_rad / 2
    w, x, y, z = estimate.quaternion
    cosine, sine = np.cos(half), np.sin(half)
    turned = np.array([cosine * w - sine * z, cosine * x - sine * y, cosine * y + sine * x, cosine * z + sine * w])
    position = np.array([*_stands_m(query, case, pose), estimate.position_m[2]])
    changed: dict[str, float] = {"approach_height_m": pose.approach_m}
    if pose.centre[2] != (query.variables.object_z_m or estimate.position_m[2]):
        changed["object_z_m"] = float(pose.centre[2])
    variables = query.variables.model_copy(update=changed)
    return replace(query, estimate=replace(estimate, position_m=position, quaternion=turned), variables=variables)


def _as_nearest(query: GrabQuery, case: GraspChecks, pose: _ShiftedPose) -> Nearest:
    (x, y), z = _stands_m(query, case, pose), float(pose.centre[2])
    yaw = 2 * float(np.arctan2(query.estimate.quaternion[3], query.estimate.quaternion[0])) + pose.turn_rad
    return Nearest(
        position_m=(x, y, z),
        yaw_rad=float(wrap(np.array(yaw))),
        distance_m=float(np.linalg.norm(pose.centre - case.centre)),
        turn_rad=pose.turn_rad,
        approach_height_m=pose.approach_m,
    )
