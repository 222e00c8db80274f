"""Ways to an arm pose that touch nothing."""

from __future__ import annotations

import numpy as np

from graspline.motion.path import at_rest, check_path
from graspline.planning.collision import CollisionWorld
from graspline.planning.ways import free_way
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_table

WORLD = CollisionWorld(cube_table())


def test_a_straight_way_that_is_free_is_taken() -> None:
    start = SO101.home.copy()
    start[0] = 0.5
    way = free_way(SO101, WORLD, at_rest(start), SO101.home, ())
    assert way is not None
    assert np.allclose(way.positions[:, 1:], SO101.home[1:])


def test_close_to_the_base_the_wrist_turns_once_the_arm_is_stretched() -> None:
    """Otherwise the wrist camera would meet the upper arm."""
    folded = at_rest(np.array([-0.561, -0.829, 0.796, 1.604, 2.74, 0.409]))
    way = free_way(SO101, WORLD, folded, SO101.home, ())
    assert way is not None
    assert check_path(way, SO101) is None
    assert np.allclose(way.end[:5], SO101.home[:5])
    assert way.end[5] == folded.position[5]
    assert WORLD.first_collision(way.positions) is None
    stretched = np.argmax(np.abs(way.positions[:, 4] - folded.position[4]) > 1e-6)
    assert np.allclose(way.positions[stretched, :4], SO101.home[:4], atol=0.02)
