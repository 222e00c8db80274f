"""One cube on a table: what is in the scene, and that it stays where it was put."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

from graspline.robots.so101 import HOME, JOINTS
from graspline.scenes.cube_table import CUBE, cube_start, cube_table, cube_variation
from graspline.scenes.variation import apply_to_model
from graspline.spatial.rotations import yaw_of


def settled(edge_m: float, seconds: float, *, yaw_rad: float = 0.4) -> mujoco.MjData:
    scene = cube_table()
    model = copy.copy(scene.model)
    apply_to_model(model, cube_variation(edge_m=edge_m, mass_kg=0.03, pad_friction=1.0))
    data = mujoco.MjData(model)
    data.qpos[:] = cube_start(x_m=0.25, y_m=0.05, yaw_rad=yaw_rad, edge_m=edge_m)
    data.act[:] = data.ctrl[:] = HOME
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data


@pytest.mark.parametrize("edge_m", [0.02, 0.03, 0.04])
def test_the_cube_rests_on_the_table_at_half_its_edge_and_does_not_creep(edge_m: float) -> None:
    data = settled(edge_m, 2.0)
    x, y, z = data.body(CUBE).xpos
    assert z == pytest.approx(edge_m / 2, abs=5e-5)
    assert np.hypot(x - 0.25, y - 0.05) < 1e-4
    assert float(yaw_of(data.body(CUBE).xquat)) == pytest.approx(0.4, abs=1e-3)


def test_the_arm_stands_at_home_while_the_cube_settles() -> None:
    data = settled(0.03, 1.0)
    at = [cube_table().joint_address(name) for name in JOINTS]
    assert np.abs(data.qpos[at] - HOME).max() < 0.005


def test_the_scene_has_a_front_and_a_wrist_camera() -> None:
    assert cube_table().cameras == ("front", "wrist")


def test_the_scene_names_its_only_object_and_its_size_as_compiled() -> None:
    scene = cube_table()
    assert scene.object_names == (CUBE,)
    np.testing.assert_array_equal(scene.objects[0].half_extents_m, scene.model.geom(CUBE).size)


def test_the_front_camera_sees_everywhere_a_cube_may_lie() -> None:
    scene = cube_table()
    data = mujoco.MjData(scene.model)
    mujoco.mj_forward(scene.model, data)
    camera = data.camera("front")
    rotation = camera.xmat.reshape(3, 3)
    half_height = np.tan(np.radians(scene.model.camera("front").fovy[0]) / 2)
    for azimuth in np.linspace(-1.9, 1.9, 20):
        place = np.array([0.0388 + 0.4 * np.cos(azimuth), 0.4 * np.sin(azimuth), 0.015])
        right, up, back = (place - camera.xpos) @ rotation
        assert back < 0
        assert abs(up / back) < half_height
        # A picture is at least 4:3.
        assert abs(right / back) < half_height * 4 / 3


def test_a_start_turns_the_cube_about_the_vertical_only() -> None:
    qpos = cube_start(x_m=0.1, y_m=0.2, yaw_rad=-2.5, edge_m=0.03)
    at = cube_table().joint_address(CUBE)
    assert qpos[at + 2] == 0.015
    assert float(yaw_of(qpos[at + 3 : at + 7])) == pytest.approx(-2.5)
    assert qpos[at + 4] == qpos[at + 5] == 0.0
