"""Joints that follow another by an equality are where that puts them, in every collision world."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.arms import arm_of
from graspline.kinematics.followers import Followers
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E
from graspline.scenes.cube_table import cube_table


def test_an_arm_without_followers_is_written_as_it_is_commanded() -> None:
    rows = np.random.default_rng(0).normal(size=(3, len(SO101.joints)))
    assert Followers(SO101, SO101.model()).configurations(rows) is rows


@pytest.mark.parametrize("jaw_share", [0.0, 0.5, 1.0])
def test_both_fingers_of_a_parallel_hand_move_with_its_jaw_in_a_table_scene(jaw_share: float) -> None:
    world, row = CollisionWorld(cube_table(robot=UR5E)), UR5E.home.copy()
    low, high = UR5E.limits.lower[UR5E.jaw], UR5E.limits.upper[UR5E.jaw]
    row[UR5E.jaw] = low + jaw_share * (high - low)
    tool, rotation = arm_of(UR5E).forward(row[None, UR5E.arm], np.array(UR5E.hand.tool_m))
    pads = {each.name: (each.position_m - tool[0]) @ rotation[0] for each in world.own_solids(row)}
    left, right = (pads[name] for name in UR5E.pads)
    np.testing.assert_allclose(left * (1, 1, -1), right, atol=1e-3)
