"""Where a robot's coordinates are in a model, and what they are for commanded joints; other fingers follow a jaw."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.robots.robot import Robot

Array = NDArray[np.float64]


class Followers:
    """Coordinates of a model from commanded joints: their own, and of those that follow by joint equalities."""

    def __init__(self, robot: Robot, model: mujoco.MjModel) -> None:
        law = robot.jaw_law
        # Each coordinate is scale * (the joint that leads it) + offset; or on a curve over the jaw, as measured.
        found = {int(model.joint(name).qposadr[0]): (index, 1.0, 0.0) for index, name in enumerate(robot.joints)}
        for equality in np.flatnonzero(model.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)).tolist():
            own = model.joint(int(model.eq_obj1id[equality])).name
            if model.eq_obj2id[equality] >= 0 and own not in law.followers:
                found.update(_follower(robot, model, equality))
        curves = {int(model.joint(name).qposadr[0]): places for name, places in law.followers.items()}
        found.update(dict.fromkeys(curves, (robot.jaw, 0.0, 0.0)))
        at = sorted(found)
        self._jaw, self._angles = robot.jaw, law.angles_rad
        self._curves = [(at.index(each), places) for each, places in curves.items()]
        self._leader = np.array([found[each][0] for each in at], int)
        self._scale, self._offset = (np.array([found[each][part] for each in at]) for part in (1, 2))
        self._direct = len(at) == len(robot.joints) and bool((np.diff(self._leader) == 1).all())
        # Where they are in `qpos`; a slice, which is cheaper to write to, where they are in one piece.
        self.at: NDArray[np.intp] | slice = np.array(at, np.intp)
        if (np.diff(at) == 1).all():
            self.at = slice(at[0], at[-1] + 1)

    def configurations(self, rows: Array) -> Array:
        """Coordinates (T, n) for joints (T, nu)."""
        if self._direct:
            return rows
        found = rows[:, self._leader] * self._scale + self._offset
        for column, places in self._curves:
            found[:, column] = np.interp(rows[:, self._jaw], self._angles, places)
        return found


def _follower(robot: Robot, model: mujoco.MjModel, equality: int) -> dict[int, tuple[int, float, float]]:
    """q - q0 = c0 + c1 (p - p0), where p is the leader; a leader without a servo moves nothing."""
    own, leader = model.eq_obj1id[equality], model.eq_obj2id[equality]
    at, (constant, slope, *higher) = model.jnt_qposadr[own], model.eq_data[equality, :5]
    name = model.joint(leader).name
    if any(higher) or name not in robot.joints:
        raise WiringError(f"{model.joint(own).name} does not follow a joint with a servo in a straight line")
    offset = model.qpos0[at] + constant - slope * model.qpos0[model.jnt_qposadr[leader]]
    return {int(at): (robot.joints.index(name), float(slope), float(offset))}
