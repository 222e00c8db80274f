"""Seeing: the estimator a scenario names, and the states that ask it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least
from graspline.execution.requests import Look, ObjectSeen, Reply, Request, Watch
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import ObjectMoved
from graspline.perception.core.beliefs import Belief, Noise, Perception, PositionNoise, Shape, noisy
from graspline.perception.core.estimators import made_by
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.scene import ObjectShape

Array = NDArray[np.float64]

# What is further away than this has left the table, or was taken away, and is not seen.
SIGHT_M = 1.0
# How often something that lies on the table is looked at while the hand comes.
LYING_HZ = 10.0
# A sighting of what is not where it lay, wherever it may be now.
NOT_THERE_M = np.full(3, np.inf)
# What is seen with so much room under it is not on the table: far more than the error of any sighting.
_ON_SOMETHING_M = 0.015
# What is measured where something is looked for and not seen.
UNSEEN = (at_least("sightings", 0, 1),)


class Eye(Protocol):
    """The estimator that a scenario names."""

    def see(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object, or None if it is not seen."""
        ...

    def see_gripped(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """The same with the jaws closed on it, which may hide it; None if it is not there."""
        ...

    def survey(self) -> Generator[Request, Reply, tuple[Belief, ...]]:
        """Everything on the table; what is hidden now is believed to be where it was last seen."""
        ...

    def watch(self, name: str) -> Watch | None:
        """How guards follow an object that was gripped; None where nothing sees it."""
        ...

    def watch_lying(self, estimate: Belief) -> Watch | None:
        """How guards see whether an object still lies where it was seen; None if nothing sees it."""
        ...


def eye_of(perception: Perception, random: np.random.Generator) -> Eye:
    """The estimator that these parameters name."""
    if perception.source == "truth":
        return TruthEye(perception=perception, random=random)
    return made_by(perception.source, perception, random)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthEye:
    """Reads the simulator's poses, with the noise a scenario asks for."""

    perception: Noise
    random: np.random.Generator
    # Shapes of objects that are not boxes.
    shapes: Mapping[str, ObjectShape] = field(default_factory=dict)
    # What those are that are meshes.
    solids: Mapping[str, Solid] = field(default_factory=dict)

    def see(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object, or None if it is not seen."""
        seen = (yield from self._exactly()).get(name)
        return None if seen is None else noisy(seen, self.perception, self.random)

    def see_gripped(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object in the hand, or None if it is not seen."""
        return (yield from self.see(name))

    def survey(self) -> Generator[Request, Reply, tuple[Belief, ...]]:
        """Look at everything."""
        seen = yield from self._exactly()
        return tuple(noisy(each, self.perception, self.random) for each in seen.values())

    def _exactly(self) -> Generator[Request, Reply, dict[str, Belief]]:
        reply = yield Look(None)
        return seen_exactly(reply, lambda name: self.shapes.get(name, "box"), self.solids)

    def watch(self, name: str) -> Watch:
        """A watch on an object that moves with the hand."""
        sigma_m, random = self.perception.position_sigma_m, self.random
        blur = (lambda exact: exact + random.normal(0.0, sigma_m, 3)) if sigma_m else None
        return Watch(target=name, blur=blur)

    def watch_lying(self, estimate: Belief) -> Watch:
        """A watch on an object that lies."""
        return Watch(target=estimate.name, rate_hz=LYING_HZ, blur=lying_blur(self.perception, self.random))


def seen_exactly(
    reply: Reply, shape_of: Callable[[str], Shape], solids: Mapping[str, Solid] = MappingProxyType({})
) -> dict[str, Belief]:
    """The simulator's poses in the reply to a look by truth: of all objects within sight."""
    return {
        name: Belief.exact(
            name,
            seen.position_m,
            seen.quaternion,
            seen.half_extents_m,
            shape=shape_of(name),
            solid=solids.get(name),
            time_s=reply.time_s,
        )
        for name, seen in cast(dict[str, ObjectSeen], reply.value).items()
        if np.sqrt(seen.position_m.dot(seen.position_m)) <= SIGHT_M
    }


def lying_blur(perception: PositionNoise, random: np.random.Generator) -> Callable[[Array], Array]:
    """What the truth estimator makes of the exact position of a thing on the table.

    Its noise comes from a generator of its own: further looks change no other sighting.
    """
    sigma_m = perception.position_sigma_m
    noise = random.spawn(1)[0] if sigma_m else None

    def blur(exact: Array) -> Array:
        if exact.dot(exact) > SIGHT_M * SIGHT_M:
            return NOT_THERE_M
        return exact if noise is None else exact + noise.normal(0.0, sigma_m, 3)

    return blur


def moved_guards(estimate: Belief, limit_m: float, watch: Watch | None) -> tuple[ObjectMoved, ...]:
    """End a motion once two sightings in a row say that an object is farther than this from where it was seen."""
    if watch is None:
        return ()
    x, y, z = (float(each) for each in estimate.position_m)
    # Both sightings, the one before and the one now, have an error in each coordinate.
    limit_m += 6 * estimate.position_sigma_m
    return (ObjectMoved(lay_at_m=(x, y, z), limit_m=limit_m, for_s=1.5 / watch.rate_hz),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    """The target as it was seen, with everything else."""

    estimate: Belief
    # What else was seen, to be kept clear of.
    others: tuple[Belief, ...] = ()


def look(eye: Eye, target: str) -> Producing[Gives[Literal["seen"], Sighted] | Outcome[Literal["lost"]]]:
    """Find the target. It lies on the table, so its height follows from its size and not from a noisy sighting."""
    estimate = yield from eye.see(target)
    if estimate is None:
        return Outcome("lost", UNSEEN, about=target)
    return Gives("seen", Sighted(estimate=resting(estimate)), about=target)


def resting(estimate: Belief) -> Belief:
    """The same with the height that something of its size has on the table, unless it is on something else."""
    if float(estimate.position_m[2]) - estimate.half_height_m > _ON_SOMETHING_M:
        return estimate
    position = estimate.position_m.copy()
    position[2] = estimate.half_height_m
    return replace(estimate, position_m=position)
