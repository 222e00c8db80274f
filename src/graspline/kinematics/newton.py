"""Damped Newton steps of a chain towards targets of its hand, each row by itself.

A step dq minimises ‖J dq - e‖² + damping ‖e‖² ‖dq‖². Damping that shrinks with the error keeps far steps tame and lets
the last ones converge as Newton's do (Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt
method", 2011). Joint limits are no part of it: what is found beyond one is refused later, with how far beyond it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.pointing import cross
from graspline.kinematics.structure import Indices, Structure

Array = NDArray[np.float64]

# A row stops where it misses its target by less than this; radians count as metres at the arm's lever.
_CLOSE_M = 5e-7
_TURNED_RAD = 0.1
# After this many steps a row may be given up.
_TRIED = 3
_DAMPING = 0.05
# Keeps directions in which the hand cannot move out of the step.
_FLOOR = 1e-12
# No joint moves farther in one step, rad or m.
_STRIDE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """Where L hands are to be, seen from the arm's first axis, with x towards each target."""

    position_m: Array  # (3, L)
    tool_m: Array  # (3, L), in the gripper frame
    pitch: Array  # (2, L): its sine and its cosine
    # The opening axis is to be square to the one, and on the side of the other, (3, L) each.
    across: Array
    along: Array
    # Whether the heading counts at all.
    headed: bool = True

    def of(self, lanes: Indices) -> Goals:
        """The goals of these lanes."""
        return Goals(
            position_m=self.position_m[:, lanes],
            tool_m=self.tool_m[:, lanes],
            pitch=self.pitch[:, lanes],
            across=self.across[:, lanes],
            along=self.along[:, lanes],
            headed=self.headed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where L rows came to."""

    joints: Array  # (n, L)
    # What is still missed: of the position, and the worst of the directions, (L,) each.
    off_m: Array
    off_rad: Array
    # The determinant of the equations. Its sign differs on the two sides of a singular posture.
    determinant: Array


def approached(structure: Structure, joints: Array, goals: Goals, steps: int, hopeless_m: float = np.inf) -> Found:
    """From joints (n, L), after at most `steps` steps each. Without a heading the wrist stays as it is.

    A row is given up that misses its target by more than `hopeless_m` after a few steps.
    """
    joints, lanes, now = joints.copy(), np.arange(joints.shape[1]), joints.copy()
    free = structure.free if goals.headed else structure.free_of_heading
    missed, determinant = np.empty((2, len(lanes))), np.empty(len(lanes))
    for left in range(steps, -1, -1):
        equations = _Equations(structure, now, goals, free)
        error, jacobian = equations.error, equations.jacobian
        columns = np.ascontiguousarray(jacobian.transpose(2, 1, 0))
        if not left:
            joints[:, lanes], determinant[lanes] = now, np.linalg.det(columns)
            missed[0, lanes] = np.sqrt(np.add.reduce(error[:3] * error[:3], axis=0))
            missed[1, lanes] = equations.turned_rad()
            break
        step = _step(error, columns)
        beyond = _beyond(structure, error, jacobian, step)
        close = beyond <= _CLOSE_M
        farthest = np.maximum.reduce(np.abs(step), axis=0)
        now[free] += step * (_STRIDE / np.maximum(farthest, _STRIDE))
        if steps - left == _TRIED:
            close |= beyond > hopeless_m
        count = np.count_nonzero(close)
        if not count:
            continue
        done, going = (slice(None), None) if count == len(lanes) else (close.nonzero()[0], (~close).nonzero()[0])
        there = lanes[done]
        joints[:, there], determinant[there] = now[:, done], np.linalg.det(columns[done])
        missed[0, there] = beyond[done]
        # A hand that is square to what it has to be square to may still point, or open, the other way.
        turned = equations.turned_rad()
        missed[1, there] = np.where(turned > _TURNED_RAD, turned, beyond / structure.lever_m)[done]
        if going is None:
            break
        lanes, goals, now = lanes[going], goals.of(going), now[:, going]
    return Found(joints=joints, off_m=missed[0], off_rad=missed[1], determinant=determinant)


def _beyond(structure: Structure, error: Array, jacobian: Array, step: Array) -> Array:
    """(L,): more than what is missed after a step, in m.

    That is what the step leaves of the linear equations, and what those neglect: no second derivative of a hand's
    position is larger than the arm is long.
    """
    left = error - np.add.reduce(jacobian * step, axis=1)
    moved = np.add.reduce(np.abs(step), axis=0)
    return np.sqrt(np.add.reduce(left * left, axis=0)) + structure.reach_m / 2 * moved * moved


def _step(error: Array, columns: Array) -> Array:
    """The damped step (f, L) for errors (r, L) with Jacobians whose columns these are, (L, f, r)."""
    normal = columns @ columns.transpose(0, 2, 1)
    size = np.add.reduce(error * error, axis=0)
    diagonal = normal.reshape(len(normal), normal.shape[1] ** 2)[:, :: normal.shape[1] + 1]
    diagonal += (_DAMPING * size + _FLOOR * np.add.reduce(diagonal, axis=1))[:, None]
    pull = columns @ error.T[:, :, None]
    return np.array(np.linalg.solve(normal, pull)[:, :, 0].T, np.float64)


class _Equations:
    """What L postures miss their goals by, and how joints that are `free` bring that down."""

    # Errors (r, L) and their slopes, (r, f, L).
    error: Array
    jacobian: Array

    def __init__(self, structure: Structure, joints: Array, goals: Goals, free: Indices) -> None:
        chain, lever, self._goals = structure.chain, structure.lever_m, goals
        posture = chain.at(joints)
        approach, self._opening = posture.rotation[:, 0], posture.rotation[:, 2]
        point = posture.point(goals.tool_m)
        (ahead, aside, up), (sine, cosine) = approach, goals.pitch
        x, y = 1.0, 0.0
        if structure.planar:
            heading = structure.ahead_rad + structure.turn * joints[0]
            x, y = np.cos(heading), np.sin(heading)
            ahead, aside = ahead * x + aside * y, aside * x - ahead * y
        self._ahead, self._aside, self._up, self._low = ahead, aside, up, ahead * sine + up * cosine
        self._off = np.add.reduce(self._opening * goals.across, axis=0)
        steered = structure.steered and goals.headed
        rows, lanes = 3 + structure.pitched + structure.upright + steered, len(sine)
        self.error, self.jacobian = error, jacobian = np.empty((rows, lanes)), np.empty((rows, len(free), lanes))
        np.subtract(goals.position_m, point, out=error[:3])
        turning = posture.axes[:, free]
        cross(turning, np.subtract(point[:, None], posture.anchors[:, free]), out=jacobian[:3])
        slides = chain.slides[free]
        if slides.any():
            jacobian[:3, slides] = turning[:, slides]
            turning[:, slides] = 0.0
        # Which of the hand's axes, (3, L), has to be square to what, and by how much it is not.
        axes, squares, row = np.empty((3, rows - 3, lanes)), np.zeros((3, rows - 3, lanes)), 0
        if structure.pitched:
            axes[:, row], squares[0, row], squares[1, row], squares[2, row] = approach, x * sine, y * sine, cosine
            np.multiply(self._low, -lever, out=error[3])
            row += 1
        if structure.upright:
            axes[:, row], squares[0, row], squares[1, row] = approach, -y, x
            np.multiply(aside, -lever, out=error[3 + row])
            row += 1
        if steered:
            axes[:, row], squares[:, row] = self._opening, goals.across
            np.multiply(self._off, -lever, out=error[3 + row])
        if rows > 3:
            pulls = lever * cross(axes, squares)
            np.add.reduce(turning[:, None] * pulls[:, :, None], axis=0, out=jacobian[3:])
        if structure.planar and structure.pitched:
            # The plane of the pitch turns with the first joint.
            jacobian[3, 0] = 0.0

    def turned_rad(self) -> Array:
        """(L,): how far the hand's approach, or its opening axis, is from where it should point; the worse of both."""
        goals, (sine, cosine) = self._goals, self._goals.pitch
        low, aside = self._low, self._aside
        turned = np.arctan2(np.sqrt(low * low + aside * aside), self._ahead * cosine - self._up * sine)
        if goals.headed:
            along = np.add.reduce(self._opening * goals.along, axis=0)
            np.maximum(turned, np.arctan2(np.abs(self._off), along), out=turned)
        return turned
