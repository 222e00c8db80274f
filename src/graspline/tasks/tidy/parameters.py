"""Everything that decides a `tidy` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graspline.parameters import Parameters, Range
from graspline.scenes.randomization import TexturedRandomization


class TableParameters(Parameters):
    """What stands on table and shelf, and how far the furniture is off its configured place."""

    count: Range = Field(default=Range(1, 5), ge=0, le=5, description="how many objects stand on the table")
    objects: tuple[str, ...] = Field(
        default=(), description="names of known objects that stand on the table, before any that are drawn"
    )
    unknown_share: float = Field(default=0.3, ge=0, le=1, description="share of objects that are not known beforehand")
    gap_m: float = Field(default=0.02, ge=0.0, le=0.2, description="least gap between two objects")
    reach_m: float = Field(
        default=0.45, ge=0.1, le=0.55, description="how far from the table's front edge their middles are at most"
    )
    edge_m: float = Field(default=0.05, ge=0.0, le=0.15, description="how far they stay away from the table's edges")
    shelved: Range = Field(default=Range(0, 3), ge=0, le=3, description="how many other objects stand on the shelf")
    shift_m: float = Field(
        default=0.004, ge=0, le=0.02, description="how far table and shelf may be off, along each axis of the floor"
    )
    sink_m: float = Field(default=0.002, ge=0, le=0.01, description="how far they may stand too high or too low")
    turn_rad: float = Field(default=0.012, ge=0, le=0.05, description="how far they may be turned")


class SightParameters(Parameters):
    """How well the head sees."""

    shift_m: float = Field(
        default=0.0, ge=0, le=0.02, description="how far the head's camera sits off its place, any way"
    )
    turn_rad: float = Field(default=0.0, ge=0, le=0.05, description="how far it is turned off, about any axis")


class BaseParameters(Parameters):
    """How well the robot knows where it is."""

    shift_m: float = Field(default=0.01, ge=0, le=0.05, description="how far off it may start, along x and y")
    turn_rad: float = Field(default=0.01, ge=0, le=0.1, description="how far it may be turned off at the start")
    slip: float = Field(default=0.01, ge=0, le=0.1, description="share of ways and turns that wheels may slip by")


class GraspParameters(Parameters):
    """How things are taken, and when they count as taken."""

    back_m: float = Field(default=0.12, ge=0.05, le=0.3, description="how far from a grasp the hand comes straight")
    wider_m: float = Field(default=0.04, ge=0.01, le=0.06, description="how much wider the hand opens than the thing")
    lift_m: float = Field(default=0.08, ge=0.03, le=0.2, description="how far a thing is lifted before it is weighed")
    touch_n: float = Field(default=2.0, gt=0, le=30, description="force on both pads that counts as touching")
    lost_n: float = Field(default=0.5, gt=0, le=10, description="force on a pad below which nothing is held")
    squeeze_rad: float = Field(default=0.08, ge=0, le=0.4, description="how far past the touch the jaw is told to go")
    width_m: float = Field(default=0.015, gt=0, le=0.05, description="how far the gap may be off the thing's width")
    weight_kg: float = Field(default=0.04, gt=0, le=1, description="what a hold weighs at least")


class PlacingParameters(Parameters):
    """Where things go, and when they count as placed."""

    areas_file: str = Field(default="", description="YAML file of placement areas; empty: the one that is built in")
    area: str = Field(default="shelf", description="which set of areas of the file is active")
    above_m: float = Field(default=0.03, ge=0.01, le=0.1, description="how high above its place a thing is brought in")
    margin_m: float = Field(default=0.02, ge=0.005, le=0.1, description="room around a thing on a board")
    off_m: float = Field(default=0.05, gt=0, le=0.1, description="how far off its place a thing may be seen then")
    beside_m: float = Field(default=0.01, gt=0, le=0.05, description="how far things beside it may move")


class HandoverParameters(Parameters):
    """How things are given to a person."""

    force_thresh: float = Field(default=-1.0, le=50, description="pull that counts, N; negative: the default of 3.5 N")
    wait_s: float = Field(default=15.0, gt=0, le=600, description="how long a thing is offered")


class PersonParameters(Parameters):
    """Who takes things, and how."""

    present: bool = Field(default=True, description="whether there is anybody")
    pull_n: Range = Field(default=Range(5.0, 20.0), ge=0, le=60, description="how hard things are pulled")
    after_s: Range = Field(default=Range(0.8, 2.5), ge=0, le=60, description="how long after they are offered")


class RuleParameters(Parameters):
    """Where things go when the table is cleared."""

    shelf: tuple[str, ...] = Field(default=(), description="names of things that go to the shelf; `unknown` for others")


class RetryParameters(Parameters):
    """How much may go wrong before the task gives up."""

    looks: int = Field(default=3, ge=0, le=100, description="times that the table is not seen")
    sides: int = Field(default=2, ge=0, le=100, description="times that the robot looks from another side")
    rounds: int = Field(default=12, ge=0, le=1000, description="objects that are gone for while a table is cleared")
    grasps: int = Field(default=4, ge=0, le=100, description="grasps that come to nothing, for each object")
    areas: int = Field(default=4, ge=0, le=100, description="places on a board that come to nothing, for each object")
    ways: int = Field(default=4, ge=0, le=100, description="ways that are blocked")


class AloneParameters(Parameters):
    """What a part is given when it runs alone, in place of what the parts before it would hand on."""

    object: str = Field(default="soup_can", description="its name; for placement and handover also what is held")
    grasp_poses: tuple[float, ...] = Field(
        default=(),
        description="of execute_grasp: x, y, z, quaternion (w first) and width of each, eight numbers a pose",
    )
    grasp_object_bb: tuple[float, ...] = Field(
        default=(), description="of execute_grasp: x, y, z of its middle, heading, and half its sides"
    )
    placement_surface_to_wrist: tuple[float, ...] = Field(
        default=(), description="of placement: x, y, z and quaternion; empty: as in the object's first known grasp"
    )


PROGRAMS = ("single_grasp", "clear_table", "robot_setup", "find_grasp", "execute_grasp", "placement", "handover")
Program = Literal["single_grasp", "clear_table", "robot_setup", "find_grasp", "execute_grasp", "placement", "handover"]


class Tidy(Parameters):
    """Everything that decides a `tidy` episode besides its seed."""

    program: Program = Field(default="single_grasp", description="what is done; the last five are parts of the others")
    object_to_grasp: str = Field(default="", description="name of the object to take; empty: the closest")
    then: Literal["placement", "handover"] = Field(
        default="placement", description="what becomes of a single object unless a person says otherwise"
    )
    table: TableParameters = TableParameters()
    sight: SightParameters = SightParameters()
    base: BaseParameters = BaseParameters()
    grasp: GraspParameters = GraspParameters()
    placing: PlacingParameters = PlacingParameters()
    handover: HandoverParameters = HandoverParameters()
    person: PersonParameters = PersonParameters()
    rules: RuleParameters = RuleParameters()
    alone: AloneParameters = AloneParameters()
    retries: RetryParameters = RetryParameters()
    randomize: TexturedRandomization = TexturedRandomization()
