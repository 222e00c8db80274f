"""What slipping wheels do to what is believed: everything is off by one turn and one shift."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_most
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import Reach
from graspline.perception.beliefs import Belief
from graspline.scenes.fittings import Fitting
from graspline.spatial.rotations import multiply, quaternion_from_matrix, rotation_z
from graspline.tasks.tidy.house import House

Array = NDArray[np.float64]
# Poses, each with the postures (n, 8) that reach it.
Todo = tuple[tuple[HandPose, Array], ...]

# Wheels slip no farther on a way than this.
MOST_M, MOST_RAD = 0.10, 0.06


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slip:
    """What is believed of the table is off by a turn about a point in O, (2,), and a shift, (2,)."""

    about_m: Array
    shift_m: Array
    turn_rad: float

    @property
    def told(self) -> Evidence:
        return (
            at_most("slipped", float(np.linalg.norm(self.shift_m)), MOST_M, "m"),
            at_most("turned", abs(self.turn_rad), MOST_RAD, "rad"),
        )

    def point(self, point_m: Array) -> Array:
        """Where a point, (3,), really is."""
        turned = rotation_z(self.turn_rad)[:2, :2] @ (point_m[:2] - self.about_m)
        return np.array([*(self.about_m + self.shift_m + turned), point_m[2]])

    def solid(self, solid: Belief) -> Belief:
        rotation = multiply(rotation_z(self.turn_rad), solid.rotation)
        return replace(solid, position_m=self.point(solid.position_m), quaternion=quaternion_from_matrix(rotation))

    def fitting(self, fitting: Fitting) -> Fitting:
        x, y, z = self.point(np.array(fitting.position_m)).tolist()
        return replace(fitting, position_m=(x, y, z), yaw_rad=fitting.yaw_rad + self.turn_rad)

    def house(self, house: House) -> House:
        return replace(house, table=self.fitting(house.table), shelf=self.fitting(house.shelf))

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


def slip_between(was: Fitting, now: Fitting) -> Slip:
    """By how much a piece of furniture that does not move was seen elsewhere."""
    return Slip(
        about_m=np.array(was.position_m[:2]),
        shift_m=np.array(now.position_m[:2]) - np.array(was.position_m[:2]),
        turn_rad=now.yaw_rad - was.yaw_rad,
    )
