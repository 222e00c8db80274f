"""A scene: a robot, furniture, objects and cameras, compiled once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.choices import DEFAULT_VIEWS
from graspline.robots.robot import VISUAL_CONTYPE as VISUAL_CONTYPE
from graspline.robots.robot import Robot
from graspline.scenes.meshes.solid import Solid

Array = NDArray[np.float64]

PHYSICS_HZ = 480
# A cylinder stands: its half extents are its radius twice and half its height. A mesh has those of the box around it.
ObjectShape = Literal["box", "ball", "cylinder", "mesh"]
Vector = tuple[float, float, float]
# A table around an arm: what is farther from the robot along any axis was put away, or waits.
_AROUND_M = ((-1.5, -1.5, -1.5), (1.5, 1.5, 1.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """Something that can be picked up: a body with a free joint and one visible geom of the same name.

    That geom is all there is to it, unless it is a mesh: then the geom is its looks, and what touches is the convex
    parts of its solid, each a hidden geom of the body.
    """

    name: str
    # Half extents as compiled; a lane's variation may differ.
    half_extents_m: tuple[float, float, float]
    shape: ObjectShape = "box"
    # Where it waits out of sight, without weight, while it is not in use; None where the scene has no such place.
    parked_m: Vector | None = None
    # What a mesh is.
    solid: Solid | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePlace:
    """Somewhere things are put: a round body with a free joint of the same name, which can be pushed."""

    name: str
    # To the outside of its rim.
    radius_m: float
    # Height of the surface things rest on above the body's frame.
    floor_m: float
    shape: Literal["plate"] = "plate"

    @property
    def half_extents_m(self) -> tuple[float, float, float]:
        """Half the sizes along the object's own axes."""
        return self.radius_m, self.radius_m, self.floor_m / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bay:
    """Somewhere things are put that cannot move: the rectangle of a level surface, in W."""

    name: str
    position_m: tuple[float, float, float]
    half_extents_m: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lying:
    """One thing of a start state: where its middle is on the table, its half extents, mass and heading.

    A thing that is not upright, or that is a mesh, has its height and all of its orientation instead of a heading.
    """

    x_m: float
    y_m: float
    half_extents_m: tuple[float, float, float]
    mass_kg: float
    yaw_rad: float = 0.0
    z_m: float | None = None
    quaternion: tuple[float, float, float, float] | None = None

    @property
    def pose(self) -> tuple[Array, Array]:
        """Position and quaternion, in W."""
        if self.quaternion is not None:
            z_m = self.half_extents_m[2] if self.z_m is None else self.z_m
            return np.array([self.x_m, self.y_m, z_m]), np.array(self.quaternion)
        half = self.yaw_rad / 2
        position = np.array([self.x_m, self.y_m, self.half_extents_m[2]])
        return position, np.array([np.cos(half), 0.0, 0.0, np.sin(half)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """A compiled world: a robot, objects, places and cameras.

    `model` is shared by all episodes and never edited; the variation of an episode says in which numbers it differs.

    >>> from graspline import find_task
    >>> task = find_task("lift-cube")
    >>> scene = task.scene(task.parameters())
    >>> scene.robot.name, scene.object_names[0]
    ('so101', 'cube')
    """

    name: str
    robot: Robot
    model: mujoco.MjModel
    objects: tuple[SceneObject, ...]
    places: tuple[ScenePlace, ...] = ()
    bays: tuple[Bay, ...] = ()
    # Bodies besides the world's that stand still, which lanes may shift.
    furniture: tuple[str, ...] = ()
    # Bodies with a free joint of the same name that are seen and never touched.
    people: tuple[str, ...] = ()
    # Bodies without a joint, each with one geom of the same name, that take any pose and shape: see `solid_pool`.
    slots: tuple[str, ...] = ()
    # Cameras and image sizes that the default of an option stands for here.
    usual_views: str = DEFAULT_VIEWS
    # The lowest and the highest corner, in W, of the box in which the robot works; objects outside of it are not used.
    work_area_m: tuple[Vector, Vector] = _AROUND_M
    # Asking the model for a name takes longer than using what it answers.
    _addresses: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    @property
    def object_names(self) -> tuple[str, ...]:
        """The names of the objects."""
        return tuple(each.name for each in self.objects)

    @property
    def place_names(self) -> tuple[str, ...]:
        """The names of the places."""
        return tuple(each.name for each in self.places)

    @property
    def shapes(self) -> dict[str, ObjectShape | Literal["plate"]]:
        """Of every object and place, by its name."""
        return {each.name: each.shape for each in (*self.objects, *self.places)}

    @property
    def solids(self) -> dict[str, Solid]:
        """Of every object that is a mesh, by its name."""
        return {each.name: each.solid for each in self.objects if each.solid is not None}

    def half_extents_m(self, name: str) -> tuple[float, float, float]:
        """Size of an object or place as compiled."""
        return next(each.half_extents_m for each in (*self.objects, *self.places) if each.name == name)

    def extents_of(self, name: str, geom_size: tuple[float, ...]) -> tuple[float, float, float]:
        """Half extents of an object whose geom has this size; MuJoCo gives a cylinder's radius and half height."""
        shape = next((each.shape for each in self.objects if each.name == name), "box")
        if shape == "mesh":
            return self.half_extents_m(name)
        x, y, z = geom_size
        return (x, x, y) if shape == "cylinder" else (x, y, z)

    @property
    def cameras(self) -> tuple[str, ...]:
        """The names of the cameras."""
        return tuple(self.model.camera(i).name for i in range(self.model.ncam))

    @property
    def surfaces(self) -> dict[str, tuple[str, ...]]:
        """Geoms of everything that is not the robot, by the name of what they belong to."""
        fixed = {geom: (geom,) for geom in self._geoms_of("world")}
        bodies = (*self.furniture, *self.people, *self.object_names, *self.place_names)
        return {**fixed, **{name: self._geoms_of(name) for name in bodies}}

    @property
    def painted(self) -> dict[str, tuple[str, ...]]:
        """Visible geoms of the robot by their paint."""
        others = {geom for geoms in self.surfaces.values() for geom in geoms}
        mine = [name for name in (self.model.geom(i).name for i in range(self.model.ngeom)) if name not in others]
        return {paint: tuple(name for name in mine if name.endswith(f"_{paint}")) for paint in self.robot.paints}

    def _geoms_of(self, body: str) -> tuple[str, ...]:
        mine = np.flatnonzero(self.model.geom_bodyid == self.model.body(body).id)
        return tuple(self.model.geom(index).name for index in mine)

    def object(self, name: str) -> SceneObject:
        """The object of this name."""
        return next(each for each in self.objects if each.name == name)

    def in_work_area(self, position_m: Array) -> bool:
        """Whether a point (3,) of W is where the robot works."""
        low, high = np.array(self.work_area_m)
        return bool(((position_m >= low) & (position_m <= high)).all())

    def joint_address(self, name: str) -> int:
        """Where an object or a joint has its coordinates in `qpos`."""
        if name not in self._addresses:
            self._addresses[name] = int(self.model.joint(name).qposadr[0])
        return self._addresses[name]

    def start(self, poses: dict[str, tuple[Array, Array]]) -> Array:
        """A full `qpos`: the robot at home and every object and place at its pose (position, quaternion)."""
        missing = {*self.object_names, *self.place_names} - set(poses)
        if missing:
            raise ValueError(f"no start pose for {sorted(missing)}")
        qpos = np.array(self.model.qpos0)
        for joint, angle in zip(self.robot.joints, self.robot.home, strict=True):
            qpos[self.joint_address(joint)] = angle
        law = self.robot.jaw_law
        for joint, positions in law.followers.items():
            qpos[self.joint_address(joint)] = np.interp(self.robot.home[self.robot.jaw], law.angles_rad, positions)
        for name, (position, quaternion) in poses.items():
            at = self.joint_address(name)
            qpos[at : at + 3], qpos[at + 3 : at + 7] = position, quaternion
        return qpos


def new_spec() -> mujoco.MjSpec:
    """An empty world with the physics every scene shares: 480 Hz steps and stable friction grasps."""
    spec = mujoco.MjSpec()
    # MjSpec reads degrees unless set otherwise, and joint ranges then shrink silently.
    spec.compiler.degree = False
    spec.option.timestep = 1 / PHYSICS_HZ
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 30
    # A diverging state must be seen, not reset behind our back.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    # Bodies have few colliding geoms but many visible ones; walking their bounding volumes costs more than it culls.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    spec.visual.quality.offsamples = 4
    spec.visual.headlight.ambient = (0.38, 0.38, 0.38)
    spec.visual.headlight.diffuse = (0.0, 0.0, 0.0)
    spec.visual.headlight.specular = (0.0, 0.0, 0.0)
    return spec


def add_truth_sensors(spec: mujoco.MjSpec, names: tuple[str, ...]) -> None:
    """What only a simulator knows: each object's pose and velocity. Added last, after the robot's readings."""
    sens = mujoco.mjtSensor
    kinds = (
        ("position", sens.mjSENS_FRAMEPOS),
        ("quaternion", sens.mjSENS_FRAMEQUAT),
        ("velocity", sens.mjSENS_FRAMELINVEL),
    )
    for name in names:
        for what, kind in kinds:
            # The body's own frame; plain BODY would be its centre of mass.
            spec.add_sensor(name=f"truth/{name}.{what}", type=kind, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname=name)
