"""Bodies of a collision world: which of them stands for what is believed, and where and how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.perception.core.beliefs import Belief, Shape
from graspline.scenes.scene import Scene
from graspline.scenes.variation import ball_shape_of, box_shape_of, cylinder_shape_of, numbers_of

Array = NDArray[np.float64]

_SHAPE_OF = {"box": box_shape_of, "ball": ball_shape_of, "cylinder": cylinder_shape_of}
_SHAPE_FIELDS = ("geom_size", "geom_rbound", "geom_aabb", "bvh_aabb")
_OF_ONE_SIZE = ("plate", "mesh")
_AWAY_M = (0.0, 0.0, -10.0)
_GEOM_TYPE = {
    "box": int(mujoco.mjtGeom.mjGEOM_BOX),
    "cylinder": int(mujoco.mjtGeom.mjGEOM_CYLINDER),
    "ball": int(mujoco.mjtGeom.mjGEOM_SPHERE),
}


@dataclass(slots=True, kw_only=True, eq=False)
class Body:
    """A body that stands for what is believed; its numbers are views into a model and its data."""

    name: str
    # What it is compiled as; None for a slot, which takes any shape.
    shape: Shape | None
    geoms: NDArray[np.intp]
    position_m: Array
    quaternion: Array
    # Those of its only geom; none of a place or a mesh, which keep the size that they were built with.
    size: tuple[Array, ...]
    type: NDArray[np.int32]
    # The half extents of a mesh, which keeps its size, (3,); and how much slimmer it is believed to be.
    mesh_half_m: Array | None = None
    slimmer_m: float = 0.0
    # The shape and half extents that it has now, and the belief that it stands for.
    has: tuple[Shape, tuple[float, ...]] | None = None
    belief: Belief | None = None

    def fits(self, shape: Shape) -> bool:
        """Whether a body may have this shape."""
        return self.shape is None or self.shape == shape

    def stand_for(self, belief: Belief) -> None:
        """Take the pose that is believed, and the size: of a thing of another shape, one that it fits into."""
        self.belief = belief
        self.position_m[:] = belief.position_m
        self.quaternion[:] = belief.quaternion
        if self.mesh_half_m is not None:
            self.slimmer_m = max(float((self.mesh_half_m - belief.half_extents_m).min()), 0.0)
        x, y, z = belief.half_extents_m.tolist()
        if not self.fits(belief.shape):
            if self.shape == "cylinder":
                x, y, z = float(np.hypot(x, y)), float(np.hypot(x, y)), z
            elif self.shape == "ball":
                x, y, z = (float(np.linalg.norm((x, y, z))),) * 3
        self.resize(belief.shape, (x, y, z))

    def leave(self) -> None:
        """Stand for nothing, where nothing is met.

        Slots, too, which nothing asks for then: MuJoCo pairs bodies in an order that depends on where all of them are,
        and whether two boxes touch depends on that order, so answers would depend on earlier questions.
        """
        self.belief = None
        self.position_m[:] = _AWAY_M

    def resize(self, shape: Shape, half: tuple[float, float, float]) -> None:
        """Take this shape and these half extents; a body of one shape only the extents."""
        shape = self.shape or shape
        if not self.size or self.has == (shape, half):
            return
        if self.shape is None:
            self.type[:] = _GEOM_TYPE[shape]
        for numbers, edit in zip(self.size, _SHAPE_OF[shape](self.name, half), strict=True):
            numbers[:] = edit.values
        self.has = shape, half


def bodies_of(scene: Scene, model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Body]:
    """Every object, place and slot of a scene, in a copy of its model and in data for that."""
    found = dict[str, Body]()
    for name, shape in scene.shapes.items():
        at = scene.joint_address(name)
        found[name] = _body(model, name, shape, data.qpos[at : at + 3], data.qpos[at + 3 : at + 7])
    for name, solid in scene.solids.items():
        body = found[name]
        # What is met are its parts, not the hull around its looks.
        body.geoms = body.geoms[body.geoms != model.geom(name).id]
        body.mesh_half_m = np.array(solid.half_extents_m)
    for name in scene.slots:
        mocap = model.body(name).mocapid[0]
        found[name] = _body(model, name, None, data.mocap_pos[mocap], data.mocap_quat[mocap])
    return found


def held_body(model: mujoco.MjModel, name: str) -> Body:
    """The one that stands for what the hand holds, in the frame of the body that carries it."""
    body = model.body(name)
    return _body(model, name, None, body.pos, body.quat)


def _body(model: mujoco.MjModel, name: str, shape: Shape | None, position_m: Array, quaternion: Array) -> Body:
    geoms = np.flatnonzero(model.geom_bodyid == model.body(name).id)
    resized = shape not in _OF_ONE_SIZE
    return Body(
        name=name,
        shape=shape,
        geoms=geoms,
        position_m=position_m,
        quaternion=quaternion,
        size=tuple(numbers_of(model, field, name).reshape(-1) for field in _SHAPE_FIELDS) if resized else (),
        type=model.geom_type[geoms[0] : geoms[0] + 1],
    )


def assigned(bodies: dict[str, Body], believed: Sequence[Belief], *, stand_ins: bool) -> list[tuple[Body, Belief]]:
    """Which body stands for which belief: its own, by name; with `stand_ins` else one that is not believed to be there.

    Without one a thing is left out, and only checks of distances see it. Where there are slots, that is a mistake.
    """
    own = [
        (body, each)
        for each in believed
        if (body := bodies.get(each.name)) is not None and (not stand_ins or body.shape == each.shape)
    ]
    if not stand_ins or len(own) == len(believed):
        return own
    names = {body.name for body, _ in own}
    spare = [body for body in bodies.values() if body.name not in names and body.shape not in _OF_ONE_SIZE]
    found = own
    for each in believed:
        if each.name in names or each.shape == "plate":
            continue
        if not spare:
            slots = sum(body.shape is None for body in bodies.values())
            if slots:
                raise WiringError(f"{len(believed)} solids in a collision world with {slots} slots")
            break
        body = next((body for body in spare if body.fits(each.shape)), spare[0])
        spare.remove(body)
        found.append((body, each))
    return found
