"""What `grab` believes of the things on its table, by the estimator its scenario names."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Look, Reply, Request, Watch
from graspline.perception.colour.coloured_objects import FittedObject, see_things
from graspline.perception.colour.expected_objects import is_hidden, see_near
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.estimators import made_by
from graspline.perception.core.held import HeldObject
from graspline.rendering.picture import Picture
from graspline.scenes.block_table import KINDS, Kind, kind_of
from graspline.scenes.scene import ObjectShape
from graspline.spatial.poses import Pose
from graspline.tasks.grab.parameters import GrabPerception
from graspline.tasks.stages.sight import NOT_THERE_M, Eye, TruthEye

Array = NDArray[np.float64]

# A gripped thing is not farther than this from where it was seen before the hand came.
_SHOVED_M = 0.03
# A thing that stands on the table looks as large as before, to within these standard deviations and this share. One
# that is still in the hand, 5 mm up, looks a hundredth larger.
_SAME_SIZE_SIGMAS, _SAME_SIZE = 4.0, 0.005
# Beside the fingers it is seen this well; behind them it may have been shoved by this much.
_GRIPPED_SIGMA_M, _BEHIND_SIGMA_M = 0.0005, 0.0015


@dataclass(slots=True, kw_only=True)
class CameraEye:
    """Finds known things in the front camera's picture, and remembers where those were that are hidden now."""

    perception: GrabPerception
    kinds: tuple[Kind, ...] = KINDS
    _known: dict[str, Belief] = field(default_factory=dict)
    # Of each thing how well its size is known, and the size: from where it was seen best.
    _sizes: dict[str, tuple[float, float]] = field(default_factory=dict)
    _grips: dict[str, HeldObject] = field(default_factory=dict)

    def see(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object, or None if it is not seen."""
        reply = yield self._look()
        return self._find(reply, (kind_of(name),)).get(name)

    def see_gripped(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object in the hand, or None if it is not seen."""
        reply = yield self._look()
        before = self._known.get(name)
        thing = self._find(reply, (kind_of(name),)).get(name)
        if thing is not None:
            near = before is None or np.linalg.norm(thing.position_m - before.position_m) <= _SHOVED_M
            thing = replace(thing, position_sigma_m=max(thing.position_sigma_m, _GRIPPED_SIGMA_M)) if near else None
        elif before is not None and self._may_be_at(reply, before):
            thing = replace(before, position_sigma_m=_BEHIND_SIGMA_M, time_s=reply.time_s)
        if thing is not None:
            hand = Pose(position_m=reply.readings.tool_position_m, rotation=reply.readings.tool_rotation)
            self._grips[name] = HeldObject.of(thing, hand)
        return thing

    def survey(self) -> Generator[Request, Reply, tuple[Belief, ...]]:
        """Look at everything."""
        reply = yield self._look()
        seen = self._find(reply, self.kinds)
        hidden = {name: each for name, each in self._known.items() if name not in seen}
        # What is not where it was, and nowhere else, is gone.
        self._known = seen | {name: each for name, each in hidden.items() if self._may_be_at(reply, each)}
        return tuple(self._known[each.name] for each in self.kinds if each.name in self._known)

    def watch(self, name: str) -> Watch:
        """A watch on an object that moves with the hand."""
        kind, grip = kind_of(name), self._grips[name]

        def track(picture: Picture, tool_m: Array, rotation: Array) -> Array | None:
            return see_near(picture, kind, grip.half_extents_m, Pose(position_m=tool_m, rotation=rotation) @ grip.X_HO)

        return Watch(target=name, rate_hz=self.perception.camera_watch_hz, look=self._look(), track=track)

    def watch_lying(self, estimate: Belief) -> Watch:
        """A watch on an object that lies."""
        kind, half_m, lies = kind_of(estimate.name), estimate.half_extents_m, estimate.pose

        def track(picture: Picture, tool_m: Array, rotation: Array) -> Array | None:
            # As long as no table shines through where it lay, it is there, or hidden by the hand.
            if is_hidden(picture, kind, half_m, lies):
                return None
            seen = see_near(picture, kind, half_m, lies)
            return NOT_THERE_M if seen is None else seen

        return Watch(target=estimate.name, rate_hz=self.perception.camera_watch_hz, look=self._look(), track=track)

    def _look(self) -> Look:
        return Look("front", self.perception.width, self.perception.height)

    def _find(self, reply: Reply, kinds: tuple[Kind, ...]) -> dict[str, Belief]:
        things = see_things(cast(Picture, reply.value), kinds)
        seen = {each.name: _estimate_of(each, reply.time_s) for each in things if self._has_its_size(each)}
        self._known |= seen
        return seen

    def _has_its_size(self, thing: FittedObject) -> bool:
        """Whether it is as large as before; what is in the air looks like a larger one on the table behind it."""
        seen = thing.scale_sigma, float(thing.half_extents_m[0])
        sigma, half_m = self._sizes.get(thing.name, seen)
        slack = _SAME_SIZE + _SAME_SIZE_SIGMAS * float(np.hypot(sigma, thing.scale_sigma))
        if abs(seen[1] - half_m) > slack * half_m:
            return False
        self._sizes[thing.name] = min((sigma, half_m), seen)
        return True

    @staticmethod
    def _may_be_at(reply: Reply, thing: Belief) -> bool:
        return is_hidden(cast(Picture, reply.value), kind_of(thing.name), thing.half_extents_m, thing.pose)


def _estimate_of(thing: FittedObject, time_s: float) -> Belief:
    turned = np.array([np.cos(thing.yaw_rad / 2), 0.0, 0.0, np.sin(thing.yaw_rad / 2)])
    shape = kind_of(thing.name).shape
    seen = Belief.exact(thing.name, thing.position_m, turned, thing.half_extents_m, shape=shape, time_s=time_s)
    return replace(seen, position_sigma_m=thing.position_sigma_m, yaw_sigma_rad=thing.yaw_sigma_rad)


@dataclass(slots=True, kw_only=True)
class DetectedFirst:
    """An estimator that at its first look at the table knows what an outside detector has seen, and sees by itself
    from then on."""

    eye: Eye
    detected: tuple[Belief, ...]
    _looked: bool = False

    def survey(self) -> Generator[Request, Reply, tuple[Belief, ...]]:
        """Look at everything."""
        if self._looked:
            return (yield from self.eye.survey())
        self._looked = True
        return self.detected

    def see(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object, or None if it is not seen."""
        return (yield from self.eye.see(name))

    def see_gripped(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object in the hand, or None if it is not seen."""
        return (yield from self.eye.see_gripped(name))

    def watch(self, name: str) -> Watch | None:
        """A watch on an object that moves with the hand."""
        return self.eye.watch(name)

    def watch_lying(self, estimate: Belief) -> Watch | None:
        """A watch on an object that lies."""
        return self.eye.watch_lying(estimate)


def make_eye(perception: GrabPerception, random: np.random.Generator, kinds: tuple[Kind, ...] = KINDS) -> Eye:
    """The estimator the scenario names, for these objects."""
    if perception.source == "camera":
        return CameraEye(perception=perception)
    if perception.source == "truth":
        shapes: dict[str, ObjectShape] = {each.name: each.shape for each in kinds}
        solids = {each.name: each.solid for each in kinds if each.solid is not None}
        return TruthEye(perception=perception, random=random, shapes=shapes, solids=solids)
    return made_by(perception.source, perception, random)
