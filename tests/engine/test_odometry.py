"""From where a robot on wheels believes something to be, to where it is."""

from __future__ import annotations

import numpy as np

from graspline.engine.cpu import CpuEngine
from graspline.engine.odometry import base_m, in_world, turned_in_world
from graspline.robots.hsr import HSR
from graspline.scenes.cube_table import cube_table
from graspline.scenes.room import room, room_start
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import rotation_z

POINT_M = np.array([0.5, 0.0, 0.3])


def test_slipped_wheels_move_and_turn_what_the_robot_believes() -> None:
    scene = room(HSR)
    start = room_start(scene, [])
    for name, value in zip((*HSR.slip_joints, *HSR.base_joints), (0.1, 0.2, np.pi / 2, 0.4, 0.0, 0.0), strict=True):
        start[scene.joint_address(name)] = value
    engine = CpuEngine(scene, 1, 1)
    engine.reset(0, start, Variation())
    np.testing.assert_allclose(in_world(engine, 0, POINT_M), [0.1, 0.7, 0.3], atol=1e-12)
    np.testing.assert_allclose(base_m(engine, 0), [0.1, 0.6, 0.0], atol=1e-12)
    np.testing.assert_allclose(turned_in_world(engine, 0, np.eye(3)), rotation_z(np.pi / 2), atol=1e-12)


def test_a_robot_that_is_fixed_knows_where_it_is() -> None:
    engine = CpuEngine(cube_table(), 1, 1)
    assert in_world(engine, 0, POINT_M) is POINT_M
    np.testing.assert_array_equal(base_m(engine, 0), np.zeros(3))
