"""What is in the hand, or will be once it has closed, as everything that carries it sees it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, failures
from graspline.grasping.candidates import Grasp
from graspline.kinematics.questions import Stances
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.query import CarryQuery
from graspline.planning.batched_planning import Planning, together
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]

# How an object that stands is turned in the gripper frame of a hand that points straight down.
_UPRIGHT = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def held_ball(
    name: str, centre_m: Array | tuple[float, float, float], radius_m: float, *, jaw_rad: float, branch: int
) -> HeldObject:
    """A ball in the hand, its centre in the gripper frame."""
    return HeldObject(
        name=name,
        shape="ball",
        half_extents_m=np.full(3, radius_m),
        X_HO=Pose(position_m=np.array(centre_m), rotation=np.eye(3)),
        jaw_rad=jaw_rad,
        branch=branch,
    )


def held_after(
    robot: Robot,
    estimate: Belief,
    grasp: Grasp,
    branch: int,
    along_m: float | None = None,
    beside_m: Array | None = None,
) -> HeldObject:
    """An upright object as it will be in the hand once that has closed: against the fixed finger, or in the middle.

    It is carried as the cylinder around it, held `along_m` from the gripper frame's origin; by default where the grasp
    meets it. The middle of a mesh is `beside_m`, (2,) in W, from the point half way between the sides that the hand
    closes on, and between its foot and top.
    """
    half_height_m = estimate.half_height_m
    along = grasp.tool_m[0] if along_m is None else along_m
    lateral, across = 0.0, robot.hand.across_m(0.0, grasp.width_m / 2)
    if estimate.rest is not None and beside_m is not None:
        half_height_m = (estimate.rest.height_m + estimate.rest.rise_m) / 2
        along += estimate.rest.height_m - half_height_m
        # The hand points straight down, so its y axis is to the left of where the jaws open to.
        cosine, sine = np.cos(grasp.yaw_rad), np.sin(grasp.yaw_rad)
        lateral = float(beside_m @ (-sine, cosine))
        across += float(beside_m @ (cosine, sine))
    return HeldObject(
        name=estimate.name,
        shape="cylinder",
        half_extents_m=np.array([estimate.spread_m, estimate.spread_m, half_height_m]),
        X_HO=Pose(position_m=np.array([along, lateral, across]), rotation=_UPRIGHT),
        jaw_rad=grasp.touch_rad,
        open_rad=grasp.open_rad,
        branch=branch,
    )


@together
def held_clearance(query: CarryQuery, samples: Array, others: tuple[Belief, ...]) -> Planning[Evidence]:
    """What the object in the hand comes too close to along these joint positions (T, nu); empty if nothing.

    A ball is taken as it is, what is upright as a cylinder around it.
    """
    centre: Array = yield Stances(arm=query.arm, joints_rad=samples, tool_m=query.held.centre_m)
    held, clearance_m = query.held, query.settings.clearance_m
    found = []
    for other in others:
        apart, beside = other.distance_m(centre), np.ones(len(centre), bool)
        if not held.round:
            # Of two things that stand, only the part of the way counts on which they are at the same height.
            top_m = float(other.position_m[2] + other.half_extents_m[2]) if other.solid is None else other.top_m
            beside = centre[:, 2] - held.half_height_m < top_m + clearance_m
            apart = other.distance_m(np.column_stack([centre[:, :2], np.full(len(centre), other.position_m[2])]))
        if apart is None or not beside.any():
            continue
        gap_m = float(apart[beside].min()) - held.spread_m
        found.append(at_least(f"held_to_{other.name}", gap_m, clearance_m, "m"))
    return failures(tuple(found))
