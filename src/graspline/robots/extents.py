"""How far a robot's parts are from its joints, and what of it stands on a table; measured on its compiled model."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_POSTURES, _SEED = 48, 0
# Of a box of half extents 1, (8, 3).
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
# What stands on the table of a robot whose base has no shape.
_SMALL_M = 0.05


def levers_of(model: mujoco.MjModel, joints: tuple[str, ...]) -> Array:
    """(nu,): how far from each joint's axis anything that it moves can be; of what slides, a metre is a metre."""
    data, random = mujoco.MjData(model), np.random.default_rng(_SEED)
    ids = [model.joint(name).id for name in joints]
    low, high = model.jnt_range[ids].T
    moved = [_moved_by(model, int(model.jnt_bodyid[joint])) for joint in ids]
    levers = np.zeros(len(joints))
    for posture in random.uniform(low, high, (_POSTURES, len(joints))):
        data.qpos[model.jnt_qposadr[ids]] = posture
        mujoco.mj_kinematics(model, data)
        for index, joint in enumerate(ids):
            if not len(moved[index]):
                continue
            points = np.concatenate([corners_m(model, data, geom) for geom in moved[index]]) - data.xanchor[joint]
            beside = np.linalg.norm(np.cross(points, data.xaxis[joint]), axis=1)
            levers[index] = max(levers[index], float(beside.max()))
    return np.where(model.jnt_type[ids] == mujoco.mjtJoint.mjJNT_SLIDE, 1.0, np.maximum(levers, 1e-3))


def footprint_of(model: mujoco.MjModel) -> tuple[float, float, float]:
    """What stands on a table: from x, to x, half its width."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    still = [
        geom
        for geom in range(model.ngeom)
        if not model.body_weldid[model.geom_bodyid[geom]] and model.geom_bodyid[geom]
    ]
    if not still:
        return -_SMALL_M, _SMALL_M, _SMALL_M
    points = np.concatenate([corners_m(model, data, geom) for geom in still])
    return float(points[:, 0].min()), float(points[:, 0].max()), float(np.abs(points[:, 1]).max())


def _moved_by(model: mujoco.MjModel, body: int) -> list[int]:
    below = {body}
    for each in range(body + 1, model.nbody):
        if int(model.body_parentid[each]) in below:
            below.add(each)
    return [geom for geom in range(model.ngeom) if int(model.geom_bodyid[geom]) in below]


def corners_m(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> Array:
    """(8, 3): corners, in W, of the box around a geom in its own frame."""
    middle, half = np.split(model.geom_aabb[geom], 2)
    return data.geom_xpos[geom] + (middle + CORNERS * half) @ data.geom_xmat[geom].reshape(3, 3).T
