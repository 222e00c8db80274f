"""Where a robot's tool is, and how it moves with each joint: kinematics of any scene's robot on data of its own."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.scenes.scene import Scene

Array = NDArray[np.float64]

# Damps joint offsets near singular postures: a joint that moves the tool by less than this per radian is spared.
_DAMPING_M = 0.03


class ToolKinematics:
    """Forward kinematics of the tool site."""

    def __init__(self, scene: Scene) -> None:
        self._model, self._data = scene.model, mujoco.MjData(scene.model)
        self._site = scene.model.site("tool").id
        joints = scene.robot.joints
        self._at = [scene.joint_address(name) for name in joints]
        self._columns = [int(scene.model.joint(name).dofadr[0]) for name in joints]

    def poses(self, joints: Array) -> tuple[Array, Array]:
        """Position (n, 3) and rotation (n, 3, 3) of the tool for joint positions (n, nu)."""
        positions, rotations = np.empty((len(joints), 3)), np.empty((len(joints), 3, 3))
        for row, each in enumerate(joints):
            self._move(each)
            positions[row] = self._data.site_xpos[self._site]
            rotations[row] = self._data.site_xmat[self._site].reshape(3, 3)
        return positions, rotations

    def joint_offset(self, joints: Array, way_m: Array, moved: slice) -> Array:
        """By how much to move these joints, (nu,), so that the tool moves by about `way_m` (3,) from `joints` (nu,)."""
        self._move(joints)
        mujoco.mj_comPos(self._model, self._data)
        jacobian = np.zeros((3, self._model.nv))
        mujoco.mj_jacSite(self._model, self._data, jacobian, None, self._site)
        part = jacobian[:, self._columns[moved]]
        offset = np.zeros(len(joints))
        offset[moved] = part.T @ np.linalg.solve(part @ part.T + _DAMPING_M**2 * np.eye(3), way_m)
        return offset

    def _move(self, joints: Array) -> None:
        self._data.qpos[self._at] = joints
        mujoco.mj_kinematics(self._model, self._data)
