"""Looking at the belt: pictures become tracks, wherever the camera happens to be."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from graspline.execution.requests import Reply, Request, pictured
from graspline.perception.belt.blocks import BeltSurface, BlockSeen, in_view_of, see_blocks
from graspline.perception.belt.tracks import Tracks, follow, no_tracks
from graspline.perception.core.outlines import Array
from graspline.rendering.picture import Picture
from graspline.scenes.belt_line import (
    BELT_END_M,
    BELT_HALF_WIDTH_M,
    BELT_START_M,
    BELT_X_M,
    OUTPUT_END_M,
    OUTPUT_HALF_WIDTH_M,
    OUTPUT_START_M,
    OUTPUTS,
)
from graspline.tasks.sort.parameters import CATALOGUE, Sort

WIDTH_PX, HEIGHT_PX = 640, 480
SURFACE = BeltSurface(
    height_m=0.0,
    low_m=(BELT_X_M - BELT_HALF_WIDTH_M, BELT_END_M),
    high_m=(BELT_X_M + BELT_HALF_WIDTH_M, BELT_START_M),
)
# The belt runs along -y.
DIRECTION = (0.0, -1.0)


def bin_surface(name: str) -> BeltSurface:
    """Where blocks lie that are in a bin."""
    y = OUTPUTS[name]
    return BeltSurface(
        height_m=0.0,
        low_m=(OUTPUT_END_M, y - OUTPUT_HALF_WIDTH_M),
        high_m=(OUTPUT_START_M, y + OUTPUT_HALF_WIDTH_M),
    )


def nothing_yet(settings: Sort) -> Tracks:
    """Before the first picture: the belt runs as it was ordered to, give or take all of it."""
    return no_tracks(DIRECTION, settings.belt.speed_m_s, settings.belt.speed_m_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeltEye:
    """The camera the task looks through."""

    camera: str

    def picture(self) -> Generator[Request, Reply, Picture]:
        """Request an image of the belt."""
        return (yield from pictured(self.camera, WIDTH_PX, HEIGHT_PX))

    def hidden(self, picture: Picture, holding: bool) -> tuple[Array, ...]:
        """Where in a picture the hand, or a block in it, may be."""
        if self.camera != "wrist":
            return ()
        return (FINGERS_PX, HELD_PX) if holding else (FINGERS_PX,)

    def follow(self, tracks: Tracks, picture: Picture, time_s: float, *, holding: bool = False) -> Tracks:
        """What is believed after one more picture."""
        if not time_s > tracks.time_s:
            return tracks
        hidden = self.hidden(picture, holding)
        seen = see_blocks(picture, CATALOGUE, SURFACE, hidden)
        return follow(tracks, seen, time_s, in_view_of(picture, SURFACE, hidden))

    def in_bin(self, picture: Picture, name: str) -> tuple[BlockSeen, ...]:
        """Blocks seen in a bin."""
        return see_blocks(picture, CATALOGUE, bin_surface(name))


# Parts of the wrist camera's picture in which fingers may be, however wide, and what they hold.
FINGERS_PX: Array = np.array([[-1.0, 480.0], [-1.0, 366.0], [640.0, 366.0], [640.0, 480.0]])
HELD_PX: Array = np.array([[170.0, 480.0], [170.0, 260.0], [470.0, 260.0], [470.0, 480.0]])
