"""Poses of everything, from rows: the tree that a scene's model has, and where its parts really were."""

from __future__ import annotations

import copy
from pathlib import Path

import mujoco
import numpy as np
import pytest

from graspline.datasets.export.transforms import Posed, Transform, coordinates_in, optical_frame
from graspline.datasets.format.frames import OURS
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.engine.cpu import CpuEngine
from graspline.episodes.log import replay_logs
from graspline.episodes.units import Convention, units_of
from graspline.scenes.variation import Edit, Variation, apply_to_model
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

SCENE = LIFT_CUBE.scene(LiftCube())
MOVED = Variation(
    edits=(
        Edit(field="cam_pos", element="wrist", values=(0.03, 0.05, -0.02)),
        Edit(field="cam_fovy", element="wrist", values=(50.0,)),
    )
)


def test_frames_are_a_tree_that_grows_from_the_world() -> None:
    posed = Posed(SCENE, Variation())
    moving, still = posed.moving(SCENE.model.qpos0), posed.still
    parents = {each.child: each.parent for each in (*still, *moving)}
    assert len(parents) == len(still) + len(moving)
    assert set(parents.values()) <= {"world", *parents}
    assert parents["base"] == parents["cube"] == parents["front_camera_optical_frame"] == "world"
    assert parents["tool"] == parents["wrist_camera_optical_frame"] == "gripper"
    assert [each.child for each in moving] == [
        "shoulder",
        "upper_arm",
        "lower_arm",
        "wrist",
        "gripper",
        "moving_jaw",
        "cube",
    ]


@pytest.mark.parametrize("variation", [Variation(), MOVED])
def test_the_tree_leads_to_where_mujoco_has_everything(variation: Variation) -> None:
    model = copy.copy(SCENE.model)
    apply_to_model(model, variation)
    data = mujoco.MjData(model)
    rng, posed = np.random.default_rng(0), Posed(SCENE, variation)
    for _ in range(20):
        qpos = np.concatenate([rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 7)])
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        found = _in_world([*posed.still, *posed.moving(qpos)])
        for index in range(1, model.nbody):
            position, rotation = found[model.body(index).name]
            assert np.allclose(position, data.xpos[index], atol=1e-12)
            assert np.allclose(rotation, data.xmat[index].reshape(3, 3), atol=1e-12)
        assert np.allclose(found["tool"][0], data.site("tool").xpos, atol=1e-12)
        for camera in SCENE.cameras:
            position, rotation = found[optical_frame(camera)]
            R_WC = data.camera(camera).xmat.reshape(3, 3)
            assert np.allclose(position, data.camera(camera).xpos, atol=1e-12)
            # To the right, down, and away from the camera.
            assert np.allclose(rotation, R_WC * [1, -1, -1], atol=1e-12)


def test_the_field_of_view_is_the_episodes_own() -> None:
    assert np.isclose(Posed(SCENE, Variation()).fovy_rad("wrist"), np.radians(62))
    assert np.isclose(Posed(SCENE, MOVED).fovy_rad("wrist"), np.radians(50))


def test_what_hangs_on_a_joint_that_rows_do_not_hold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SCENE), "object_names", ())
    posed = Posed(SCENE, Variation())
    names = {each.child for each in (*posed.still, *posed.moving(SCENE.model.qpos0))}
    assert "cube" not in names
    assert "moving_jaw" in names


@pytest.mark.parametrize("units", ["degrees", "normalized"])
def test_rows_in_any_units_give_the_coordinates_that_a_replay_passes(
    made: Path, units: Convention, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset.open(made)
    row = dataset.rows[1]
    table, log = dataset.frames(row), dataset.log(row).log
    (replayed,) = replay_logs(CpuEngine(dataset.scene, 1, 1), [log])
    expected = replayed.states[:: SCENE.robot.control_hz // dataset.settings.fps][: len(table)]
    if units == "normalized":
        joints = numbers_in(table, "observation.state")
        robot = SCENE.robot
        rows = units_of(robot, units).outward(units_of(robot, "degrees").inward(joints.astype(float)))
        held = {"observation.state": rows, f"{OURS}object_poses": numbers_in(table, f"{OURS}object_poses")}
        monkeypatch.setattr("graspline.datasets.export.transforms.numbers_in", lambda _, name: held[name])
    assert np.allclose(coordinates_in(table, SCENE, units_of(SCENE.robot, units)), expected, atol=2e-7)


def _in_world(transforms: list[Transform]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """p_WC and R_WC of every frame."""
    found, waiting = {"world": (np.zeros(3), np.eye(3))}, list(transforms)
    while waiting:
        each = next(each for each in waiting if each.parent in found)
        waiting.remove(each)
        position, rotation = found[each.parent]
        turned = matrix_from_quaternion(each.quaternion)
        found[each.child] = position + rotation @ each.position_m, rotation @ turned
    return found
