"""Every board of the shelf is seen from where the robot stands to look at it, with a thing in its hand and without."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics import hsr
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import LOWER, UPPER
from graspline.scenes.fittings import BOARDS, SHELF
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.board_views import steepness_rad, view_without, views_with
from graspline.tasks.tidy.moving import around
from graspline.tasks.tidy.task import collision_world

from .stagecraft import HOUSE, READY, held_object, solid

NINE_DEGREES = np.radians(8.9)
JAW_RAD = float(HSR.home[HSR.jaw])


@pytest.mark.parametrize("board", BOARDS)
def test_with_an_empty_hand_the_camera_is_well_above_every_board(board: str) -> None:
    joints, middle = (
        view_without(HSR, JAW_RAD, SHELF, SHELF.level(board)),
        SHELF.in_world(SHELF.level(board).position_m),
    )
    assert steepness_rad(joints, middle) > NINE_DEGREES
    camera, rotation = hsr.head_camera(joints)
    assert -rotation[:, 2] @ (middle - camera) > 0.999 * np.linalg.norm(middle - camera)
    world, among = collision_world(), around(HOUSE, ())
    world.place(among.solids)
    assert world.free(joints)


@pytest.mark.parametrize("name", [item.name for item in KNOWN])
def test_with_a_thing_in_the_hand_there_is_a_free_posture_that_sees_the_highest_board(name: str) -> None:
    held, level = held_object(solid(name)), SHELF.level("board_high")
    found = views_with(held, READY, SHELF, level)
    middle = SHELF.in_world(level.position_m)
    assert min(steepness_rad(row, middle) for row in found) > NINE_DEGREES
    assert ((found >= LOWER - 1e-9) & (found <= UPPER + 1e-9)).all()
    for row in found:
        tool, rotation = hsr.forward(row)
        np.testing.assert_allclose((rotation @ held.R_OH.T)[2], [0.0, 0.0, 1.0], atol=1e-9)
        # Below the line of sight to the board's front edge.
        assert tool[2] + rotation[2] @ held.X_HO.position_m + 2 * held.half_height_m / 2 < level.position_m[2]
    world, among = collision_world(), around(HOUSE, (), held)
    world.place(among.solids, among.held)
    assert any(world.free(row) for row in found)


@pytest.mark.parametrize("board", ["board_low", "board_middle"])
def test_lower_boards_are_looked_at_as_the_thing_is_carried_anyway(board: str) -> None:
    held = held_object(solid("soup_can"))
    first = views_with(held, READY, SHELF, SHELF.level(board))[0]
    np.testing.assert_array_equal(first[3:8], READY[3:8])
