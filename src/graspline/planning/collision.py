"""A collision world: the robot, its furniture, what is believed to stand around, and what the hand holds.

It runs kinematics and collision detection on a model and data of its own and never steps physics.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.kinematics.followers import Followers
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.planning import contacts
from graspline.planning.bodies import Body, assigned, bodies_of, held_body
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.scenes.solid_pool import FLOOR, HELD, solid_pool
from graspline.spatial.rotations import matrix_from_quaternion, multiply, quaternion_from_matrix, rotate

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# The hand is whatever carries the site `tool` and what hangs on it: palm and fingers.
Part = Literal["hand", "held"]

# What believed surfaces are grown by: fingers pass no closer; and what a robot among solids of a room keeps from them.
CLEARANCE_M, ROOM_CLEARANCE_M = 0.001, 0.006
# Of a path, enough samples are checked that nothing of the robot moves much farther from one to the next; between
# waypoints, that it moves no farther than this.
_STEP_M, STEP_M = 0.025, 0.02
# Of the distance that the robot has where it stands, this much is kept.
_LEFT = 0.9
# However unsure it is where something stands, no more than this is kept for that.
_MOST_UNSURE_M = 0.03
_SLOTS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """The first sample of a path at which the robot touches something, and what."""

    sample: int
    robot_part: str
    touched: str
    evidence: Evidence

    def __str__(self) -> str:
        return f"{self.robot_part} meets {self.touched} at sample {self.sample}"


class CollisionWorld:
    """Checks robot configurations against furniture and believed objects, which it keeps `clearance_m` away from.

    Parts that the robot names in `keeps_m` stay that much farther away; with a clearance of 0 only contacts count.
    """

    def __init__(
        self, scene: Scene, clearance_m: float = CLEARANCE_M, *, stand_ins: bool = False, sigmas: float = 0.0
    ) -> None:
        """With `stand_ins`, a believed thing that the scene does not have takes the body of one that is not believed
        to be there. What may be elsewhere is kept `sigmas` standard deviations of its position farther away."""
        self.robot, self.clearance_m = scene.robot, clearance_m
        self._usual_m, self._stand_ins, self._sigmas = clearance_m, stand_ins, sigmas
        self._model = copy.copy(scene.model)
        self._data = mujoco.MjData(self._model)
        self._followers = Followers(scene.robot, self._model)
        self._bodies = bodies_of(scene, self._model, self._data)
        self._slots = np.array([self._model.geom(name).id for name in scene.slots], np.intp)
        self._held = held_body(self._model, HELD) if scene.slots else None
        held = None if self._held is None else int(self._held.geoms[0])
        # Everything that is neither furniture nor an object belongs to the robot.
        others = {self._model.body(name).id for name in ("world", *scene.furniture, *scene.people, *self._bodies)}
        self._is_other = np.isin(self._model.geom_bodyid, list(others))
        # What is believed, the bodies that stand for it, and whether anything besides is not as usual.
        self._believed: tuple[Belief, ...] | None = None
        self._placed: list[tuple[Body, Belief]] = []
        self._unusual = bool(scene.slots)
        for body in self._bodies.values():
            body.leave()
        # Of a mesh its parts are met, not the surface that is seen.
        seen = [self._model.geom(body.name).id for body in self._bodies.values() if body.mesh_half_m is not None]
        contacts.wire(self._model, scene.robot, self._is_other, held, clearance_m, seen)
        if scene.slots:
            self._stand_on_floor()
            self.place(())

    @classmethod
    def among_solids(
        cls, robot: Robot, *, slots: int = _SLOTS, clearance_m: float = ROOM_CLEARANCE_M
    ) -> CollisionWorld:
        """A robot on a floor among believed solids of any shape, which it keeps two sigmas farther away from."""
        return cls(solid_pool(robot, slots), clearance_m, stand_ins=True, sigmas=2.0)

    def place(
        self,
        believed: tuple[Belief, ...],
        held: HeldObject | None = None,
        *,
        may_touch: Collection[tuple[Part, Belief]] = (),
        start: Array | None = None,
        leaving: Collection[Belief] | None = None,
        clearance_m: float | None = None,
    ) -> None:
        """Put objects where they are believed to be; objects that were not seen are far away.

        A thing that was seen although the scene has none of its name is left to checks of distances, unless another
        body stands in for it. A mesh that is believed to be slimmer than it is may be touched that deep. All are
        kept clear of by the world's own clearance or by this one; the pairs in `may_touch` are not checked.

        What is closer than the clearance when the robot is at `start`, (nu,), and does not touch it, may come as close
        as that: a robot that stands beside something must be able to leave. With `leaving` that holds for these alone.
        """
        unusual = bool(held or may_touch or clearance_m is not None or start is not None)
        if not (unusual or self._unusual) and believed == self._believed:
            return
        placed = assigned(self._bodies, believed, stand_ins=self._stand_ins)
        for body in {body for body, _ in self._placed}.difference(body for body, _ in placed):
            body.leave()
        for body, belief in placed:
            # Most are the same from one question to the next.
            if body.belief is not belief:
                body.stand_for(belief)
        self._believed, self._placed = believed, placed
        if unusual or self._unusual:
            self._keep_clear(self._usual_m if clearance_m is None else clearance_m)
            self._hold(held)
            self._allow(may_touch)
            self._unusual = unusual or len(self._slots) > 0
        if start is not None:
            self._let_leave(start, leaving)

    def _keep_clear(self, clearance_m: float) -> None:
        """Keep so far from what is placed, and farther from what may be elsewhere; from furniture as far as usual."""
        model, self.clearance_m = self._model, clearance_m
        model.geom_margin[self._is_other] = self._usual_m
        for body, belief in self._placed:
            margin = clearance_m + min(self._sigmas * belief.position_sigma_m, _MOST_UNSURE_M)
            model.geom_margin[body.geoms] = margin
            # Bodies that are farther apart than theirs are not looked at.
            model.body_margin[model.geom_bodyid[body.geoms]] = margin

    def _hold(self, held: HeldObject | None) -> None:
        if self._held is None:
            return
        self._model.geom_contype[self._held.geoms] = 0 if held is None else contacts.HELD | contacts.FLOOR
        if held is not None:
            point, rotation = self._X_hand_tool
            x, y, z = held.half_extents_m.tolist()
            self._held.resize(held.shape, (x, y, z))
            self._held.position_m[:] = point + rotate(rotation, held.X_HO.position_m)
            self._held.quaternion[:] = quaternion_from_matrix(multiply(rotation, held.X_HO.rotation))

    def _allow(self, may_touch: Collection[tuple[Part, Belief]]) -> None:
        """Let everything placed be checked against all of the robot, but for these pairs."""
        answers = self._model.geom_conaffinity
        answers[self._slots] = 0
        for body, belief in self._placed:
            allowed = {
                contacts.HAND if part == "hand" else contacts.HELD for part, other in may_touch if other is belief
            }
            answers[body.geoms] = contacts.ANYTHING & ~sum(allowed)
        contacts.gather_bits(self._model)

    def _let_leave(self, start: Array, leaving: Collection[Belief] | None) -> None:
        """Keep no farther from these, or from anything, than the robot is at the start."""
        if self.free(start):
            return
        near, margins = self._is_other, self._model.geom_margin
        if leaving is not None:
            kept = [body.geoms for body, belief in self._placed if any(belief is each for each in leaving)]
            near = np.isin(np.arange(self._model.ngeom), np.concatenate([[], *kept]))
        for pair, distance_m in zip(self._data.contact.geom, self._data.contact.dist.tolist(), strict=True):
            if distance_m > 0:
                geoms = pair[near[pair]]
                margins[geoms] = np.minimum(margins[geoms], _LEFT * distance_m)

    def own_solids(self, row: Array) -> tuple[Belief, ...]:
        """Boxes around every moving part of the robot with its joints at `row` (nu,): what it sees of itself."""
        model, data = self._model, self._data
        data.qpos[self._followers.at] = self._followers.configurations(row[None])[0]
        mujoco.mj_kinematics(model, data)
        moving = model.body_weldid[model.geom_bodyid] != 0
        found = list[Belief]()
        for geom in np.flatnonzero((model.geom_contype & (contacts.ARM | contacts.HAND) != 0) & moving).tolist():
            rotation = data.geom_xmat[geom].reshape(3, 3)
            found.append(
                Belief.exact(
                    model.geom(geom).name,
                    data.geom_xpos[geom] + rotate(rotation, model.geom_aabb[geom, :3]),
                    quaternion_from_matrix(rotation),
                    model.geom_aabb[geom, 3:].copy(),
                )
            )
        return tuple(found)

    def samples(self, positions: Array) -> Array:
        """As many rows of a path's joint positions (T, nu) as need checking; the first and the last among them."""
        moved_m = np.abs(positions[1:] - positions[:-1]) @ self.robot.levers_m
        steps = np.floor(moved_m.cumsum() / _STEP_M)
        chosen = np.zeros(len(positions), bool)
        # The last row before each whole step is passed.
        np.not_equal(steps[1:], steps[:-1], out=chosen[1:-1])
        chosen[0] = chosen[-1] = True
        return positions[chosen]

    def between(self, rows: Array) -> Array:
        """Rows on the way through waypoints (T, nu), evenly spaced and close enough for checks; both ends too."""
        moved_m = np.abs(rows[1:] - rows[:-1]) @ self.robot.levers_m
        along_m = np.concatenate([[0.0], np.cumsum(moved_m)])
        count = max(1, int(np.ceil(along_m[-1] / STEP_M)))
        at_m = np.linspace(0.0, along_m[-1], count + 1)
        found = np.stack([np.interp(at_m, along_m, column) for column in rows.T], axis=1)
        found[0], found[-1] = rows[0], rows[-1]
        return found

    def free(self, row: Array) -> bool:
        """Whether the robot touches nothing with its joints at `row` (nu,)."""
        return self.first_touching(row[None]) is None

    def first_touching(self, positions: Array) -> int | None:
        """The first of joint positions (T, nu), checked one after another, at which the robot touches anything."""
        model, data, qpos, at = self._model, self._data, self._data.qpos, self._followers.at
        move, collide = mujoco.mj_kinematics, mujoco.mj_collision
        for sample, joints in enumerate(self._followers.configurations(positions)):
            qpos[at] = joints
            move(model, data)
            collide(model, data)
            if data.ncon:
                return sample
        return None

    def first_collision(self, positions: Array, *, clearance_m: float | None = None) -> Collision | None:
        """The first of joint positions (T, nu) at which the robot comes too close to anything, and to what.

        With a clearance it may come as close as that, if it is less than the world's own.
        """
        begin = 0
        while (found := self.first_touching(positions[begin:])) is not None:
            collision = self._met(begin + found, clearance_m)
            if collision is not None:
                return collision
            begin += found + 1
        return None

    def deepest_m(self, positions: Array) -> float:
        """How far the robot is in anything at worst, over joint positions (T, nu): negative, or 0 where it is clear."""
        deepest = 0.0
        for row in positions:
            if not self.free(row):
                deepest = min(deepest, float(self._data.contact.dist.min()))
        return deepest

    def _met(self, sample: int, clearance_m: float | None) -> Collision | None:
        """What is too close in the configuration checked last, if anything is."""
        model, distances, pairs = self._model, self._data.contact.dist, self._data.contact.geom
        limits = model.geom_margin[pairs].sum(axis=1)
        if clearance_m is not None:
            limits = np.minimum(limits, clearance_m)
        for body, _ in self._placed:
            if body.slimmer_m:
                limits = limits - body.slimmer_m * np.isin(pairs, body.geoms).any(axis=1)
        short = np.flatnonzero(distances <= limits)
        if not len(short):
            return None
        pair, distance_m, limit_m = pairs[short[0]], float(distances[short[0]]), float(limits[short[0]])
        first, second = pair[::-1] if self._is_other[pair[0]] else pair
        part, touched = model.geom(int(first)).name, model.geom(int(second)).name
        # Bodies that stand in for something else, and parts of meshes; those of a place have names of their own.
        touched = next(
            (belief.name for body, belief in self._placed if body.shape != "plate" and second in body.geoms), touched
        )
        evidence = (at_least(f"{part}_to_{touched}", distance_m, limit_m, "m"),)
        return Collision(sample=sample, robot_part=part, touched=touched, evidence=evidence)

    def _stand_on_floor(self) -> None:
        """What is on the floor at home stands on it; for these geoms it is no obstacle."""
        floor = self._model.geom(FLOOR).id
        self._model.geom_conaffinity[floor] = contacts.FLOOR
        contacts.gather_bits(self._model)
        self.first_touching(self.robot.home[None])
        pairs = self._data.contact.geom
        standing = pairs[(pairs == floor).any(axis=1)].ravel()
        self._model.geom_contype[standing] &= ~contacts.FLOOR

    @functools.cached_property
    def _X_hand_tool(self) -> tuple[Array, Array]:
        """Where the tool is on the body that carries it."""
        site = self._model.site("tool")
        return site.pos.copy(), matrix_from_quaternion(site.quat)

    @functools.cached_property
    def carries_hand(self) -> Flags:
        """(nu,): which joints move the hand about, as neither jaw nor head does."""
        body = int(self._model.site("tool").bodyid[0])
        carriers = [body]
        while body:
            carriers.append(body := int(self._model.body_parentid[body]))
        joints = [self._model.joint(name).id for name in self.robot.joints]
        return np.isin(self._model.jnt_bodyid[joints], carriers)
