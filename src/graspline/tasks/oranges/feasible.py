"""What is wrong with a configuration, found before anything is sampled or moved, and reported all at once."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arms import arm_of
from graspline.kinematics.tilts import steepest_pitch
from graspline.parameters import Range
from graspline.placement.packing import capacity
from graspline.planning.collision import CLEARANCE_M
from graspline.robots.robot import Robot
from graspline.tasks.oranges.layout import SETTLING_M, fruit_ring_m, sighting_sigma_m
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import empty_plate
from graspline.tasks.oranges.targets import target_problems

Array = NDArray[np.float64]

_MAX_TILT_RAD = 1.5


def problems(settings: Oranges) -> list[str]:
    """One line for each thing that cannot work."""
    return [
        *target_problems(settings),
        *_home_problems(settings),
        *_regions(settings),
        *_clearances(settings),
        *_room(settings),
    ]


def _clearances(settings: Oranges) -> list[str]:
    """Open jaws must stand as far from the fruit as every plan keeps from everything."""
    jaw, least_m = settings.jaw, CLEARANCE_M + SETTLING_M
    if jaw.fixed_clearance_m + jaw.error_sigmas * sighting_sigma_m(settings) >= least_m:
        return []
    return [
        f"jaw.fixed_clearance_m: {jaw.fixed_clearance_m:g} m is less than the {1000 * least_m:g} mm clearance "
        "that plans keep"
    ]


def _regions(settings: Oranges) -> list[str]:
    found = []
    robot = settings.the_robot
    arm = arm_of(robot)
    nearest, farthest = fruit_ring_m(robot, settings.reach.max_tilt_rad)
    widest = float(np.abs([arm.limits.lower_rad[0], arm.limits.upper_rad[0]]).max())
    where = [("oranges", settings.oranges.radius_m, settings.oranges.azimuth_rad)]
    if settings.plate.present:
        where.append(("plate", settings.plate.radius_m, settings.plate.azimuth_rad))
    for name, radius, azimuth in where:
        if radius.high < nearest or radius.low > farthest:
            found.append(
                f"{name}.radius_m: {_as_text(radius)} m is outside the arm's reach, {nearest:.3f} to {farthest:.3f} m"
            )
        if azimuth.high < -widest or azimuth.low > widest:
            found.append(
                f"{name}.azimuth_rad: {_as_text(azimuth)} rad is outside the arm's range of headings, ±{widest:.2f}"
            )
    if not settings.plate.present:
        x, y = settings.plate.virtual_x_m - arm.axis_m[0], settings.plate.virtual_y_m - arm.axis_m[1]
        distance = float(np.hypot(x, y))
        if not nearest <= distance <= farthest or abs(np.arctan2(y, x)) > widest:
            at = f"({settings.plate.virtual_x_m:g}, {settings.plate.virtual_y_m:g})"
            found.append(
                f"plate.virtual_x_m, plate.virtual_y_m: {at} is outside the arm's reach, "
                f"{nearest:.3f} to {farthest:.3f} m from its pan axis"
            )
    return found


def _as_text(ends: Range) -> str:
    return f"[{ends.low:g}, {ends.high:g}]"


def _room(settings: Oranges) -> list[str]:
    """Even the smallest oranges must fit; whether the sampled ones do is checked when they are sampled."""
    smallest, count = settings.oranges.diameter_m.low / 2, settings.oranges.count
    holds = capacity(empty_plate(settings), [smallest] * count, settings.spots)
    if holds >= count:
        return []
    return [
        f"oranges.count: {count} oranges of {2000 * smallest:.0f} mm or more do not fit on a plate of "
        f"plate.outer_radius_m={settings.plate.outer_radius_m:g}; it holds {holds}"
    ]


def home_joints(settings: Oranges) -> Array:
    """Where the arm goes when it is done, by a configuration that has no problems."""
    home = settings.home
    found = _home(settings.the_robot, home.x_m, home.y_m, home.z_m)
    assert found is not None
    return found


def _home_problems(settings: Oranges) -> list[str]:
    home = settings.home
    given = [each is not None for each in (home.x_m, home.y_m, home.z_m)]
    if any(given) and not all(given):
        return ["home: give all of x_m, y_m and z_m, or none"]
    if _home(settings.the_robot, home.x_m, home.y_m, home.z_m) is None:
        return [f"home: the arm cannot reach ({home.x_m:g}, {home.y_m:g}, {home.z_m:g})"]
    return []


@functools.lru_cache(maxsize=16)
def _home(robot: Robot, x_m: float | None, y_m: float | None, z_m: float | None) -> Array | None:
    """Joints with the fingertips there, the hand as steep as it gets; the robot's own home if none is asked for."""
    if x_m is None or y_m is None or z_m is None:
        return robot.home
    arm, tip_m = arm_of(robot), np.array([robot.hand.tool_m[0], 0.0, 0.0])
    position = np.array([[x_m, y_m, z_m]])
    pitch, reached = steepest_pitch(arm, position, None, tip_m, _MAX_TILT_RAD, 0.02)
    if not reached[0]:
        return None
    joints, found = arm.solve(position, pitch, None, tip_m, 0.02).best()
    return np.append(joints[0], robot.home[-1]) if found[0] else None
