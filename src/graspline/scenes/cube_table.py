"""One cube on a table in front of a robot, and blocks that are no targets."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from graspline.robots.catalogue import default_robot
from graspline.robots.robot import Robot
from graspline.scenes.distractors import add_distractors, parked_m
from graspline.scenes.scene import Array, Lying, Scene, SceneObject, add_truth_sensors
from graspline.scenes.table import Box, add_box, pad_friction_of, robot_at_table
from graspline.scenes.variation import Variation, box_of

CUBE = "cube"
_HALF_EDGE_M = 0.015


def cube_table(distractors: int = 0, robot: Robot | None = None) -> Scene:
    """The compiled scene; lanes give the cube its edge and mass, the pads their friction, blocks their sizes."""
    return _compiled(distractors, robot or default_robot())


@functools.cache
def _compiled(distractors: int, robot: Robot) -> Scene:
    spec = robot_at_table(robot)
    add_box(spec, Box(name=CUBE, rgb=(0.82, 0.20, 0.16), half_extents_m=(_HALF_EDGE_M, _HALF_EDGE_M, _HALF_EDGE_M)))
    cube = SceneObject(name=CUBE, half_extents_m=(_HALF_EDGE_M, _HALF_EDGE_M, _HALF_EDGE_M))
    objects = (cube, *add_distractors(spec, distractors))
    add_truth_sensors(spec, tuple(each.name for each in objects))
    return Scene(name="cube_table", robot=robot, model=spec.compile(), objects=objects)


def cube_variation(
    *,
    edge_m: float,
    mass_kg: float,
    pad_friction: float,
    blocks: Mapping[str, Lying] | None = None,
    robot: Robot | None = None,
) -> Variation:
    """A cube of this edge and mass, jaw pads of this sliding friction, and what blocks there are."""
    half = edge_m / 2
    edits = box_of(CUBE, (half, half, half), mass_kg)
    edits += pad_friction_of(robot or default_robot(), pad_friction)
    for name, block in (blocks or {}).items():
        edits += box_of(name, block.half_extents_m, block.mass_kg)
    return Variation(edits=edits, described={"edge_m": edge_m, "mass_kg": mass_kg, "pad_friction": pad_friction})


def cube_start(
    *,
    x_m: float,
    y_m: float,
    yaw_rad: float,
    edge_m: float,
    scene: Scene | None = None,
    blocks: Mapping[str, Lying] | None = None,
) -> Array:
    """A start state: the robot at home, cube and blocks lying flat on the table, blocks not named parked far away."""
    scene = scene or cube_table()
    position = np.array([x_m, y_m, edge_m / 2])
    poses = {CUBE: (position, np.array([np.cos(yaw_rad / 2), 0, 0, np.sin(yaw_rad / 2)]))}
    for number, block in enumerate(scene.objects[1:]):
        parked = np.array([*parked_m(number), block.half_extents_m[2]]), np.array([1.0, 0, 0, 0])
        poses[block.name] = blocks[block.name].pose if blocks and block.name in blocks else parked
    return scene.start(poses)
