"""A serial chain of hinges and slides, read once from a compiled model: where its joints and its hand are, in rows.

Arrays have the rows last, so that every operation runs along them and each row has the bits it has alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError, nearest
from graspline.robots.robot import Robot
from graspline.spatial.rotations import matrix_from_quaternion

Array = NDArray[np.float64]
# Rows and what is in them.
Shares = list[tuple[int, float]]

TOOL_SITE = "tool"
_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
# Entries of a constant rotation this near to -1, 0 or 1 differ from it by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPosture:
    """Where a chain's joints and its hand are, in W, for L rows."""

    # The axis of each joint and a point on it, (3, n, L).
    axes: Array
    anchors: Array
    # R_WG, whose columns are the hand's axes, (3, 3, L), and the origin of G, (3, L).
    rotation: Array
    origin: Array

    def point(self, tool_m: Array) -> Array:
        """(3, L): a point of the gripper frame, (3, L) or (3, 1), in W."""
        return self.origin + np.add.reduce(self.rotation * tool_m, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """n joints in series. Frame j turns about, or slides along, its own z; other joints of the model stay at qpos0."""

    joints: tuple[str, ...]
    # (n,): which joints slide; and joint positions in the model as it was authored.
    slides: NDArray[np.bool_]
    rest: Array
    # (n + 1, 3, 4): frame j in frame j - 1 at rest, and the gripper frame in the last one.
    steps: Array

    @functools.cached_property
    def _shares(self) -> list[tuple[Shares, ...]]:
        """Of each step and each of its columns, the entries that are not 0, with their rows."""
        return [
            tuple([(row, share) for row, share in enumerate(column) if share] for column in step.T.tolist())
            for step in self.steps
        ]

    def at(self, joints: Array) -> ChainPosture:
        """For joint positions (n, L)."""
        count, lanes = joints.shape
        turned = joints - self.rest[:, None]
        cosines, sines = np.cos(turned), np.sin(turned)
        axes, anchors = np.empty((2, 3, count, lanes))
        x, y, z, origin = (column[:, None] for column in self.steps[0].T)
        for joint in range(count):
            if joint:
                x, y, z, origin = _after((x, y, z), origin, self._shares[joint])
            if self.slides[joint]:
                origin = origin + z * turned[joint]
            else:
                x, y = x * cosines[joint] + y * sines[joint], y * cosines[joint] - x * sines[joint]
            axes[:, joint], anchors[:, joint] = z, origin
        hand = np.empty((3, 4, lanes))
        for column, values in enumerate(_after((x, y, z), origin, self._shares[count])):
            hand[:, column] = values
        return ChainPosture(axes=axes, anchors=anchors, rotation=hand[:, :3], origin=hand[:, 3])


def _after(
    axes: tuple[Array, Array, Array], origin: Array, step: tuple[Shares, ...]
) -> tuple[Array, Array, Array, Array]:
    """Axes and origin, (3, L) each, a constant transform behind others; most of its entries are 0 or 1."""
    x, y, z, way = step
    moved = origin + _mixed(axes, way) if way else origin
    return _mixed(axes, x), _mixed(axes, y), _mixed(axes, z), moved


def _mixed(axes: tuple[Array, Array, Array], shares: Shares) -> Array:
    """The sum of axes by these shares."""
    (first, share), *others = shares
    found = axes[first] if share == 1.0 else axes[first] * share
    for axis, share in others:
        found = found + axes[axis] * share
    return found


def chain_of(robot: Robot, tool_m: Array) -> Chain:
    """The chain from the world to the robot's gripper frame, in which its tool site is at `tool_m`, (3,)."""
    model, wanted = robot.model(), robot.joints[robot.arm]
    site = _tool_site(robot, model)
    known = {model.joint(index).name: index for index in range(model.njnt)}
    problems = [f"no joint {name!r} in the model; {nearest(name, known)}" for name in wanted if name not in known]
    if problems:
        raise WiringError(f"{robot.name}: " + "; ".join(problems))
    ids = {known[name] for name in wanted}
    at, steps, found = np.eye(4), [], []
    for body in _bodies_to(model, int(model.site_bodyid[site])):
        at = at @ _transform(model.body_quat[body], model.body_pos[body])
        first = int(model.body_jntadr[body])
        for joint in range(first, first + int(model.body_jntnum[body])):
            if joint not in ids:
                continue
            if int(model.jnt_type[joint]) not in (_HINGE, _SLIDE):
                raise WiringError(f"{robot.name}: arm joint {model.joint(joint).name!r} is neither a hinge nor a slide")
            frame = _about(at, model.jnt_axis[joint], model.jnt_pos[joint])
            steps.append(at @ frame)
            at = np.linalg.inv(frame).astype(np.float64, copy=False)
            found.append(joint)
    missing = [name for name in wanted if known[name] not in found]
    if missing:
        raise WiringError(f"{robot.name}: arm joints {', '.join(missing)} do not move the site {TOOL_SITE!r}")
    names = tuple(model.joint(joint).name for joint in found)
    if names != wanted:
        raise WiringError(
            f"{robot.name}: arm joints are named {', '.join(wanted)}, but in the chain they are {', '.join(names)}"
        )
    tool = _transform(model.site_quat[site], model.site_pos[site])
    steps.append(at @ tool @ _transform(np.array([1.0, 0, 0, 0]), -tool_m))
    ends = np.array(steps)[:, :3]
    whole = np.rint(ends[:, :, :3])
    ends[:, :, :3] = np.where(np.abs(ends[:, :, :3] - whole) < _ROUNDING, whole, ends[:, :, :3])
    return Chain(
        joints=names,
        slides=np.array([int(model.jnt_type[joint]) == _SLIDE for joint in found]),
        rest=np.array([float(model.qpos0[model.jnt_qposadr[joint]]) for joint in found]),
        steps=ends,
    )


def _tool_site(robot: Robot, model: mujoco.MjModel) -> int:
    sites = [model.site(index).name for index in range(model.nsite)]
    if TOOL_SITE not in sites:
        raise WiringError(
            f"{robot.name}: the model has no site {TOOL_SITE!r} at the tool, x along the fingers and z from the fixed "
            f"finger to the moving one; its sites are {', '.join(sites) or 'none'}"
        )
    return sites.index(TOOL_SITE)


def _bodies_to(model: mujoco.MjModel, body: int) -> list[int]:
    """From the first body below the world down to this one."""
    found = []
    while body:
        found.append(body)
        body = int(model.body_parentid[body])
    return found[::-1]


def _transform(quaternion: Array, position: Array) -> Array:
    """(4, 4)."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = matrix_from_quaternion(quaternion), position
    return found


def _about(at: Array, axis: Array, anchor: Array) -> Array:
    """(4, 4): a frame with its z along a joint's axis, turned as little as may be against W at rest.

    Most robots have joints along the axes of W at rest, and their constant rotations are then whole numbers.
    """
    R = at[:3, :3]
    z = axis / np.linalg.norm(axis)
    level = np.eye(3)[int(np.argmin(np.abs(R @ z)))] @ R
    x = level - z * (level @ z)
    x /= np.linalg.norm(x)
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), anchor
    return found
