"""The scene an episode starts in, and how different two of them are, as a length.

The difference of two objects is how far points of them lie apart: the distance of their centres, the way a corner moves
as the yaw differs (yaw times half the diagonal, the yaw taken modulo the object's symmetry), and the way a face moves
as the size differs (half of it), as the root of the sum of squares. That of two scenes is the root of the sum of
squares over all objects and places. Scenes of other objects, or with another instruction, are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.scenes.scene import Scene, SceneObject
from graspline.spatial.rotations import yaw_of

Array = NDArray[np.float64]

# Farther from the tool than this, or this far below the floor, a scene keeps what an episode does not use.
_AWAY_M, _BELOW_M = 5.0, 0.5
# Sides that differ by less look the same.
_SQUARE_M = 0.001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StartObject:
    """One object or place as it is at the start."""

    name: str
    # Objects of one kind are interchangeable: same shape and colours.
    kind: str
    position_mm: Array
    yaw_rad: float
    # By how much it must turn to look the same again; 0 if it does at any angle.
    period_rad: float
    half_mm: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SceneStart:
    """What lies there, and what is to be done with it."""

    instruction: str
    # By kind, in a fixed order within a kind.
    objects: tuple[StartObject, ...]

    @property
    def composition(self) -> tuple[str, ...]:
        """Scenes of one composition can be compared."""
        return (self.instruction, *(each.kind for each in self.objects))

    def only(self, thing: StartObject) -> SceneStart:
        """Nothing but this object, whatever is to be done with it."""
        return SceneStart(instruction="", objects=(thing,))

    def named(self, name: str) -> StartObject | None:
        """The object of this name, or None."""
        return next((each for each in self.objects if each.name == name), None)


def kinds_of(scene: Scene) -> dict[str, str]:
    """The kind of each object by name: shape, and the form and colour of all its geoms as compiled."""
    model = scene.model
    kinds = {}
    for each in scene.objects:
        geoms = np.flatnonzero(model.geom_bodyid == model.body(each.name).id)
        looks = [(int(model.geom_type[i]), *np.round(model.geom_rgba[i], 3).tolist()) for i in geoms]
        kinds[each.name] = f"{each.shape} {looks}"
    return {**kinds, **{each.name: f"place {each.name}" for each in scene.places}}


def look_period_rad(shape: str, half_m: Sequence[float] | Array) -> float:
    """By how much an upright object must turn to look the same; 0 if at any angle."""
    if shape == "mesh":
        return 2 * np.pi
    if shape != "box":
        return 0.0
    return np.pi / 2 if 2 * abs(half_m[0] - half_m[1]) < _SQUARE_M else np.pi


def grip_period_rad(shape: str, half_m: Sequence[float] | Array, widest_gap_m: float) -> float:
    """By how much the hand must turn for another grasp as good: the other way round, or the other faces if they fit."""
    if shape == "mesh":
        return np.pi
    if shape != "box":
        return 0.0
    return np.pi / 2 if 2 * max(half_m[0], half_m[1]) <= widest_gap_m else np.pi


def start_of(
    scene: Scene,
    kinds: Mapping[str, str],
    poses: Array,
    sizes_m: Mapping[str, Sequence[float]],
    tool_m: Array,
    instruction: str,
) -> SceneStart:
    """The scene of poses (n, 7), of all objects and then all places; what is kept out of sight is left out."""
    found = []
    for thing, pose in zip((*scene.objects, *scene.places), poses, strict=True):
        if np.linalg.norm(pose[:3] - tool_m) > _AWAY_M or pose[2] < -_BELOW_M:
            continue
        shape = thing.shape if isinstance(thing, SceneObject) else "cylinder"
        half_m = np.asarray(sizes_m.get(thing.name, 2 * np.array(thing.half_extents_m)), float) / 2
        found.append(
            StartObject(
                name=thing.name,
                kind=kinds[thing.name],
                position_mm=1000 * pose[:3],
                yaw_rad=float(yaw_of(pose[3:])),
                period_rad=look_period_rad(shape, half_m),
                half_mm=1000 * half_m,
            )
        )
    return SceneStart(instruction=instruction, objects=tuple(sorted(found, key=lambda each: each.kind)))


def folded(angle_rad: Array, period_rad: Array | float) -> Array:
    """Angles modulo a symmetry, in [-period / 2, period / 2); 0 where any angle looks the same."""
    period = np.asarray(period_rad, float)
    safe = np.where(period > 0, period, 1.0)
    return np.where(period > 0, np.mod(angle_rad + safe / 2, safe) - safe / 2, 0.0)
