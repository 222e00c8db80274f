"""Straight ways of the hand in the arm's plane, and ways out of a contact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.kinematics.arms import arm_of
from graspline.kinematics.so101 import forward
from graspline.motion.path import at_rest, check_path
from graspline.planning.collision import CollisionWorld
from graspline.planning.escapes import way_out
from graspline.planning.in_plane import SHORTEST_M, heading_of, straight_in_plane
from graspline.robots.so101 import FIXED_TIP_M, SO101
from graspline.robots.ur5e import UR5E
from graspline.scenes.cube_table import cube_table

_TIP_M = np.array(FIXED_TIP_M)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-0.08, 0.08), st.floats(-0.08, 0.12))
def test_the_fingertip_keeps_to_a_straight_line_as_far_as_it_gets(seed: int, outward_m: float, up_m: float) -> None:
    joints = np.random.default_rng(seed).uniform(SO101.limits.lower, SO101.limits.upper)
    path = straight_in_plane(SO101, at_rest(joints), outward_m, up_m, speed_m_s=0.2)
    if path is None:
        return
    assert check_path(path, SO101) is None
    assert np.array_equal(path.positions[0], joints)
    assert np.allclose(path.positions[:, [0, 4, 5]], joints[[0, 4, 5]], rtol=0, atol=1e-12)
    assert np.allclose(path.positions[:, 1:4].sum(axis=1), joints[1:4].sum(), rtol=0, atol=1e-9)
    points, _ = forward(path.positions[:, :5], _TIP_M)
    way = points[-1] - points[0]
    length = np.linalg.norm(way)
    assert SHORTEST_M - 1e-6 <= length <= np.hypot(outward_m, up_m) + 1e-6
    along = (points - points[0]) @ way / length
    assert np.abs(points - points[0] - along[:, None] * way / length).max() < 1e-6


def test_from_home_the_hand_rises_all_the_way() -> None:
    path = straight_in_plane(SO101, at_rest(SO101.home), 0.0, 0.03, speed_m_s=0.2)
    assert path is not None
    points, _ = forward(path.positions[[0, -1], :5], _TIP_M)
    assert np.allclose(points[1] - points[0], (0.0, 0.0, 0.03), atol=1e-6)


@pytest.mark.parametrize(("outward_m", "up_m"), [(0.03, 0.03), (-0.05, 0.02), (0.0, 0.06)])
def test_an_arm_of_six_joints_keeps_its_hand_as_it_is_turned(outward_m: float, up_m: float) -> None:
    down = UR5E.home if UR5E.down is None else UR5E.down
    path = straight_in_plane(UR5E, at_rest(down), outward_m, up_m, speed_m_s=0.1)
    assert path is not None
    points, rotations = arm_of(UR5E).forward(path.positions[:, UR5E.arm], np.array(UR5E.hand.tool_m))
    wanted = np.array([*(outward_m * heading_of(UR5E, down)), up_m])
    assert np.allclose(points[-1] - points[0], wanted, atol=1e-6)
    assert np.allclose(rotations, rotations[0], atol=1e-6)


def test_the_heading_is_that_of_the_first_axis() -> None:
    for pan in (-1.5, 0.0, 0.7):
        joints = SO101.home.copy()
        joints[0] = pan
        assert np.allclose(heading_of(SO101, joints), (np.cos(pan), -np.sin(pan)), atol=1e-6)


def test_a_way_of_nothing_is_none() -> None:
    assert straight_in_plane(SO101, at_rest(SO101.home), 0.0, 0.001, speed_m_s=0.2) is None


def test_an_arm_that_touches_itself_is_turned_out_of_that() -> None:
    world = CollisionWorld(cube_table())
    folded = np.array([-1.54, -0.01, 1.67, -1.53, 0.22, -0.17])
    assert world.first_collision(folded[None]) is not None
    path = way_out(SO101, world, at_rest(folded), ())
    assert path is not None
    assert check_path(path, SO101) is None
    assert world.first_collision(path.end[None]) is None
