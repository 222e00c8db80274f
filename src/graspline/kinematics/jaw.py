"""How far a jaw opens at each angle, measured on the compiled model, and how well a line describes it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.followers import Followers
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# A line describes a jaw that swings only while it swings little.
SMALL_RAD = 0.4
# Between positions of a jaw that swings, and of one that slides.
STEP_RAD, STEP_M = float(np.deg2rad(1.0)), 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class GapLine:
    """`gap = at_zero_m + rate_m_per_rad · angle`, fitted up to an angle, and what it misses there at most."""

    up_to_rad: float
    at_zero_m: float
    rate_m_per_rad: float
    worst_m: float

    def gap_m(self, angle_rad: Array) -> Array:
        """The opening of the jaws at these angles."""
        return self.at_zero_m + self.rate_m_per_rad * angle_rad


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A jaw over its whole range."""

    # In metres where it slides.
    angles_rad: Array
    # Across, from the fixed fingertip's face to the moving finger's tip.
    tip_gap_m: Array
    # How far the moving tip has swung back behind the fixed one, along the fingers.
    tip_back_m: Array
    # The shortest way between the fingers anywhere: what no larger object passes.
    narrowest_m: Array
    lines: tuple[GapLine, ...]
    slides: bool = False


def measure(robot: Robot, step: float | None = None) -> Opening:
    """Open the jaw of a model of nothing but this robot step by step and measure between its pads."""
    hand = _Hand(robot)
    low, high = robot.limits.lower[robot.jaw], robot.limits.upper[robot.jaw]
    slides = bool(robot.sliding[robot.jaw])
    step = step or (STEP_M if slides else STEP_RAD)
    angles = np.linspace(low, high, round((high - low) / step) + 1)
    gap, back, narrowest = np.array([hand.measured_at(angle) for angle in angles]).T
    widest = int(np.argmax(gap)) + 1
    limits = (angles[widest - 1],) if slides else (SMALL_RAD, angles[widest - 1])
    lines = tuple(_line(angles[:widest], gap[:widest], limit) for limit in limits)
    return Opening(angles_rad=angles, tip_gap_m=gap, tip_back_m=back, narrowest_m=narrowest, lines=lines, slides=slides)


class _Hand:
    """The pads of a model, seen from its tool frame: x along the fingers, z from the fixed one to the moving one."""

    def __init__(self, robot: Robot) -> None:
        model = robot.model()
        self._model, self._data = model, mujoco.MjData(model)
        self._robot, self._followers = robot, Followers(robot, model)
        self._pose(robot.limits.lower[robot.jaw])
        pads = [model.geom(name).id for name in robot.pads]
        # Both fingers may move; the one that z points to is called the moving one.
        lowest = min(pads, key=lambda pad: float(self._corners(pad)[:, 2].mean()))
        self._fixed = [pad for pad in pads if model.geom_bodyid[pad] == model.geom_bodyid[lowest]]
        self._moving = [pad for pad in pads if pad not in self._fixed]
        self._tip, self._fixed_tip = self._farthest(self._moving), self._farthest(self._fixed)
        # The corners of the moving tip that face the fixed finger when the jaw is shut.
        self._facing = np.argsort(self._corners(self._tip)[:, 2], kind="stable")[:4]

    def measured_at(self, angle_rad: float) -> tuple[float, float, float]:
        """Gap at the tips, how far the moving tip is behind, and the shortest way between the fingers."""
        self._pose(angle_rad)
        face, tip = self._corners(self._fixed_tip), self._corners(self._tip)
        gap = tip[self._facing, 2].min() - face[:, 2].max()
        back = face[:, 0].max() - tip[:, 0].max()
        ways = [
            mujoco.mj_geomDistance(self._model, self._data, fixed, moving, 1.0, None)
            for fixed in self._fixed
            for moving in self._moving
        ]
        return float(gap), float(back), float(min(ways))

    def _pose(self, angle_rad: float) -> None:
        row = self._robot.home.copy()
        row[self._robot.jaw] = angle_rad
        self._data.qpos[self._followers.at] = self._followers.configurations(row[None])[0]
        mujoco.mj_kinematics(self._model, self._data)

    def _farthest(self, pads: list[int]) -> int:
        return max(pads, key=lambda pad: float(self._corners(pad)[:, 0].max()))

    def _corners(self, pad: int) -> Array:
        """The eight corners of the box around a pad, (8, 3), in the tool frame."""
        data, tool = self._data, self._data.site("tool")
        middle, half = np.split(self._model.geom_aabb[pad], 2)
        local = middle + _CORNERS * half
        world = data.geom_xpos[pad] + local @ data.geom_xmat[pad].reshape(3, 3).T
        return (world - tool.xpos) @ tool.xmat.reshape(3, 3)


_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def _line(angles: Array, gaps: Array, up_to_rad: float) -> GapLine:
    small = angles <= up_to_rad + 1e-9
    rate, at_zero = np.polyfit(angles[small], gaps[small], 1)
    worst = np.abs(at_zero + rate * angles[small] - gaps[small]).max()
    return GapLine(
        up_to_rad=float(up_to_rad), at_zero_m=float(at_zero), rate_m_per_rad=float(rate), worst_m=float(worst)
    )
