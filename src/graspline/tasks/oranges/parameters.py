"""Everything that decides an `oranges` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from graspline.grasping.candidates import BallJaw
from graspline.grasping.straight import BallReach
from graspline.parameters import Parameters, Range
from graspline.perception.estimates import PositionNoise
from graspline.placement.carry import CarryParameters
from graspline.placement.plate import SpotParameters
from graspline.placement.resting import RestParameters
from graspline.scenes.randomization import TableRandomization
from graspline.tasks.stages.carry import FollowedHold
from graspline.tasks.stages.grasp import TouchParameters


class FruitParameters(Parameters):
    """The oranges and where they may lie."""

    count: int = Field(default=3, ge=1, le=6, description="how many oranges there are")
    diameter_m: Range = Field(default=Range(0.05, 0.07), ge=0.04, le=0.075, description="diameter of an orange")
    mass_kg: Range = Field(default=Range(0.08, 0.16), ge=0.02, le=0.3, description="mass of an orange")
    off_round: float = Field(
        default=0.0, ge=0, le=0.06, description="by what share the axes of an orange may differ from its diameter"
    )
    radius_m: Range = Field(
        default=Range(0.0, 0.45),
        ge=0,
        le=0.6,
        description="distance from the pan axis; what the arm cannot serve is left out",
    )
    azimuth_rad: Range = Field(default=Range(-1.5, 1.5), ge=-3.2, le=3.2, description="direction from the pan axis")
    apart_m: float = Field(default=0.02, ge=0.005, le=0.2, description="gap between things on the table at the least")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    distractors: int = Field(default=0, ge=0, le=4, description="blocks on the table that are no targets")
    strangers: int = Field(
        default=0, ge=0, le=8, description="fruit parked out of sight, which the plate-full fault puts on the plate"
    )


class PlateParameters(Parameters):
    """The plate and where it may stand."""

    present: bool = Field(default=True, description="whether the scene has a plate; without one a virtual one serves")
    outer_radius_m: float = Field(default=0.105, ge=0.06, le=0.15, description="radius of the plate with its rim")
    radius_m: Range = Field(
        default=Range(0.19, 0.25), ge=0, le=0.6, description="distance of the plate's centre from the pan axis"
    )
    azimuth_rad: Range = Field(default=Range(-1.2, 1.2), ge=-3.2, le=3.2, description="its direction from the pan axis")
    virtual_x_m: float = Field(default=0.28, ge=-1, le=1, description="where the virtual plate is: forward")
    virtual_y_m: float = Field(default=-0.05, ge=-1, le=1, description="where the virtual plate is: to the left")
    shift_m: float = Field(
        default=0.02, gt=0, le=0.2, description="how far the plate may move before spots are chosen anew"
    )


class FruitPerception(PositionNoise):
    """How the task sees fruit and plate."""

    source: Literal["truth", "camera"] = Field(
        default="truth", description="estimator: truth reads the simulator's poses, camera the front picture"
    )
    width: int = Field(default=640, ge=160, le=1280, description="width of the pictures looked at")
    height: int = Field(default=480, ge=120, le=960, description="height of the pictures looked at")
    watch_hz: float = Field(
        default=10.0,
        gt=0,
        le=60,
        description="how often fruit and plate are looked at while the arm moves, with the truth estimator",
    )
    camera_watch_hz: float = Field(
        default=4.0,
        gt=0,
        le=30,
        description="how often fruit and plate are looked at while the arm moves, with the camera",
    )


class PostureParameters(Parameters):
    """When the hand counts as aligned with the fruit: green."""

    tilt_error_rad: float = Field(
        default=0.06, gt=0, le=0.5, description="how far the hand may lean away from what was planned"
    )
    heading_error_rad: float = Field(default=0.12, gt=0, le=0.5, description="how far its heading may be off")
    off_fruit_m: float = Field(
        default=0.012, gt=0, le=0.05, description="how far the grasp point may be from the fruit's centre"
    )
    floor_m: float = Field(default=0.01, ge=0.003, le=0.05, description="fingertips never go lower than this")
    creep_m: float = Field(default=0.002, gt=0, le=0.01, description="step of the search further down for green")


class ClosingParameters(Parameters):
    """How far the jaws close if nothing stops them, and when what they hold counts as the fruit."""

    by: Literal["angle", "percent"] = Field(default="angle", description="whether the end is an angle or a percentage")
    end_rad: float = Field(default=-0.17, ge=-0.1745, le=1.7, description="jaw angle at which closing ends")
    end_percent: float = Field(default=100.0, gt=0, le=100, description="share of the way from open to shut, closed")
    touch_error_rad: float = Field(
        default=0.2, gt=0, le=0.6, description="how far the jaw may be from the angle at which this fruit is touched"
    )
    in_hand_m: float = Field(
        default=0.015, gt=0, le=0.05, description="how far the fruit may sit from its place in the hand"
    )


class ReleaseParameters(Parameters):
    """When a released fruit is looked at, and for how long."""

    check_s: float = Field(default=0.15, gt=0, le=1, description="time between two looks at a released fruit")
    limit_s: float = Field(default=6.0, gt=0, le=30, description="after this long a release counts as failed")
    unseen_s: float = Field(
        default=0.5, ge=0, le=5, description="a fruit hidden by the hand for this long is checked once the hand left"
    )


class HomeParameters(Parameters):
    """Where the fingertips return to when the work is done; the robot's own home pose if nothing is given."""

    x_m: float | None = Field(default=None, ge=-0.5, le=0.5, description="forward")
    y_m: float | None = Field(default=None, ge=-0.5, le=0.5, description="to the left")
    z_m: float | None = Field(default=None, ge=0.08, le=0.4, description="above the table")


class TargetParameters(Parameters):
    """Which oranges are asked for, and in which order they are fetched."""

    choose: str = Field(
        default="all",
        description="all; keys such as 2 or 1,3; names such as orange_2; or nearest:2 for the two nearest",
    )
    order: Literal["nearest", "given"] = Field(default="nearest", description="nearest first, or as asked for")

    @field_validator("choose", mode="before")
    @classmethod
    def _key(cls, value: object) -> object:
        """One key alone reads as a number."""
        return str(value) if type(value) is int else value


class RetryParameters(Parameters):
    """How often the task tries again, for each orange asked for."""

    grasps: int = Field(default=3, ge=0, le=10, description="further grasps")
    looks: int = Field(default=4, ge=0, le=20, description="further looks when something is not seen or not planned")
    places: int = Field(default=2, ge=0, le=10, description="further placements")


class Oranges(Parameters):
    """Everything that decides an `oranges` episode besides its seed."""

    oranges: FruitParameters = FruitParameters()
    plate: PlateParameters = PlateParameters()
    targets: TargetParameters = TargetParameters()
    perception: FruitPerception = FruitPerception()
    jaw: BallJaw = BallJaw(standoff_m=0.02)
    reach: BallReach = BallReach(seat_speed_m_s=0.015)
    posture: PostureParameters = PostureParameters()
    close: TouchParameters = TouchParameters()
    closing: ClosingParameters = ClosingParameters()
    hold: FollowedHold = FollowedHold()
    carry: CarryParameters = CarryParameters()
    spots: SpotParameters = SpotParameters()
    release: ReleaseParameters = ReleaseParameters()
    rest: RestParameters = RestParameters()

    home: HomeParameters = HomeParameters()
    retries: RetryParameters = RetryParameters()
    state_limit_s: float = Field(default=10.0, gt=0, le=60, description="time limit of every state")
    randomize: TableRandomization = TableRandomization()
