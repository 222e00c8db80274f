"""The head camera's picture with what is recognised in it: things as wire frames, with their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.change_detection import empty_share, is_alike
from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.furniture import bounds, standing_on
from graspline.perception.rgbd.tabletop import Tabletop
from graspline.perception.rgbd.wire_frames import overlay_solids
from graspline.planning.collision import CollisionWorld
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.fittings import SHELF, TABLE
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY, EYE, ROBOT
from graspline.tasks.tidy.sight import HIGHEST_M, see

Array = NDArray[np.float64]

# Nothing is looked for while the camera moves by more than this from picture to picture; else this often.
_STILL_M, _EVERY_S = 0.0002, 1.0
# A level is looked at if it is this near to the middle of the picture, as a cosine.
_AHEAD = 0.9
# A thing of whose place this much shows what is behind it is not there any more.
_GONE = 0.5
# What is this near to the middle between the fingers is in the hand, unless it stood there before, as near as this.
_IN_HAND_M, _STOOD_M = 0.02, 0.03


class RoomAnnotator:
    """Looks again whenever the head is still, as the task does, and keeps what it saw until its place is seen empty.

    The robot's own hand is no thing, nor is what it carries.
    """

    camera, depth = EYE, True

    def __init__(self, settings: Tidy) -> None:
        self._world = CollisionWorld.among_solids(ROBOT)
        self._last = np.full(6, np.nan)
        self._looked_s = -np.inf
        self._solids: tuple[Belief, ...] = ()

    def __call__(self, picture: Picture, time_s: float, joints: Array) -> Pixels:
        """The image with what the task sees in it."""
        camera, rotation = BODY.head_camera(joints)
        pose = np.concatenate([camera, -rotation[:, 2]])
        still = bool(np.abs(pose - self._last).max() < _STILL_M)
        self._last = pose
        if not still:
            self._looked_s = -np.inf
        elif time_s - self._looked_s >= _EVERY_S:
            self._looked_s = time_s
            tool, _ = BODY.forward(joints)
            things = self._see(picture, joints, camera, rotation)
            self._solids = tuple(each for each in things if not _is_held(each, tool, self._solids))
        if self._solids and picture.rgb.any():
            view = view_of(picture, camera, rotation)
            self._solids = tuple(each for each in self._solids if empty_share(each, view) < _GONE)
        return overlay_solids(picture.rgb, camera, rotation, picture.fovy_rad, self._solids)

    def _see(self, picture: Picture, joints: Array, camera: Array, rotation: Array) -> tuple[Belief, ...]:
        levels = [(fitting, level) for fitting in (TABLE, SHELF) for level in fitting.levels]
        away = [fitting.in_world(level.position_m) - camera for fitting, level in levels]
        cosines = [float(-rotation[:, 2] @ each / np.linalg.norm(each)) for each in away]
        best = int(np.argmax(cosines))
        if cosines[best] < _AHEAD or not picture.rgb.any():
            return ()
        fitting, level = levels[best]
        own, highest = self._world.own_solids(joints), min(level.clear_m, HIGHEST_M)
        found = see(picture, camera, rotation, bounds(fitting, level), highest, own)
        return standing_on(fitting, level.name, found.solids) if isinstance(found, Tabletop) else ()


def _is_held(thing: Belief, tool_m: Array, before: Sequence[Belief]) -> bool:
    """Whether a thing is where the fingers are and did not stand there before."""
    stood = any(
        is_alike(thing, each) and float(np.linalg.norm(thing.position_m - each.position_m)) < _STOOD_M
        for each in before
    )
    own = np.abs((tool_m - thing.position_m) @ thing.rotation)
    return not stood and bool((own <= thing.half_extents_m + _IN_HAND_M).all())
