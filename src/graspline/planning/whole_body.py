"""A collision world for a robot among believed solids: furniture, things, and what the hand holds.

It runs kinematics and collision detection on a model of its own and never steps physics. Everything is in O.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.evidence import at_least
from graspline.perception.beliefs import Belief, Shape
from graspline.planning.collision import Collision
from graspline.robots.robot import Robot
from graspline.scenes.solid_pool import FLOOR, HELD, robot_among_solids, slot_name
from graspline.scenes.variation import ball_shape_of, box_shape_of, cylinder_shape_of
from graspline.spatial.rotations import matrix_from_quaternion, multiply, quaternion_from_matrix, rotate

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# The hand is whatever carries the site `tool` and what hangs on it: palm and fingers.
Part = Literal["hand", "held"]

CLEARANCE_M = 0.006
# From one checked configuration to the next, nothing of the robot moves farther.
STEP_M = 0.02
# Of the distance that the robot has where it stands, this much is kept.
_LEFT = 0.9
# However unsure it is where something stands, no more than this is kept for that.
_MOST_UNSURE_M = 0.03
_SLOTS = 48
# Contact bits beyond those that robots use among themselves: who asks, and what a solid answers to.
_ARM, _HAND, _HELD, _FLOOR = (1 << bit for bit in (20, 21, 22, 23))
_GEOM_TYPE: dict[Shape, int] = {
    "box": int(mujoco.mjtGeom.mjGEOM_BOX),
    "cylinder": int(mujoco.mjtGeom.mjGEOM_CYLINDER),
    "ball": int(mujoco.mjtGeom.mjGEOM_SPHERE),
}
_SHAPE_OF = {"box": box_shape_of, "cylinder": cylinder_shape_of, "ball": ball_shape_of}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """What the hand holds: its shape, and where its middle is in the tool frame, (3,), and how it is turned, (3, 3)."""

    shape: Shape
    half_extents_m: Array
    p_TO_m: Array
    R_TO: Array


class WholeBodyWorld:
    """Checks configurations of a robot against the floor, believed solids, what it holds, and itself."""

    def __init__(self, robot: Robot, *, slots: int = _SLOTS, clearance_m: float = CLEARANCE_M) -> None:
        self.robot, self._usual_m = robot, clearance_m
        self._model = robot_among_solids(robot, slots)
        self._data = mujoco.MjData(self._model)
        self._slots = np.array([self._model.geom(slot_name(index)).id for index in range(slots)], int)
        self._held = int(self._model.geom(HELD).id)
        self._floor = int(self._model.geom(FLOOR).id)
        self._followers = _Followers(robot, self._model)
        joints = [self._model.joint(name).id for name in robot.joints]
        # (nu,): which joints slide, for the others turn; and which move the hand about, as neither jaw nor head does.
        self.slides: Flags = self._model.jnt_type[joints] == int(mujoco.mjtJoint.mjJNT_SLIDE)
        bodies = _carriers(self._model, int(self._model.site("tool").bodyid[0]))
        self.carries_hand: Flags = np.isin(self._model.jnt_bodyid[joints], bodies)
        self._names = [self._model.geom(index).name for index in range(self._model.ngeom)]
        self._others = {self._floor, *self._slots.tolist()}
        body = self._model.body(HELD)
        self._X_hand_tool = body.pos.copy(), matrix_from_quaternion(body.quat)
        self._standing: list[Belief | None] = [None] * slots
        self._wire()
        self.set(())

    def set(
        self,
        solids: Sequence[Belief],
        held: Held | None = None,
        *,
        ignore: Collection[tuple[Part, Belief]] = (),
        start: Array | None = None,
        leaving: Collection[Belief] | None = None,
        clearance_m: float | None = None,
    ) -> None:
        """Put solids where they are believed to be, to be kept clear of by the world's own clearance or by this one.

        From what may be elsewhere the robot keeps two sigmas farther away. The pairs in `ignore` may touch.

        What is closer than the clearance when the robot is at `start`, (nu,), and does not touch it, may come as close
        as that: a robot that stands beside something must be able to leave. With `leaving` that holds for these alone.
        """
        if len(solids) > len(self._slots):
            raise WiringError(f"{len(solids)} solids in a collision world with {len(self._slots)} slots")
        model, answers = self._model, _ARM | _HAND | _HELD
        model.geom_conaffinity[self._slots] = 0
        self.clearance_m = self._usual_m if clearance_m is None else clearance_m
        model.geom_margin[self._floor] = self._usual_m
        used = self._slots[: len(solids)]
        sigmas = np.array([solid.position_sigma_m for solid in solids])
        self._keep_clear(used, self.clearance_m + np.minimum(2 * sigmas, _MOST_UNSURE_M))
        for index, (solid, geom) in enumerate(zip(solids, used.tolist(), strict=True)):
            # Most solids are the same from one question to the next.
            if self._standing[index] is not solid:
                self._stand(geom, solid)
                self._standing[index] = solid
            allowed = sum({_HAND if part == "hand" else _HELD for part, other in ignore if other is solid})
            model.geom_conaffinity[geom] = answers & ~allowed
        self._hold(held)
        _gather_bits(model)
        if start is not None:
            self._let_leave(start, leaving)

    def _stand(self, geom: int, solid: Belief) -> None:
        """Put a solid into a slot."""
        self._names[geom] = solid.name
        self._shape(geom, solid.shape, solid.half_extents_m)
        mocap = self._model.body_mocapid[self._model.geom_bodyid[geom]]
        self._data.mocap_pos[mocap], self._data.mocap_quat[mocap] = solid.position_m, solid.quaternion

    def _keep_clear(self, geoms: NDArray[np.intp], clearance_m: float | Array) -> None:
        self._model.geom_margin[geoms] = clearance_m
        # Bodies that are farther apart than theirs are not looked at; each of these has one geom.
        self._model.body_margin[self._model.geom_bodyid[geoms]] = clearance_m

    def _let_leave(self, start: Array, leaving: Collection[Belief] | None) -> None:
        """Keep no farther from these, or from anything, than the robot is at the start."""
        if self.free(start):
            return
        contact, left = self._data.contact, self._others
        if leaving is not None:
            slots = zip(self._slots.tolist(), self._standing, strict=True)
            left = {geom for geom, solid in slots if any(solid is each for each in leaving)}
        for pair, distance_m in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            near = list(left.intersection(pair))
            if distance_m > 0:
                self._model.geom_margin[near] = np.minimum(self._model.geom_margin[near], _LEFT * distance_m)

    def _hold(self, held: Held | None) -> None:
        model = self._model
        model.geom_contype[self._held] = 0 if held is None else _HELD | _FLOOR
        if held is not None:
            self._shape(self._held, held.shape, held.half_extents_m)
            point, rotation = self._X_hand_tool
            body = model.body(HELD)
            body.pos[:] = point + rotate(rotation, held.p_TO_m)
            body.quat[:] = quaternion_from_matrix(multiply(rotation, held.R_TO))

    def _shape(self, geom: int, shape: Shape, half_extents_m: Array) -> None:
        model, (x, y, z) = self._model, half_extents_m.tolist()
        model.geom_type[geom] = _GEOM_TYPE[shape]
        volume = model.body_bvhadr[model.geom_bodyid[geom]]
        for edit in _SHAPE_OF[shape](self._names[geom], (x, y, z)):
            getattr(model, edit.field)[volume if edit.field == "bvh_aabb" else geom, ...] = np.squeeze(edit.values)

    def own_solids(self, row: Array) -> tuple[Belief, ...]:
        """Boxes around every moving part of the robot with its joints at `row` (nu,): what it sees of itself."""
        model, data = self._model, self._data
        data.qpos[:] = self._followers.configurations(row[None])[0]
        mujoco.mj_kinematics(model, data)
        found = list[Belief]()
        for geom in np.flatnonzero(model.geom_contype & (_ARM | _HAND)).tolist():
            rotation = data.geom_xmat[geom].reshape(3, 3)
            found.append(
                Belief(
                    name=self._names[geom],
                    shape="box",
                    position_m=data.geom_xpos[geom] + rotate(rotation, model.geom_aabb[geom, :3]),
                    quaternion=quaternion_from_matrix(rotation),
                    half_extents_m=model.geom_aabb[geom, 3:].copy(),
                    position_sigma_m=0.0,
                    yaw_sigma_rad=0.0,
                )
            )
        return tuple(found)

    def samples(self, rows: Array) -> Array:
        """Rows on the way through `rows` (T, nu), evenly spaced and close enough for checks; both ends among them."""
        moved_m = np.abs(rows[1:] - rows[:-1]) @ self.robot.levers_m
        along_m = np.concatenate([[0.0], np.cumsum(moved_m)])
        count = max(1, int(np.ceil(along_m[-1] / STEP_M)))
        at_m = np.linspace(0.0, along_m[-1], count + 1)
        found = np.stack([np.interp(at_m, along_m, column) for column in rows.T], axis=1)
        found[0], found[-1] = rows[0], rows[-1]
        return found

    def free(self, row: Array) -> bool:
        """Whether the robot touches nothing with its joints at `row` (nu,)."""
        return self.all_free(row[None])

    def all_free(self, rows: Array) -> bool:
        """Whether it touches nothing at any of `rows` (T, nu); checked in their order until one is not free."""
        return self.first_touching(rows) is None

    def first_touching(self, rows: Array) -> int | None:
        """The first of `rows` (T, nu) at which it touches anything."""
        model, data, qpos = self._model, self._data, self._data.qpos
        for index, configuration in enumerate(self._followers.configurations(rows)):
            qpos[:] = configuration
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            if data.ncon:
                return index
        return None

    def first_collision(self, rows: Array, *, clearance_m: float | None = None) -> Collision | None:
        """The first of `rows` (T, nu) at which it comes closer to anything than `clearance_m`, and to what.

        That may be less than the world's own clearance: what was planned with one is checked with less.
        """
        begin = 0
        while (found := self.first_touching(rows[begin:])) is not None:
            collision = self._closest(begin + found, clearance_m)
            if collision is not None:
                return collision
            begin += found + 1
        return None

    def _closest(self, sample: int, clearance_m: float | None) -> Collision | None:
        """What is closest in the configuration checked last, as far as it is too close."""
        distances, pairs = self._data.contact.dist, self._data.contact.geom
        limits = self._model.geom_margin[pairs].sum(axis=1)
        if clearance_m is not None:
            limits = np.minimum(limits, clearance_m)
        short = distances - limits
        worst = int(short.argmin())
        if short[worst] > 0:
            return None
        first, second = pairs[worst].tolist()
        if first in self._others:
            first, second = second, first
        part, touched = self._names[first], self._names[second]
        evidence = (at_least(f"{part}_to_{touched}", float(distances[worst]), float(limits[worst]), "m"),)
        return Collision(sample=sample, robot_part=part, touched=touched, evidence=evidence)

    def _wire(self) -> None:
        """Decide who is checked against whom."""
        model = self._model
        robot = np.ones(model.ngeom, bool)
        robot[[self._floor, self._held, *self._slots]] = False
        hand = robot & np.isin(model.geom_bodyid, _carried(model, int(model.site("tool").bodyid[0])))
        # What cannot move meets nothing that it did not stand beside before.
        moving = model.body_weldid[model.geom_bodyid] != 0
        model.geom_contype[robot & moving & hand] |= _HAND | _FLOOR
        model.geom_contype[robot & moving & ~hand] |= _ARM | _FLOOR
        model.geom_conaffinity[robot & ~hand] |= _HELD
        model.geom_contype[[self._floor, *self._slots]] = 0
        model.geom_conaffinity[[self._floor, self._held]] = _FLOOR, 0
        # Margins of both sides add up; the robot keeps no distance from itself or from what it holds.
        model.geom_margin[:] = 0.0
        self._keep_clear(np.array(list(self._others), int), self._usual_m)
        _gather_bits(model)
        self._stand_on_floor()

    def _stand_on_floor(self) -> None:
        """What is on the floor at home stands on it; for these geoms it is no obstacle."""
        self.first_touching(self.robot.home[None])
        pairs = self._data.contact.geom
        standing = pairs[(pairs == self._floor).any(axis=1)].ravel()
        self._model.geom_contype[standing] &= ~_FLOOR


class _Followers:
    """Configurations of the model, (T, nq), from commanded joints, (T, nu): the others follow by joint equalities."""

    def __init__(self, robot: Robot, model: mujoco.MjModel) -> None:
        # Each coordinate is scale * (the joint that leads it) + offset; those without a leading joint have scale 0.
        self._leader, self._scale = np.zeros(model.nq, int), np.zeros(model.nq)
        self._offset = model.qpos0.copy()
        for index, name in enumerate(robot.joints):
            own = model.joint(name).qposadr[0]
            self._leader[own], self._scale[own], self._offset[own] = index, 1.0, 0.0
        for equality in np.flatnonzero(model.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)):
            self._follow(robot, model, int(equality))

    def _follow(self, robot: Robot, model: mujoco.MjModel, equality: int) -> None:
        """q - q0 = c0 + c1 (p - p0), where p is the leader."""
        own, leader = model.eq_obj1id[equality], model.eq_obj2id[equality]
        at, (constant, slope, *higher) = model.jnt_qposadr[own], model.eq_data[equality, :5]
        self._offset[at] += constant
        if leader < 0:
            return
        name = model.joint(leader).name
        if any(higher) or name not in robot.joints:
            raise WiringError(f"{model.joint(own).name} does not follow a joint with a servo in a straight line")
        self._leader[at], self._scale[at] = robot.joints.index(name), slope
        self._offset[at] -= slope * model.qpos0[model.jnt_qposadr[leader]]

    def configurations(self, rows: Array) -> Array:
        return rows[:, self._leader] * self._scale + self._offset


def _carriers(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and everything that it hangs on."""
    found = [body]
    while found[-1]:
        found.append(int(model.body_parentid[found[-1]]))
    return found


def _carried(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and everything that hangs on it."""
    found = [body]
    for index in range(body + 1, model.nbody):
        if model.body_parentid[index] in found:
            found.append(index)
    return found


def _gather_bits(model: mujoco.MjModel) -> None:
    """Bodies have the bits of all their geoms; a body with stale ones is left out before its geoms are looked at."""
    for field, of_body in ((model.geom_contype, model.body_contype), (model.geom_conaffinity, model.body_conaffinity)):
        of_body[:] = 0
        np.bitwise_or.at(of_body, model.geom_bodyid, field)
