"""Ways to take a box from above with a two-finger hand: which faces, how deep, how wide the jaws open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import Evidence, at_most
from graspline.parameters import Parameters
from graspline.perception.estimates import Estimate
from graspline.robots.so101 import FIXED_FACE_M, TIP_M, clear_gap_m

Array = NDArray[np.float64]

_ANGLES_RAD = np.linspace(0.0, 1.5, 301)
_MAX_OBJECT_TILT_RAD = 0.2
_NAMES = ("along", "across", "along_turned", "across_turned")


class JawParameters(Parameters):
    """Where the jaws meet an object and how much room they leave it before closing."""

    tip_below_centre_m: float = Field(
        0.0063, ge=0, le=0.02, description="how far the fingertips reach below the object's centre"
    )
    deeper_m: float = Field(0.003, ge=0, le=0.02, description="how much further a deeper second try reaches")
    ground_clearance_m: float = Field(
        0.003, ge=0.001, le=0.02, description="how far the fingertips stay above the table"
    )
    fixed_clearance_m: float = Field(
        0.002, ge=0, le=0.01, description="gap between fixed jaw and object, besides the pose error"
    )
    moving_clearance_m: float = Field(
        0.010, ge=0.002, le=0.03, description="gap between moving jaw and object, besides the pose error"
    )
    error_sigmas: float = Field(
        2.0, ge=0, le=4, description="standard deviations of pose error that the open jaws leave room for"
    )
    standoff_m: float = Field(
        0.03, ge=0.01, le=0.1, description="height of the fingertips above the object before they come down"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp:
    """How the jaws take an object: which faces, the heading of the opening direction, and where it sits in the hand."""

    label: str
    # Quarter turns from the first pair of faces: 0 and 2 close on the same two, the jaws swapped.
    quarter: int
    yaw_rad: float
    # The object's centre in the gripper frame while the open jaws straddle it.
    tool_m: tuple[float, float, float]
    width_m: float
    open_rad: float
    # How far back along the approach axis the fingertips clear the object's top.
    standoff_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraspRejected:
    """Why a grasp does not work: the check it failed, at which stage, with the measurement beside the limit."""

    label: str
    stage: str
    check: str
    evidence: Evidence

    def __str__(self) -> str:
        measured = "; ".join(str(each) for each in self.evidence)
        return f"{self.label}: {self.check} at {self.stage}: {measured}"


def box_grasps(estimate: Estimate, parameters: JawParameters) -> list[Grasp] | GraspRejected:
    """Four headings, one per side face, then the same four deeper; or why the box offers none."""
    rotation = estimate.rotation
    up = int(np.argmax(np.abs(rotation[2])))
    tilt = float(np.arccos(np.clip(abs(rotation[2, up]), -1, 1)))
    if tilt > _MAX_OBJECT_TILT_RAD:
        evidence = (at_most("object_tilt", tilt, _MAX_OBJECT_TILT_RAD, "rad"),)
        return GraspRejected(label="any", stage="grasp", check="shape", evidence=evidence)
    height = float(estimate.half_extents_m[up])
    sides = [axis for axis in range(3) if axis != up]
    found: list[Grasp] = []
    refused: list[GraspRejected] = []
    for deep in (0.0, parameters.deeper_m):
        below = min(parameters.tip_below_centre_m + deep, height - parameters.ground_clearance_m)
        if deep and below <= parameters.tip_below_centre_m:
            continue
        for quarter in range(4):
            axis, other = sides[quarter % 2], sides[1 - quarter % 2]
            normal = rotation[:, axis] * (1 if quarter < 2 else -1)
            half = (float(estimate.half_extents_m[axis]), float(estimate.half_extents_m[other]))
            label = _NAMES[quarter] + ("_deeper" if deep else "")
            grasp = _grasp(label, quarter, normal, half, height, below, estimate, parameters)
            (found if isinstance(grasp, Grasp) else refused).append(grasp)  # type: ignore[arg-type]
    return found or refused[0]


def _grasp(
    label: str,
    quarter: int,
    normal: Array,
    half_m: tuple[float, float],
    height_m: float,
    below_m: float,
    estimate: Estimate,
    parameters: JawParameters,
) -> Grasp | GraspRejected:
    error_m = parameters.error_sigmas * estimate.position_sigma_m
    # A box turned by its heading error is wider between the jaws.
    half = half_m[0] + half_m[1] * float(np.sin(parameters.error_sigmas * estimate.yaw_sigma_rad))
    fixed = parameters.fixed_clearance_m + error_m
    gap = 2 * half + fixed + parameters.moving_clearance_m + error_m
    centre = TIP_M - below_m
    room = clear_gap_m(_ANGLES_RAD, centre - height_m)
    if room.max() < gap:
        evidence = (at_most("jaw_gap", gap, float(room.max()), "m"),)
        return GraspRejected(label=label, stage="open", check="jaw_width", evidence=evidence)
    return Grasp(
        label=label,
        quarter=quarter,
        yaw_rad=float(np.arctan2(normal[1], normal[0])),
        tool_m=(centre, 0.0, FIXED_FACE_M + fixed + half),
        width_m=2 * half_m[0],
        open_rad=float(_ANGLES_RAD[int(np.argmax(room >= gap))]),
        standoff_m=height_m + below_m + parameters.standoff_m,
    )


def in_order(grasps: list[Grasp], tried: tuple[str, ...]) -> list[Grasp]:
    """Untried grasps first; after a failed one its mirror image, then the other faces, then deeper."""
    if not tried:
        return grasps
    last = next((each.quarter for each in grasps if each.label == tried[-1]), 0)
    turn = {2: 0, 1: 1, 3: 2, 0: 3}
    return sorted(grasps, key=lambda each: (each.label in tried, turn[(each.quarter - last) % 4]))
