"""A collision world: the robot, its furniture and the objects where they are believed to be.

It runs kinematics and collision detection on scratch data of its own and never steps physics.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.perception.beliefs import Belief
from graspline.scenes.scene import Scene
from graspline.scenes.variation import ball_shape_of, box_shape_of, cylinder_shape_of, numbers_of

Array = NDArray[np.float64]

# What believed surfaces are grown by: fingers pass no closer.
CLEARANCE_M = 0.001
# Of a path, enough samples are checked that nothing of the robot moves much farther from one to the next.
_STEP_M = 0.025
_SHAPE_OF = {"box": box_shape_of, "ball": ball_shape_of, "cylinder": cylinder_shape_of}


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

    def __init__(self, scene: Scene, clearance_m: float = CLEARANCE_M, *, stand_ins: bool = False) -> None:
        """With `stand_ins`, a believed thing that the scene does not have takes the body of one that is not believed
        to be there."""
        self._clearance_m, self._stand_ins = clearance_m, stand_ins
        self._kinds = {each.name: each.shape for each in scene.objects}
        # Bodies that stand in for something else, and what for.
        self._meant: dict[str, str] = {}
        self._model = copy.copy(scene.model)
        self._data = mujoco.MjData(self._model)
        model = self._model
        self._levers_m = scene.robot.levers_m
        self._joints = _addresses(scene)
        self._jaw, self._law = scene.robot.jaw, scene.robot.jaw_law
        self._followers = {scene.joint_address(name): at for name, at in self._law.followers.items()}
        # Everything that is neither furniture nor an object belongs to the robot.
        loose = (*scene.object_names, *scene.place_names)
        others = {model.body(name).id for name in ("world", *scene.furniture, *scene.people, *loose)}
        self._is_robot = np.array([int(body) not in others for body in model.geom_bodyid])
        self._loose = {name: scene.joint_address(name) for name in loose}
        self._nothing = model.qpos0.copy()
        for at in self._loose.values():
            self._nothing[at : at + 3] = (0, 0, -10)
        # A mesh keeps its size.
        self._shapes = {each.name: _SHAPE_OF[each.shape] for each in scene.objects if each.shape != "mesh"}
        solids = scene.solids
        self._solid_halves_m = {name: np.array(solid.half_extents_m) for name, solid in solids.items()}
        # By body, where that has more geoms than the one of its name; and how far into it counts as beside it.
        self._solid_of = {int(model.body(name).id): name for name in solids}
        self._slim_m: dict[str, float] = {}
        # What gives an object its size, as views into the model.
        self._numbers = {
            name: [numbers_of(model, edit.field, name).reshape(-1) for edit in shape(name, (0.0, 0.0, 0.0))]
            for name, shape in self._shapes.items()
        }
        model.geom_margin[~self._is_robot] = clearance_m
        if clearance_m:
            for name, further_m in scene.robot.keeps_m.items():
                model.geom_margin[model.geom(name).id] = further_m
        # Only the robot's own contacts are asked for: what else touches what costs nothing this way.
        model.geom_contype[~self._is_robot] = 0
        model.geom_conaffinity[~self._is_robot] = 1
        # Of a mesh, its parts are met and not the hull around its looks.
        for name in solids:
            model.geom_conaffinity[model.geom(name).id] = 0
        self._believed: tuple[Belief, ...] | None = None
        self._sizes: dict[str, tuple[float, float, float]] = {}

    def place(self, believed: tuple[Belief, ...]) -> None:
        """Put objects where they are believed to be; objects that were not seen are far away.

        A thing that was seen although the scene has none of its name is left to those who measure distances, unless
        another stands in for it. A mesh that is believed to be smaller than it is may be touched that deep.
        """
        if believed == self._believed:
            return
        self._believed = believed
        self._meant = {}
        if self._stand_ins:
            believed = self._with_bodies(believed)
        qpos = self._data.qpos
        qpos[:] = self._nothing
        for estimate in believed:
            at = self._loose.get(estimate.name)
            if at is not None:
                qpos[at : at + 3] = estimate.position_m
                qpos[at + 3 : at + 7] = estimate.quaternion
                self._resize(estimate)
                if estimate.name in self._solid_halves_m:
                    slimmer_m = self._solid_halves_m[estimate.name] - estimate.half_extents_m
                    self._slim_m[estimate.name] = max(float(slimmer_m.min()), 0.0)

    def _with_bodies(self, believed: tuple[Belief, ...]) -> tuple[Belief, ...]:
        """The same, each by the name of a body of its shape; where none is left, of one that it fits into."""
        own = [each for each in believed if each.shape == self._kinds.get(each.name, "plate")]
        spare = [name for name in self._shapes if name not in {each.name for each in own}]
        placed = list(own)
        for each in believed:
            if each in own or each.shape == "plate" or not spare:
                continue
            body = next((name for name in spare if self._kinds[name] == each.shape), spare[0])
            spare.remove(body)
            self._meant[body] = each.name
            x, y, z = each.half_extents_m.tolist()
            around = {"cylinder": (np.hypot(x, y), np.hypot(x, y), z), "ball": (float(np.linalg.norm((x, y, z))),) * 3}
            half = each.half_extents_m if self._kinds[body] == each.shape else around.get(self._kinds[body], (x, y, z))
            placed.append(replace(each, name=body, half_extents_m=np.array(half, float)))
        return tuple(placed)

    def _resize(self, estimate: Belief) -> None:
        """Give an object the size it is believed to have; a place keeps the one it was built with."""
        shape = self._shapes.get(estimate.name)
        x, y, z = estimate.half_extents_m.tolist()
        if shape is not None and self._sizes.get(estimate.name) != (x, y, z):
            for numbers, edit in zip(self._numbers[estimate.name], shape(estimate.name, (x, y, z)), strict=True):
                numbers[:] = edit.values
            self._sizes[estimate.name] = (x, y, z)

    def samples(self, positions: Array) -> Array:
        """As many rows of a path's joint positions (T, nu) as need checking; the first and the last among them."""
        moved_m = np.abs(positions[1:] - positions[:-1]) @ self._levers_m
        steps = np.floor(moved_m.cumsum() / _STEP_M)
        chosen = np.zeros(len(positions), bool)
        # The last row before each whole step is passed.
        np.not_equal(steps[1:], steps[:-1], out=chosen[1:-1])
        chosen[0] = chosen[-1] = True
        return positions[chosen]

    def first_collision(self, positions: Array) -> Collision | None:
        """Check joint positions (T, nu) one after another; the first at which the robot touches anything."""
        model, data, qpos, at = self._model, self._data, self._data.qpos, self._joints
        move, collide = mujoco.mj_kinematics, mujoco.mj_collision
        followed = self._followed(positions)
        for sample, joints in enumerate(positions):
            qpos[at] = joints
            for follower, places in followed:
                qpos[follower] = places[sample]
            move(model, data)
            collide(model, data)
            if data.ncon:
                found = self._touching(sample)
                if found is not None:
                    return found
        return None

    def deepest_m(self, positions: Array) -> float:
        """How far the robot is in anything at worst, over joint positions (T, nu): negative, or 0 where it is clear."""
        deepest = 0.0
        followed = self._followed(positions)
        for sample, joints in enumerate(positions):
            self._data.qpos[self._joints] = joints
            for follower, places in followed:
                self._data.qpos[follower] = places[sample]
            mujoco.mj_kinematics(self._model, self._data)
            mujoco.mj_collision(self._model, self._data)
            touching = self._is_robot[self._data.contact.geom].any(axis=1)
            deepest = min(deepest, float(self._data.contact.dist[touching].min(initial=0.0)))
        return deepest

    def _followed(self, positions: Array) -> list[tuple[int, list[float]]]:
        """Where joints that are coupled to the jaw are, and where it takes them in each sample."""
        jaw, law = positions[:, self._jaw], self._law
        return [(at, np.interp(jaw, law.angles_rad, places).tolist()) for at, places in self._followers.items()]

    def _touching(self, sample: int) -> Collision | None:
        geoms = self._data.contact.geom
        robot = self._is_robot[geoms]
        for index in np.flatnonzero(robot.any(axis=1)):
            first, second = geoms[index] if robot[index, 0] else geoms[index][::-1]
            part, touched = self._model.geom(int(first)).name, self._model.geom(int(second)).name
            distance = float(self._data.contact.dist[index])
            solid = self._solid_of.get(int(self._model.geom_bodyid[second]))
            if solid is not None and self._slim_m.get(solid) and distance > self._clearance_m - self._slim_m[solid]:
                continue
            touched = solid or self._meant.get(str(touched), str(touched))
            return Collision(
                sample=sample,
                robot_part=part,
                touched=touched,
                evidence=(at_least(f"{part}_to_{touched}", distance, self._kept_m(first, second), "m"),),
            )
        return None

    def _kept_m(self, first: int, second: int) -> float:
        """How far two geoms have to be apart: margins add up."""
        further_m = (self._model.geom_margin * self._is_robot)[[first, second]].sum()
        return self._clearance_m + float(further_m)


def _addresses(scene: Scene) -> NDArray[np.intp] | slice:
    """Where the robot's joints are in a `qpos`; a slice, which is cheaper to write to, where they are in one piece."""
    found = np.array([scene.joint_address(name) for name in scene.robot.joints], np.intp)
    return slice(found[0], found[-1] + 1) if (np.diff(found) == 1).all() else found
