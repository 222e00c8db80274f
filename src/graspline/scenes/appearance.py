"""Appearance that varies from episode to episode: light, cameras, colours and textures. Physics notices none of it.

Which lights, cameras and surfaces there are is for the scene to say.
"""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.parameters import Range
from graspline.scenes.aspect import Aspect
from graspline.scenes.furniture import BACKDROP
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, Variation
from graspline.spatial.rotations import (
    matrix_from_quaternion,
    matrix_from_vector,
    multiply,
    quaternion_from_matrix,
    rotate,
)

Array = NDArray[np.float64]


class Lighting(Aspect):
    """Direction and brightness of the lights."""

    turn_rad: Range = Field(
        default=Range(0.0, 0.3),
        ge=0,
        le=0.35,
        description="largest angle by which the direction of each light is turned",
    )
    brightness: Range = Field(
        default=Range(0.8, 1.1), ge=0.5, le=1.15, description="factor on the brightness of each light"
    )
    ambient: Range = Field(default=Range(0.8, 1.1), ge=0.5, le=1.15, description="factor on the ambient light")


class CameraPlacement(Aspect):
    """Position, direction and field of view of cameras. Those that come with an image are the true ones."""

    standing_m: float = Field(
        default=0.015, ge=0, le=0.1, description="largest offset of a fixed camera along each axis"
    )
    mounted_m: float = Field(
        default=0.003, ge=0, le=0.01, description="largest offset of a camera on the robot along each axis"
    )
    turn_rad: float = Field(default=0.01, ge=0, le=0.1, description="largest rotation of a camera about each axis")
    fovy_factor: Range = Field(
        default=Range(1.0, 1.1), ge=0.8, le=1.25, description="factor on the vertical field of view"
    )


class Colours(Aspect):
    """Colours of objects, places, table, backdrop and robot.

    Bounded such that the camera estimator, which tells things apart by hue and saturation, still knows an orange.
    """

    hue_rad: Range = Field(default=Range(-0.12, 0.12), ge=-0.2, le=0.2, description="hue shift of each colour")
    brightness: Range = Field(
        default=Range(0.85, 1.05), ge=0.6, le=1.05, description="factor on the brightness of each colour"
    )


class Textures(Aspect):
    """Patterns on surfaces, or none. They darken a colour and keep its hue."""

    scale: Range = Field(default=Range(0.7, 1.5), ge=0.2, le=5, description="factor on the size of a pattern")


def vary_lighting(scene: Scene, sampled: Variation, settings: Lighting, random: np.random.Generator) -> Variation:
    """Lights turned and dimmed at random, and the ambient light with them."""
    model, varied = scene.model, Variation()
    for light in (model.light(index).name for index in range(model.nlight)):
        turn, way = random.uniform(*settings.turn_rad), random.uniform(-np.pi, np.pi)
        brightness = random.uniform(*settings.brightness)
        direction, position = model.light(light).dir, model.light(light).pos
        turned = _turned(direction, turn, way)
        # It keeps shining at the same spot on the table, from as far away.
        aim = position - direction * (position[2] / direction[2])
        moved = aim - np.linalg.norm(position - aim) * turned
        varied += Variation(
            edits=(
                Edit(field="light_dir", element=light, values=tuple(turned.tolist())),
                Edit(field="light_pos", element=light, values=tuple(moved.tolist())),
                sampled.scaled(model, "light_diffuse", light, brightness),
            ),
            described={
                f"lighting.{light}.turn_rad": turn,
                f"lighting.{light}.way_rad": way,
                f"lighting.{light}.brightness": brightness,
            },
        )
    ambient = random.uniform(*settings.ambient)
    edit = sampled.scaled(model, "headlight_ambient", "headlight", ambient)
    return varied + Variation(edits=(edit,), described={"lighting.ambient": ambient})


def _turned(direction: Array, turn_rad: float, way_rad: float) -> Array:
    """A unit vector turned by an angle about an axis square to it, which `way_rad` chooses."""
    level = np.array([-direction[1], direction[0], 0.0])
    across = level / np.linalg.norm(level) if level.any() else np.array([1.0, 0.0, 0.0])
    axis = np.cos(way_rad) * across + np.sin(way_rad) * np.cross(direction, across)
    return rotate(matrix_from_vector(turn_rad * axis), direction)


def vary_camera(scene: Scene, sampled: Variation, settings: CameraPlacement, random: np.random.Generator) -> Variation:
    """Cameras moved and turned at random, and their field of view with them."""
    model, varied = scene.model, Variation()
    for name in scene.cameras:
        camera = model.camera(name)
        reach_m = settings.mounted_m if name in scene.robot.cameras else settings.standing_m
        offset_m = random.uniform(-reach_m, reach_m, 3)
        turn_rad = random.uniform(-settings.turn_rad, settings.turn_rad, 3)
        # MuJoCo keeps this one in degrees.
        fovy_deg = float(camera.fovy[0]) * random.uniform(*settings.fovy_factor)
        rotation = multiply(matrix_from_quaternion(camera.quat), matrix_from_vector(turn_rad))
        varied += Variation(
            edits=(
                Edit(field="cam_pos", element=name, values=tuple((camera.pos + offset_m).tolist())),
                Edit(field="cam_quat", element=name, values=tuple(quaternion_from_matrix(rotation).tolist())),
                Edit(field="cam_fovy", element=name, values=(fovy_deg,)),
            ),
            described={
                **{f"camera.{name}.{axis}_m": float(each) for axis, each in zip("xyz", offset_m, strict=True)},
                **{f"camera.{name}.turn_{axis}_rad": float(each) for axis, each in zip("xyz", turn_rad, strict=True)},
                f"camera.{name}.fovy_rad": float(np.radians(fovy_deg)),
            },
        )
    return varied


def vary_colours(scene: Scene, sampled: Variation, settings: Colours, random: np.random.Generator) -> Variation:
    """Colours of surfaces and backdrop, changed at random."""
    surfaces, varied = {**scene.surfaces, **scene.painted}, Variation()
    for name in (*surfaces, BACKDROP):
        hue, brightness = random.uniform(*settings.hue_rad), random.uniform(*settings.brightness)
        if name == BACKDROP:
            edits = (_backdrop(scene, sampled, hue, brightness),)
        else:
            edits = tuple(_coloured(scene, sampled, geom, hue, brightness) for geom in surfaces[name])
        described = {f"colours.{name}.hue_rad": hue, f"colours.{name}.brightness": brightness}
        varied += Variation(edits=edits, described=described)
    return varied


def _coloured(scene: Scene, sampled: Variation, geom: str, hue_rad: float, brightness: float) -> Edit:
    *rgb, alpha = sampled.values(scene.model, "geom_rgba", geom)
    return Edit(field="geom_rgba", element=geom, values=(*_shifted(rgb, hue_rad, brightness), alpha))


def _backdrop(scene: Scene, sampled: Variation, hue_rad: float, brightness: float) -> Edit:
    rgb = [each / 255 for each in sampled.values(scene.model, "tex_rgb", BACKDROP)]
    texel = tuple(float(round(255 * each)) for each in _shifted(rgb, hue_rad, brightness))
    return Edit(field="tex_rgb", element=BACKDROP, values=texel)


def _shifted(rgb: list[float], hue_rad: float, brightness: float) -> tuple[float, float, float]:
    """A colour moved round the colour circle, brighter or darker, as saturated as before."""
    hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
    return colorsys.hsv_to_rgb((hue + hue_rad / (2 * np.pi)) % 1.0, saturation, min(value * brightness, 1.0))


def vary_textures(scene: Scene, sampled: Variation, settings: Textures, random: np.random.Generator) -> Variation:
    """What is described is the number of the pattern among the surface's materials; 0 is plain."""
    model, varied = scene.model, Variation()
    materials = [model.material(index).name for index in range(model.nmat)]
    for surface, geoms in scene.surfaces.items():
        patterns = [name for name in materials if name.startswith(f"{surface}/")]
        if not patterns:
            continue
        which, scale = int(random.integers(len(patterns) + 1)), random.uniform(*settings.scale)
        described = {f"textures.{surface}.pattern": float(which)}
        edits = ()
        if which:
            material = patterns[which - 1]
            described[f"textures.{surface}.scale"] = scale
            worn = float(model.material(material).id)
            edits = (
                *(Edit(field="geom_matid", element=geom, values=(worn,)) for geom in geoms),
                sampled.scaled(model, "mat_texrepeat", material, 1 / scale),
            )
        varied += Variation(edits=edits, described=described)
    return varied
