"""A sorting line: blocks ride past a robot on a belt, and four more belts take them away."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from graspline.robots.robot import Robot
from graspline.scenes.furniture import SURFACE_SOLREF, add_camera, add_light
from graspline.scenes.scene import (
    VISUAL_CONTYPE,
    Array,
    Bay,
    Lying,
    Scene,
    SceneObject,
    add_truth_sensors,
    new_spec,
)
from graspline.scenes.variation import Edit, Variation, box_of, weight_of

# The belts' tops are level with the robot's foot. The input belt runs along -y, the outputs along -x.
BELT = "belt_in"
BELT_X_M = 0.5
BELT_HALF_WIDTH_M = 0.15
BELT_START_M, BELT_END_M = 1.3, -0.9
OUTPUT_HALF_WIDTH_M = 0.09
OUTPUT_START_M, OUTPUT_END_M = 0.32, -0.25
# Upstream and downstream of the robot, the nearer ones first; y of their middle lines.
OUTPUTS: Mapping[str, float] = {"bin_red": -0.24, "bin_green": 0.24, "bin_blue": 0.45, "bin_reject": -0.45}
_BELT_THICK_M = 0.04
_TABLE_M = -0.1
_RUBBER = (0.17, 0.18, 0.19, 1)
_FRAME = (0.62, 0.64, 0.66, 1)
_SIGNS = {
    "bin_red": (0.75, 0.16, 0.14, 1),
    "bin_green": (0.18, 0.55, 0.26, 1),
    "bin_blue": (0.16, 0.32, 0.72, 1),
    "bin_reject": (0.45, 0.45, 0.45, 1),
}
_TABLE_RGBA = (0.72, 0.71, 0.68, 1)
BELT_FRICTION = (0.7, 0.005, 0.0002)
# Wood.
BLOCK_KG_M3 = 1500.0
_BLOCK_FRICTION = (0.7, 0.005, 0.0002)
# A pool's blocks hang far away, one above the other, without weight and touching nothing.
_PARKED_M = (-6.0, -3.0, 1.0)

Material = Literal["emissive", "lit"]
Size = tuple[float, float, float]
Rgb = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledBlock:
    """One block of a pool: full extents, colour, and where it lies on the belt at the start, if it does."""

    size_m: Size
    rgb: Rgb
    lying: Lying | None = None


def block_name(number: int) -> str:
    """The name of a block by its number."""
    return f"block_{number + 1}"


def parked_m(number: int) -> tuple[float, float, float]:
    """Where the block of this number waits, out of sight."""
    x, y, z = _PARKED_M
    return x, y, z + 0.2 * number


def mass_kg(size_m: Size) -> float:
    """The mass of a block of this size."""
    return BLOCK_KG_M3 * size_m[0] * size_m[1] * size_m[2]


def speed_of(belt: str, speed_m_s: float) -> Edit:
    """A belt's speed, in the direction it runs in."""
    along = (0.0, -speed_m_s) if belt == BELT else (-speed_m_s, 0.0)
    return Edit(field="geom_surfacevel", element=belt, values=(*along, 0.0, 0.0, 0.0, 0.0))


@functools.cache
def belt_line(robot: Robot, pool: int) -> Scene:
    """The compiled scene with `pool` blocks; lanes say what they look like, where they are and how belts run."""
    spec = new_spec()
    _add_furniture(spec)
    add_light(spec)
    # The line is three times as long as a table: shadows need a finer map around it, and no speckles on its sides.
    spec.visual.quality.shadowsize = 8192
    spec.visual.map.shadowclip = 1.6
    spec.stat.extent, spec.stat.center = 1.0, (0.3, 0.2, 0.1)
    _add_cameras(spec)
    robot.add_to(spec)
    for number in range(pool):
        _add_block(spec, number)
    names = tuple(block_name(number) for number in range(pool))
    add_truth_sensors(spec, names)
    return Scene(
        name="belt_line",
        robot=robot,
        model=spec.compile(),
        objects=tuple(SceneObject(name=name, half_extents_m=(0.02, 0.02, 0.02)) for name in names),
        bays=tuple(
            Bay(
                name=name,
                position_m=((OUTPUT_START_M + OUTPUT_END_M) / 2, y, 0.0),
                half_extents_m=((OUTPUT_START_M - OUTPUT_END_M) / 2, OUTPUT_HALF_WIDTH_M, 0.0),
            )
            for name, y in OUTPUTS.items()
        ),
    )


def line_variation(
    blocks: Mapping[str, PooledBlock],
    *,
    belt_m_s: float,
    output_m_s: float,
    material: Material,
    described: Mapping[str, float],
) -> Variation:
    """Blocks as they are made, those that wait without weight, and belts at these speeds."""
    edits: tuple[Edit, ...] = (speed_of(BELT, belt_m_s), *(speed_of(name, output_m_s) for name in OUTPUTS))
    for name, block in blocks.items():
        x, y, z = block.size_m
        edits += box_of(name, (x / 2, y / 2, z / 2), mass_kg(block.size_m))
        edits += (Edit(field="geom_rgba", element=name, values=(*block.rgb, 1.0)),)
        if block.lying is None:
            edits += (weight_of(name, weightless=True),)
    edits += (Edit(field="mat_emission", element="block", values=(0.55 if material == "emissive" else 0.0,)),)
    return Variation(edits=edits, described=dict(described))


def line_start(scene: Scene, blocks: Mapping[str, PooledBlock]) -> Array:
    """A start state: the robot at home, blocks on the belt, the rest of the pool waiting."""
    poses = {}
    for number, (name, block) in enumerate(blocks.items()):
        waiting = np.array(parked_m(number)), np.array([1.0, 0, 0, 0])
        poses[name] = waiting if block.lying is None else block.lying.pose
    return scene.start(poses)


def _add_block(spec: mujoco.MjSpec, number: int) -> None:
    name = block_name(number)
    body = spec.worldbody.add_body(name=name, pos=parked_m(number))
    body.add_freejoint(name=name)
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(0.02, 0.02, 0.02),
        mass=mass_kg((0.04, 0.04, 0.04)),
        rgba=(0.6, 0.6, 0.6, 1),
        material="block",
        friction=_BLOCK_FRICTION,
        condim=4,
        solref=SURFACE_SOLREF,
    )


def _add_furniture(spec: mujoco.MjSpec) -> None:
    # Of the seed's blocks: no highlight, a shininess that then shows nothing.
    spec.add_material(name="block", specular=0.0, shininess=0.2, emission=0.0, rgba=(0.6, 0.6, 0.6, 1))
    _box(spec, "table", (-0.65, -1.0, _TABLE_M - 0.04), (0.85, 1.4, _TABLE_M), _TABLE_RGBA)
    _box(spec, "plinth", (-0.11, -0.11, _TABLE_M), (0.11, 0.11, 0.0), _FRAME)
    middle = (BELT_START_M + BELT_END_M) / 2
    _belt(spec, BELT, (BELT_X_M, middle), (BELT_HALF_WIDTH_M, (BELT_START_M - BELT_END_M) / 2))
    for name, y in OUTPUTS.items():
        along = (OUTPUT_START_M - OUTPUT_END_M) / 2
        _belt(spec, name, ((OUTPUT_START_M + OUTPUT_END_M) / 2, y), (along, OUTPUT_HALF_WIDTH_M))
        # Below the belts, where no camera that looks for blocks takes them for one.
        for end, x in (("in", OUTPUT_START_M), ("out", OUTPUT_END_M)):
            low, high = (x - 0.008, y - 0.07, _TABLE_M + 0.015), (x + 0.008, y + 0.07, -0.048)
            _box(spec, f"{name}_sign_{end}", low, high, _SIGNS[name], seen_only=True)


def _belt(spec: mujoco.MjSpec, name: str, middle_m: tuple[float, float], half_m: tuple[float, float]) -> None:
    """A belt with its frame below the rubber, so that nothing stands higher than what rides on it."""
    spec.worldbody.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(*middle_m, -_BELT_THICK_M / 2),
        size=(*half_m, _BELT_THICK_M / 2),
        rgba=_RUBBER,
        friction=BELT_FRICTION,
        condim=4,
        solref=SURFACE_SOLREF,
    )
    (x, y), (across, along) = middle_m, half_m
    low = (x - across + 0.01, y - along + 0.01, _TABLE_M)
    high = (x + across - 0.01, y + along - 0.01, -_BELT_THICK_M)
    _box(spec, f"{name}_frame", low, high, _FRAME, seen_only=True)


def _box(spec: mujoco.MjSpec, name: str, low: tuple, high: tuple, rgba: tuple, *, seen_only: bool = False) -> None:
    lower, upper = np.array(low), np.array(high)
    spec.worldbody.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(lower + upper) / 2,
        size=(upper - lower) / 2,
        rgba=rgba,
        solref=SURFACE_SOLREF,
        **({"contype": VISUAL_CONTYPE, "conaffinity": 0} if seen_only else {}),
    )


def _add_cameras(spec: mujoco.MjSpec) -> None:
    """One that shows the whole line to people, one behind the robot that looks at the outputs past the arm, and one
    above the belt."""
    add_camera(spec, "front", np.array([1.75, -1.15, 1.15]), np.array([0.3, 0.1, 0.05]), 42.0)
    add_camera(spec, "bins", np.array([-0.65, 0.0, 1.05]), np.array([0.10, 0.0, 0.0]), 45.0)
    # The picture's width runs along the belt, downstream to the right; fovy as on the wrist.
    spec.worldbody.add_camera(
        name="overhead", pos=(BELT_X_M, 0.15, 1.15), xyaxes=(0, -1, 0, 1, 0, 0), fovy=float(np.degrees(0.82))
    )
