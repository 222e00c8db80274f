"""Furniture and things as a look shows them: which sides are believed, and what is no thing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.clouds import DepthView, view_of
from graspline.perception.rgbd.planes import Plane
from graspline.perception.rgbd.surfaces import Side, Surface
from graspline.perception.rgbd.tabletop import Tabletop
from graspline.scenes.fittings import SHELF, TABLE
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy import sight
from graspline.tasks.tidy.believed_room import House
from graspline.tasks.tidy.sight import BoardSeen, HeadEye, TableSeen

from .stagecraft import BLACK, HOUSE, READY, TABLE_M, answer, drive, solid

Sides = tuple[float | None, float | None]
HALF_M = TABLE.levels[0].half_extents_m


def view() -> DepthView:
    return view_of(BLACK, np.zeros(3), np.eye(3))


def surface(x_m: Sides = (0.0, 0.0), y_m: Sides = (0.0, 0.0), turn_rad: float = 0.0) -> Surface:
    """The table top with its near and far side, and its right and left one, so far off; none where it is not seen."""
    middle, half, kinds = list[float](), list[float](), list[Side]()
    for (low, high), extent in zip((x_m, y_m), HALF_M, strict=True):
        ends = (low or 0.0) - extent, (high or 0.0) + extent
        middle.append(sum(ends) / 2)
        half.append((ends[1] - ends[0]) / 2)
        for each in (low, high):
            kinds.append("unseen" if each is None else "drop")
    near, far, right, left = kinds
    return Surface(
        plane=Plane(normal=np.array([0.0, 0.0, 1.0]), offset_m=TABLE_M),
        middle_m=TABLE.in_world((*(rotation_z(turn_rad)[:2, :2] @ middle), TABLE_M)),
        yaw_rad=TABLE.yaw_rad + turn_rad,
        half_m=(half[0], half[1]),
        near=near,
        far=far,
        right=right,
        left=left,
    )


def looked(monkeypatch: pytest.MonkeyPatch, found: Surface, own: tuple[Belief, ...] = ()) -> tuple[TableSeen, Any]:
    """What a look at the table gives when this is made of its picture, and what was to be no thing."""
    told: list[Any] = []

    def seeing(*_: object, known: object, **__: object) -> Tabletop:
        told.append(known)
        return Tabletop(surface=found, things=(), view=view(), tilt_rad=0.0)

    monkeypatch.setattr(sight, "see_tabletop", seeing)
    _, seen = drive(HeadEye().table(answer(READY), HOUSE, own))
    return seen, told[0]


class TestSides:
    @pytest.mark.parametrize(
        ("sides", "off_m"),
        [
            ((0.03, 0.03), 0.03),
            ((0.03, 0.04), 0.035),
            ((0.03, None), 0.03),
            ((None, -0.05), -0.05),
            ((None, None), 0.0),
            # Something stands before one of them.
            ((0.01, -0.06), 0.01),
            ((0.08, 0.02), 0.02),
            ((0.02, 0.25), 0.02),
            # No table is as far off as this.
            ((0.11, 0.12), 0.0),
            ((None, 0.2), 0.0),
        ],
    )
    def test_of_two_that_disagree_the_one_nearer_to_what_was_believed_is_the_side(
        self, monkeypatch: pytest.MonkeyPatch, sides: Sides, off_m: float
    ) -> None:
        for along, across in ((sides, (0.0, 0.0)), ((0.0, 0.0), sides)):
            seen, _ = looked(monkeypatch, surface(along, across))
            x, y, _ = np.array(seen.house.table.position_m) - np.array(TABLE.position_m)
            assert (x, y) == pytest.approx((off_m, 0.0) if along is sides else (0.0, off_m), abs=1e-9)

    def test_a_table_that_has_turned_is_believed_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen, _ = looked(monkeypatch, surface((0.02, 0.02), (-0.01, -0.01), turn_rad=0.05))
        assert seen.house.table.yaw_rad == pytest.approx(TABLE.yaw_rad + 0.05)
        off = np.array(seen.house.table.position_m) - np.array(TABLE.position_m)
        # Sides are off along where they are now, and the table is taken to where it was first.
        np.testing.assert_allclose(np.linalg.norm(off[:2]), np.hypot(0.02, 0.01), atol=1e-3)

    def test_the_shelf_is_as_far_off_as_the_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen, _ = looked(monkeypatch, surface((0.02, 0.02), (-0.01, -0.01), turn_rad=0.05))
        apart, meant = (house.table.in_own_frame(np.array(house.shelf.position_m)) for house in (seen.house, HOUSE))
        np.testing.assert_allclose(apart, meant, atol=1e-9)
        assert seen.house.shelf.yaw_rad - seen.house.table.yaw_rad == pytest.approx(SHELF.yaw_rad - TABLE.yaw_rad)


class TestSightOfALook:
    def test_what_the_robot_sees_of_its_own_is_no_thing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own = (solid("palm"),)
        assert looked(monkeypatch, surface(), own)[1] == own
        assert looked(monkeypatch, surface())[1] == ()

    def test_a_look_keeps_its_picture(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen, _ = looked(monkeypatch, surface())
        assert seen.view is not None
        assert seen.sight.view is seen.view
        assert seen.sight.things == seen.things

    def test_a_surface_is_the_same_point_in_every_look(self) -> None:
        moved = HOUSE.table.moved((0.03, -0.02, 0.01), 0.1)
        was, now = (TableSeen(things=(), house=House(table=each, shelf=SHELF)).sight for each in (TABLE, moved))
        point = np.array([0.1, 0.2, TABLE_M])
        np.testing.assert_allclose(
            now.from_other(was, TABLE.in_world(point)[None])[0], moved.in_world(point), atol=1e-9
        )

    def test_a_board_is_where_its_shelf_is(self) -> None:
        board = BoardSeen(name="board_low", house=HOUSE, things=())
        np.testing.assert_allclose(board.sight.at_m, SHELF.in_world(SHELF.level("board_low").position_m))
        np.testing.assert_allclose(board.sight.rotation, rotation_z(SHELF.yaw_rad))
