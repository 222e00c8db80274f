"""The head camera's picture with what is recognised in it: things as wire frames, with their names."""

from __future__ import annotations

import numpy as np

from graspline.perception.drawing import draw_solids
from graspline.perception.solids import Solid
from graspline.perception.tabletop import Tabletop
from graspline.rendering.picture import Picture, Pixels
from graspline.robots.hsr_chain import HEAD_CAMERA
from graspline.scenes.fittings import SHELF, TABLE
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.sight import HIGHEST_M, bounds, see, standing_on

# Nothing is looked for while the camera moves by more than this from picture to picture.
_STILL_M = 0.0002
# A level is looked at if it is this near to the middle of the picture, as a cosine.
_AHEAD = 0.9


class Annotator:
    """Looks again whenever the head is still, as the task does, and keeps what it saw where it was."""

    camera, depth = HEAD_CAMERA, True

    def __init__(self, settings: Tidy) -> None:
        self._last = np.full(6, np.nan)
        self._looked = False
        self._solids: tuple[Solid, ...] = ()

    def __call__(self, picture: Picture, time_s: float) -> Pixels:
        pose = np.concatenate([picture.position_m, -picture.rotation[:, 2]])
        still = bool(np.abs(pose - self._last).max() < _STILL_M)
        self._last = pose
        if not still:
            self._looked = False
        elif not self._looked:
            self._looked = True
            self._solids = self._look(picture)
        return draw_solids(picture.rgb, picture.position_m, picture.rotation, picture.fovy_rad, self._solids)

    def _look(self, picture: Picture) -> tuple[Solid, ...]:
        levels = [(fitting, level) for fitting in (TABLE, SHELF) for level in fitting.levels]
        away = [fitting.in_world(level.position_m) - picture.position_m for fitting, level in levels]
        cosines = [float(-picture.rotation[:, 2] @ each / np.linalg.norm(each)) for each in away]
        best = int(np.argmax(cosines))
        if cosines[best] < _AHEAD or not picture.rgb.any():
            return ()
        fitting, level = levels[best]
        found = see(
            picture, picture.position_m, picture.rotation, bounds(fitting, level), min(level.clear_m, HIGHEST_M)
        )
        return standing_on(fitting, level.name, found.solids) if isinstance(found, Tabletop) else ()
