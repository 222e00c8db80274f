"""What the task believes: oranges, blocks and plate, by the estimator its scenario names."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Look, ObjectSeen, Reply, Request, Watch
from graspline.perception.estimates import Estimate, noisy
from graspline.placement.plate import Plate
from graspline.scenes.fruit_table import FLOOR_M, PLATE
from graspline.tasks.oranges.parameters import FruitPerception, Oranges, PlateParameters

Array = NDArray[np.float64]

# What is further away than this has left the table, or was taken away, and is not seen.
SIGHT_M = 1.0
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything seen in one look."""

    things: Mapping[str, Estimate]
    plate: Estimate | None
    time_s: float

    def others(self, *names: str) -> tuple[Estimate, ...]:
        """Everything but these, the plate included: what to keep clear of."""
        found = tuple(each for name, each in self.things.items() if name not in names)
        return found if self.plate is None or self.plate.name not in _REAL else (*found, self.plate)


_REAL = (PLATE,)
VIRTUAL_PLATE = "virtual_plate"


@dataclass(slots=True, kw_only=True)
class FruitEye:
    """The scenario's estimator, with the randomness of its noise and its memory of who is who."""

    perception: FruitPerception
    plate: PlateParameters
    random: np.random.Generator
    known: dict[str, Estimate] = field(default_factory=dict)
    _asides: int = 0

    def step_aside(self) -> int:
        """Which place to look from next, counting up; with the truth estimator any will do."""
        self._asides += 1
        return self._asides % 3 if self.perception.source == "camera" else 0

    def survey(self) -> Generator[Request, Reply, Survey]:
        """Look at everything."""
        reply = yield Look(None)
        seen = cast(dict[str, ObjectSeen], reply.value)
        plate = self._plate(seen.get(PLATE), reply.time_s)
        things = {}
        for name, each in seen.items():
            if name != PLATE and np.linalg.norm(each.position_m) <= SIGHT_M:
                things[name] = self._thing(name, each, plate, reply.time_s)
        return Survey(things=things, plate=plate, time_s=reply.time_s)

    def survey_holding(self, name: str, before: Survey) -> Generator[Request, Reply, Survey]:
        """The same with this one in the hand; its size is known from before, should it not be seen."""
        survey = yield from self.survey()
        return replace(survey, things={name: before.things[name], **survey.things})

    def see_held(self, name: str, expected_m: Array) -> Generator[Request, Reply, Estimate | None]:
        """One sighting of what is in the hand, or None if this estimator cannot tell."""
        survey = yield from self.survey()
        return survey.things.get(name)

    def watch(self, name: str) -> Watch:
        """How guards follow a held orange with this estimator."""
        sigma_m, random = self.perception.position_sigma_m, self.random
        blur = (lambda exact: exact + random.normal(0.0, sigma_m, 3)) if sigma_m else None
        return Watch(target=name, blur=blur, rate_hz=self.perception.watch_hz)

    def _thing(self, name: str, seen: ObjectSeen, plate: Estimate | None, time_s: float) -> Estimate:
        exact = Estimate(
            name=name,
            position_m=seen.position_m,
            quaternion=seen.quaternion,
            half_extents_m=seen.half_extents_m,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
            time_s=time_s,
            shape="ball" if name.startswith(("orange", "stranger")) else "box",
        )
        return noisy(exact, self.perception, self.random)

    def _plate(self, seen: ObjectSeen | None, time_s: float) -> Estimate | None:
        if not self.plate.present:
            return virtual_plate(self.plate, time_s)
        if seen is None or np.linalg.norm(seen.position_m) > SIGHT_M:
            return None
        exact = Estimate(
            name=PLATE,
            position_m=seen.position_m,
            quaternion=seen.quaternion,
            half_extents_m=seen.half_extents_m,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
            time_s=time_s,
            shape="plate",
        )
        found = noisy(exact, self.perception, self.random)
        # It stands on the table: noise in height and heading says nothing.
        level = np.array([found.position_m[0], found.position_m[1], 0.0])
        return replace(found, position_m=level, quaternion=_UPRIGHT)


def virtual_plate(plate: PlateParameters, time_s: float) -> Estimate:
    """Where the fruit goes if the scene has no plate: a circle on the table."""
    return Estimate(
        name=VIRTUAL_PLATE,
        position_m=np.array([plate.virtual_x_m, plate.virtual_y_m, 0.0]),
        quaternion=_UPRIGHT,
        half_extents_m=np.array([plate.outer_radius_m, plate.outer_radius_m, 0.0]),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=time_s,
        shape="plate",
    )


def plate_shape(estimate: Estimate) -> Plate:
    """The believed plate as placement has it; a virtual one is flat."""
    x, y, _ = (float(each) for each in estimate.position_m)
    if estimate.name == VIRTUAL_PLATE:
        return Plate(x_m=x, y_m=y, radius_m=estimate.radius_m, floor_m=0.0, rim_tube_m=0.0, rim_height_m=0.0)
    return Plate(x_m=x, y_m=y, radius_m=estimate.radius_m, floor_m=FLOOR_M)


def empty_plate(settings: Oranges) -> Plate:
    """The plate of a configuration, wherever it stands."""
    plate = virtual_plate(settings.plate, 0.0)
    return plate_shape(replace(plate, name=PLATE) if settings.plate.present else plate)


def lying(thing: Estimate, plate: Estimate | None) -> Estimate:
    """The same thing at the height at which it lies: on the plate's floor or on the table, whatever noise says."""
    up = float(thing.half_extents_m[0] if thing.shape == "ball" else thing.half_extents_m[2])
    floor = 0.0
    if plate is not None:
        shape = plate_shape(plate)
        inside = np.hypot(thing.position_m[0] - shape.x_m, thing.position_m[1] - shape.y_m) < shape.radius_m
        floor = shape.floor_m if inside else 0.0
    position = thing.position_m.copy()
    position[2] = floor + up
    return replace(thing, position_m=position)
