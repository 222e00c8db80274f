"""A room with a table in front of the robot and a shelf at its left, household items, and a person's hand."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from graspline.robots.robot import Robot
from graspline.scenes.fittings import FITTINGS, Fitting
from graspline.scenes.furniture import SURFACE_SOLREF, add_camera, add_light
from graspline.scenes.household import ITEMS, Item
from graspline.scenes.household_bodies import add_items, made_as, parked_m
from graspline.scenes.person import PERSON, add_person
from graspline.scenes.scene import VISUAL_CONTYPE, Array, Scene, add_truth_sensors, new_spec
from graspline.scenes.textures import add_patterns
from graspline.scenes.variation import Variation, weight_of

Vector = tuple[float, float, float]

# The walls' inner faces: one behind the robot, one behind the shelf.
WALL_X_M, WALL_Y_M = -1.6, 2.1
_WORK_AREA_M = ((-1.6, -2.0, -0.1), (2.0, WALL_Y_M, 2.0))
_FLOOR_M = 3.4
_WALL_HIGH_M = 2.6
_FLOOR_RGBA = (0.76, 0.68, 0.58, 1)
_WALL_RGBA = (0.95, 0.94, 0.90, 1)
_BASE_RGBA = (1.0, 1.0, 0.98, 1)
_WOOD_RGBA = (0.80, 0.66, 0.48, 1)
_LEG_RGBA = (0.42, 0.43, 0.45, 1)
_BOARD_RGBA = (0.86, 0.83, 0.77, 1)
_BACK_RGBA = (0.88, 0.87, 0.83, 1)
_SURFACE_FRICTION = (0.6, 0.005, 0.0002)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One item of a start state, upright: where its middle is in W, and its heading."""

    item: Item
    position_m: Vector
    yaw_rad: float

    @property
    def pose(self) -> tuple[Array, Array]:
        """Position and quaternion, in W."""
        half = self.yaw_rad / 2
        return np.array(self.position_m), np.array([np.cos(half), 0.0, 0.0, np.sin(half)])


@functools.cache
def room(robot: Robot) -> Scene:
    """The compiled scene; lanes say which items there are, where they stand, and where the furniture is."""
    spec = new_spec()
    _add_walls(spec)
    for fitting in FITTINGS:
        _add_fitting(spec, fitting)
    add_light(spec)
    spec.stat.extent, spec.stat.center = 2.0, (0.5, 0.5, 0.6)
    _add_cameras(spec)
    robot.add_to(spec)
    objects = add_items(spec)
    add_person(spec)
    add_truth_sensors(spec, tuple(each.name for each in objects))
    return Scene(
        name="room",
        robot=robot,
        model=spec.compile(),
        objects=objects,
        bays=tuple(bay for fitting in FITTINGS for bay in fitting.bays),
        furniture=tuple(fitting.name for fitting in FITTINGS),
        people=(PERSON,),
        usual_views="front:640x480,head:320x240,hand:320x240",
        work_area_m=_WORK_AREA_M,
    )


def room_variation(
    standing: Iterable[Standing], fittings: Iterable[Fitting], described: Mapping[str, float]
) -> Variation:
    """These items as they are made, the others without weight, and furniture where it really stands."""
    there = {each.item.name: each.item for each in standing}
    edits = tuple(edit for fitting in fittings for edit in fitting.edits)
    edits += tuple(edit for item in there.values() for edit in made_as(item))
    edits += tuple(weight_of(item.name, weightless=True) for item in ITEMS if item.name not in there)
    return Variation(edits=edits, described=dict(described))


def room_start(scene: Scene, standing: Iterable[Standing]) -> Array:
    """A start state: the robot at home, these items where they stand, the others parked."""
    upright = np.array([1.0, 0, 0, 0])
    poses = {item.name: (np.array(parked_m(item.name)), upright) for item in ITEMS}
    return scene.start(poses | {each.item.name: each.pose for each in standing})


def _add_walls(spec: mujoco.MjSpec) -> None:
    """Floor and two walls. A box and no plane: what waits below the floor must not be pushed up through it."""
    half, high = _FLOOR_M, _WALL_HIGH_M / 2
    _add_box(spec.worldbody, "floor", (0.5, 0, -0.05), (half, half, 0.05), _FLOOR_RGBA, material="floor/grain")
    _add_box(spec.worldbody, "wall_back", (WALL_X_M - 0.05, 0, high), (0.05, half, high), _WALL_RGBA)
    _add_box(spec.worldbody, "wall_left", (0.5, WALL_Y_M + 0.05, high), (half, 0.05, high), _WALL_RGBA)
    _add_box(spec.worldbody, "base_back", (WALL_X_M, 0, 0.04), (0.012, half, 0.04), _BASE_RGBA, solid=False)
    _add_box(spec.worldbody, "base_left", (0.5, WALL_Y_M, 0.04), (half, 0.012, 0.04), _BASE_RGBA, solid=False)
    add_patterns(spec, "floor", per_m=0.8)


def _add_fitting(spec: mujoco.MjSpec, fitting: Fitting) -> None:
    """One static body, so that a lane can move it as a whole."""
    body = spec.worldbody.add_body(name=fitting.name, pos=fitting.position_m, quat=fitting.quaternion)
    add_patterns(spec, fitting.name, per_m=1.5)
    for slab in fitting.slabs:
        rgba = _WOOD_RGBA if fitting.name == "table" else _BOARD_RGBA
        rgba = _LEG_RGBA if "leg" in slab.name else _BACK_RGBA if "back" in slab.name else rgba
        _add_box(body, slab.name, slab.position_m, slab.half_extents_m, rgba)


def _add_box(
    body: mujoco.MjsBody, name: str, at: Vector, half: Vector, rgba: tuple, *, material: str = "", solid: bool = True
) -> None:
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=at,
        size=half,
        rgba=rgba,
        material=material,
        friction=_SURFACE_FRICTION,
        condim=4,
        solref=SURFACE_SOLREF,
        **({} if solid else {"contype": VISUAL_CONTYPE, "conaffinity": 0}),
    )


def _add_cameras(spec: mujoco.MjSpec) -> None:
    """One that shows the whole room to people, and one each that looks at what stands on table and shelf."""
    add_camera(spec, "front", np.array([2.35, -2.55, 1.95]), np.array([0.42, 0.48, 0.53]), 40.0)
    add_camera(spec, "table", np.array([0.55, -0.75, 1.65]), np.array([1.25, 0.0, 0.74]), 45.0)
    add_camera(spec, "shelf", np.array([0.35, 0.10, 1.45]), np.array([-0.1, 1.7, 0.85]), 48.0)
