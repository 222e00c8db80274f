"""Everything that decides a `grab` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graspline.grasping.grab import GrabVariables
from graspline.grasping.straight import LiftReach
from graspline.grasping.workspace import WorkspaceParameters
from graspline.parameters import Parameters, Range
from graspline.perception.estimates import Noise
from graspline.placement.set_down import SetDownParameters
from graspline.scenes.randomization import TexturedRandomization
from graspline.tasks.stages.carry import CarriedHold
from graspline.tasks.stages.grasp import CloseParameters


class ThingsParameters(Parameters):
    """What lies on the table, and where."""

    count: Range = Field(default=Range(1, 4), ge=1, le=7, description="how many things lie on the table")
    scale: Range = Field(default=Range(0.9, 1.1), ge=0.6, le=1.25, description="size of each, over how it is made")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    radius_m: Range = Field(default=Range(0.09, 0.30), ge=0, le=0.5, description="distance from the pan axis")
    azimuth_rad: Range = Field(default=Range(-1.7, 1.7), ge=-3.2, le=3.2, description="direction from the pan axis")
    apart_m: float = Field(default=0.02, ge=0.002, le=0.2, description="how far things lie apart at least")


class OrderParameters(Parameters):
    """What the arm is told to do."""

    target: str = Field(default="", description="name of the thing to grab; empty takes any of those on the table")
    place: Literal["back", "random", "either"] = Field(
        default="either", description="where it is put: back where it lay, at a random point in reach, or either"
    )
    variables: Literal["random", "given"] = Field(
        default="random", description="whether `grasp` is drawn anew for each episode or taken as it is given"
    )
    any: bool = Field(
        default=False, description="whether orders that no plan can carry out are drawn, too, and turned down"
    )


class GrabPerception(Noise):
    """How the task sees what lies on the table."""

    source: Literal["truth", "camera"] = Field(
        default="truth", description="estimator: truth reads the simulator's poses, camera the front picture"
    )
    width: int = Field(default=640, ge=320, le=1280, description="width of the pictures looked at")
    height: int = Field(default=480, ge=240, le=960, description="height of the pictures looked at")
    camera_watch_hz: float = Field(
        default=4.0, gt=0, le=30, description="how often a held thing is looked at with the camera"
    )


class GrabGoal(Parameters):
    """When the task is done."""

    off_spot_m: float = Field(default=0.015, gt=0, le=0.1, description="how far from its spot the thing may rest")
    off_table_m: float = Field(default=0.004, gt=0, le=0.02, description="how far above or below its resting height")
    lean_rad: float = Field(default=0.1, gt=0, le=0.5, description="how far it may lean")
    speed_m_s: float = Field(default=0.02, gt=0, le=1, description="how fast it may still move")
    off_home_rad: float = Field(default=0.05, gt=0, le=0.5, description="how far the arm's joints may be from home")
    sightings: int = Field(default=4, ge=2, le=60, description="sightings, 0.05 s apart, of the final check")


class GrabRetries(Parameters):
    """How often the task tries again."""

    grasps: int = Field(default=2, ge=0, le=10, description="grasps after the first")


class Grab(Parameters):
    """Everything that decides a `grab` episode besides its seed."""

    things: ThingsParameters = ThingsParameters()
    order: OrderParameters = OrderParameters()
    grasp: GrabVariables = GrabVariables()
    perception: GrabPerception = GrabPerception()
    reach: LiftReach = LiftReach(lift_m=0.05)
    workspace: WorkspaceParameters = WorkspaceParameters()
    close: CloseParameters = CloseParameters()
    hold: CarriedHold = CarriedHold(still_s=0.5)
    put: SetDownParameters = SetDownParameters()
    goal: GrabGoal = GrabGoal()
    retries: GrabRetries = GrabRetries()
    state_limit_s: float = Field(default=15.0, gt=0, le=60, description="time limit of every state")
    randomize: TexturedRandomization = TexturedRandomization()
