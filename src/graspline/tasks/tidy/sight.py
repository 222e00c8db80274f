"""How the robot sees table and boards: head camera with depth, from where its joints say the camera is."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.requests import Motion, Reply, Request, pictured, solved
from graspline.motion.joint_moves import hold
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.change_detection import Sight
from graspline.perception.rgbd.clouds import DepthView
from graspline.perception.rgbd.free_areas import free_areas
from graspline.perception.rgbd.furniture import as_seen, bounds, standing_on, surface_of
from graspline.perception.rgbd.odometry_drift import slip_between
from graspline.perception.rgbd.planes import NoPlane, SearchBox
from graspline.perception.rgbd.recognition import KnownModel
from graspline.perception.rgbd.tabletop import Tabletop, see_tabletop
from graspline.rendering.picture import Picture
from graspline.scenes.fittings import Fitting, Level
from graspline.scenes.household import KNOWN, Item
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.believed_room import House
from graspline.tasks.tidy.robot import BODY, EYE, ROBOT

Array = NDArray[np.float64]

_WIDTH, _HEIGHT = 640, 480
# On a board nothing is looked for so far below the next one.
_HEADROOM_M = 0.03
# Number of places on a board that are listed, the farthest; then number in each row; least depth of a row.
_MOST_PLACES, _MOST_IN_ROW, _ROW_M = 24, 3, 0.03
# How often a surface that is not seen is looked for, and how long after the time before.
_LOOKS, _WAIT_S = 3, 0.6
# Nothing on a table is higher.
HIGHEST_M = 0.45


def model_of(item: Item) -> KnownModel:
    """What is known of an item's looks."""
    reach = max((part.position_m[0] + part.half_extents_m[0] for part in item.parts if part.solid), default=0.0)
    handle = reach - item.half_extents_m[0] if item.shape == "cylinder" else 0.0
    return KnownModel(
        name=item.name,
        shape=item.shape,
        half_extents_m=item.half_extents_m,
        rgb=item.rgb,
        handle_m=handle if handle > 1e-6 else 0.0,
    )


MODELS = tuple(model_of(item) for item in KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSeen:
    """Things on the table, and the room with the table where it was seen."""

    things: tuple[Belief, ...]
    house: House
    # What was seen of it; without one all of it was.
    view: DepthView | None = None

    @property
    def room(self) -> House:
        """The room with these things on the table."""
        return replace(self.house, things=self.things)

    @property
    def sight(self) -> Sight:
        """What was seen of the table."""
        return _sight(self.view, self.things, self.house.table, "table")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoardSeen:
    """A board of the shelf as it was seen, and the room with the shelf where it was seen."""

    name: str
    house: House
    things: tuple[Belief, ...]

    # What was seen of it; without one all of it was.
    view: DepthView | None = None

    def free(self, part: Level, radius_m: float, margin_m: float) -> tuple[Array, ...]:
        """Places, (3,) each in O, on a part of the board where something of this radius fits and bare board shows.

        The farthest come first; after the first of them, a few of every row nearer to the front.
        """
        board = self.house.shelf.level(self.name)
        found = list(self._free(part if part != board else None, radius_m, margin_m, _MOST_PLACES))
        while found and (nearer := self._before(part, found[-1], radius_m)) is not None:
            row = self._free(nearer, radius_m, margin_m, _MOST_IN_ROW)
            if not row:
                break
            found += row
        return tuple(found)

    def _free(self, part: Level | None, radius_m: float, margin_m: float, most: int) -> tuple[Array, ...]:
        inside = None
        if part is not None:
            board = self.house.shelf.level(self.name)
            x, y = (one - other for one, other in zip(part.position_m[:2], board.position_m[:2], strict=True))
            inside = ((x, y), part.half_extents_m)
        found = free_areas(
            surface_of(self.house.shelf, self.name),
            self.things,
            (radius_m, radius_m),
            margin_m=margin_m,
            view=self.view,
            most=most,
            inside=inside,
        )
        return tuple(each.position_m for each in found)

    def _before(self, part: Level, place_m: Array, radius_m: float) -> Level | None:
        """What of a part of the board is so much nearer to the front than a place that a row of its own fits."""
        x, y, z = part.position_m
        front = x - part.half_extents_m[0]
        deep = self.house.shelf.in_own_frame(place_m)[0] + radius_m - max(radius_m, _ROW_M)
        if deep - front < 2 * radius_m:
            return None
        return replace(
            part, position_m=((front + deep) / 2, y, z), half_extents_m=((deep - front) / 2, part.half_extents_m[1])
        )

    @property
    def sight(self) -> Sight:
        """What was seen of the board."""
        return _sight(self.view, self.things, self.house.shelf, self.name)


@dataclass(frozen=True, slots=True)
class SightFailed:
    """A detector or estimator that raised, and its words."""

    why: str

    @property
    def as_evidence(self) -> Evidence:
        """The measurements, each beside its limit."""
        return NoPlane(agreed=0).as_evidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadEye:
    """The head's camera and what is made of its pictures."""

    def table(
        self, last: Reply, house: House, own: Sequence[Belief] = ()
    ) -> Generator[Request, Reply, TableSeen | SightFailed | NoPlane]:
        """What stands on the table, besides what the robot sees of its `own`."""
        found = yield from self._look(last, house.table, house.table.levels[0], HIGHEST_M, own)
        if not isinstance(found, Tabletop):
            return found
        table = as_seen(house.table, "table", found.surface)
        things = standing_on(table, "table", found.solids)
        # If the table seems elsewhere, wheels have slipped, and the shelf seems elsewhere, too.
        shelf = slip_between(house.table, table).fitting(house.shelf)
        return TableSeen(things=things, house=replace(house, table=table, shelf=shelf), view=found.view)

    def board(
        self, last: Reply, house: House, board: str
    ) -> Generator[Request, Reply, BoardSeen | SightFailed | NoPlane]:
        """What stands on a board of the shelf."""
        level = house.shelf.level(board)
        found = yield from self._look(last, house.shelf, level, level.clear_m - _HEADROOM_M)
        if not isinstance(found, Tabletop):
            return found
        shelf = as_seen(house.shelf, board, found.surface)
        return BoardSeen(
            name=board,
            house=replace(house, shelf=shelf),
            things=standing_on(shelf, board, found.solids),
            view=found.view,
        )

    def _look(
        self, last: Reply, fitting: Fitting, level: Level, highest_m: float, own: Sequence[Belief] = ()
    ) -> Generator[Request, Reply, Tabletop | SightFailed | NoPlane]:
        found: Tabletop | SightFailed | NoPlane = NoPlane(agreed=0)
        for number in range(_LOOKS):
            if number:
                # Eyes may be better in a moment; the same picture again would not.
                last = yield Motion("wait", hold(ROBOT, last.command, _WAIT_S))
            picture = yield from pictured(EYE, _WIDTH, _HEIGHT, depth=True)
            camera, rotation = BODY.head_camera(last.readings.joints)
            found = yield from solved(see, picture, camera, rotation, bounds(fitting, level), highest_m, own)
            if not isinstance(found, NoPlane):
                break
        return found


def see(
    picture: Picture, camera_m: Array, rotation: Array, within: SearchBox, highest_m: float, own: Sequence[Belief] = ()
) -> Tabletop | NoPlane | SightFailed:
    """What stands on a level surface within bounds, known things by name."""
    try:
        return see_tabletop(picture, camera_m, rotation, within, MODELS, highest_m=highest_m, known=own)
    except Exception as error:
        return SightFailed(f"{type(error).__name__}: {error}")


def _sight(view: DepthView | None, things: Sequence[Belief], fitting: Fitting, level_name: str) -> Sight:
    at = fitting.in_world(fitting.level(level_name).position_m)
    return Sight(view=view, things=things, at_m=at, rotation=rotation_z(fitting.yaw_rad))
