"""A table in front of a robot with any boxes on it: the scene to start a task of your own from."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from graspline.robots.catalogue import default_robot
from graspline.robots.robot import Robot
from graspline.scenes.distractors import parked_m
from graspline.scenes.furniture import SURFACE_SOLREF, add_front_camera, add_light, add_table
from graspline.scenes.scene import Array, Lying, Scene, SceneObject, add_truth_sensors, new_spec
from graspline.scenes.variation import Edit, Variation, box_of, friction_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box of a table scene. An episode may give it another size and mass, see `graspline.stages.table_variation`.

    >>> from graspline import Box
    >>> Box(name="red_cube", rgb=(0.82, 0.20, 0.16)).half_extents_m
    (0.015, 0.015, 0.015)
    """

    name: str
    rgb: tuple[float, float, float]
    half_extents_m: tuple[float, float, float] = (0.015, 0.015, 0.015)
    mass_kg: float = 0.03


def table_with(*boxes: Box, robot: Robot | None = None) -> Scene:
    """A table with these boxes in front of a robot, an SO-101 by default, with a camera `front` and the robot's own.

    It is compiled once; the start state and the variation of an episode say where the boxes lie and how large and heavy
    they are.

    >>> from graspline import Box, table_with
    >>> scene = table_with(Box(name="red_cube", rgb=(0.82, 0.20, 0.16)))
    >>> scene.object_names, scene.cameras
    (('red_cube',), ('front', 'wrist'))
    """
    return _compiled(boxes, robot or default_robot())


@functools.cache
def _compiled(boxes: tuple[Box, ...], robot: Robot) -> Scene:
    spec = robot_at_table(robot)
    for box in boxes:
        add_box(spec, box)
    add_truth_sensors(spec, tuple(box.name for box in boxes))
    objects = tuple(SceneObject(name=box.name, half_extents_m=box.half_extents_m) for box in boxes)
    return Scene(name="table", robot=robot, model=spec.compile(), objects=objects)


def robot_at_table(robot: Robot) -> mujoco.MjSpec:
    """A table with its lights, the front camera and a robot; truth sensors are added after all objects."""
    spec = new_spec()
    add_table(spec, robot)
    add_light(spec)
    add_front_camera(spec, robot)
    robot.add_to(spec)
    return spec


def pad_friction_of(robot: Robot, sliding: float) -> tuple[Edit, ...]:
    """Jaw pads of this sliding friction."""
    return friction_of(robot.pads, (sliding, *robot.pad_friction))


def add_box(spec: mujoco.MjSpec, box: Box) -> None:
    """An object is a body, its free joint and its only geom, all of one name."""
    body = spec.worldbody.add_body(name=box.name, pos=(0.25, 0, box.half_extents_m[2]))
    body.add_freejoint(name=box.name)
    body.add_geom(
        name=box.name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=box.half_extents_m,
        mass=box.mass_kg,
        rgba=(*box.rgb, 1),
        friction=(0.8, 0.005, 0.0002),
        condim=4,
        solref=SURFACE_SOLREF,
    )


def table_start(scene: Scene, boxes: Mapping[str, Lying]) -> Array:
    """A start state: the robot at home, these boxes on the table, the others parked out of sight."""
    poses = {}
    for number, each in enumerate(scene.objects):
        parked = np.array([*parked_m(number), each.half_extents_m[2]]), np.array([1.0, 0, 0, 0])
        poses[each.name] = boxes[each.name].pose if each.name in boxes else parked
    return scene.start(poses)


def table_variation(
    boxes: Mapping[str, Lying],
    pad_friction: float,
    described: Mapping[str, float] | None = None,
    *,
    robot: Robot | None = None,
) -> Variation:
    """These boxes with their sizes and masses, and jaw pads of this sliding friction."""
    edits = pad_friction_of(robot or default_robot(), pad_friction)
    for name, box in boxes.items():
        edits += box_of(name, box.half_extents_m, box.mass_kg)
    return Variation(edits=edits, described={"pad_friction": pad_friction, **(described or {})})
