"""The plain numbers in which lanes of one scene differ, as edits of named model elements.

An edit names a field of `MjModel`, an element, and its values, so that a variation can be saved with an episode and
applied to a lane of an engine, to a renderer's model or to a model of its own, with the same result. What only a camera
notices is an edit like any other, which an engine leaves out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.scenes.textures import texels_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One model field of one element set to `values` (flattened)."""

    field: str
    element: str
    values: tuple[float, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Every episode that goes to another process carries dozens."""
        return _edit, (self.field, self.element, self.values)

    @property
    def only_seen(self) -> bool:
        """Whether pictures alone show it: physics reads nothing of cameras, lights and colours."""
        return _only_seen(self.field)


def _edit(field: str, element: str, values: tuple[float, ...]) -> Edit:
    return Edit(field=field, element=element, values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """All edits of one lane, and the numbers they were made from, for people and for records.

    Of two edits of one number the later one counts. A control takes effect some control ticks after it was given.
    Depths are a number of times as noisy as those of a sound camera, and this share of pixels more has none.
    """

    edits: tuple[Edit, ...] = ()
    described: dict[str, float] = field(default_factory=dict)
    latency_ticks: int = 0
    depth_sigma_factor: float = 1.0
    depth_hole_share: float = 0.0

    def __add__(self, other: Variation) -> Variation:
        return Variation(
            edits=self.edits + other.edits,
            described={**self.described, **other.described},
            latency_ticks=self.latency_ticks + other.latency_ticks,
            depth_sigma_factor=self.depth_sigma_factor * other.depth_sigma_factor,
            depth_hole_share=self.depth_hole_share + other.depth_hole_share,
        )

    def seen_after(self, edits: Iterable[Edit]) -> Variation:
        """As cameras have it once these changes have been made as well."""
        seen = tuple(edit for edit in edits if edit.only_seen)
        return replace(self, edits=self.edits + seen) if seen else self

    def values(self, model: mujoco.MjModel, field: str, element: str) -> tuple[float, ...]:
        """A number of the model (flattened) as this variation of it has it."""
        for edit in reversed(self.edits):
            if (edit.field, edit.element) == (field, element):
                return edit.values
        numbers = numbers_of(model, field, element)
        return tuple((numbers[0] if field == "tex_rgb" else numbers).ravel().tolist())

    def scaled(self, model: mujoco.MjModel, field: str, element: str, factor: float) -> Edit:
        """The edit that multiplies what this variation has there."""
        values = tuple(factor * each for each in self.values(model, field, element))
        return Edit(field=field, element=element, values=values)


# Fields of geoms that only cameras notice, and kinds of elements that only cameras notice.
_SEEN_OF_GEOMS = frozenset({"geom_rgba", "geom_matid"})
_SEEN_KINDS = frozenset({"cam", "light", "headlight", "mat", "tex"})


@functools.cache
def _only_seen(field: str) -> bool:
    return field in _SEEN_OF_GEOMS or field.split("_", 1)[0] in _SEEN_KINDS


# Which kind of named element indexes the first axis of a field.
_KIND: dict[str, Callable[[mujoco.MjModel, str], int]] = {
    "geom": lambda model, name: model.geom(name).id,
    "body": lambda model, name: model.body(name).id,
    "dof": lambda model, name: int(model.joint(name).dofadr[0]),
    "actuator": lambda model, name: model.actuator(name).id,
    "eq": lambda model, name: model.equality(name).id,
    "cam": lambda model, name: model.camera(name).id,
    "light": lambda model, name: model.light(name).id,
    "mat": lambda model, name: model.material(name).id,
    # A body's bounding volumes; every body we vary has one geom and so one volume.
    "bvh": lambda model, name: int(model.body_bvhadr[model.body(name).id]),
}


def row_of(model: mujoco.MjModel, edit: Edit) -> int:
    """Index of the edited element along the first axis of its field."""
    return _KIND[edit.field.split("_", 1)[0]](model, edit.element)


def numbers_of(model: mujoco.MjModel, field: str, element: str) -> NDArray[Any]:
    """What an edit sets, as a view into the model.

    Besides rows of named elements there are the one light at the camera (`headlight_ambient` and the like) and
    `tex_rgb`, 0 to 255 in all texels, (n, 3), of a texture of one colour.
    """
    match field.split("_", 1):
        case ["headlight", what]:
            return getattr(model.vis.headlight, what)
        case ["tex", "rgb"]:
            return texels_of(model, model.texture(element).id)
        case _:
            row = row_of(model, Edit(field=field, element=element, values=()))
            return getattr(model, field)[row, ...]


def write_edits(model: mujoco.MjModel, edits: Iterable[Edit]) -> None:
    """Write edits into a model, leaving constants derived from them as they are."""
    for edit in edits:
        numbers = numbers_of(model, edit.field, edit.element)
        numbers[...] = edit.values if edit.field == "tex_rgb" else np.reshape(edit.values, numbers.shape)


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


def cylinder_shape_of(body: str, half_extents_m: tuple[float, float, float]) -> tuple[Edit, ...]:
    """Give `body`, whose only geom has the same name, the shape of a cylinder about its z axis."""
    radius, _, half = half_extents_m
    bounds = (0.0, 0.0, 0.0, radius, radius, half)
    return (
        Edit(field="geom_size", element=body, values=(radius, half, 0.0)),
        Edit(field="geom_rbound", element=body, values=(float(np.hypot(radius, half)),)),
        Edit(field="geom_aabb", element=body, values=bounds),
        Edit(field="bvh_aabb", element=body, values=bounds),
    )


def cylinder_of(body: str, half_extents_m: tuple[float, float, float], mass_kg: float) -> tuple[Edit, ...]:
    """The shape, mass and inertia of a solid cylinder."""
    radius, _, half = half_extents_m
    across = mass_kg * (radius * radius / 4 + half * half / 3)
    return (
        *cylinder_shape_of(body, half_extents_m),
        Edit(field="body_mass", element=body, values=(mass_kg,)),
        Edit(field="body_inertia", element=body, values=(across, across, mass_kg * radius * radius / 2)),
    )


def friction_of(geoms: tuple[str, ...], friction: tuple[float, float, float]) -> tuple[Edit, ...]:
    """Edits that set the friction of these geoms."""
    return tuple(Edit(field="geom_friction", element=geom, values=friction) for geom in geoms)


def weight_of(body: str, *, weightless: bool) -> Edit:
    """Whether gravity pulls at a body; one that waits out of sight would fall for ever."""
    return Edit(field="body_gravcomp", element=body, values=(1.0 if weightless else 0.0,))


def held_at(equality: str, position: float) -> Edit:
    """Let an equality of one joint alone hold it at a position, m or rad from where the model has it."""
    return Edit(field="eq_data", element=equality, values=(position, *(0.0,) * (mujoco.mjNEQDATA - 1)))
