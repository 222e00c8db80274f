"""Household items: those with a name, a look and grasps of their own, and a few that are not known beforehand.

An item's frame lies in the middle of its shape, z up as it stands. A mug's handle points along x and is no part of its
shape, only one of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from graspline.scenes.annotated_grasps import (
    AnnotatedGrasp,
    Vector,
    grasps_of_ball,
    grasps_of_box,
    grasps_of_cylinder,
)
from graspline.scenes.scene import ObjectShape

Rgb = tuple[float, float, float]

_TIN: Rgb = (0.72, 0.72, 0.72)
_CREAM: Rgb = (0.92, 0.89, 0.82)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPart:
    """A piece of an item, upright in its frame. The first of an item is its main body and has no name of its own."""

    name: str = ""
    shape: ObjectShape
    half_extents_m: Vector
    rgb: Rgb
    position_m: Vector = (0.0, 0.0, 0.0)
    # Whether it can be touched, or is only seen.
    solid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: the shape it is taken for, what it is made of, and how it may be grasped if that is known."""

    name: str
    shape: ObjectShape
    half_extents_m: Vector
    mass_kg: float
    parts: tuple[ItemPart, ...]
    grasps: tuple[AnnotatedGrasp, ...] = ()

    @property
    def rgb(self) -> Rgb:
        """What most of it is painted with."""
        return self.parts[0].rgb

    @property
    def known(self) -> bool:
        """Whether grasps of it are known."""
        return bool(self.grasps)

    def geom(self, part: ItemPart) -> str:
        """The name of a part's geom."""
        return f"{self.name}_{part.name}" if part.name else self.name


def _carton(name: str, size_m: Vector, mass_kg: float, rgb: Rgb, stripe: Rgb) -> Item:
    """A box with a stripe around it."""
    x, y, z = (each / 2 for each in size_m)
    band = ItemPart(
        name="stripe",
        shape="box",
        half_extents_m=(x + 0.0003, y + 0.0003, 0.12 * z),
        rgb=stripe,
        position_m=(0.0, 0.0, 0.45 * z),
        solid=False,
    )
    return Item(
        name=name,
        shape="box",
        half_extents_m=(x, y, z),
        mass_kg=mass_kg,
        parts=(ItemPart(shape="box", half_extents_m=(x, y, z), rgb=rgb), band),
        grasps=grasps_of_box((x, y, z)),
    )


def _can(name: str, diameter_m: float, height_m: float, mass_kg: float, rgb: Rgb) -> Item:
    """A cylinder with rims of tin."""
    radius, half = diameter_m / 2, height_m / 2
    rims = (
        ItemPart(
            name=where,
            shape="cylinder",
            half_extents_m=(radius + 0.0003, radius + 0.0003, 0.003),
            rgb=_TIN,
            position_m=(0.0, 0.0, sign * (half - 0.0027)),
            solid=False,
        )
        for where, sign in (("lid", 1), ("foot", -1))
    )
    return Item(
        name=name,
        shape="cylinder",
        half_extents_m=(radius, radius, half),
        mass_kg=mass_kg,
        parts=(ItemPart(shape="cylinder", half_extents_m=(radius, radius, half), rgb=rgb), *rims),
        grasps=grasps_of_cylinder(radius, -half, half, -half),
    )


def _bottle(name: str, mass_kg: float, rgb: Rgb, cap: Rgb) -> Item:
    """A cylinder with a neck and a cap, round at the shoulders; 216 mm high."""
    radius, half, body = 0.033, 0.108, 0.075
    top = 2 * body - half
    parts = (
        ItemPart(shape="cylinder", half_extents_m=(radius, radius, body), rgb=rgb, position_m=(0.0, 0.0, body - half)),
        ItemPart(
            name="shoulder",
            shape="ball",
            half_extents_m=(radius, radius, 0.03),
            rgb=rgb,
            position_m=(0.0, 0.0, top),
            solid=False,
        ),
        ItemPart(
            name="neck", shape="cylinder", half_extents_m=(0.013, 0.013, 0.024), rgb=rgb, position_m=(0, 0, top + 0.024)
        ),
        ItemPart(
            name="cap", shape="cylinder", half_extents_m=(0.015, 0.015, 0.009), rgb=cap, position_m=(0, 0, half - 0.009)
        ),
    )
    return Item(
        name=name,
        shape="cylinder",
        half_extents_m=(radius, radius, half),
        mass_kg=mass_kg,
        parts=parts,
        # From above the hand would meet the neck.
        grasps=tuple(grasp for grasp in grasps_of_cylinder(radius, -half, top, -half) if grasp.kind != "top"),
    )


def _mug(name: str, mass_kg: float, rgb: Rgb) -> Item:
    """A cylinder with a handle along x; it is filled, but does not look so."""
    radius, half = 0.040, 0.047
    arm, out = (0.016, 0.006, 0.006), radius + 0.012
    handle = (
        ItemPart(name="handle_top", shape="box", half_extents_m=arm, rgb=rgb, position_m=(out, 0.0, 0.026)),
        ItemPart(name="handle_low", shape="box", half_extents_m=arm, rgb=rgb, position_m=(out, 0.0, -0.024)),
        ItemPart(
            name="handle",
            shape="box",
            half_extents_m=(0.005, 0.006, 0.031),
            rgb=rgb,
            position_m=(radius + 0.027, 0.0, 0.001),
        ),
    )
    inside = ItemPart(
        name="inside",
        shape="cylinder",
        half_extents_m=(radius - 0.004, radius - 0.004, 0.0005),
        rgb=(0.30, 0.22, 0.17),
        position_m=(0.0, 0.0, half),
        solid=False,
    )
    return Item(
        name=name,
        shape="cylinder",
        half_extents_m=(radius, radius, half),
        mass_kg=mass_kg,
        parts=(ItemPart(shape="cylinder", half_extents_m=(radius, radius, half), rgb=rgb), *handle, inside),
        # The palm opposite the handle, and fingers clear of it.
        grasps=grasps_of_cylinder(radius, -half, half, -half, turn_rad=(-0.9, 0.9)),
    )


def _ball(name: str, diameter_m: float, mass_kg: float, rgb: Rgb, *parts: ItemPart) -> Item:
    radius = diameter_m / 2
    half = (radius, radius, radius)
    return Item(
        name=name,
        shape="ball",
        half_extents_m=half,
        mass_kg=mass_kg,
        parts=(ItemPart(shape="ball", half_extents_m=half, rgb=rgb), *parts),
        grasps=grasps_of_ball(radius),
    )


_STEM = ItemPart(
    name="stem",
    shape="cylinder",
    half_extents_m=(0.002, 0.002, 0.004),
    rgb=(0.36, 0.25, 0.15),
    position_m=(0.0, 0.0, 0.040),
    solid=False,
)
KNOWN: tuple[Item, ...] = (
    _carton("cracker_box", (0.060, 0.155, 0.205), 0.41, (0.72, 0.20, 0.17), _CREAM),
    _carton("sugar_box", (0.045, 0.092, 0.175), 0.51, (0.93, 0.75, 0.22), _CREAM),
    _carton("tea_box", (0.072, 0.125, 0.080), 0.16, (0.24, 0.47, 0.30), (0.83, 0.78, 0.55)),
    _can("soup_can", 0.067, 0.102, 0.35, (0.80, 0.40, 0.16)),
    _can("juice_can", 0.062, 0.125, 0.34, (0.16, 0.46, 0.52)),
    _bottle("water_bottle", 0.48, (0.50, 0.72, 0.86), (0.20, 0.36, 0.62)),
    _mug("mug", 0.33, (0.22, 0.30, 0.55)),
    _ball("tennis_ball", 0.067, 0.10, (0.76, 0.84, 0.24)),
    _ball("apple", 0.076, 0.18, (0.68, 0.15, 0.16), _STEM),
)


def unknown_item(name: str, shape: ObjectShape, half_extents_m: Vector, rgb: Rgb) -> Item:
    """Something plain without annotated grasps, as heavy as a packet of food of its size."""
    x, y, z = half_extents_m
    mass = min(max(_UNKNOWN_KG_M3 * 8 * x * y * z, 0.1), 0.6)
    part = ItemPart(shape=shape, half_extents_m=half_extents_m, rgb=rgb)
    return Item(name=name, shape=shape, half_extents_m=half_extents_m, mass_kg=mass, parts=(part,))


_UNKNOWN_KG_M3 = 400.0
# No known item is painted like these.
UNKNOWN_RGBS: tuple[Rgb, ...] = (
    (0.47, 0.33, 0.62),
    (0.82, 0.52, 0.64),
    (0.52, 0.53, 0.55),
    (0.27, 0.27, 0.30),
    (0.50, 0.20, 0.40),
)
# As compiled; lanes give them other sizes and colours.
UNKNOWN: tuple[Item, ...] = (
    unknown_item("unknown_box_1", "box", (0.03, 0.045, 0.06), UNKNOWN_RGBS[0]),
    unknown_item("unknown_box_2", "box", (0.035, 0.05, 0.04), UNKNOWN_RGBS[1]),
    unknown_item("unknown_box_3", "box", (0.025, 0.04, 0.07), UNKNOWN_RGBS[2]),
    unknown_item("unknown_can_1", "cylinder", (0.03, 0.03, 0.055), UNKNOWN_RGBS[3]),
    unknown_item("unknown_can_2", "cylinder", (0.035, 0.035, 0.07), UNKNOWN_RGBS[4]),
)
ITEMS = (*KNOWN, *UNKNOWN)


def item_of(name: str) -> Item:
    """An item as compiled."""
    return next(each for each in ITEMS if each.name == name)
