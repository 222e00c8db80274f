"""How far wheels have slipped since the table was looked at, by a second look from close by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_most
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import Reach
from graspline.perception.solids import Solid
from graspline.scenes.fittings import Fitting
from graspline.spatial.rotations import multiply, quaternion_from_matrix, rotation_z
from graspline.tasks.tidy.sight import TableSeen

Array = NDArray[np.float64]
# Poses, each with the postures (n, 8) that reach it.
Todo = tuple[tuple[HandPose, Array], ...]

# Wheels slip no farther on a way than this; a thing of the same name and size farther away is another, or was moved.
_MOST_M, _MOST_RAD, _ALIKE_M = 0.06, 0.06, 0.012
# Two whose middles are nearer than this share of how far both reach out from theirs are one.
_OVERLAP = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slip:
    """What is believed of the table is off by a turn about a point in O, (2,), and a shift, (2,)."""

    about_m: Array
    shift_m: Array
    turn_rad: float

    @property
    def told(self) -> Evidence:
        return (
            at_most("slipped", float(np.linalg.norm(self.shift_m)), _MOST_M, "m"),
            at_most("turned", abs(self.turn_rad), _MOST_RAD, "rad"),
        )

    def point(self, point_m: Array) -> Array:
        """Where a point, (3,), really is."""
        turned = rotation_z(self.turn_rad)[:2, :2] @ (point_m[:2] - self.about_m)
        return np.array([*(self.about_m + self.shift_m + turned), point_m[2]])

    def solid(self, solid: Solid) -> Solid:
        rotation = multiply(rotation_z(self.turn_rad), solid.rotation)
        return replace(solid, position_m=self.point(solid.position_m), quaternion=quaternion_from_matrix(rotation))

    def fitting(self, fitting: Fitting) -> Fitting:
        x, y, z = self.point(np.array(fitting.position_m)).tolist()
        return replace(fitting, position_m=(x, y, z), yaw_rad=fitting.yaw_rad + self.turn_rad)

    def joints(self, row: Array) -> Array:
        """The same posture, (nu,), with the base where it was meant to be."""
        moved = row.copy()
        moved[:2], moved[2] = self.point(np.array([row[0], row[1], 0.0]))[:2], row[2] + self.turn_rad
        return moved

    def pose(self, pose: HandPose) -> HandPose:
        rotation = multiply(rotation_z(self.turn_rad), pose.rotation)
        return replace(pose, position_m=self.point(pose.position_m), rotation=rotation)

    def reach(self, reach: Reach) -> Reach:
        """The same plan from where it was meant to begin; its way there has been gone."""
        pose, at, before = self.pose(reach.pose), self.joints(reach.at), self.joints(reach.before)
        return replace(reach, pose=pose, at=at, before=before)

    def todo(self, todo: Todo) -> Todo:
        """Other poses with their postures."""
        return tuple(
            (self.pose(pose), np.array([self.joints(row) for row in postures]).reshape(postures.shape))
            for pose, postures in todo
        )


def slip_since(table: Fitting, target: Solid, now: TableSeen) -> Slip | None:
    """How far off the table and a thing on it are, seen from close by; none if the thing is not seen again."""
    found = nearest_alike(target, now.things)
    if found is None:
        return None
    turn = float((now.house.table.yaw_rad - table.yaw_rad + np.pi) % (2 * np.pi) - np.pi)
    return Slip(
        about_m=target.position_m[:2],
        shift_m=(found.position_m - target.position_m)[:2],
        turn_rad=turn if abs(turn) <= _MOST_RAD else 0.0,
    )


def slip_between(was: Fitting, now: Fitting) -> Slip:
    """By how much a piece of furniture that does not move was seen elsewhere."""
    return Slip(
        about_m=np.array(was.position_m[:2]),
        shift_m=np.array(now.position_m[:2]) - np.array(was.position_m[:2]),
        turn_rad=now.yaw_rad - was.yaw_rad,
    )


def unknown_before(things: Sequence[Solid], now: Sequence[Solid]) -> tuple[Solid, ...]:
    """Things that are seen now and were not: they stand in none of those that were."""

    def apart(one: Solid, other: Solid) -> float:
        reaches = sum(float(np.hypot(*each.half_extents_m[:2])) for each in (one, other))
        return float(np.linalg.norm((one.position_m - other.position_m)[:2])) - _OVERLAP * reaches

    return tuple(each for each in now if all(apart(each, other) > 0 for other in things))


def nearest_alike(target: Solid, things: Sequence[Solid]) -> Solid | None:
    """The nearest thing of the same name and size, if it is near enough to be the same."""
    alike = [
        each
        for each in things
        if each.name == target.name
        and each.shape == target.shape
        and float(np.abs(each.half_extents_m - target.half_extents_m).max()) <= _ALIKE_M
    ]

    def away(thing: Solid) -> float:
        return float(np.linalg.norm((thing.position_m - target.position_m)[:2]))

    found = min(alike, key=away, default=None)
    return found if found is not None and away(found) <= _MOST_M else None
