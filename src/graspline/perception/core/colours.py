"""What the pixels of a picture may belong to, by hue and saturation, which a change of light leaves alone."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Pixels

# Pictures are small and lanes use the cores; and a picture must give the same bits on any machine.
cv2.setNumThreads(1)
cv2.ocl.setUseOpenCL(False)

Range = tuple[tuple[int, int, int], tuple[int, int, int]]

# Lowest and highest (hue, saturation, value) as OpenCV counts them: hue in steps of 2°, the rest to 255. A pixel
# half orange, half table has a saturation of 155; the board on the robot is as blue as the plate, but saturated to 206.
_DARKEST = 25
ORANGE: Range = (6, 150, _DARKEST), (24, 255, 255)
BLUE: Range = (98, 100, _DARKEST), (116, 185, 255)
GREEN: Range = (50, 100, _DARKEST), (80, 255, 255)
PURPLE: Range = (130, 100, _DARKEST), (160, 255, 255)
_TABLE: Range = (9, 36, _DARKEST), (24, 100, 255)
_BACKDROP: Range = (95, 24, _DARKEST), (112, 65, 255)


def _palette(*colours: Range) -> NDArray[np.bool_]:
    """(256, 256): whether a hue and a saturation are of one of these colours."""
    palette = np.zeros((256, 256), bool)
    for low, high in colours:
        palette[low[0] : high[0] + 1, low[1] : high[1] + 1] = True
    return palette


_SCENERY, _SCENERY_AND_PLATE = _palette(_TABLE, _BACKDROP), _palette(_TABLE, _BACKDROP, BLUE)


def hue_picture(rgb: Pixels) -> Pixels:
    """(H, W, 3): hue, saturation and value."""
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV), np.uint8)


def pixels_within(hues: Pixels, colour: Range) -> Pixels:
    """(H, W): 255 where a pixel has this colour, else 0."""
    return np.asarray(cv2.inRange(hues, np.array(colour[0]), np.array(colour[1])), np.uint8)


def shows_scenery(hues: Pixels, points_px: NDArray[np.float64], plate_counts: bool) -> NDArray[np.bool_]:
    """(M,): whether table or backdrop is seen at points (M, 2); nothing that stands on the table is behind those.

    Whether the plate is scenery too depends on what is looked for.
    """
    column, row = np.rint(points_px).astype(int).T
    height, width = hues.shape[:2]
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    hue, saturation, value = hues[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)].T
    palette = _SCENERY_AND_PLATE if plate_counts else _SCENERY
    return palette[hue, saturation] & (value >= _DARKEST) & inside
