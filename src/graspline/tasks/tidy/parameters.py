"""Everything that decides a `tidy` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graspline.parameters import Parameters, Range
from graspline.scenes.randomization import TexturedRandomization


class TableParameters(Parameters):
    """Objects on the table and the shelf, and how far the furniture is from its configured pose."""

    count: Range = Field(default=Range(1, 5), ge=0, le=5, description="number of objects on the table")
    objects: tuple[str, ...] = Field(
        default=(), description="known objects that are always on the table; the rest are sampled"
    )
    unknown_share: float = Field(
        default=0.3, ge=0, le=1, description="fraction of objects that are not known in advance"
    )
    gap_m: float = Field(default=0.02, ge=0.0, le=0.2, description="smallest gap between two objects")
    reach_m: float = Field(
        default=0.45, ge=0.1, le=0.55, description="largest distance of their centres from the table's front edge"
    )
    edge_m: float = Field(default=0.05, ge=0.0, le=0.15, description="distance they keep from the table's edges")
    shelved: Range = Field(default=Range(0, 3), ge=0, le=3, description="number of other objects on the shelf")
    shift_m: float = Field(
        default=0.004, ge=0, le=0.02, description="largest offset of table and shelf along each axis of the floor"
    )
    sink_m: float = Field(default=0.002, ge=0, le=0.01, description="largest vertical offset of table and shelf")
    turn_rad: float = Field(default=0.012, ge=0, le=0.05, description="largest rotation of table and shelf")


class HeadSightParameters(Parameters):
    """How well the head sees."""

    shift_m: float = Field(
        default=0.0, ge=0, le=0.02, description="offset of the head camera from its nominal position"
    )
    turn_rad: float = Field(
        default=0.0, ge=0, le=0.05, description="rotation of the head camera from its nominal orientation"
    )


class BaseParameters(Parameters):
    """How well the robot knows where it is."""

    shift_m: float = Field(
        default=0.01, ge=0, le=0.05, description="largest position error at the start, along x and y"
    )
    turn_rad: float = Field(default=0.01, ge=0, le=0.1, description="largest heading error at the start")
    slip: float = Field(
        default=0.01, ge=0, le=0.1, description="wheel slip, as a fraction of the distance driven or turned"
    )


class GraspParameters(Parameters):
    """How objects are grasped, and when they count as held."""

    back_m: float = Field(default=0.12, ge=0.05, le=0.3, description="length of the straight approach to a grasp")
    wider_m: float = Field(default=0.04, ge=0.01, le=0.06, description="how much wider than the object the hand opens")
    lift_m: float = Field(default=0.08, ge=0.03, le=0.2, description="how far an object is lifted before it is weighed")
    touch_n: float = Field(default=2.0, gt=0, le=30, description="force on both pads that counts as contact")
    lost_n: float = Field(default=0.5, gt=0, le=10, description="pad force below which nothing is held")
    squeeze_rad: float = Field(default=0.08, ge=0, le=0.4, description="how far past the contact the jaw is commanded")
    width_m: float = Field(
        default=0.015, gt=0, le=0.05, description="how far the jaw gap may differ from the object's width"
    )
    weight_kg: float = Field(
        default=0.04, gt=0, le=1, description="smallest measured weight that counts as holding an object"
    )


class PlacingParameters(Parameters):
    """Where objects go, and when they count as placed."""

    areas_file: str = Field(default="", description="YAML file of placement areas; empty means the built-in one")
    area: str = Field(default="shelf", description="which set of areas of the file is active")
    above_m: float = Field(
        default=0.03, ge=0.01, le=0.1, description="height above its place from which an object is lowered"
    )
    margin_m: float = Field(default=0.02, ge=0.005, le=0.1, description="free space around an object on a shelf board")
    off_m: float = Field(
        default=0.05, gt=0, le=0.1, description="how far from its place an object may then be detected"
    )
    beside_m: float = Field(default=0.01, gt=0, le=0.05, description="how far neighbouring objects may move")


class HandoverParameters(Parameters):
    """How objects are handed to a person."""

    force_thresh: float = Field(
        default=-1.0, le=50, description="pull that triggers the release, N; negative means the default of 3.5 N"
    )
    wait_s: float = Field(default=15.0, gt=0, le=600, description="how long an object is offered")


class PersonParameters(Parameters):
    """The person that takes objects."""

    present: bool = Field(default=True, description="whether a person is there to take objects")
    pull_n: Range = Field(default=Range(5.0, 20.0), ge=0, le=60, description="force with which the person pulls")
    after_s: Range = Field(default=Range(0.8, 2.5), ge=0, le=60, description="time between the offer and the pull")


class ShelfRuleParameters(Parameters):
    """Where objects go when the table is cleared."""

    shelf: tuple[str, ...] = Field(
        default=(), description="names of objects that go to the shelf; `unknown` stands for all others"
    )


class TidyRetryParameters(Parameters):
    """How much may go wrong before the task gives up."""

    looks: int = Field(default=3, ge=0, le=100, description="failed attempts to see the table")
    sides: int = Field(default=2, ge=0, le=100, description="moves to another side of the table for a better view")
    rounds: int = Field(default=12, ge=0, le=1000, description="objects attempted while clearing a table")
    grasps: int = Field(default=4, ge=0, le=100, description="failed grasps per object")
    areas: int = Field(default=4, ge=0, le=100, description="failed placements per object")
    ways: int = Field(default=4, ge=0, le=100, description="blocked paths")


class AloneParameters(Parameters):
    """Inputs of a part that runs alone, in place of the results of the parts before it."""

    object: str = Field(
        default="soup_can", description="name of the object; for placement and handover, the object that is held"
    )
    grasp_poses: tuple[float, ...] = Field(
        default=(),
        description="for execute_grasp: x, y, z, quaternion (w first) and width, eight numbers per pose",
    )
    grasp_object_bb: tuple[float, ...] = Field(
        default=(), description="for execute_grasp: x, y, z of the object's centre, heading, and half its sides"
    )
    placement_surface_to_wrist: tuple[float, ...] = Field(
        default=(), description="for placement: x, y, z and quaternion; empty uses the object's first known grasp"
    )


PROGRAMS = ("single_grasp", "clear_table", "robot_setup", "find_grasp", "execute_grasp", "placement", "handover")
Program = Literal["single_grasp", "clear_table", "robot_setup", "find_grasp", "execute_grasp", "placement", "handover"]


class Tidy(Parameters):
    """Everything that decides a `tidy` episode besides its seed."""

    program: Program = Field(
        default="single_grasp", description="what the robot does; the last five run one part of the others alone"
    )
    object_to_grasp: str = Field(default="", description="name of the object to pick; empty means the closest")
    then: Literal["placement", "handover"] = Field(
        default="placement", description="what to do with a single object, unless a person chooses otherwise"
    )
    table: TableParameters = TableParameters()
    sight: HeadSightParameters = HeadSightParameters()
    base: BaseParameters = BaseParameters()
    grasp: GraspParameters = GraspParameters()
    placing: PlacingParameters = PlacingParameters()
    handover: HandoverParameters = HandoverParameters()
    person: PersonParameters = PersonParameters()
    rules: ShelfRuleParameters = ShelfRuleParameters()
    alone: AloneParameters = AloneParameters()
    retries: TidyRetryParameters = TidyRetryParameters()
    randomize: TexturedRandomization = TexturedRandomization()
