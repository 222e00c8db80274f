"""Everything that decides an `oranges` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from graspline.grasping.candidates import BallJaw
from graspline.grasping.cartesian_lines import BallReach
from graspline.parameters import Parameters, Range
from graspline.perception.core.beliefs import PositionNoise
from graspline.perception.core.estimators import one_of_estimators
from graspline.placement.parameters import CarryParameters
from graspline.placement.plate import SpotParameters
from graspline.placement.resting import RestParameters
from graspline.scenes.randomization import TableRandomization
from graspline.tasks.on_robot import OnRobot
from graspline.tasks.stages.parameters import FollowedHold, TouchParameters


class FruitParameters(Parameters):
    """The oranges and where they may lie."""

    count: int = Field(default=3, ge=1, le=6, description="number of oranges")
    diameter_m: Range = Field(default=Range(0.05, 0.07), ge=0.04, le=0.075, description="diameter of an orange")
    mass_kg: Range = Field(default=Range(0.08, 0.16), ge=0.02, le=0.3, description="mass of an orange")
    off_round: float = Field(
        default=0.0, ge=0, le=0.06, description="largest relative difference between an orange's axes and its diameter"
    )
    radius_m: Range = Field(
        default=Range(0.0, 0.45),
        ge=0,
        le=1.2,
        description="distance from the pan axis; poses the arm cannot reach are resampled",
    )
    azimuth_rad: Range = Field(default=Range(-1.5, 1.5), ge=-3.2, le=3.2, description="direction from the pan axis")
    apart_m: float = Field(default=0.02, ge=0.005, le=0.2, description="smallest gap between objects on the table")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    distractors: int = Field(default=0, ge=0, le=4, description="blocks on the table that are not targets")
    strangers: int = Field(
        default=0, ge=0, le=8, description="fruit parked out of sight, which the plate-full fault puts on the plate"
    )


class PlateParameters(Parameters):
    """The plate and where it may stand."""

    present: bool = Field(
        default=True, description="whether the scene has a plate; otherwise oranges go to a virtual one"
    )
    outer_radius_m: float = Field(default=0.105, ge=0.06, le=0.15, description="radius of the plate with its rim")
    radius_m: Range = Field(
        default=Range(0.19, 0.25), ge=0, le=1.2, description="distance of the plate's centre from the pan axis"
    )
    azimuth_rad: Range = Field(default=Range(-1.2, 1.2), ge=-3.2, le=3.2, description="its direction from the pan axis")
    virtual_x_m: float = Field(default=0.28, ge=-1, le=1, description="position of the virtual plate: forward")
    virtual_y_m: float = Field(default=-0.05, ge=-1, le=1, description="position of the virtual plate: to the left")
    shift_m: float = Field(
        default=0.02, gt=0, le=0.2, description="how far the plate may move before spots are planned again"
    )


class FruitPerception(PositionNoise):
    """How the task sees fruit and plate."""

    source: str = Field(
        default="truth",
        description="pose estimator: truth reads the simulator, camera uses the front image; or an installed one, or "
        "MODULE:NAME",
    )
    _source_is_known = field_validator("source")(one_of_estimators("truth", "camera"))
    width: int = Field(default=640, ge=160, le=1280, description="width of the images used")
    height: int = Field(default=480, ge=120, le=960, description="height of the images used")
    watch_hz: float = Field(
        default=10.0,
        gt=0,
        le=60,
        description="detection rate of fruit and plate while the arm moves, with the truth estimator",
    )
    camera_watch_hz: float = Field(
        default=4.0,
        gt=0,
        le=30,
        description="detection rate of fruit and plate while the arm moves, with the camera",
    )


class PostureParameters(Parameters):
    """When the hand counts as aligned with the fruit."""

    tilt_error_rad: float = Field(
        default=0.06, gt=0, le=0.5, description="how far the hand may lean away from what was planned"
    )
    heading_error_rad: float = Field(default=0.12, gt=0, le=0.5, description="how far its heading may be off")
    off_fruit_m: float = Field(
        default=0.012, gt=0, le=0.05, description="how far the grasp point may be from the fruit's centre"
    )
    floor_m: float = Field(default=0.01, ge=0.003, le=0.05, description="fingertips never go lower than this")
    creep_m: float = Field(
        default=0.002, gt=0, le=0.01, description="step size of the downward search for an aligned hand"
    )


class ClosingParameters(Parameters):
    """How far the jaws close if nothing stops them, and when the fruit counts as held."""

    by: Literal["angle", "percent"] = Field(
        default="angle", description="how the end is given: as an angle or as a percentage"
    )
    end_rad: float = Field(default=-0.17, ge=-0.1745, le=1.7, description="jaw angle at which closing ends")
    end_percent: float = Field(
        default=100.0, gt=0, le=100, description="closed fraction of the jaw's range at which closing ends"
    )
    touch_error_rad: float = Field(
        default=0.2,
        gt=0,
        le=0.6,
        description="how far the jaw may be from the angle at which it should touch this fruit",
    )
    in_hand_m: float = Field(
        default=0.015, gt=0, le=0.05, description="how far the fruit may sit from its place in the hand"
    )


class ReleaseParameters(Parameters):
    """When a released fruit is looked at, and for how long."""

    check_s: float = Field(default=0.15, gt=0, le=1, description="time between two looks at a released fruit")
    limit_s: float = Field(default=6.0, gt=0, le=30, description="time after which a release counts as failed")
    unseen_s: float = Field(
        default=0.5,
        ge=0,
        le=5,
        description="a fruit hidden by the hand for this long is checked after the hand has left",
    )


class HomeParameters(Parameters):
    """Where the fingertips return to when the work is done; the robot's own home pose if nothing is given."""

    x_m: float | None = Field(default=None, ge=-0.5, le=0.5, description="forward")
    y_m: float | None = Field(default=None, ge=-0.5, le=0.5, description="to the left")
    z_m: float | None = Field(default=None, ge=0.08, le=0.4, description="above the table")


class TargetParameters(Parameters):
    """Which oranges to move, and in which order."""

    choose: str = Field(
        default="all",
        description="all; keys such as 2 or 1,3; names such as orange_2; or nearest:2 for the two nearest",
    )
    order: Literal["nearest", "given"] = Field(
        default="nearest", description="nearest first, or in the order of `choose`"
    )

    @field_validator("choose", mode="before")
    @classmethod
    def _key(cls, value: object) -> object:
        """One key alone reads as a number."""
        return str(value) if type(value) is int else value


class OrangesRetryParameters(Parameters):
    """How often the task tries again, for each orange asked for."""

    grasps: int = Field(default=3, ge=0, le=10, description="further attempts at a grasp")
    looks: int = Field(default=4, ge=0, le=20, description="further looks when something is not seen or not planned")
    places: int = Field(default=2, ge=0, le=10, description="further placements")


class Oranges(OnRobot):
    """Everything that decides an `oranges` episode besides its seed."""

    scaled = (
        "oranges.radius_m",
        "plate.radius_m",
        "plate.virtual_x_m",
        "plate.virtual_y_m",
        "carry.least_radius_m",
        "carry.transport_speed_m_s",
    )

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
    retries: OrangesRetryParameters = OrangesRetryParameters()
    state_limit_s: float = Field(default=10.0, gt=0, le=60, description="time limit of every state")
    randomize: TableRandomization = TableRandomization()
