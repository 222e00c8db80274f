"""Iterative inverse kinematics for any chain of hinges and slides: damped least squares on MuJoCo's Jacobian.

Each iteration takes the step dq that minimises ‖J dq - e‖² + damping ‖e‖² ‖dq‖². Scaling the damping with the
error keeps far steps tame and lets the last ones converge as Newton's do (Sugihara, "Solvability-unconcerned
inverse kinematics by the Levenberg-Marquardt method", 2011); damping 0 is Newton-Raphson.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError, WiringError, nearest
from graspline.evidence import Evidence, at_least, at_most
from graspline.kinematics.targets import (
    DAMPING,
    STEP_LIMIT,
    Refusal,
    Search,
    Solution,
    Target,
    ToolPoint,
    checked_vector,
)
from graspline.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Names = Iterable[str]

# An attempt that has not brought its error down by a tenth in this many iterations sits in a local minimum.
_PATIENCE = 3
_X = np.array([1.0, 0.0, 0.0])
_UNITS = {int(mujoco.mjtJoint.mjJNT_HINGE): "rad", int(mujoco.mjtJoint.mjJNT_SLIDE): "m"}


_SEARCH = Search()


class _Point(NamedTuple):
    """Joint values and what is wrong there: the weighted error to the target, its square and its Jacobian."""

    q: Array
    error: Array
    cost: float
    jacobian: Array
    position_error_m: float
    orientation_error_rad: float

    def within(self, search: Search) -> bool:
        return (
            self.position_error_m <= search.position_tolerance_m
            and self.orientation_error_rad <= search.orientation_tolerance_rad
        )


class IterativeSolver:
    """Joint values for tool poses of one robot, on an `MjData` of its own; one per thread.

    Joints of the model that are not in `joints` stay where `qpos0` has them.
    """

    def __init__(self, model: mujoco.MjModel, joints: tuple[str, ...], tool: ToolPoint) -> None:
        ids, self._body, self._offset_m, self._q_BT = _wired(model, joints, tool)
        self.joints = joints
        self._model, self._data = model, mujoco.MjData(model)
        limited = model.jnt_limited[ids].astype(bool)
        self.lower = np.where(limited, model.jnt_range[ids, 0], -np.inf)
        self.upper = np.where(limited, model.jnt_range[ids, 1], np.inf)
        self._units = tuple(_UNITS[int(kind)] for kind in model.jnt_type[ids])
        self._qpos, self._dofs = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
        self._position_m, self._quaternion, self._jacobian = np.zeros(3), np.zeros(4), np.zeros((6, model.nv))
        self._move(self._data.qpos[self._qpos])
        if not self._jacobian[:, self._dofs].any():
            raise WiringError(f"none of the joints {', '.join(joints)} moves the body {tool.body!r}")

    def tool_pose(self, q: Array) -> tuple[Array, Array]:
        """Position (3,) and rotation matrix (3, 3) of the tool in the world at these joint values."""
        self._move(self._checked("q", q))
        return self._position_m.copy(), matrix_from_quaternion(self._quaternion)

    def step_toward(
        self, q: Array, target: Target, gain: float = 0.5, damping: float = DAMPING, locked: Names = ()
    ) -> Array:
        """Joint values one damped step nearer to the target; `gain` 1 takes the whole step."""
        if not (0 < gain <= 1 and 0 <= damping < math.inf):
            raise InputError(f"gain {gain} must be in (0, 1] and damping {damping} finite and not negative")
        free = self._free(locked)
        point = self._at(self._clamped(self._checked("q", q), free), target)
        return self._clamped(point.q + gain * self._step(point, free, damping, STEP_LIMIT), free)

    def solve(
        self,
        target: Target,
        start: Array,
        *,
        locked: Names = (),
        random: np.random.Generator | int = 0,
        search: Search = _SEARCH,
    ) -> Solution | Refusal:
        """Joint values that bring the tool to the target, tried from `start` first and then from random ones.

        Locked joints keep their start values. The others may start beyond their limits, but never end there.
        """
        free = self._free(locked)
        start = self._clamped(self._checked("start", start), free)
        best, iterations = self._attempt(start, target, free, search)
        restarts = 0
        while not best.within(search) and restarts < search.restarts:
            random = np.random.default_rng(random)
            q = np.where(free, self._drawn(start, random), start)
            point, spent = self._attempt(q, target, free, search)
            best = point if point.within(search) or point.cost < best.cost else best
            restarts, iterations = restarts + 1, iterations + spent
        if not best.within(search):
            best = self._settled(best, target, free, search)
            iterations += search.iterations
        if not best.within(search):
            evidence = self._evidence(best, target, free, search)
            return Refusal(evidence=evidence, iterations=iterations, restarts=restarts)
        return Solution(
            q=best.q,
            position_error_m=best.position_error_m,
            orientation_error_rad=best.orientation_error_rad,
            iterations=iterations,
            restarts=restarts,
        )

    def _attempt(self, q: Array, target: Target, free: Mask, search: Search) -> tuple[_Point, int]:
        """The converged point, or the nearest one on the way down from `q`; and the iterations spent."""
        best = point = self._at(q, target)
        yardstick, waited, spent = best.cost, 0, 0
        while not point.within(search):
            if spent == search.iterations or waited > _PATIENCE:
                return best, spent
            step = self._step(point, free, search.damping, search.step_limit)
            point = self._at(self._clamped(point.q + step, free), target)
            best = point if point.cost < best.cost else best
            spent, waited = spent + 1, waited + 1
            if best.cost < 0.8 * yardstick:
                yardstick, waited = best.cost, 0
        return point, spent

    def _settled(self, point: _Point, target: Target, free: Mask, search: Search) -> _Point:
        """The bottom of the basin in which an attempt gave up; only there the limits that hold it show."""
        # Damping that grows after a step uphill. Attempts do without: they are quicker and may leap out.
        damping = search.damping
        for _ in range(search.iterations):
            step = self._step(point, free, damping, search.step_limit)
            ahead = self._at(self._clamped(point.q + step, free), target)
            if ahead.cost < point.cost:
                point, damping = ahead, max(damping / 10, search.damping)
            else:
                damping = max(10 * damping, 1e-3)
        return point

    def _at(self, q: Array, target: Target) -> _Point:
        self._move(q)
        error, jacobian = target.position_m - self._position_m, self._jacobian[:, self._dofs]
        position_error_m, orientation_error_rad = math.sqrt(error @ error), 0.0
        if target.oriented:
            turn, turning = self._turn(target, jacobian[3:])
            orientation_error_rad = math.sqrt(turn @ turn)
            error = np.concatenate([error, target.orientation_weight * turn])
            jacobian[3:] = target.orientation_weight * turning
        else:
            jacobian = jacobian[:3]
        return _Point(q, error, float(error @ error), jacobian, position_error_m, orientation_error_rad)

    def _turn(self, target: Target, turning: Array) -> tuple[Array, Array]:
        """The rotation vector, in the world, that is left to turn, and the Jacobian rows to do it with."""
        if target.quaternion is not None:
            return _turn_between_quaternions(self._quaternion, target.quaternion), turning
        assert target.approach is not None
        x_axis = np.empty(3)
        mujoco.mju_rotVecQuat(x_axis, _X, self._quaternion)
        # Turning about the tool's own x axis is free.
        turning = turning - np.outer(x_axis, x_axis @ turning)
        return _turn_between_directions(x_axis, target.approach, turning), turning

    def _move(self, q: Array) -> None:
        """Put the scratch robot at `q`; the tool's pose and Jacobian follow."""
        model, data, body = self._model, self._data, self._body
        data.qpos[self._qpos] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mju_rotVecQuat(self._position_m, self._offset_m, data.xquat[body])
        self._position_m += data.xpos[body]
        mujoco.mju_mulQuat(self._quaternion, data.xquat[body], self._q_BT)
        mujoco.mj_jac(model, data, self._jacobian[:3], self._jacobian[3:], self._position_m, body)

    def _step(self, point: _Point, free: Mask, damping: float, step_limit: float) -> Array:
        """The damped step of the free joints, less those that the error pushes against their limit."""
        # With them in, the others would count on motion that clamping then takes away.
        push = point.jacobian.T @ point.error
        stuck = ((point.q >= self.upper) & (push > 0)) | ((point.q <= self.lower) & (push < 0))
        step = _damped_step(point, free & ~stuck, damping)
        return step * min(1.0, step_limit / max(np.abs(step).max(), 1e-300))

    def _evidence(self, point: _Point, target: Target, free: Mask, search: Search) -> Evidence:
        found = [at_most("position error", point.position_error_m, search.position_tolerance_m, "m")]
        if target.oriented:
            limits = point.orientation_error_rad, search.orientation_tolerance_rad
            found.append(at_most("orientation error", *limits, "rad"))
        wanted = point.q + _damped_step(point, free, search.damping)
        for i in np.flatnonzero(free):
            if point.q[i] >= self.upper[i] and wanted[i] > self.upper[i]:
                found.append(at_most(self.joints[i], wanted[i], self.upper[i], self._units[i]))
            elif point.q[i] <= self.lower[i] and wanted[i] < self.lower[i]:
                found.append(at_least(self.joints[i], wanted[i], self.lower[i], self._units[i]))
        return tuple(found)

    def _drawn(self, start: Array, random: np.random.Generator) -> Array:
        """Joint values drawn over their ranges, or within π of the start where there is no limit."""
        lower = np.where(np.isfinite(self.lower), self.lower, start - np.pi)
        upper = np.where(np.isfinite(self.upper), self.upper, start + np.pi)
        return random.uniform(lower, upper)

    def _clamped(self, q: Array, free: Mask) -> Array:
        return np.where(free, np.minimum(np.maximum(q, self.lower), self.upper), q)

    def _checked(self, name: str, q: Array) -> Array:
        problems: list[str] = []
        q = checked_vector(name, q, len(self.joints), problems)
        if problems:
            raise InputError(f"{problems[0]}; joints: {', '.join(self.joints)}")
        return q

    def _free(self, locked: Names) -> Mask:
        """Which joints may move."""
        locked = tuple(locked)
        unknown = [name for name in locked if name not in self.joints]
        if unknown:
            raise InputError(f"no joint {name!r} to lock; {nearest(name, self.joints)}" for name in unknown)
        free = np.array([name not in locked for name in self.joints])
        if not free.any():
            raise InputError("all joints are locked, which leaves nothing to solve for")
        return free


def _damped_step(point: _Point, moving: Mask, damping: float) -> Array:
    """The step of the moving joints that minimises ‖J dq - e‖² + damping ‖e‖² ‖dq‖²; the shortest of many."""
    # A column of zeros gives its joint a step of exactly zero.
    columns = point.jacobian * moving
    normal = columns.T @ columns
    diagonal = normal.reshape(-1)[:: len(normal) + 1]
    # The floor keeps rounding errors from becoming motion in directions in which the tool cannot move.
    diagonal += damping * point.cost + 1e-12 * diagonal.sum()
    step = np.empty(len(normal))
    mujoco.mju_cholFactor(normal, 1e-30)
    mujoco.mju_cholSolve(step, normal, columns.T @ point.error)
    return step


def _turn_between_quaternions(current: Array, wanted: Array) -> Array:
    """`rotation_vector` of R_wanted R_currentᵀ, from quaternions: as exact at 0 and π, fifty times faster."""
    inverse, error, turn = np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_negQuat(inverse, current)
    mujoco.mju_mulQuat(error, wanted, inverse)
    mujoco.mju_quat2Vel(turn, error, 1.0)
    return turn


def _turn_between_directions(current: Array, wanted: Array, turning: Array) -> Array:
    """The shortest rotation vector from one unit vector to the other.

    Where they are opposite every axis across them will do, and it is the one that the joints turn about most.
    """
    axis, cosine = np.empty(3), float(current @ wanted)
    mujoco.mju_cross(axis, current, wanted)
    sine = math.sqrt(axis @ axis)
    if sine < 1e-6:
        # As θ → 0, θ / sin θ → 1.
        return axis if cosine > 0 else math.pi * np.linalg.svd(turning)[0][:, 0]
    return axis * (math.atan2(sine, cosine) / sine)


def _wired(model: mujoco.MjModel, joints: tuple[str, ...], tool: ToolPoint) -> tuple[list[int], int, Array, Array]:
    """Joint ids, the tool's body, its offset and quaternion there; raises with every problem at once."""
    problems = [] if joints else ["no joints to solve for"]
    known = {model.joint(i).name: i for i in range(model.njnt)}
    for name in joints:
        if name not in known:
            problems.append(f"no joint {name!r} in the model; {nearest(name, known)}")
        elif int(model.jnt_type[known[name]]) not in _UNITS:
            problems.append(f"joint {name!r} is neither a hinge nor a slide")
        if joints.count(name) > 1:
            problems.append(f"joint {name!r} is given more than once")
    bodies = {model.body(i).name: i for i in range(model.nbody)}
    if tool.body not in bodies:
        problems.append(f"no body {tool.body!r} in the model; {nearest(tool.body, bodies)}")
    offset_m = checked_vector("offset_m", tool.offset_m, 3, problems)
    R_BT = np.eye(3) if tool.rotation is None else np.array(tool.rotation, float)
    orthonormal = R_BT.shape == (3, 3) and np.allclose(R_BT @ R_BT.T, np.eye(3), atol=1e-6)
    if not orthonormal or np.linalg.det(R_BT) < 0:
        problems.append(f"the tool's rotation is not a rotation matrix: {R_BT.tolist()}")
    if problems:
        raise WiringError("\n".join(problems))
    return [known[name] for name in joints], bodies[tool.body], offset_m, quaternion_from_matrix(R_BT)
