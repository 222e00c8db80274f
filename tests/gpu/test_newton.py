"""Our solver of constraints finds what MuJoCo and MuJoCo Warp find."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import pytest
import warp

from graspline.gpu.newton import Newton, newton_for
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_table

LANES = 24


def _model(cone: mujoco.mjtCone = mujoco.mjtCone.mjCONE_ELLIPTIC) -> Any:
    model = copy.copy(cube_table().model)
    model.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
    model.opt.cone = cone
    return model


def _states(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cubes that lie, tilt, slide, spin and sink in; joints that move, some of them beyond their range."""
    rng = np.random.default_rng(0)
    qpos, qvel = np.zeros((LANES, model.nq)), np.zeros((LANES, model.nv))
    for lane in range(LANES):
        qpos[lane, :6] = SO101.home + rng.uniform(-0.1, 0.1, 6)
        qpos[lane, rng.integers(6)] += rng.choice([-3.5, 3.5]) * (lane % 3 == 0)
        turned = np.array([1.0, *rng.normal(0.0, 0.02, 3)])
        qpos[lane, 6:] = *rng.uniform(0.15, 0.25, 2), rng.uniform(0.013, 0.0152), *(turned / np.linalg.norm(turned))
        qvel[lane] = rng.normal(0.0, 0.5, model.nv) * (lane % 4 > 0)
    return qpos, qvel


@pytest.fixture(scope="module")
def device() -> tuple[Any, Any, Newton]:
    """A model and data on Warp's CPU device, in these states, and a solver for them."""
    warp.init()
    host = _model()
    with warp.ScopedDevice("cpu"):
        model = mujoco_warp.put_model(host)
        data = mujoco_warp.make_data(host, nworld=LANES, nconmax=32, njmax=150)
        qpos, qvel = _states(host)
        warp.copy(data.qpos, warp.array(qpos.astype(np.float32), dtype=float))
        warp.copy(data.qvel, warp.array(qvel.astype(np.float32), dtype=float))
        newton = newton_for(model, data)
    assert newton is not None
    return model, data, newton


@pytest.mark.slow
def test_accelerations_are_those_of_mujoco(device: tuple[Any, Any, Newton]) -> None:
    model, data, newton = device
    with warp.ScopedDevice("cpu"), newton.in_place():
        mujoco_warp.forward(model, data)
    found, forces = data.qacc.numpy(), data.qfrc_constraint.numpy()
    iterations = data.solver_niter.numpy()
    assert iterations.min() >= 1
    assert iterations.max() > 3
    host = _model()
    for lane, (qpos, qvel) in enumerate(zip(*_states(host), strict=True)):
        there = mujoco.MjData(host)
        there.qpos, there.qvel = qpos, qvel
        mujoco.mj_forward(host, there)
        np.testing.assert_allclose(
            found[lane], there.qacc, rtol=0.02, atol=0.01 * np.abs(there.qacc).max(), err_msg=f"lane {lane}"
        )
        most = np.abs(there.qfrc_constraint).max()
        np.testing.assert_allclose(
            forces[lane, : host.nv], there.qfrc_constraint, atol=0.01 * most, err_msg=f"lane {lane}"
        )


@pytest.mark.slow
def test_forces_of_single_rows_are_those_of_mujoco_warp(device: tuple[Any, Any, Newton]) -> None:
    model, data, newton = device
    with warp.ScopedDevice("cpu"):
        mujoco_warp.forward(model, data)
        theirs, product = data.efc.force.numpy().copy(), data.efc.Ma.numpy().copy()
        with newton.in_place():
            mujoco_warp.forward(model, data)
    ours = data.efc.force.numpy()
    for lane, rows in enumerate(data.nefc.numpy()):
        most = np.abs(theirs[lane, :rows]).max()
        np.testing.assert_allclose(ours[lane, :rows], theirs[lane, :rows], atol=0.02 * most, err_msg=f"lane {lane}")
    np.testing.assert_allclose(data.efc.Ma.numpy(), product, atol=0.01 * np.abs(product).max())


@pytest.mark.slow
def test_lanes_with_more_rows_than_fit_are_solved_elsewhere(device: tuple[Any, Any, Newton]) -> None:
    model, data, newton = device
    with warp.ScopedDevice("cpu"):
        with newton.in_place():
            mujoco_warp.forward(model, data)
        usual, rows = data.qacc.numpy().copy(), data.nefc.numpy()
        few = int(np.median(rows))
        assert rows.min() <= few < rows.max()
        with Newton(model, data, few).in_place():
            mujoco_warp.forward(model, data)
    np.testing.assert_array_equal(data.qacc.numpy(), usual)


def test_what_it_does_not_know_is_left_to_mujoco_warp() -> None:
    warp.init()
    with warp.ScopedDevice("cpu"):
        pyramids = _model(mujoco.mjtCone.mjCONE_PYRAMIDAL)
        data = mujoco_warp.make_data(pyramids, nworld=1, nconmax=8, njmax=64)
        assert newton_for(mujoco_warp.put_model(pyramids), data) is None
