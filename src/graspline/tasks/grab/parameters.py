"""Everything that decides a `grab` episode besides its seed."""

from __future__ import annotations

import functools
from typing import Literal

from pydantic import Field, field_validator

from graspline.grasping.cartesian_lines import LiftReach
from graspline.grasping.commanded_grasp_values import GrabVariables
from graspline.grasping.workspace import WorkspaceParameters
from graspline.parameters import Parameters, Range
from graspline.perception.core.beliefs import Noise
from graspline.perception.core.estimators import one_of_estimators
from graspline.placement.parameters import PlaceParameters
from graspline.scenes.block_table import KINDS, Kind
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.randomization import TexturedRandomization
from graspline.tasks.mesh_objects import MeshObject
from graspline.tasks.on_robot import OnRobot
from graspline.tasks.posted_objects import Detection, Detections
from graspline.tasks.stages.parameters import CarriedHold, CloseParameters, RestGoal

# What a box that a detector has seen is taken to weigh: a detector does not know.
_POSTED_KG_M3 = 700.0


class ThingsParameters(Parameters):
    """The objects on the table."""

    count: Range = Field(default=Range(1, 4), ge=1, le=7, description="number of objects on the table")
    scale: Range = Field(default=Range(0.9, 1.1), ge=0.6, le=1.25, description="factor on the size of each object")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    radius_m: Range = Field(default=Range(0.09, 0.30), ge=0, le=1.2, description="distance from the pan axis")
    azimuth_rad: Range = Field(default=Range(-1.7, 1.7), ge=-3.2, le=3.2, description="direction from the pan axis")
    apart_m: float = Field(default=0.02, ge=0.002, le=0.2, description="smallest distance between objects")
    meshes: tuple[MeshObject, ...] = Field(
        default=(), max_length=8, description="objects of your own shape, beside the seven there are"
    )

    @property
    def solids(self) -> dict[str, Solid]:
        """What each of them is, by its name."""
        return {each.name: each.solid for each in self.meshes}


class GrabOrderParameters(Parameters):
    """What the arm has to do."""

    target: str = Field(default="", description="name of the object to grab; empty picks any on the table")
    place: Literal["back", "random", "either"] = Field(
        default="either", description="where it is put: back in its place, at a random point in reach, or either"
    )
    variables: Literal["random", "given"] = Field(
        default="random", description="whether `grasp` is sampled for each episode or used as given"
    )
    any: bool = Field(default=False, description="whether to sample infeasible orders too, which are then rejected")


class GrabPerception(Noise):
    """How the task sees the objects on the table."""

    source: str = Field(
        default="truth",
        description="pose estimator: truth reads the simulator, camera uses the front image; or an installed one, or "
        "MODULE:NAME",
    )
    _source_is_known = field_validator("source")(one_of_estimators("truth", "camera"))
    width: int = Field(default=640, ge=320, le=1280, description="width of the images used")
    height: int = Field(default=480, ge=240, le=960, description="height of the images used")
    camera_watch_hz: float = Field(
        default=4.0, gt=0, le=30, description="detection rate of a held object with the camera"
    )


class GrabRetries(Parameters):
    """How often the task tries again."""

    grasps: int = Field(default=2, ge=0, le=10, description="further attempts after the first grasp")


class Grab(OnRobot):
    """Everything that decides a `grab` episode besides its seed."""

    scaled = ("things.radius_m", "put.transport_speed_m_s")

    things: ThingsParameters = ThingsParameters()
    posted: Detections = Detections()
    order: GrabOrderParameters = GrabOrderParameters()
    grasp: GrabVariables = GrabVariables()
    perception: GrabPerception = GrabPerception()
    reach: LiftReach = LiftReach(lift_m=0.05)
    workspace: WorkspaceParameters = WorkspaceParameters()
    close: CloseParameters = CloseParameters()
    hold: CarriedHold = CarriedHold(still_s=0.5)
    put: PlaceParameters = PlaceParameters()
    goal: RestGoal = RestGoal()
    retries: GrabRetries = GrabRetries()
    state_limit_s: float = Field(default=15.0, gt=0, le=60, description="time limit of every state")
    randomize: TexturedRandomization = TexturedRandomization()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Everything that may lie on the table: what is posted, or the pool; and meshes."""
        boxes = [each for each in self.posted.objects if each.shape != "mesh"]
        pool = tuple(_kind_posted(number, each) for number, each in enumerate(boxes))
        meshes = (_kind_of_mesh(each.name, each.solid, each.weight_kg, each.colour) for each in self.things.meshes)
        return (*(pool if self.posted.objects else KINDS), *meshes)


def _kind_posted(number: int, seen: Detection) -> Kind:
    """Something of the size that a detector has seen, in a colour of the pool."""
    assert seen.shape != "mesh"
    return Kind(
        name=seen.name,
        shape=seen.shape,
        size_m=seen.size_m,
        density_kg_m3=_POSTED_KG_M3,
        rgb=KINDS[number % len(KINDS)].rgb,
    )


@functools.lru_cache(maxsize=64)
def _kind_of_mesh(name: str, solid: Solid, mass_kg: float, rgb: tuple[float, float, float]) -> Kind:
    x, y, z = (2 * each for each in solid.half_extents_m)
    density = mass_kg / solid.volume_m3
    return Kind(name=name, shape="mesh", size_m=(x, y, z), density_kg_m3=density, rgb=rgb, solid=solid)
