"""The camera's picture with what the task makes of it: outlines, tracks, and where each block will be in a second."""

from __future__ import annotations

import cv2
import numpy as np

from graspline.perception.belt.blocks import BlockSeen, see_blocks
from graspline.perception.belt.tracks import BlockTrack
from graspline.perception.core.outlines import Array, Lens
from graspline.perception.core.silhouettes import silhouette_px
from graspline.rendering.picture import Picture, Pixels
from graspline.spatial.rotations import rotation_z
from graspline.tasks.sort.parameters import CATALOGUE, Sort
from graspline.tasks.sort.sight import SURFACE, BeltEye, nothing_yet

_OUTLINE, _TRACK = (255, 255, 255), (255, 214, 64)
# Films show these pictures at 0.6 of their size: lines and letters are strong enough for that.
_FONT, _TEXT_SCALE, _TEXT_WEIGHT = cv2.FONT_HERSHEY_SIMPLEX, 0.8, 2
_AHEAD_S = 1.0


class BeltAnnotator:
    """Follows one film of the belt, picture by picture, as the task does."""

    depth = False

    def __init__(self, settings: Sort) -> None:
        self._eye = BeltEye(camera=settings.sight.camera)
        self._tracks = nothing_yet(settings)

    @property
    def camera(self) -> str:
        """The camera whose images it annotates."""
        return self._eye.camera

    def __call__(self, picture: Picture, time_s: float, joints: Array) -> Pixels:
        """A copy with the outlines of blocks and the tracks behind them."""
        self._tracks = self._eye.follow(self._tracks, picture, time_s)
        lens, annotated = Lens.of(picture), np.ascontiguousarray(picture.rgb)
        if not picture.rgb.any():
            return annotated
        for seen in see_blocks(picture, CATALOGUE, SURFACE, self._eye.hidden(picture, holding=False)):
            if seen.whole:
                _outline(annotated, lens, seen)
        for track in self._tracks.alive:
            _mark(annotated, lens, track, time_s)
        words = f"belt {1e3 * self._tracks.speed_m_s:.0f} mm/s"
        cv2.putText(annotated, words, (12, 32), _FONT, _TEXT_SCALE, _TRACK, _TEXT_WEIGHT, cv2.LINE_AA)
        return annotated


def _outline(annotated: Pixels, lens: Lens, seen: BlockSeen) -> None:
    half = np.array(seen.size_m) / 2
    position = np.array([seen.x_m, seen.y_m, half[2]])
    corners = silhouette_px(lens, "box", half, position, rotation_z(seen.yaw_rad))
    cv2.polylines(annotated, [np.rint(corners).astype(np.int32)], True, _OUTLINE, 3, cv2.LINE_AA)


def _mark(annotated: Pixels, lens: Lens, track: BlockTrack, time_s: float) -> None:
    """A cross where a block is believed to be, an arrow to where it will be, its number and colour."""
    (x, y), (later_x, later_y), high = track.at(time_s), track.at(time_s + _AHEAD_S), track.size_m[2]
    points = lens.pixels(np.array([[x, y, high], [later_x, later_y, high]]))
    if not (np.abs(points) < 4000).all():
        return
    here, later = ((round(float(u)), round(float(v))) for u, v in points)
    cv2.drawMarker(annotated, here, _TRACK, cv2.MARKER_CROSS, 14, 2, cv2.LINE_AA)
    cv2.arrowedLine(annotated, here, later, _TRACK, 2, cv2.LINE_AA, tipLength=0.2)
    words = f"{track.number} {track.colour}"
    cv2.putText(annotated, words, (here[0] + 10, here[1] - 22), _FONT, _TEXT_SCALE, _TRACK, _TEXT_WEIGHT, cv2.LINE_AA)
