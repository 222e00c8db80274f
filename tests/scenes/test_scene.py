"""Scenes: compiled once, started from named poses, with the physics every scene shares."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from graspline.robots.robot import VISUAL_CONTYPE
from graspline.robots.so101 import HOME, SO101
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.scenes.scene import PHYSICS_HZ, add_truth_sensors, new_spec

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def test_a_start_puts_the_robot_at_home_and_objects_where_asked() -> None:
    scene = cube_table()
    qpos = scene.start({CUBE: (np.array([0.2, -0.1, 0.02]), UPRIGHT)})
    assert qpos.shape == (scene.model.nq,)
    for joint, angle in zip(SO101.joints, HOME, strict=True):
        assert qpos[scene.joint_address(joint)] == angle
    at = scene.joint_address(CUBE)
    np.testing.assert_array_equal(qpos[at : at + 7], (0.2, -0.1, 0.02, 1, 0, 0, 0))


def test_a_start_without_an_object_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=CUBE):
        cube_table().start({})


def test_a_start_leaves_the_models_own_start_alone() -> None:
    before = cube_table().model.qpos0.copy()
    cube_table().start({CUBE: (np.array([0.2, -0.1, 0.02]), UPRIGHT)})
    np.testing.assert_array_equal(cube_table().model.qpos0, before)


def test_a_control_tick_is_a_whole_number_of_physics_steps() -> None:
    assert SO101.control_hz * SO101.substeps == PHYSICS_HZ
    assert cube_table().model.opt.timestep * SO101.substeps == pytest.approx(SO101.dt_s)


def test_joint_ranges_of_a_new_world_are_radians() -> None:
    spec = new_spec()
    body = spec.worldbody.add_body(name="arm")
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.01, 0.01, 0.01))
    body.add_joint(name="arm", range=(-1.0, 1.0), limited=mujoco.mjtLimited.mjLIMITED_TRUE)
    np.testing.assert_array_equal(spec.compile().joint("arm").range, (-1.0, 1.0))


def test_a_diverging_world_is_not_reset_behind_our_back() -> None:
    assert cube_table().model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)


def test_truth_sensors_say_pose_and_velocity_of_each_object() -> None:
    spec = new_spec()
    for name in ("one", "two"):
        body = spec.worldbody.add_body(name=name, pos=(1.0, 2.0, 3.0))
        body.add_freejoint(name=name)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.01, 0.01, 0.01))
    add_truth_sensors(spec, ("one", "two"))
    model = spec.compile()
    assert [model.sensor(i).name for i in range(model.nsensor)] == [
        f"truth/{name}.{what}" for name in ("one", "two") for what in ("position", "quaternion", "velocity")
    ]
    data = mujoco.MjData(model)
    data.joint("two").qvel[:3] = (0.1, 0.2, 0.3)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.sensor("truth/two.position").data, (1, 2, 3))
    np.testing.assert_allclose(data.sensor("truth/two.velocity").data, (0.1, 0.2, 0.3))


def test_readings_come_before_truth_so_that_one_cut_parts_them() -> None:
    model = cube_table().model
    kinds = [model.sensor(i).name.split("/")[0] for i in range(model.nsensor)]
    assert kinds == sorted(kinds)


def test_every_visible_geom_can_be_hit_by_a_ray() -> None:
    """Rays skip geoms without a contact bit that share a body with a colliding one."""
    model = cube_table().model
    for index in range(model.ngeom):
        geom = model.geom(index)
        if geom.group[0] < 3:
            assert geom.contype[0], f"{geom.name} has no contact bit"
        if geom.group[0] == 2:
            assert geom.contype[0] == VISUAL_CONTYPE, f"{geom.name} is only to be looked at"
            assert geom.conaffinity[0] == 0


def test_nothing_answers_to_the_bit_that_rays_need() -> None:
    assert not (cube_table().model.geom_conaffinity & VISUAL_CONTYPE).any()
