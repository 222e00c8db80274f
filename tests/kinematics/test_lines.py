"""What every arm answers, by its closed form or by numbers: lines followed in one branch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.kinematics.arm import Arm, straight_down
from graspline.kinematics.lines import follow_solutions
from graspline.kinematics.numeric import NumericArm
from graspline.kinematics.so101 import ARM as SO101_ARM
from graspline.kinematics.ur5e import ARM as UR5E_ARM
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E
from graspline.spatial.rotations import multiply


@pytest.fixture(scope="module", params=["so101", "ur5e", "so101 by numbers"])
def arm_and_robot(request: pytest.FixtureRequest) -> tuple[Arm, Robot]:
    return {
        "so101": (SO101_ARM, SO101),
        "ur5e": (UR5E_ARM, UR5E),
        "so101 by numbers": (NumericArm(SO101), SO101),
    }[request.param]


def test_a_line_from_above_is_followed_in_one_branch(arm_and_robot: tuple[Arm, Robot]) -> None:
    arm, robot = arm_and_robot
    tool, far = np.array(robot.hand.tool_m), 0.2 if robot is SO101 else 0.5
    points, rotation = np.linspace((far, -0.05, 0.02), (far, 0.05, 0.08), 40), straight_down(-np.pi / 2)
    rows = arm.follow(points, rotation, robot.home, tool)
    assert rows is not None
    there, turned = arm.forward(rows, tool)
    np.testing.assert_allclose(there, points, atol=1e-6)
    np.testing.assert_allclose(turned, np.broadcast_to(rotation, turned.shape), atol=1e-5)
    assert np.abs(np.diff(rows, axis=0)).max() < 0.1
    assert arm.follow(10 * points, rotation, robot.home, tool) is None


def test_a_rotation_that_five_joints_do_not_have_is_not_followed() -> None:
    tool, near = np.array(SO101.hand.tool_m), SO101.home
    leaning = multiply(
        straight_down(0.4), np.array([[1, 0, 0], [0, np.cos(0.3), -np.sin(0.3)], [0, np.sin(0.3), np.cos(0.3)]])
    )
    leaning = multiply(np.array([[np.cos(0.3), 0, np.sin(0.3)], [0, 1, 0], [-np.sin(0.3), 0, np.cos(0.3)]]), leaning)
    assert SO101_ARM.follow(np.array([[0.15, 0.12, 0.05]]), leaning, near, tool) is None


def test_by_its_solutions_an_arm_follows_as_by_its_closed_form() -> None:
    points, rotation = np.linspace((0.5, -0.2, 0.05), (0.55, 0.2, 0.15), 50), straight_down(-1.2)
    closed = UR5E_ARM.follow(points, rotation, UR5E.home, np.zeros(3))
    solved = follow_solutions(UR5E_ARM, points, rotation, UR5E.home, np.zeros(3), UR5E.home)
    assert closed is not None
    assert solved is not None
    np.testing.assert_allclose(solved, closed, atol=1e-9)


@settings(deadline=None)
@given(st.floats(-10, 10))
def test_straight_down_points_down_and_opens_along_its_heading(yaw: float) -> None:
    rotation = straight_down(yaw)
    np.testing.assert_allclose(multiply(rotation, rotation.T), np.eye(3), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1)
    np.testing.assert_array_equal(rotation[:, 0], [0, 0, -1])
    np.testing.assert_allclose(rotation[:, 2], [np.cos(yaw), np.sin(yaw), 0])
