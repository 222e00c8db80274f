"""The plain numbers in which lanes of one scene differ, as edits of named model elements.

An edit names a field of `MjModel`, an element, and its values, so that a variation can be saved with an episode and
applied to a lane of an engine, to a renderer's model or to a model of its own, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import mujoco
import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One model field of one element set to `values` (flattened)."""

    field: str
    element: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """All edits of one lane, and the numbers they were made from, for people and for records."""

    edits: tuple[Edit, ...] = ()
    described: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: Variation) -> Variation:
        return Variation(edits=self.edits + other.edits, described={**self.described, **other.described})


# Which kind of named element indexes the first axis of a field.
_KIND: dict[str, Callable[[mujoco.MjModel, str], int]] = {
    "geom": lambda model, name: model.geom(name).id,
    "body": lambda model, name: model.body(name).id,
    "dof": lambda model, name: int(model.joint(name).dofadr[0]),
    "actuator": lambda model, name: model.actuator(name).id,
    "cam": lambda model, name: model.camera(name).id,
    "light": lambda model, name: model.light(name).id,
    "mat": lambda model, name: model.material(name).id,
    # A body's bounding volumes; every body we vary has one geom and so one volume.
    "bvh": lambda model, name: int(model.body_bvhadr[model.body(name).id]),
}


def row_of(model: mujoco.MjModel, edit: Edit) -> int:
    """Index of the edited element along the first axis of its field."""
    return _KIND[edit.field.split("_", 1)[0]](model, edit.element)


def write_edits(model: mujoco.MjModel, edits: Iterable[Edit]) -> None:
    """Write edits into a model, leaving constants derived from them as they are."""
    for edit in edits:
        values, row = getattr(model, edit.field), row_of(model, edit)
        values[row] = np.reshape(edit.values, np.shape(values[row]))


def apply_to_model(model: mujoco.MjModel, variation: Variation) -> None:
    """Write a variation into a model of the caller's own and bring derived constants up to date."""
    write_edits(model, variation.edits)
    if variation.edits:
        mujoco.mj_setConst(model, mujoco.MjData(model))


def box_shape_of(body: str, half_extents_m: tuple[float, float, float]) -> tuple[Edit, ...]:
    """Give `body`, whose only geom has the same name, the shape of a box.

    Bounding volumes must follow the size: collision culling reads them, and a stale one loses contacts silently.
    """
    x, y, z = half_extents_m
    bounds = (0.0, 0.0, 0.0, x, y, z)
    return (
        Edit(field="geom_size", element=body, values=(x, y, z)),
        Edit(field="geom_rbound", element=body, values=(float(np.sqrt(x * x + y * y + z * z)),)),
        Edit(field="geom_aabb", element=body, values=bounds),
        Edit(field="bvh_aabb", element=body, values=bounds),
    )


def box_of(body: str, half_extents_m: tuple[float, float, float], mass_kg: float) -> tuple[Edit, ...]:
    """The shape, mass and inertia of a solid box."""
    x, y, z = half_extents_m
    third = mass_kg / 3
    inertia = (third * (y * y + z * z), third * (x * x + z * z), third * (x * x + y * y))
    return (
        *box_shape_of(body, half_extents_m),
        Edit(field="body_mass", element=body, values=(mass_kg,)),
        Edit(field="body_inertia", element=body, values=inertia),
    )


def ball_shape_of(body: str, half_extents_m: tuple[float, float, float]) -> tuple[Edit, ...]:
    """Give `body`, whose only geom has the same name and is a sphere or an ellipsoid, these half extents."""
    bounds = (0.0, 0.0, 0.0, *half_extents_m)
    return (
        Edit(field="geom_size", element=body, values=half_extents_m),
        Edit(field="geom_rbound", element=body, values=(max(half_extents_m),)),
        Edit(field="geom_aabb", element=body, values=bounds),
        Edit(field="bvh_aabb", element=body, values=bounds),
    )


def ball_of(body: str, half_extents_m: tuple[float, float, float], mass_kg: float) -> tuple[Edit, ...]:
    """The shape, mass and inertia of a solid ball, which may be off round."""
    x, y, z = half_extents_m
    fifth = mass_kg / 5
    inertia = (fifth * (y * y + z * z), fifth * (x * x + z * z), fifth * (x * x + y * y))
    return (
        *ball_shape_of(body, half_extents_m),
        Edit(field="body_mass", element=body, values=(mass_kg,)),
        Edit(field="body_inertia", element=body, values=inertia),
    )


def friction_of(geoms: tuple[str, ...], friction: tuple[float, float, float]) -> tuple[Edit, ...]:
    return tuple(Edit(field="geom_friction", element=geom, values=friction) for geom in geoms)
