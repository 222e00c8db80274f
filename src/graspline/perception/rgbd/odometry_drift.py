"""How far wheels have slipped between two looks at things that stand still, and which of those things are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.change_detection import Sight, empty_share, hidden_share, is_alike
from graspline.scenes.fittings import Fitting
from graspline.spatial.rotations import multiply, quaternion_from_matrix, rotation_z

Array = NDArray[np.float64]
# A thing as it was seen before, and now.
Pair = tuple[Belief, Belief]

# Wheels slip no farther on a way than this.
MOST_M, MOST_RAD = 0.10, 0.06
# What is seen worse than this tells nothing; one slip moves things by the same, give or take what a turn does.
_SURE_M, _SAME_SLIP_M = 0.005, 0.025
# What is hidden more than this is not used.
_HIDDEN = 0.35
# Things this far from their middle tell how far they turned.
_APART_M = 0.08
# Where something stood, this much of what shows is behind it once it is gone.
_EMPTY = 0.7
# Two whose middles are nearer than this share of how far both reach out from theirs are one.
_OVERLAP = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slip:
    """All that is believed is off by a turn about a point in O, (2,), and a shift, (2,)."""

    about_m: Array
    shift_m: Array
    turn_rad: float

    @property
    def as_evidence(self) -> Evidence:
        """The measurements, each beside its limit."""
        return (
            at_most("slipped", float(np.linalg.norm(self.shift_m)), MOST_M, "m"),
            at_most("turned", abs(self.turn_rad), MOST_RAD, "rad"),
        )

    def point(self, point_m: Array) -> Array:
        """Where a point, (3,), really is."""
        turned = rotation_z(self.turn_rad)[:2, :2] @ (point_m[:2] - self.about_m)
        return np.array([*(self.about_m + self.shift_m + turned), point_m[2]])

    def rotation(self, rotation: Array) -> Array:
        """A rotation as it is after the slip."""
        return multiply(rotation_z(self.turn_rad), rotation)

    def solid(self, solid: Belief) -> Belief:
        """A solid as it is after the slip."""
        turned = quaternion_from_matrix(self.rotation(solid.rotation))
        return replace(solid, position_m=self.point(solid.position_m), quaternion=turned)

    def fitting(self, fitting: Fitting) -> Fitting:
        """A piece of furniture as it is after the slip."""
        x, y, z = self.point(np.array(fitting.position_m)).tolist()
        return replace(fitting, position_m=(x, y, z), yaw_rad=fitting.yaw_rad + self.turn_rad)

    def joints(self, row: Array) -> Array:
        """The same posture, (nu,), with the base, whose x, y and heading come first, where it was meant to be."""
        moved = row.copy()
        moved[:2], moved[2] = self.point(np.array([row[0], row[1], 0.0]))[:2], row[2] + self.turn_rad
        return moved


def slip_between(was: Fitting, now: Fitting) -> Slip:
    """By how much a piece of furniture that does not move was seen elsewhere."""
    return Slip(
        about_m=np.array(was.position_m[:2]),
        shift_m=np.array(now.position_m[:2]) - np.array(was.position_m[:2]),
        turn_rad=now.yaw_rad - was.yaw_rad,
    )


def slip_since(things: Sequence[Belief], target: Belief, now: Sight) -> Slip | None:
    """How far off things on the table are, seen from close by, by the slip that explains most of them.

    None if it is not known: nothing that is surely one of them is seen.
    """
    shown = [was for was in things if not is_hidden(was, now)]
    pairs = [(was, each) for was in shown for each in now.things if _may_be_one(was, each)]
    matched = max((_matched(pairs, one) for one in pairs), key=_weight, default=())
    if not matched:
        return None
    # Where it matters it must be right.
    was, seen = min(matched, key=lambda pair: float(np.linalg.norm(pair[0].position_m - target.position_m)))
    return Slip(
        about_m=was.position_m[:2],
        shift_m=(seen.position_m - was.position_m)[:2],
        turn_rad=_turn(matched),
    )


def slip_of(slip: Slip, thing: Belief, now: Sight) -> Slip:
    """The same for one thing: where it is seen itself, if it is seen well; it may have been half hidden before.

    Of one that is hidden now, what shows may seem elsewhere, or be another like it.
    """
    moved = slip.solid(thing)
    if is_hidden(moved, now):
        return slip
    seen = [each for each in now.things if _may_be_one(moved, each) and not is_hidden(each, now)]
    found = min(seen, key=lambda each: _away(moved, each), default=None)
    if found is None:
        return slip
    shift = (found.position_m - thing.position_m)[:2]
    return Slip(about_m=thing.position_m[:2], shift_m=shift, turn_rad=slip.turn_rad)


def is_hidden(thing: Belief, now: Sight) -> bool:
    """Whether most of where a thing must be is hidden by something nearer: what is seen of it may seem elsewhere."""
    return now.view is not None and hidden_share(thing, now.view) > _HIDDEN


def _may_be_one(was: Belief, now: Belief) -> bool:
    """Whether two sights may be of one thing, and the second is good enough to go by."""
    return is_alike(was, now) and _away(was, now) <= MOST_M and now.position_sigma_m <= _SURE_M


def _matched(pairs: Sequence[Pair], one: Pair) -> tuple[Pair, ...]:
    """The pairs that the slip of one of them explains, each thing once."""
    shift, found = one[1].position_m - one[0].position_m, dict[Belief, Belief]()
    for was, now in pairs:
        if was not in found and float(np.linalg.norm((now.position_m - was.position_m - shift)[:2])) <= _SAME_SLIP_M:
            found[was] = now
    return tuple(found.items())


def _weight(matched: tuple[Pair, ...]) -> tuple[int, float]:
    """More things first, then the smaller slip."""
    return len(matched), -min((_away(*pair) for pair in matched), default=np.inf)


def _turn(matched: tuple[Pair, ...]) -> float:
    """How far things have turned about each other, if they are far enough apart to tell."""
    was, now = (np.array([pair[side].position_m[:2] for pair in matched]) for side in (0, 1))
    was, now = was - was.mean(axis=0), now - now.mean(axis=0)
    if np.linalg.norm(was, axis=1).max() < _APART_M:
        return 0.0
    cross = float((was[:, 0] * now[:, 1] - was[:, 1] * now[:, 0]).sum())
    turn = float(np.arctan2(cross, float((was * now).sum())))
    return turn if abs(turn) <= MOST_RAD else 0.0


def shown_since(things: Sequence[Belief], now: Sight) -> tuple[Belief, ...]:
    """Things that are seen now and were not; what shows beside something hidden is a part of that."""
    hidden = [each for each in things if is_hidden(each, now)]
    found = unknown_before(things, now.things)
    return tuple(each for each in found if all(_away(each, other) > MOST_M for other in hidden))


def unknown_before(things: Sequence[Belief], now: Sequence[Belief]) -> tuple[Belief, ...]:
    """Things that are seen now and were not: they stand in none of those that were."""

    def apart(one: Belief, other: Belief) -> float:
        reaches = sum(float(np.hypot(*each.half_extents_m[:2])) for each in (one, other))
        return float(np.linalg.norm((one.position_m - other.position_m)[:2])) - _OVERLAP * reaches

    return tuple(each for each in now if all(apart(each, other) > 0 for other in things))


def gone_evidence(target: Belief, others: Sequence[Belief], now: Sight) -> Evidence:
    """What proves that a thing is not there any more: its place is seen and empty, and nothing is near that may be it.

    The thing and the others are given where they must be now.
    """
    near = [each for each in unknown_before(others, now.things) if _away(each, target) <= MOST_M]
    share = 1.0 if now.view is None else empty_share(target, now.view)
    return (at_least("place_seen_empty", share, _EMPTY), at_most("things_near_its_place", len(near), 0))


def _away(one: Belief, other: Belief) -> float:
    return float(np.linalg.norm((one.position_m - other.position_m)[:2]))
