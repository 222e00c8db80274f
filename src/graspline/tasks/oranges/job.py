"""What the states of `oranges` hand to each other: one errand, and what has been done so far."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.topdown import GraspPlan
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.placement.book import PlacementBook
from graspline.placement.plate import Plate, Resting, inside_m
from graspline.placement.query import CarryPlan
from graspline.tasks.oranges.errand import Errand, Where
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import Survey, lying, plate_shape
from graspline.tasks.stages.grasp import HoldReference

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has been done so far: which oranges are asked for, what was put where, and what was tried."""

    wanted: tuple[str, ...] = ()
    book: PlacementBook = field(default_factory=PlacementBook)
    # Grasps tried for each orange since it was last placed.
    tried: tuple[tuple[str, str], ...] = ()
    # Oranges for which no plan was found since the last look from elsewhere.
    skipped: tuple[str, ...] = ()

    def tried_for(self, name: str) -> tuple[str, ...]:
        return tuple(label for orange, label in self.tried if orange == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One errand: the orange, what was seen when it was chosen, and the plan once there is one."""

    target: str
    survey: Survey
    where: Where
    errand: Errand | None = None
    # The orange in the hand, once it is there.
    held: HeldObject | None = None
    hold: HoldReference | None = None

    @property
    def pick(self) -> GraspPlan:
        assert self.errand is not None
        return self.errand.pick

    @property
    def carry(self) -> CarryPlan:
        assert self.errand is not None
        return self.errand.carry

    @property
    def reference(self) -> HoldReference:
        assert self.hold is not None
        return self.hold

    @property
    def in_hand(self) -> HeldObject:
        assert self.held is not None
        return self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    job: Job
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    job: Job
    # What the hand holds, for those who only know that it holds something.
    held: HeldObject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    progress: Progress


def on_plate(survey: Survey, settings: Oranges) -> dict[str, Belief]:
    """Oranges that by this look lie inside the rim, on the plate's floor."""
    if survey.plate is None:
        return {}
    plate, rest = plate_shape(survey.plate), settings.rest
    found = {}
    for name, each in survey.things.items():
        if each.shape == "ball":
            x, y, z = each.position_m - survey.plate.position_m
            height = abs(z - plate.floor_m - each.radius_m)
            inside = x * x + y * y <= inside_m(plate, rest.inside_margin_m) ** 2
            if inside and height <= rest.height_m + 6 * each.position_sigma_m:
                found[name] = each
    return found


def where_of(target: str, survey: Survey, wanted: tuple[str, ...], settings: Oranges) -> Where:
    """What an errand depends on, by one look. The plate must have been seen."""
    assert survey.plate is not None
    plate = plate_shape(survey.plate)
    placed = on_plate(survey, settings)
    things = {name: lying(each, survey.plate) for name, each in survey.things.items()}
    around = dataclasses.replace(survey, things=things).others(target)
    inside = [each for name, each in things.items() if name != target and _over(each, plate)]
    to_come = [name for name in wanted if name in things and name not in placed and name != target]
    return Where(
        target=things[target],
        around=around,
        plate=plate,
        resting=tuple(
            Resting(
                name=each.name,
                x_m=float(each.position_m[0]),
                y_m=float(each.position_m[1]),
                radius_m=float(each.half_extents_m[:2].max()),
            )
            for each in inside
        ),
        still_to_come_m=tuple(things[name].radius_m for name in to_come),
    )


def _over(thing: Belief, plate: Plate) -> bool:
    apart = np.hypot(thing.position_m[0] - plate.x_m, thing.position_m[1] - plate.y_m)
    return bool(apart < plate.radius_m + thing.half_extents_m[:2].max())
