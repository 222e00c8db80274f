"""What the task believes: oranges, blocks and plate, by the estimator its scenario names."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least
from graspline.execution.requests import Look, Reply, Request, Watch
from graspline.kinematics.arms import arm_of
from graspline.perception.colour.fruit import Ball, Disc, SeenBlock, see_ball_near, see_plate, see_table, shows_through
from graspline.perception.core.beliefs import Belief, Shape, noisy
from graspline.perception.core.estimators import made_by
from graspline.placement.plate import Plate
from graspline.rendering.picture import Picture
from graspline.scenes.distractors import distractor_name
from graspline.scenes.fruit_table import FLOOR_M, PLATE, orange_name
from graspline.tasks.oranges.parameters import Oranges, PlateParameters
from graspline.tasks.stages.sight import NOT_THERE_M, lying_blur, seen_exactly

Array = NDArray[np.float64]

VIRTUAL_PLATE = "virtual_plate"
# What is measured where the plate is looked for and not seen.
PLATE_UNSEEN = (at_least("sightings_of_plate", 0, 1),)
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
# A fruit seen this close to where one was is taken for the same one first.
_SAME_M = 0.05
# Sightings from several places that are this close are of one fruit.
_ONE_M = 0.025
# A fruit in the hand is looked for this close to where it should be.
_IN_HAND_M = 0.04
# Of a held fruit at least this much of the outline must be seen; it is then seen this well across the line of sight.
_LEAST_SHARE = 0.3
_HELD_SIGMA_M = 0.002
# Where the table shows through more of an orange's disc than this, the orange is not there any more.
_MOST_BARE = 0.4
# A plate that is seen worse than this, behind the hand, does not say whether it was moved.
_PLATE_SIGMA_M = 0.002
# How well a block's heading is seen.
_BLOCK_YAW_SIGMA_RAD = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything seen in one look, and what is hidden now and was seen before."""

    things: Mapping[str, Belief]
    plate: Belief | None
    time_s: float
    hidden: Mapping[str, Belief] = field(default_factory=dict)

    def others(self, *names: str) -> tuple[Belief, ...]:
        """Everything but these, a real plate included: what to keep clear of."""
        known = {**self.hidden, **self.things}
        found = tuple(each for name, each in known.items() if name not in names)
        return found if self.plate is None or self.plate.name == VIRTUAL_PLATE else (*found, self.plate)

    def only(self, name: str) -> dict[str, Belief]:
        """This one, if it was seen."""
        return {name: self.things[name]} if name in self.things else {}


class FruitEye(Protocol):
    """An estimator of fruit, blocks and plate."""

    def survey(self) -> Generator[Request, Reply, Survey]:
        """Look at everything."""
        ...

    def survey_holding(self, name: str, held_m: Array, before: Survey) -> Generator[Request, Reply, Survey]:
        """The same with this one in the hand, believed to be there; its size is known from before."""
        ...

    def see_held(self, name: str, expected_m: Array) -> Generator[Request, Reply, Belief | None]:
        """One sighting of what is in the hand, or None if this estimator cannot tell."""
        ...

    def watch(self, name: str, in_hand_m: Array) -> Watch:
        """How guards follow a held orange, which sits there in the tool frame."""
        ...

    def watch_lying(self, estimate: Belief) -> Watch:
        """How guards see whether an orange still lies where it was seen."""
        ...

    def watch_plate(self) -> Watch | None:
        """How guards see whether the plate is where it was; None for a virtual one, which stays."""
        ...

    def knows_all(self) -> bool:
        """Whether every orange of the scene has been seen and named."""
        ...

    def aside(self) -> int:
        """Which place to look from next."""
        ...


@dataclass(slots=True, kw_only=True)
class FruitTruthEye:
    """Reads the simulator's poses, with the noise a scenario asks for."""

    settings: Oranges
    random: np.random.Generator

    def survey(self) -> Generator[Request, Reply, Survey]:
        """Look at everything."""
        reply = yield Look(None)
        seen = seen_exactly(reply, _shape_of)
        things = {name: self._noisy(each) for name, each in seen.items() if name != PLATE}
        return Survey(things=things, plate=self._plate(seen.get(PLATE), reply.time_s), time_s=reply.time_s)

    def survey_holding(self, name: str, held_m: Array, before: Survey) -> Generator[Request, Reply, Survey]:
        """Look at everything with an object in the hand."""
        survey = yield from self.survey()
        return replace(survey, things={**before.only(name), **survey.things})

    def see_held(self, name: str, expected_m: Array) -> Generator[Request, Reply, Belief | None]:
        """One sighting of the object in the hand, or None if it is not seen."""
        survey = yield from self.survey()
        return survey.things.get(name)

    def watch(self, name: str, in_hand_m: Array) -> Watch:
        """A watch on an object that moves with the hand."""
        sigma_m, random = self.settings.perception.position_sigma_m, self.random
        blur = (lambda exact: exact + random.normal(0.0, sigma_m, 3)) if sigma_m else None
        return Watch(target=name, blur=blur, rate_hz=self.settings.perception.watch_hz)

    def watch_lying(self, estimate: Belief) -> Watch:
        """A watch on an object that lies."""
        perception = self.settings.perception
        blur = lying_blur(perception, self.random)
        return Watch(target=estimate.name, blur=blur, rate_hz=perception.watch_hz)

    def watch_plate(self) -> Watch | None:
        """A watch on the plate; None if it cannot be watched."""
        if not self.settings.plate.present:
            return None
        perception = self.settings.perception
        return Watch(target=PLATE, blur=lying_blur(perception, self.random), rate_hz=perception.watch_hz)

    def knows_all(self) -> bool:
        """Whether every object is known already."""
        return True

    def aside(self) -> int:
        """Which place to look from next."""
        return 0

    def _noisy(self, seen: Belief) -> Belief:
        return noisy(seen, self.settings.perception, self.random)

    def _plate(self, seen: Belief | None, time_s: float) -> Belief | None:
        if not self.settings.plate.present:
            return virtual_plate(self.settings.plate, time_s)
        if seen is None:
            return None
        found = self._noisy(seen)
        # It stands on the table: noise in height and heading says nothing.
        level = np.array([found.position_m[0], found.position_m[1], 0.0])
        return replace(found, shape="plate", position_m=level, quaternion=_UPRIGHT)


def _shape_of(name: str) -> Shape:
    return "ball" if name.startswith(("orange", "stranger")) else "box"


@dataclass(slots=True, kw_only=True)
class FruitCameraEye:
    """Finds fruit, blocks and plate in the front camera's picture, and keeps their identities."""

    settings: Oranges
    _known: dict[str, Belief] = field(default_factory=dict)
    _plate: Belief | None = None
    # How well each orange's size is known, and the size: from where it was seen best.
    _sizes: dict[str, tuple[float, float]] = field(default_factory=dict)
    # Oranges seen so far, until there are as many as the scene has and they can be named.
    _unnamed: list[Ball] = field(default_factory=list)
    _asides: int = 0

    def survey(self) -> Generator[Request, Reply, Survey]:
        """Look at everything."""
        return (yield from self._survey(None, None))

    def survey_holding(self, name: str, held_m: Array, before: Survey) -> Generator[Request, Reply, Survey]:
        """Look at everything with an object in the hand."""
        if name in self._known:
            self._known[name] = replace(self._known[name], position_m=held_m)
        survey = yield from self._survey(name, held_m)
        # The hand may hide the plate it hangs over.
        plate = survey.plate or self._plate
        return replace(survey, plate=plate, things={**before.only(name), **survey.things})

    def see_held(self, name: str, expected_m: Array) -> Generator[Request, Reply, Belief | None]:
        """One sighting of the object in the hand, or None if it is not seen."""
        picture, time_s = yield from self._picture()
        known = self._known[name]
        at = _seen_in_hand(picture, expected_m, known.radius_m)
        if at is None:
            return None
        return replace(known, position_m=at, position_sigma_m=_HELD_SIGMA_M, time_s=time_s)

    def watch(self, name: str, in_hand_m: Array) -> Watch:
        """A watch on an object that moves with the hand."""
        radius = self._known[name].radius_m

        def track(picture: Picture, tool_m: Array, rotation: Array) -> Array | None:
            return _seen_in_hand(picture, tool_m + rotation @ in_hand_m, radius)

        return self._watch(name, track)

    def watch_lying(self, estimate: Belief) -> Watch:
        """A watch on an object that lies."""

        def track(picture: Picture, tool_m: Array, rotation: Array) -> Array | None:
            bare = shows_through(picture, estimate.position_m, estimate.radius_m) > _MOST_BARE
            return NOT_THERE_M if bare else None

        return self._watch(estimate.name, track)

    def watch_plate(self) -> Watch | None:
        """A watch on the plate; None if it cannot be watched."""
        plate = self.settings.plate

        def track(picture: Picture, tool_m: Array, rotation: Array) -> Array | None:
            disc = see_plate(picture, plate.outer_radius_m)
            return None if disc is None or disc.position_sigma_m > _PLATE_SIGMA_M else disc.position_m

        return self._watch(PLATE, track) if plate.present else None

    def _watch(self, name: str, track: Callable[[Picture, Array, Array], Array | None]) -> Watch:
        return Watch(target=name, rate_hz=self.settings.perception.camera_watch_hz, look=self._look(), track=track)

    def knows_all(self) -> bool:
        """Whether every object is known already."""
        return len(self._known) > 0

    def aside(self) -> int:
        """Which place to look from next."""
        self._asides += 1
        return self._asides % 3

    def _look(self) -> Look:
        perception = self.settings.perception
        return Look("front", perception.width, perception.height)

    def _picture(self) -> Generator[Request, Reply, tuple[Picture, float]]:
        reply = yield self._look()
        return cast(Picture, reply.value), reply.time_s

    def _survey(self, held: str | None, held_m: Array | None) -> Generator[Request, Reply, Survey]:
        picture, time_s = yield from self._picture()
        settings = self.settings
        radius = settings.plate.outer_radius_m if settings.plate.present else None
        seen = see_table(picture, radius, held_m)
        plate = virtual_plate(settings.plate, time_s) if radius is None else self._seen_plate(seen.plate, time_s)
        things = self._name(list(seen.oranges), held, time_s)
        for index, block in enumerate(seen.blocks):
            things[distractor_name(index)] = _estimate_of_block(distractor_name(index), block, time_s)
        hidden = {name: each for name, each in self._known.items() if name not in things and name != held}
        return Survey(things=things, plate=plate, time_s=time_s, hidden=hidden)

    def _seen_plate(self, disc: Disc | None, time_s: float) -> Belief | None:
        if disc is None:
            return None
        plate = virtual_plate(self.settings.plate, time_s)
        self._plate = replace(plate, name=PLATE, position_m=disc.position_m, position_sigma_m=disc.position_sigma_m)
        return self._plate

    def _name(self, balls: list[Ball], held: str | None, time_s: float) -> dict[str, Belief]:
        if not self._known:
            self._gather(balls)
            count = self.settings.oranges.count
            if len(self._unnamed) >= count:
                # Left to right as the robot looks, as scenes are named.
                surest = sorted(self._unnamed, key=lambda ball: ball.position_sigma_m)[:count]
                for index, ball in enumerate(sorted(surest, key=self._azimuth, reverse=True)):
                    name = orange_name(index)
                    self._known[name] = _estimate_of_ball(name, ball, ball.radius_m, time_s)
        found: dict[str, Belief] = {}
        for name, ball in _matched(self._known, list(balls), held):
            seen = ball.position_sigma_m, ball.radius_m
            _, radius = self._sizes[name] = min(self._sizes.get(name, seen), seen)
            found[name] = self._known[name] = _estimate_of_ball(name, ball, radius, time_s)
            balls.remove(ball)
        if self._known:
            # More fruit than there should be: it is no target, but it takes room.
            for index, ball in enumerate(balls):
                name = f"stranger_{index + 1}"
                found[name] = _estimate_of_ball(name, ball, ball.radius_m, time_s)
        return found

    def _azimuth(self, ball: Ball) -> float:
        x_m, y_m = arm_of(self.settings.the_robot).axis_m
        return float(np.arctan2(ball.position_m[1] - y_m, ball.position_m[0] - x_m))

    def _gather(self, balls: list[Ball]) -> None:
        for ball in balls:
            same = [each for each in self._unnamed if np.linalg.norm(each.position_m - ball.position_m) < _ONE_M]
            if not same:
                self._unnamed.append(ball)
            elif ball.position_sigma_m < same[0].position_sigma_m:
                self._unnamed[self._unnamed.index(same[0])] = ball


def _seen_in_hand(picture: Picture, expected_m: Array, radius_m: float) -> Array | None:
    """Where a held fruit is seen, at the distance from the camera at which it is expected.

    How far away it is follows from its apparent size, too roughly to tell a slip: only what is seen across the line of
    sight counts.
    """
    ball = see_ball_near(picture, expected_m, radius_m, _IN_HAND_M)
    if ball is None or ball.share_seen < _LEAST_SHARE:
        return None
    ray = ball.position_m - picture.position_m
    ray = ray / np.linalg.norm(ray)
    return picture.position_m + ray * float(ray @ (expected_m - picture.position_m))


def _matched(known: Mapping[str, Belief], balls: list[Ball], held: str | None) -> list[tuple[str, Ball]]:
    """Which sighting is which object: nearest pairs first; what has moved far is known by what is left."""
    free, left = [name for name in known if name != held], list(balls)
    pairs = sorted(
        (float(np.hypot(*(known[name].position_m - ball.position_m)[:2])), name, index)
        for name in free
        for index, ball in enumerate(balls)
    )
    found: list[tuple[str, Ball]] = []
    taken: set[int] = set()
    for limit in (_SAME_M, np.inf):
        for apart, name, index in pairs:
            if apart <= limit and name in free and index not in taken:
                free.remove(name)
                taken.add(index)
                found.append((name, left[index]))
    return found


def _estimate_of_ball(name: str, ball: Ball, radius_m: float, time_s: float) -> Belief:
    seen = Belief.exact(name, ball.position_m, _UPRIGHT, np.full(3, radius_m), shape="ball", time_s=time_s)
    return replace(seen, position_sigma_m=ball.position_sigma_m)


def _estimate_of_block(name: str, block: SeenBlock, time_s: float) -> Belief:
    turned = np.array([np.cos(block.yaw_rad / 2), 0.0, 0.0, np.sin(block.yaw_rad / 2)])
    seen = Belief.exact(name, block.position_m, turned, block.half_extents_m, time_s=time_s)
    return replace(seen, position_sigma_m=block.position_sigma_m, yaw_sigma_rad=_BLOCK_YAW_SIGMA_RAD)


def make_eye(settings: Oranges, random: np.random.Generator) -> FruitEye:
    """The estimator the scenario names."""
    if settings.perception.source == "camera":
        return FruitCameraEye(settings=settings)
    if settings.perception.source == "truth":
        return FruitTruthEye(settings=settings, random=random)
    return made_by(settings.perception.source, settings, random)


def virtual_plate(plate: PlateParameters, time_s: float) -> Belief:
    """Where the fruit goes if the scene has no plate: a circle on the table."""
    return Belief.exact(
        VIRTUAL_PLATE,
        np.array([plate.virtual_x_m, plate.virtual_y_m, 0.0]),
        _UPRIGHT,
        np.array([plate.outer_radius_m, plate.outer_radius_m, 0.0]),
        time_s=time_s,
        shape="plate",
    )


def plate_shape(estimate: Belief) -> Plate:
    """The believed plate as placement has it; a virtual one is flat."""
    x, y, _ = (float(each) for each in estimate.position_m)
    if estimate.name == VIRTUAL_PLATE:
        return Plate(x_m=x, y_m=y, radius_m=estimate.radius_m, floor_m=0.0, rim_tube_m=0.0, rim_height_m=0.0)
    return Plate(x_m=x, y_m=y, radius_m=estimate.radius_m, floor_m=FLOOR_M)


def empty_plate(settings: Oranges) -> Plate:
    """The plate of a configuration, wherever it stands."""
    plate = virtual_plate(settings.plate, 0.0)
    return plate_shape(replace(plate, name=PLATE) if settings.plate.present else plate)


def lying(thing: Belief, plate: Belief | None) -> Belief:
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
