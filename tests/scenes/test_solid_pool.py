"""A robot among solids: nothing that only looks, and what is held where the tool is."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from graspline.robots.hsr import HSR
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E
from graspline.scenes.solid_pool import HELD, solid_pool


@pytest.mark.parametrize("robot", [HSR, UR5E, SO101], ids=lambda robot: robot.name)
def test_it_has_what_touches_and_slots(robot: Robot) -> None:
    model = solid_pool(robot, slots=3).model
    assert (model.geom_conaffinity != 0).all()
    touching = int((robot.model().geom_conaffinity != 0).sum())
    # And the floor, three slots and what is held.
    assert model.ngeom == touching + 5
    assert model.body_mocapid[model.body("solid_2").id] >= 0


def test_what_is_held_is_where_the_tool_is() -> None:
    model = solid_pool(HSR, slots=0).model
    data = mujoco.MjData(model)
    data.joint("wrist_flex").qpos[0] = -0.7
    data.joint("base_turn").qpos[0] = 0.4
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.body(HELD).xpos, data.site("tool").xpos, atol=1e-12)
    np.testing.assert_allclose(data.body(HELD).xmat, data.site("tool").xmat, atol=1e-12)
