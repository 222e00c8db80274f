"""Joint rates that move a tool at given rates, by the Jacobian of the compiled model: for any robot, at one posture."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.scenes.scene import Scene
from graspline.spatial.rotations import rotation_vector

Array = NDArray[np.float64]

# Joints that do not move the tool in some direction would have to turn infinitely fast; this keeps rates finite.
_LEAST = 1e-9
# Damps steps near singular postures: a joint that moves the tool by less than this per radian is spared.
_DAMPING_M = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMotion:
    """Where the tool is at one posture, and how the arm's n joints move it."""

    position_m: Array  # (3,) in W
    rotation: Array  # (3, 3), R_WT: x approaches, z opens
    linear: Array  # (3, n), in W
    angular: Array  # (3, n), in W
    # Level, across the direction from the arm's first axis to the tool: a tool that turns about it points lower.
    across: Array  # (3,)

    def joint_rates(self, linear: Array, angular: Array) -> Array:
        """Rates of the arm's joints, (n,), for a velocity of the tool's point and its rotation, (3,) each in W.

        The point's velocity is met exactly. The rotation is met as nearly as the joints can: an arm of five turns with
        the plane that it works in.
        """
        inverse = _inverse(self.linear, 3)
        rates = inverse @ linear
        # What turns the tool and leaves its point where it is: as many directions as there are joints left for it.
        turning = self.angular - self.angular @ inverse @ self.linear
        left = min(3, len(rates) - 3)
        return rates + _inverse(turning, left) @ (angular - self.angular @ rates) if left > 0 else rates

    def step_towards(
        self,
        position_m: Array,
        rotation: Array,
        *,
        gain: float = 1.0,
        orientation_weight_m: float = 0.1,
        locked: tuple[int, ...] = (),
    ) -> Array:
        """Offsets of the arm's joints, (n,), by which the tool comes nearer to a pose: one damped step.

        The step aims at this share (`gain`) of the way. A radian of turn counts as much as `orientation_weight_m` of
        way; at zero the tool may turn in any way. Locked joints stay.
        """
        turn = gain * rotation_vector(rotation @ self.rotation.T)
        return self.damped_step(gain * (position_m - self.position_m), turn, orientation_weight_m, locked)

    def damped_step(
        self,
        way_m: Array,
        turn_rad: Array | None = None,
        orientation_weight_m: float = 0.0,
        locked: tuple[int, ...] = (),
    ) -> Array:
        """Offsets of the arm's joints, (n,), that move the tool by about so much and turn it by about that vector."""
        free = [joint for joint in range(self.linear.shape[1]) if joint not in locked]
        slopes, wanted = self.linear[:, free], way_m
        if turn_rad is not None and orientation_weight_m:
            slopes = np.concatenate([slopes, orientation_weight_m * self.angular[:, free]])
            wanted = np.concatenate([wanted, orientation_weight_m * turn_rad])
        offsets = np.zeros(self.linear.shape[1])
        offsets[free] = slopes.T @ np.linalg.solve(slopes @ slopes.T + _DAMPING_M**2 * np.eye(len(wanted)), wanted)
        return offsets


class ToolKinematics:
    """Where the tool of a scene's robot is, on scratch data of its own; one for each thread."""

    def __init__(self, scene: Scene) -> None:
        model, robot = scene.model, scene.robot
        self._model, self._data = model, mujoco.MjData(model)
        joints = [model.joint(name) for name in robot.joints]
        self._qpos = np.array([int(each.qposadr[0]) for each in joints])
        self._dofs = np.array([int(each.dofadr[0]) for each in joints[robot.arm]])
        turning = [each.id for each, slides in zip(joints, robot.sliding, strict=True) if not slides]
        self._first, self._site = turning[0], model.site("tool").id
        self._jacobian = np.zeros((2, 3, model.nv))

    def at(self, joints: Array) -> ToolMotion:
        """At joint positions (nu,)."""
        model, data = self._model, self._data
        self._move(joints)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, self._jacobian[0], self._jacobian[1], self._site)
        position = data.site_xpos[self._site].copy()
        linear, angular = self._jacobian[:, :, self._dofs]
        return ToolMotion(
            position_m=position,
            rotation=data.site_xmat[self._site].reshape(3, 3).copy(),
            linear=linear,
            angular=angular,
            across=_across(position - data.xanchor[self._first]),
        )

    def poses(self, joints: Array) -> tuple[Array, Array]:
        """Position (k, 3) and rotation (k, 3, 3) of the tool for joint positions (k, nu)."""
        positions, rotations = np.empty((len(joints), 3)), np.empty((len(joints), 3, 3))
        for row, each in enumerate(joints):
            self._move(each)
            positions[row] = self._data.site_xpos[self._site]
            rotations[row] = self._data.site_xmat[self._site].reshape(3, 3)
        return positions, rotations

    def _move(self, joints: Array) -> None:
        self._data.qpos[self._qpos] = joints
        mujoco.mj_kinematics(self._model, self._data)


def _across(outwards: Array) -> Array:
    """(3,): level, a quarter turn to the left of this direction as seen from above."""
    size = float(np.hypot(outwards[0], outwards[1]))
    return np.array([-outwards[1] / size, outwards[0] / size, 0.0]) if size > 1e-9 else np.array([0.0, 1.0, 0.0])


def _inverse(matrix: Array, rank: int) -> Array:
    """The pseudoinverse of a matrix of known rank; at singular postures, where it has a lower one, it is huge."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    return (right[:rank].T / np.maximum(sizes[:rank], _LEAST)) @ left[:, :rank].T
