"""Where a two-finger hand takes a solid: by the grasps that are known of it, or by those of its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.scenes.annotated_grasps import AnnotatedGrasp, grasps_of_ball, grasps_of_box, grasps_of_cylinder
from graspline.spatial.rotations import multiply, rotate

Array = NDArray[np.float64]

# Round things are approached from all sides, so far apart.
_STEP_RAD = np.pi / 8
# From this lean on a hand comes from the top.
TOP_RAD = float(np.radians(70.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandPose:
    """One grasp: where the middle between the pads is when they hold, in O, and how wide the thing is there."""

    position_m: Array
    # The tool's axes as columns: x approaches, z opens.
    rotation: Array
    width_m: float
    label: str

    @property
    def pitch_rad(self) -> float:
        """How far the approach points down."""
        return float(np.arcsin(np.clip(-self.rotation[2, 0], -1.0, 1.0)))

    @property
    def top(self) -> bool:
        """Whether the hand comes from above."""
        return self.pitch_rad >= TOP_RAD

    def after(self, slip: Slip) -> HandPose:
        """The same grasp where its thing really is."""
        return replace(self, position_m=slip.point(self.position_m), rotation=slip.rotation(self.rotation))


def hand_poses(solid: Belief, known: Sequence[AnnotatedGrasp]) -> tuple[HandPose, ...]:
    """Every way to take a solid; without known ones those of its shape. Fingers may be either way round."""
    found = list[HandPose]()
    for grasp in known or grasps_of_shape(solid):
        for each in grasp.spread(_STEP_RAD):
            position = solid.position_m + rotate(solid.rotation, np.array(each.point_m))
            rotation = multiply(solid.rotation, each.rotation)
            for flipped in (False, True):
                # Half a turn about the approach.
                turned = rotation * np.array([1.0, -1.0, -1.0]) if flipped else rotation
                found.append(
                    HandPose(position_m=position, rotation=turned, width_m=each.width_m, label=_label(turned, flipped))
                )
    return tuple(found)


def grasps_of_shape(solid: Belief) -> tuple[AnnotatedGrasp, ...]:
    """Grasps in the solid's own frame, for one of an unknown kind."""
    x, y, z = (float(half) for half in solid.half_extents_m)
    match solid.shape:
        case "box":
            return grasps_of_box((x, y, z))
        case "cylinder":
            return grasps_of_cylinder(x, -z, z, -z)
        case "ball":
            return grasps_of_ball(x)
        case "plate" | "mesh":
            return ()


def _label(rotation: Array, flipped: bool) -> str:
    heading = round(float(np.degrees(np.arctan2(rotation[1, 0], rotation[0, 0]))))
    down = round(float(np.degrees(np.arcsin(np.clip(-rotation[2, 0], -1, 1)))))
    return f"heading {heading}° down {down}°{' flipped' if flipped else ''}"
