"""Rides: where they are, along with one from nearly on it, and paths bent to end on another."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.arm import straight_down
from graspline.kinematics.ur5e import forward
from graspline.motion.belt_rides import Ride, bent_to, ride_along
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.robots.ur5e import HOME, UR5E

ROBOT = UR5E


def ride(x: float = 0.5, y: float = 0.2, speed: float = 0.1, time_s: float = 1.0) -> Ride:
    return Ride(
        point_m=np.array([x, y, 0.1]),
        velocity_m_s=np.array([0.0, -speed, 0.0]),
        time_s=time_s,
        rotation=straight_down(-np.pi / 2),
        tool_m=np.zeros(3),
    )


def command_on(where: Ride, time_s: float) -> Command:
    rows = where.joints(ROBOT, time_s + ROBOT.dt_s * np.arange(-1.0, 2.0), HOME)
    assert rows is not None
    velocity = np.append((rows[2] - rows[0]) / (2 * ROBOT.dt_s), 0.0)
    return Command(position=np.append(rows[1], 0.4), velocity=velocity, acceleration=np.zeros(7))


def test_a_ride_is_where_its_speed_takes_it() -> None:
    np.testing.assert_allclose(ride().at(3.0), (0.5, 0.0, 0.1))
    np.testing.assert_allclose(ride().at(np.array([1.0, 2.0])), ((0.5, 0.2, 0.1), (0.5, 0.1, 0.1)))


def test_the_arm_rides_along_from_the_command_it_is_given() -> None:
    start = command_on(ride(), 1.0)
    off = Command(position=start.position + 0.002, velocity=start.velocity, acceleration=np.zeros(7))
    found = ride_along(ROBOT, off, 1.0, ride(), 60)
    assert found is not None
    positions, velocities = found
    np.testing.assert_array_equal(positions[0], off.position[:6])
    np.testing.assert_array_equal(velocities[0], off.velocity[:6])
    late = np.arange(12, 61)
    np.testing.assert_allclose(
        forward(positions[late])[0], ride().at(1.0 + ROBOT.dt_s * np.arange(12.0, 61.0)), atol=1e-9
    )


def test_a_ride_that_leads_out_of_reach_is_none() -> None:
    away = ride(x=0.9, speed=-0.4)
    assert ride_along(ROBOT, at_rest(HOME), 1.0, away, 240) is None


@pytest.mark.parametrize("by_m", [0.0, 0.003, 0.02])
def test_a_bent_path_begins_as_before_and_ends_on_the_new_ride(by_m: float) -> None:
    end = command_on(ride(), 1.0)
    straight = joint_move(ROBOT, at_rest(HOME), end.position, speed=0.3)
    path = Path(positions=straight.positions, velocities=straight.velocities, dt_s=straight.dt_s)
    bent = bent_to(ROBOT, path, ride(x=0.5 + by_m, speed=0.02), 1.0)
    assert bent is not None
    assert check_path(bent, ROBOT) is None
    np.testing.assert_array_equal(bent.positions[0], path.positions[0])
    np.testing.assert_array_equal(bent.velocities[0], path.velocities[0])
    np.testing.assert_allclose(forward(bent.end[:6])[0], (0.5 + by_m, 0.2, 0.1), atol=1e-9)


def test_a_bend_that_breaks_a_limit_is_none() -> None:
    end = command_on(ride(), 1.0)
    path = joint_move(ROBOT, at_rest(np.append(end.position[:6] + 0.001, 0.4)), end.position)
    assert bent_to(ROBOT, path, ride(y=-0.2), 1.0) is None
