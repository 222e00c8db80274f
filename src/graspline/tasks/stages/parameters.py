"""Settings of the shared stages: how the arm takes an object, holds it, puts it down, and when it rests there."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import Field

from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import LiftReach, ReachParameters
from graspline.parameters import Parameters
from graspline.perception.core.beliefs import Perception
from graspline.placement.parameters import PlaceParameters
from graspline.scenes.randomization import Randomization
from graspline.tasks.on_robot import OnRobot


class TouchParameters(Parameters):
    """How the jaws close, and how contact is detected."""

    speed_rad_s: float = Field(default=1.2, ge=0.05, le=3, description="jaw speed while closing")
    touch_n: float = Field(default=0.3, gt=0, le=5, description="force at which a pad counts as touching")
    squeeze_rad: float = Field(
        default=0.06, ge=0, le=0.3, description="how far past the measured contact the jaw is commanded"
    )
    settle_s: float = Field(default=0.15, ge=0, le=2, description="time for the hold to settle before lifting")
    lost_n: float = Field(default=0.15, gt=0, le=5, description="pad force below which nothing is held")
    bump_n: float = Field(
        default=12.0, gt=0, le=100, description="pad force during the descent that means a finger has hit something"
    )
    blocked_rad: float = Field(default=0.08, gt=0, le=0.5, description="tracking error that means the arm is blocked")


class CloseParameters(TouchParameters):
    """How the jaws close, and when an object counts as held."""

    width_tolerance_m: float = Field(
        default=0.012, gt=0, le=0.05, description="how far the jaw gap of a hold may differ from the object's width"
    )


class SlipParameters(Parameters):
    """When a hold counts as lost."""

    slip_m: float = Field(default=0.012, gt=0, le=0.05, description="how far the object may slip in the hand")
    ratio: float = Field(
        default=0.7, gt=0, le=1, description="fraction of the hand's motion that the object must follow"
    )
    travel_m: float = Field(
        default=0.02, gt=0, le=0.2, description="motion of the hand below which that fraction is not evaluated"
    )
    sure_s: float = Field(
        default=0.1, ge=0, le=1, description="how long the detections must agree that the hold is lost"
    )

    def whole(self) -> HoldParameters:
        """The same for stages that tasks share; what a task does not offer is at its default."""
        return HoldParameters.model_construct(**dict(self))


class ApartHold(SlipParameters):
    """When a hold counts as lost, by the distance of its object from the tool too."""

    apart_sideways_m: float = Field(
        default=0.05,
        gt=0,
        le=0.2,
        description="horizontal distance from the tool beyond which the object counts as lost",
    )
    apart_in_height_m: float = Field(
        default=0.05, gt=0, le=0.2, description="vertical distance from the tool beyond which the object counts as lost"
    )


class FollowedHold(ApartHold):
    """When a hold counts as lost, by following the held object."""

    variance_m2: float = Field(
        default=4e-6, gt=0, le=1e-3, description="largest variance of the distance from the tool over ten detections"
    )


class StillHold(SlipParameters):
    """When a hold counts as lost, and how long it is kept still."""

    still_s: float = Field(default=1.0, ge=0, le=10, description="how long the raised object is held still")


class CarriedHold(StillHold, ApartHold):
    """When a hold counts as lost, how long it is kept still, and how far its object may be from the tool."""


class HoldParameters(CarriedHold, FollowedHold):
    """Everything that stages may ask for; a task offers the part of it that it uses."""


class RestGoal(Parameters):
    """When an object rests where it was to be put."""

    off_spot_m: float = Field(
        default=0.015, gt=0, le=0.1, description="how far from its spot the object may come to rest"
    )
    off_table_m: float = Field(
        default=0.004, gt=0, le=0.02, description="how far it may be above or below its resting height"
    )
    lean_rad: float = Field(default=0.1, gt=0, le=0.5, description="largest tilt of the object")
    speed_m_s: float = Field(default=0.02, gt=0, le=1, description="how fast it may still move")
    off_home_rad: float = Field(default=0.05, gt=0, le=0.5, description="how far the arm's joints may be from home")
    sightings: int = Field(default=4, ge=2, le=60, description="number of detections in the final check, 0.05 s apart")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSettings:
    """What stages ask about the arm, in one value: an input of every machine that uses them."""

    jaw: JawParameters = field(default_factory=JawParameters)
    reach: ReachParameters = field(default_factory=ReachParameters)
    close: CloseParameters = field(default_factory=CloseParameters)
    hold: HoldParameters = field(default_factory=HoldParameters)
    put: PlaceParameters = field(default_factory=PlaceParameters)


class RetryParameters(Parameters):
    """How often the task tries again."""

    grasps: int = Field(default=2, ge=0, le=10, description="further attempts after the first grasp")
    looks: int = Field(default=4, ge=0, le=20, description="further looks when no grasp can be planned")


class PickAndPlaceParameters(OnRobot):
    """What every task that picks something up and puts it down can be set to; its own parameters extend this."""

    perception: Perception = Perception()
    jaw: JawParameters = JawParameters()
    reach: LiftReach = LiftReach()
    close: CloseParameters = CloseParameters()
    hold: ApartHold = ApartHold()
    put: PlaceParameters = PlaceParameters()
    goal: RestGoal = RestGoal()
    retries: RetryParameters = RetryParameters()
    state_limit_s: float = Field(default=10.0, gt=0, le=60, description="time limit of every state")
    randomize: Randomization = Randomization()

    def arm(self) -> ArmSettings:
        """The same for stages."""
        return ArmSettings(
            jaw=self.jaw, reach=self.reach.whole(), close=self.close, hold=self.hold.whole(), put=self.put
        )
