"""Bodies of household items, how they differ from lane to lane, and where those wait that a lane does not use."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco

from graspline.scenes.furniture import SURFACE_SOLREF
from graspline.scenes.household import ITEMS, Item, ItemPart
from graspline.scenes.scene import VISUAL_CONTYPE, SceneObject
from graspline.scenes.variation import Edit, box_of, cylinder_of

Vector = tuple[float, float, float]

_FRICTION = (0.7, 0.005, 0.0002)
# A ball pushed at 0.1 m/s rolls 12 mm.
_BALL_FRICTION = (0.7, 0.005, 0.002)
# Below the floor, where no camera sees them, side by side and without weight.
_PARKED_M = (-2.0, 0.0, -3.0)
_PARKED_APART_M = 0.4
_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "ball": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}


def add_items(spec: mujoco.MjSpec) -> tuple[SceneObject, ...]:
    """A body for every item, parked."""
    for item in ITEMS:
        body = spec.worldbody.add_body(name=item.name, pos=parked_m(item.name))
        body.add_freejoint(name=item.name)
        for part in item.parts:
            _add_part(body, item, part)
    return tuple(
        SceneObject(name=each.name, half_extents_m=each.half_extents_m, shape=each.shape, parked_m=parked_m(each.name))
        for each in ITEMS
    )


def _add_part(body: mujoco.MjsBody, item: Item, part: ItemPart) -> None:
    x, y, z = part.half_extents_m
    # Contacts of spheres are exact, those of ellipsoids are searched for.
    kind = mujoco.mjtGeom.mjGEOM_SPHERE if part.shape == "ball" and x == y == z else _GEOMS[part.shape]
    body.add_geom(
        name=item.geom(part),
        type=kind,
        pos=part.position_m,
        size=(x, z, 0) if part.shape == "cylinder" else (x, y, z),
        # All of it in the main body: a handle's weight would pull a mug's balance aside by a millimetre.
        mass=0.0 if part.name else item.mass_kg,
        rgba=(*part.rgb, 1),
        friction=_BALL_FRICTION if item.shape == "ball" else _FRICTION,
        condim=6 if item.shape == "ball" else 4,
        solref=SURFACE_SOLREF,
        **({} if part.solid else {"contype": VISUAL_CONTYPE, "conaffinity": 0}),
    )


def parked_m(name: str) -> Vector:
    """Where an item waits, out of sight."""
    x, y, z = _PARKED_M
    number = next(index for index, item in enumerate(ITEMS) if item.name == name)
    return x + _PARKED_APART_M * (number % 5), y + _PARKED_APART_M * (number // 5), z


def is_parked(position_m: Sequence[float]) -> bool:
    """Whether what is there waits, and is not part of the room."""
    return bool(position_m[2] < _PARKED_M[2] / 2)


def made_as(item: Item) -> tuple[Edit, ...]:
    """Size, mass and colour of an unknown item. Known ones are what they are."""
    if item.known:
        return ()
    shape = {"box": box_of, "cylinder": cylinder_of}[item.shape]
    return (
        *shape(item.name, item.half_extents_m, item.mass_kg),
        Edit(field="geom_rgba", element=item.name, values=(*item.rgb, 1.0)),
    )
