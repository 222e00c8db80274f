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
# After so many steps a row may be given up.
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
    """From joints (n, L), after at most so many steps each. Without a heading the wrist stays as it is.

    A row is given up that misses its target by more than `hopeless_m` after a few steps.
    """
    joints, lanes = joints.copy(), np.arange(joints.shape[1])
    free = structure.free if goals.headed else structure.free_of_heading
    missed, determinant = np.empty((2, len(lanes))), np.empty(len(lanes))
    for left in range(steps, -1, -1):
        error, jacobian, missed[:, lanes] = _linearised(structure, joints[:, lanes], goals, free)
        if not left:
            determinant[lanes] = _determinant(jacobian)
            break
        step = _step(error, jacobian)
        beyond = _beyond(structure, error, jacobian, step)
        close = beyond <= _CLOSE_M
        farthest = np.maximum.reduce(np.abs(step), axis=0)
        joints[free[:, None], lanes] += step * (_STRIDE / np.maximum(farthest, _STRIDE))
        if steps - left == _TRIED:
            close |= beyond > hopeless_m
        if not close.any():
            continue
        there = lanes[close]
        determinant[there] = _determinant(jacobian[:, :, close])
        # A hand that is square to what it has to be square to may still point, or open, the other way.
        turned = missed[1, there] > _TURNED_RAD
        missed[0, there] = beyond[close]
        missed[1, there] = np.where(turned, missed[1, there], beyond[close] / structure.lever_m)
        going = np.flatnonzero(~close)
        if not len(going):
            break
        lanes, goals = lanes[going], goals.of(going)
    return Found(joints=joints, off_m=missed[0], off_rad=missed[1], determinant=determinant)


def _beyond(structure: Structure, error: Array, jacobian: Array, step: Array) -> Array:
    """(L,): more than what is missed after a step, in m.

    That is what the step leaves of the linear equations, and what those neglect: no second derivative of a hand's
    position is larger than the arm is long.
    """
    left = error - np.add.reduce(jacobian * step, axis=1)
    moved = np.add.reduce(np.abs(step), axis=0)
    return np.sqrt(np.add.reduce(left * left, axis=0)) + structure.reach_m / 2 * moved * moved


def _determinant(jacobian: Array) -> Array:
    return np.linalg.det(jacobian.transpose(2, 0, 1))


def _step(error: Array, jacobian: Array) -> Array:
    """The damped step (f, L) for errors (r, L) with Jacobians (r, f, L)."""
    columns = np.ascontiguousarray(jacobian.transpose(2, 1, 0))
    normal = columns @ columns.transpose(0, 2, 1)
    size = np.add.reduce(error * error, axis=0)
    diagonal = np.einsum("lii->li", normal)
    diagonal += (_DAMPING * size + _FLOOR * diagonal.sum(axis=1))[:, None]
    pull = columns @ error.T[:, :, None]
    return np.linalg.solve(normal, pull)[:, :, 0].T


def _linearised(structure: Structure, joints: Array, goals: Goals, free: Indices) -> tuple[Array, Array, Array]:
    """Errors (r, L), how joints that are `free` bring them down, (r, f, L), and what is missed, (2, L)."""
    chain, lever = structure.chain, structure.lever_m
    posture = chain.at(joints)
    approach, opening = posture.rotation[:, 0], posture.rotation[:, 2]
    point = posture.point(goals.tool_m)
    sine, cosine = goals.pitch
    if structure.planar:
        heading = structure.ahead_rad + structure.turn * joints[0]
        x, y = np.cos(heading), np.sin(heading)
    else:
        x, y = np.ones_like(sine), np.zeros_like(sine)
    ahead, aside, up = approach[0] * x + approach[1] * y, approach[1] * x - approach[0] * y, approach[2]
    low = ahead * sine + up * cosine
    off = np.add.reduce(opening * goals.across, axis=0)
    # Which of the hand's axes has to be square to what, and by how much it is not.
    asked = []
    if structure.pitched:
        asked.append((low, approach, (x * sine, y * sine, cosine)))
    if structure.upright:
        asked.append((aside, approach, (-y, x, np.zeros_like(x))))
    if structure.steered and goals.headed:
        asked.append((off, opening, goals.across))
    rows = 3 + len(asked)
    error, jacobian = np.empty((rows, len(sine))), np.empty((rows, len(free), len(sine)))
    np.subtract(goals.position_m, point, out=error[:3])
    turning = posture.axes[:, free]
    arms = np.subtract(point[:, None], posture.anchors[:, free])
    jacobian[:3] = cross(turning, arms)
    slides = chain.slides[free]
    if slides.any():
        jacobian[:3, slides] = turning[:, slides]
        turning[:, slides] = 0.0
    if asked:
        values, axes, squares = zip(*asked, strict=True)
        np.multiply(values, -lever, out=error[3:])
        square = np.array(squares).transpose(1, 0, 2)
        pulls = lever * cross(np.array(axes).transpose(1, 0, 2), square)
        np.add.reduce(turning[:, None] * pulls[:, :, None], axis=0, out=jacobian[3:])
    if structure.planar and structure.pitched:
        # The plane of the pitch turns with the first joint.
        jacobian[3, 0] = 0.0
    missed = np.empty((2, len(sine)))
    missed[0] = np.sqrt(np.add.reduce(error[:3] * error[:3], axis=0))
    missed[1] = np.arctan2(np.sqrt(low * low + aside * aside), ahead * cosine - up * sine)
    if goals.headed:
        turned = np.arctan2(np.abs(off), np.add.reduce(opening * goals.along, axis=0))
        np.maximum(missed[1], turned, out=missed[1])
    return error, jacobian, missed
