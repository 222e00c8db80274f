"""Oranges on a table around a robot, a shallow plate that can be pushed, and things that are neither."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import mujoco
import numpy as np

from graspline.robots.catalogue import default_robot
from graspline.robots.robot import Robot
from graspline.scenes.distractors import add_distractors, parked_m
from graspline.scenes.furniture import SURFACE_SOLREF
from graspline.scenes.scene import Array, Lying, Scene, SceneObject, ScenePlace, add_truth_sensors
from graspline.scenes.table import pad_friction_of, robot_at_table
from graspline.scenes.textures import add_patterns
from graspline.scenes.variation import Variation, ball_of, box_of

PLATE = "plate"
ORANGE_RGB = (0.96, 0.49, 0.07)
PLATE_RGB = (0.30, 0.50, 0.80)
# The plate: thickness of its floor, the rounded rim on it, and what it weighs.
FLOOR_M = 0.004
RIM_RADIUS_M = 0.004
RIM_TOP_M = 0.012
PLATE_KG = 0.35
_RIM_SEGMENTS = 20
_ORANGE_FRICTION = (0.8, 0.005, 0.0008)
_BALL_M = 0.03


def orange_name(index: int) -> str:
    """The name of an orange by its index."""
    return f"orange_{index + 1}"


def fruit_table(
    oranges: int,
    plate_radius_m: float | None,
    distractors: int,
    off_round: bool,
    strangers: int = 0,
    robot: Robot | None = None,
) -> Scene:
    """The compiled scene; lanes give oranges and distractors their sizes, masses and places.

    Without a plate radius there is no plate. Oranges are spheres unless they may be off round. Strangers are oranges
    that are no targets, parked out of sight.
    """
    return _compiled(oranges, plate_radius_m, distractors, off_round, strangers, robot or default_robot())


@functools.cache
def _compiled(
    oranges: int, plate_radius_m: float | None, distractors: int, off_round: bool, strangers: int, robot: Robot
) -> Scene:
    spec = robot_at_table(robot)
    names = [orange_name(index) for index in range(oranges)]
    names += [f"stranger_{index + 1}" for index in range(strangers)]
    for name in names:
        _add_orange(spec, name, off_round)
    blocks = add_distractors(spec, distractors)
    places = ()
    if plate_radius_m is not None:
        _add_plate(spec, plate_radius_m)
        places = (ScenePlace(name=PLATE, radius_m=plate_radius_m, floor_m=FLOOR_M),)
    add_truth_sensors(spec, (*names, *(each.name for each in (*blocks, *places))))
    return Scene(
        name="fruit_table",
        robot=robot,
        model=spec.compile(),
        objects=(
            *(SceneObject(name=name, half_extents_m=(_BALL_M, _BALL_M, _BALL_M), shape="ball") for name in names),
            *blocks,
        ),
        places=places,
    )


def _add_orange(spec: mujoco.MjSpec, name: str, off_round: bool) -> None:
    body = spec.worldbody.add_body(name=name, pos=(0.25, 0, _BALL_M))
    body.add_freejoint(name=name)
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_ELLIPSOID if off_round else mujoco.mjtGeom.mjGEOM_SPHERE,
        size=(_BALL_M,) * 3,
        mass=0.12,
        rgba=(*ORANGE_RGB, 1),
        friction=_ORANGE_FRICTION,
        condim=6,
        solref=SURFACE_SOLREF,
    )


def _add_plate(spec: mujoco.MjSpec, radius_m: float) -> None:
    """A disc with a rounded rim of capsules; the body's frame is in the middle of its underside."""
    body = spec.worldbody.add_body(name=PLATE)
    body.add_freejoint(name=PLATE)
    looks = {"rgba": (*PLATE_RGB, 1), "friction": (0.8, 0.005, 0.0002), "condim": 4, "solref": SURFACE_SOLREF}
    body.add_geom(
        name=PLATE,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=(radius_m - RIM_RADIUS_M, FLOOR_M / 2, 0),
        pos=(0, 0, FLOOR_M / 2),
        mass=PLATE_KG * 0.8,
        **looks,
    )
    ring = radius_m - RIM_RADIUS_M
    angles = np.linspace(0, 2 * np.pi, _RIM_SEGMENTS + 1)
    corners = np.stack([ring * np.cos(angles), ring * np.sin(angles), np.full_like(angles, RIM_TOP_M - RIM_RADIUS_M)])
    for index in range(_RIM_SEGMENTS):
        body.add_geom(
            name=f"{PLATE}_rim_{index}",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=(RIM_RADIUS_M, 0, 0),
            fromto=(*corners[:, index], *corners[:, index + 1]),
            mass=PLATE_KG * 0.2 / _RIM_SEGMENTS,
            **looks,
        )
    add_patterns(spec, PLATE, per_m=8.0)


def fruit_variation(things: Mapping[str, Lying], pad_friction: float, robot: Robot | None = None) -> Variation:
    """Sizes and masses of oranges and distractors, and the sliding friction of the jaw pads."""
    edits = pad_friction_of(robot or default_robot(), pad_friction)
    described = {"pad_friction": pad_friction}
    for name, thing in things.items():
        shape = ball_of if name.startswith("orange") else box_of
        edits += shape(name, thing.half_extents_m, thing.mass_kg)
        described[f"{name}.mass_kg"] = thing.mass_kg
    return Variation(edits=edits, described=described)


def fruit_start(scene: Scene, things: Mapping[str, Lying], plate: tuple[float, float] | None) -> Array:
    """A start state: the robot at home, everything resting on the table, what is not named parked far away."""
    poses = {}
    for number, name in enumerate((*scene.object_names, *scene.place_names)):
        height = 0.0 if name == PLATE else scene.half_extents_m(name)[2]
        position, quaternion = np.array([*parked_m(number), height]), np.array([1.0, 0, 0, 0])
        if name in things:
            position, quaternion = things[name].pose
        elif name == PLATE and plate is not None:
            position = np.array([*plate, 0.0])
        poses[name] = position, quaternion
    return scene.start(poses)
