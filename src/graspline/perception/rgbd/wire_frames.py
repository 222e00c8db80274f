"""Solids laid over an image as wire frames with their names, for films and for people."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.core.outlines import Array, Lens
from graspline.rendering.picture import Pixels
from graspline.spatial.rotations import rotate

_KNOWN_RGB, _UNKNOWN_RGB, _TEXT_RGB = (40, 230, 90), (255, 190, 40), (0, 0, 0)
_TURN = np.arange(32) * (2 * np.pi / 32)
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)
_SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
# Nothing nearer to the camera is shown.
_NEAREST_M = 0.05
# Films show these pictures at 0.6 of their size: lines and letters are strong enough for that.
_LINE_PX = 2
# Names stand on a plate of the thing's colour, this far above it, with so much around them.
_TEXT_SCALE, _TEXT_WEIGHT, _TEXT_LIFT_PX, _PLATE_PX = 0.9, 2, 8, 6
# Left, top, right and bottom of a plate.
Plate = tuple[int, int, int, int]


def overlay_solids(
    rgb: Pixels, position_m: Array, rotation: Array, fovy_rad: float, solids: Sequence[Belief]
) -> Pixels:
    """A copy of a picture with solids laid over it, seen from a camera pose (p_OC, R_OC), MuJoCo's camera frame."""
    height, width = rgb.shape[:2]
    lens = Lens(
        position_m=np.asarray(position_m, float),
        rotation=np.asarray(rotation, float),
        focal_px=float(height / (2 * np.tan(fovy_rad / 2))),
        width=width,
        height=height,
    )
    annotated = np.ascontiguousarray(rgb).copy()
    colours = [_UNKNOWN_RGB if solid.name == UNKNOWN else _KNOWN_RGB for solid in solids]
    for solid, colour in zip(solids, colours, strict=True):
        for line in _lines_m(solid):
            _overlay_line(annotated, lens, line, colour)
    plates = list[Plate]()
    for solid, colour in zip(solids, colours, strict=True):
        _write_name(annotated, lens, solid, colour, plates)
    return annotated


def _lines_m(solid: Belief) -> list[Array]:
    """Lines (V, 3) in O that show a solid."""
    half, rings = solid.half_extents_m, []
    if solid.shape == "ball":
        for axes in ((0, 1), (0, 2), (1, 2)):
            ring = np.zeros((len(_CIRCLE) + 1, 3))
            ring[:, axes] = half[0] * np.concatenate([_CIRCLE, _CIRCLE[:1]])
            rings.append(ring)
    else:
        outline = (_SQUARE if solid.shape == "box" else _CIRCLE) * half[:2]
        closed = np.concatenate([outline, outline[:1]])
        rings = [np.column_stack([closed, np.full(len(closed), z)]) for z in (-half[2], half[2])]
        posts = outline[:: len(outline) // 4]
        rings += [np.array([[x, y, -half[2]], [x, y, half[2]]]) for x, y in posts]
    return [rotate(solid.rotation, ring) + solid.position_m for ring in rings]


def _overlay_line(annotated: Pixels, lens: Lens, line: Array, colour: tuple[int, int, int]) -> None:
    ahead = -((line - lens.position_m) @ lens.rotation)[:, 2]
    if (ahead < _NEAREST_M).any():
        return
    # OpenCV counts from the middle of a pixel, in fractions of it.
    points = np.rint(lens.pixels(line) * 16).astype(np.int32)
    cv2.polylines(annotated, [points], False, colour, _LINE_PX, cv2.LINE_AA, 4)


def _write_name(
    annotated: Pixels, lens: Lens, solid: Belief, colour: tuple[int, int, int], plates: list[Plate]
) -> None:
    """A thing's name above it, clear of the names there are; none of what is out of the picture."""
    top = np.array([*solid.position_m[:2], solid.top_m])
    if -((top - lens.position_m) @ lens.rotation)[2] < _NEAREST_M:
        return
    x, y = lens.pixels(top)
    if not (0 <= x < lens.width and 0 <= y < lens.height):
        return
    words = solid.name.replace("_", " ")
    (wide, high), below = cv2.getTextSize(words, cv2.FONT_HERSHEY_SIMPLEX, _TEXT_SCALE, _TEXT_WEIGHT)
    across, down = wide + 2 * _PLATE_PX, high + below + 2 * _PLATE_PX
    left = min(max(round(float(x)) - across // 2, 0), max(lens.width - across, 0))
    bottom = max(round(float(y)) - _TEXT_LIFT_PX, down)
    for other in sorted(plates, key=lambda plate: -plate[3]):
        if left < other[2] and other[0] < left + across and bottom - down < other[3] and other[1] < bottom:
            bottom = max(other[1] - 1, down)
    plates.append((left, bottom - down, left + across, bottom))
    cv2.rectangle(annotated, (left, bottom - down), (left + across, bottom), colour, cv2.FILLED)
    at = left + _PLATE_PX, bottom - below - _PLATE_PX
    cv2.putText(annotated, words, at, cv2.FONT_HERSHEY_SIMPLEX, _TEXT_SCALE, _TEXT_RGB, _TEXT_WEIGHT, cv2.LINE_AA)
