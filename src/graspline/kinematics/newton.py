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
_CLOSE_M = 1e-9
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


def approached(structure: Structure, joints: Array, goals: Goals, steps: int) -> Found:
    """From joints (n, L), after at most so many steps each. Without a heading the wrist stays as it is."""
    joints, lanes = joints.copy(), np.arange(joints.shape[1])
    free = structure.free if goals.headed else structure.free_of_heading
    missed, determinant = np.empty((2, len(lanes))), np.empty(len(lanes))
    for left in range(steps, -1, -1):
        error, jacobian, missed[:, lanes] = _linearised(structure, joints[:, lanes], goals, free)
        size = np.add.reduce(error * error, axis=0)
        going = size > _CLOSE_M**2 if left else np.zeros(len(lanes), dtype=bool)
        rested = np.flatnonzero(~going)
        if len(rested):
            determinant[lanes[rested]] = np.linalg.det(jacobian[:, :, rested].transpose(2, 0, 1))
            if len(rested) == len(lanes):
                break
            kept = np.flatnonzero(going)
            lanes, goals = lanes[kept], goals.of(kept)
            error, jacobian, size = error[:, kept], jacobian[:, :, kept], size[kept]
        step = _step(error, jacobian, size)
        farthest = np.maximum.reduce(np.abs(step), axis=0)
        joints[np.ix_(free, lanes)] += step * (_STRIDE / np.maximum(farthest, _STRIDE))
    return Found(joints=joints, off_m=missed[0], off_rad=missed[1], determinant=determinant)


def _step(error: Array, jacobian: Array, size: Array) -> Array:
    """The damped step (f, L) for errors (r, L) with Jacobians (r, f, L)."""
    columns = np.ascontiguousarray(jacobian.transpose(2, 1, 0))
    normal = columns @ columns.transpose(0, 2, 1)
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
    # What the hand's axes have to be square to, and by how much they are not.
    asked = []
    if structure.pitched:
        asked.append((low, approach, np.stack([x * sine, y * sine, cosine])))
    if structure.upright:
        asked.append((aside, approach, np.stack([-y, x, np.zeros_like(x)])))
    if structure.steered and goals.headed:
        asked.append((off, opening, goals.across))
    rows = 3 + len(asked)
    error, jacobian = np.empty((rows, len(sine))), np.empty((rows, len(free), len(sine)))
    np.subtract(goals.position_m, point, out=error[:3])
    turning = posture.axes[:, free]
    jacobian[:3] = cross(turning, point[:, None] - posture.anchors[:, free])
    slides = chain.slides[free]
    if slides.any():
        jacobian[:3, slides] = turning[:, slides]
        turning[:, slides] = 0.0
    for row, (value, axis, square) in enumerate(asked, 3):
        np.multiply(value, -lever, out=error[row])
        np.add.reduce(turning * (lever * cross(axis, square))[:, None], axis=0, out=jacobian[row])
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
