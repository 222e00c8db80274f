"""Where things may lie when a scene is sampled: around the arm, apart from each other, blocks among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arms import arm_of
from graspline.parameters import Range
from graspline.perception.core.beliefs import Belief
from graspline.robots.catalogue import default_robot
from graspline.robots.robot import Robot
from graspline.scenes.distractors import DISTRACTOR_HALF_M
from graspline.scenes.meshes.resting import Rest
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.scene import Lying, ObjectShape
from graspline.spatial.rotations import matrix_from_quaternion, multiply, quaternion_from_matrix, rotation_z

Array = NDArray[np.float64]

# Places tried for one thing before there is taken to be none.
MAX_PLACES = 400
# Radii that are tried at once for the arm's reach.
_RADII_AT_ONCE = 100
# Distances from the pan axis at which blocks lie, for an arm of relative size 1.
_BLOCK_RADIUS_M = Range(0.15, 0.35)


def place_in_ring(
    radius_m: Range, azimuth_rad: Range, random: np.random.Generator, robot: Robot | None = None
) -> tuple[float, float]:
    """A place around the arm's first axis, spread evenly over the area."""
    x_m, y_m = arm_of(robot or default_robot()).axis_m
    radius = np.sqrt(random.uniform(radius_m.low**2, radius_m.high**2))
    azimuth = random.uniform(*azimuth_rad)
    return float(x_m + radius * np.cos(azimuth)), float(y_m + radius * np.sin(azimuth))


def lying_at(
    name: str, x_m: float, y_m: float, half_extents_m: Array, shape: ObjectShape, yaw_rad: float = 0.0
) -> Belief:
    """A thing that lies there upright, exactly known."""
    return Belief.exact(
        name,
        np.array([x_m, y_m, half_extents_m[2]]),
        np.array([np.cos(yaw_rad / 2), 0.0, 0.0, np.sin(yaw_rad / 2)]),
        np.asarray(half_extents_m, float),
        time_s=0.0,
        shape=shape,
    )


def resting_at(name: str, x_m: float, y_m: float, solid: Solid, rest: Rest, yaw_rad: float = 0.0) -> Belief:
    """A solid that rests there like this, exactly known."""
    rotation = multiply(rotation_z(yaw_rad), matrix_from_quaternion(rest.quaternion))
    return Belief.exact(
        name,
        np.array([x_m, y_m, rest.height_m]),
        quaternion_from_matrix(rotation),
        np.array(solid.half_extents_m),
        time_s=0.0,
        shape="mesh",
        solid=solid,
    )


def _around_m(thing: Belief) -> float:
    """How far a thing that lies reaches around, however it is turned."""
    if thing.solid is not None:
        return thing.spread_m
    return float(np.hypot(*thing.half_extents_m[:2])) if thing.shape == "box" else thing.radius_m


def lies_free(thing: Belief, others: Sequence[Belief], apart_m: float, robot: Robot | None = None) -> bool:
    """Whether a thing is beside the robot's base and so far apart from the others, however they are turned."""
    spread = _around_m(thing)
    x, y = thing.position_m[:2]
    low_x, high_x, half_y = (robot or default_robot()).footprint_m
    room = spread + 0.01
    if low_x - room < x < high_x + room and abs(y) < half_y + room:
        return False
    return all(
        np.hypot(*(thing.position_m[:2] - other.position_m[:2])) >= spread + _around_m(other) + apart_m
        for other in others
    )


def sample_block(
    name: str,
    azimuth_rad: Range,
    random: np.random.Generator,
    welcome: Callable[[Belief], bool],
    robot: Robot | None = None,
) -> Belief | None:
    """A block of any size it may have, somewhere in reach where it is welcome; None if such a place is not found."""
    size = (robot or default_robot()).relative_size
    radius_m = Range(_BLOCK_RADIUS_M.low * size, _BLOCK_RADIUS_M.high * size)
    for _ in range(MAX_PLACES):
        x, y = place_in_ring(radius_m, azimuth_rad, random, robot)
        half = random.uniform(*DISTRACTOR_HALF_M, 3)
        block = lying_at(name, x, y, half, "box", random.uniform(-np.pi, np.pi))
        if welcome(block):
            return block
    return None


def as_lying(thing: Belief, mass_kg: float) -> Lying:
    """The same thing for a start state."""
    (x, y, z), half_m = thing.position_m.tolist(), thing.half_extents_m.tolist()
    w, i, j, k = thing.quaternion.tolist()
    lying = Lying(x_m=x, y_m=y, half_extents_m=(half_m[0], half_m[1], half_m[2]), mass_kg=mass_kg)
    if thing.solid is not None:
        return replace(lying, z_m=z, quaternion=(w, i, j, k))
    return replace(lying, yaw_rad=2 * float(np.arctan2(k, w)))


def reached_ring_m(
    robot: Robot, pitches_rad: Array, yaw_rad: float | None, tool_m: Array, height_m: float, step_m: float
) -> tuple[float, float] | None:
    """Nearest and farthest distance from the first axis at which the arm brings a point of its hand to this height.

    At any of these pitches, joints within limits, nothing else asked; None where it nowhere does.
    """
    arm = arm_of(robot)
    radii, (axis_x_m, axis_y_m) = np.arange(0.0, max(0.5, robot.reach_m), step_m), arm.axis_m
    reached = []
    # All at once, the branches of a large arm would fill the memory.
    for some in np.array_split(radii, max(1, len(radii) // _RADII_AT_ONCE)):
        radius, pitch = (grid.ravel() for grid in np.meshgrid(some, pitches_rad, indexing="ij"))
        position = np.stack([axis_x_m + radius, axis_y_m + 0 * radius, np.full_like(radius, height_m)], axis=-1)
        yaw = None if yaw_rad is None else np.full(len(pitch), yaw_rad)
        reached.append(arm.solve(position, pitch, yaw, tool_m, backwards=False).reached.any(axis=1))
    hit = radii[np.concatenate(reached).reshape(len(radii), len(pitches_rad)).any(axis=1)]
    return (float(hit.min()), float(hit.max())) if len(hit) else None
