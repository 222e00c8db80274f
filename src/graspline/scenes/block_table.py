"""Blocks, cans and fruit on a table around a robot, each with a name, a colour and a size of its own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from graspline.robots.catalogue import default_robot
from graspline.robots.robot import Robot
from graspline.scenes.distractors import parked_m
from graspline.scenes.furniture import SURFACE_SOLREF
from graspline.scenes.meshes.bodies import add_solid
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.scene import (
    VISUAL_CONTYPE,
    Array,
    Lying,
    ObjectShape,
    Scene,
    SceneObject,
    add_truth_sensors,
)
from graspline.scenes.table import pad_friction_of, robot_at_table
from graspline.scenes.variation import Edit, Variation, ball_of, box_of, cylinder_of

# Toy blocks are built from studs of this pitch, and this high.
STUD_M = 0.016
BLOCK_HEIGHT_M = 0.024
# A dark disc on the table, as thick as paper, that shows where a thing is to be put; below the table if it is not used.
MARK, MARK_RADIUS_M, _MARK_HALF_M = "mark", 0.012, 0.0001


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One thing of the pool as it is made; an episode may scale it, unless it is a mesh."""

    name: str
    shape: ObjectShape
    size_m: tuple[float, float, float]
    density_kg_m3: float
    rgb: tuple[float, float, float]
    # What a mesh is.
    solid: Solid | None = None

    @property
    def half_extents_m(self) -> tuple[float, float, float]:
        """Half the sizes along the object's own axes."""
        x, y, z = self.size_m
        return x / 2, y / 2, z / 2

    @property
    def spoken(self) -> str:
        """What a person calls it: no two of the pool share a colour and a shape; what is not of it goes by its name."""
        if self not in KINDS:
            return self.name.replace("_", " ")
        colour, _, _ = self.name.partition("_")
        return "orange" if self.shape == "ball" else f"{colour} {'can' if self.shape == 'cylinder' else 'block'}"

    def mass_kg(self, scale: float) -> float:
        """What it weighs when it is scaled so much."""
        if self.solid is not None:
            return float(self.density_kg_m3 * self.solid.volume_m3)
        x, y, z = self.size_m
        filled = {"box": 1.0, "cylinder": np.pi / 4, "ball": np.pi / 6}[self.shape]
        return float(self.density_kg_m3 * filled * x * y * z * scale**3)


def _block(name: str, studs: tuple[int, int], rgb: tuple[float, float, float]) -> Kind:
    size = (studs[1] * STUD_M, studs[0] * STUD_M, BLOCK_HEIGHT_M)
    return Kind(name=name, shape="box", size_m=size, density_kg_m3=900, rgb=rgb)


KINDS = (
    _block("blue_2x4", (2, 4), (0.10, 0.30, 0.80)),
    _block("red_2x2", (2, 2), (0.80, 0.10, 0.12)),
    _block("green_2x3", (2, 3), (0.10, 0.55, 0.20)),
    _block("yellow_1x4", (1, 4), (0.95, 0.80, 0.08)),
    Kind(name="white_can", shape="cylinder", size_m=(0.036, 0.036, 0.05), density_kg_m3=700, rgb=(0.9, 0.9, 0.9)),
    Kind(name="purple_can", shape="cylinder", size_m=(0.026, 0.026, 0.04), density_kg_m3=900, rgb=(0.5, 0.2, 0.6)),
    Kind(name="orange_1", shape="ball", size_m=(0.056, 0.056, 0.056), density_kg_m3=950, rgb=(0.96, 0.49, 0.07)),
)
_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "ball": mujoco.mjtGeom.mjGEOM_SPHERE,
}
_EDITS = {"box": box_of, "cylinder": cylinder_of, "ball": ball_of}


def kind_of(name: str, kinds: tuple[Kind, ...] = KINDS) -> Kind:
    """The kind of an object by its name."""
    return next(each for each in kinds if each.name == name)


def block_table(robot: Robot | None = None, kinds: tuple[Kind, ...] = KINDS) -> Scene:
    """The compiled scene; lanes say which of the pool lie on the table, how large and where."""
    return _compiled(robot or default_robot(), kinds)


@functools.cache
def _compiled(robot: Robot, kinds: tuple[Kind, ...]) -> Scene:
    spec = robot_at_table(robot)
    for kind in kinds:
        _add(spec, kind)
    _add_mark(spec)
    add_truth_sensors(spec, tuple(each.name for each in kinds))
    objects = tuple(
        SceneObject(name=each.name, half_extents_m=each.half_extents_m, shape=each.shape, solid=each.solid)
        for each in kinds
    )
    return Scene(name="block_table", robot=robot, model=spec.compile(), objects=objects)


def _add(spec: mujoco.MjSpec, kind: Kind) -> None:
    if kind.solid is not None:
        add_solid(spec, kind.name, kind.solid, kind.mass_kg(1.0), kind.rgb)
        return
    x, y, z = kind.half_extents_m
    body = spec.worldbody.add_body(name=kind.name, pos=(0.25, 0, z))
    body.add_freejoint(name=kind.name)
    body.add_geom(
        name=kind.name,
        type=_GEOMS[kind.shape],
        size=(x, z, 0) if kind.shape == "cylinder" else (x, y, z),
        mass=kind.mass_kg(1.0),
        rgba=(*kind.rgb, 1),
        # Fruit rolls to a halt; a can on its foot does not turn by itself.
        friction=(0.8, 0.005, 0.0008 if kind.shape == "ball" else 0.0002),
        condim=6 if kind.shape == "ball" else 4,
        solref=SURFACE_SOLREF,
    )


def _add_mark(spec: mujoco.MjSpec) -> None:
    body = spec.worldbody.add_body(name=MARK, pos=(0, 0, -1))
    body.add_geom(
        name=MARK,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=(MARK_RADIUS_M, _MARK_HALF_M, 0),
        # The table's own hue and saturation, darker: people see it, and estimators that go by colour take it for table.
        rgba=(0.46, 0.41, 0.35, 1),
        contype=VISUAL_CONTYPE,
        conaffinity=0,
    )


def marked_at(x_m: float, y_m: float) -> tuple[Edit, ...]:
    """The mark on the table at this point."""
    return (Edit(field="body_pos", element=MARK, values=(x_m, y_m, _MARK_HALF_M)),)


def blocks_variation(
    things: Mapping[str, Lying],
    pad_friction: float,
    described: Mapping[str, float],
    robot: Robot | None = None,
    kinds: tuple[Kind, ...] = KINDS,
) -> Variation:
    """These things with their sizes and masses, and jaw pads of this sliding friction."""
    edits = pad_friction_of(robot or default_robot(), pad_friction)
    for name, thing in things.items():
        if (kind := kind_of(name, kinds)).solid is None:
            edits += _EDITS[kind.shape](name, thing.half_extents_m, thing.mass_kg)
    return Variation(edits=edits, described={"pad_friction": pad_friction, **described})


def blocks_start(things: Mapping[str, Lying], robot: Robot | None = None, kinds: tuple[Kind, ...] = KINDS) -> Array:
    """A start state: the robot at home, these things on the table, the rest of the pool parked far away."""
    poses = {}
    for number, kind in enumerate(kinds):
        parked = np.array([*parked_m(number), kind.half_extents_m[2]]), np.array([1.0, 0, 0, 0])
        if kind.solid is not None:
            rest = kind.solid.rests[0]
            parked = np.array([*parked_m(number), rest.height_m]), rest.quaternion
        poses[kind.name] = things[kind.name].pose if kind.name in things else parked
    return block_table(robot, kinds).start(poses)
