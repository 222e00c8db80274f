"""From the odometry frame O of a robot on wheels to the world W: the robot knows only its odometry, and wheels slip.

Of a robot that is fixed to the world both frames are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.spatial.rotations import multiply, rotate, rotation_z

Array = NDArray[np.float64]


def in_world(engine: Engine, lane: int, point_O: Array) -> Array:
    """(3,): the point in W at which the robot believes something to be."""
    slips = engine.scene.robot.slip_joints
    if not slips:
        return point_O
    x, y, turn = _positions(engine, lane, slips)
    return rotate(rotation_z(turn), point_O) + np.array([x, y, 0.0])


def turned_in_world(engine: Engine, lane: int, R_O: Array) -> Array:
    """(3, 3): the same of a rotation."""
    slips = engine.scene.robot.slip_joints
    if not slips:
        return R_O
    (turn,) = _positions(engine, lane, slips[2:])
    return multiply(rotation_z(turn), R_O)


def base_m(engine: Engine, lane: int) -> Array:
    """(3,): where the base of a robot on wheels is, in W; the origin for one that is fixed."""
    joints = engine.scene.robot.base_joints
    if not joints:
        return np.zeros(3)
    x, y = _positions(engine, lane, joints[:2])
    return in_world(engine, lane, np.array([x, y, 0.0]))


def _positions(engine: Engine, lane: int, joints: Iterable[str]) -> list[float]:
    return [float(engine.qpos[lane, engine.scene.joint_address(name)]) for name in joints]
