"""How the robot looks and carries: every board of the shelf is seen, with a thing in its hand and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.kinematics import hsr
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import LOWER, UPPER
from graspline.scenes.fittings import BOARDS, SHELF, TABLE
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.believed_room import around
from graspline.tasks.tidy.postures import (
    SHELF_AWAY_M,
    TABLE_AWAY_M,
    before,
    carrying,
    looking,
    shifted,
    steepness_rad,
    view_without,
    views_with,
)

from .stagecraft import CELL, HOUSE, READY, TABLE_M, held_object, solid

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
    world, among = CELL.world, around(HOUSE)
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
    world, among = CELL.world, around(HOUSE, held)
    world.place(among.solids, among.held)
    assert any(world.free(row) for row in found)


@pytest.mark.parametrize("board", ["board_low", "board_middle"])
def test_lower_boards_are_looked_at_as_the_thing_is_carried_anyway(board: str) -> None:
    held = held_object(solid("soup_can"))
    first = views_with(held, READY, SHELF, SHELF.level(board))[0]
    np.testing.assert_array_equal(first[3:8], READY[3:8])


class TestLooking:
    @given(st.floats(-0.3, 0.3), st.floats(-0.4, 0.4), st.floats(0.4, 1.2))
    def test_the_heads_camera_points_there(self, x: float, y: float, z: float) -> None:
        point = np.array([1.3 + x, y, z])
        joints = hsr.gazing(looking(HSR, TABLE, TABLE_AWAY_M, TABLE_M), point)
        camera, rotation = hsr.head_camera(joints)
        apart = (point - camera) / np.linalg.norm(point - camera)
        assert float(-rotation[:, 2] @ apart) > np.cos(np.radians(6.0))
        assert (joints >= HSR.limits.lower).all()
        assert (joints <= HSR.limits.upper).all()

    @pytest.mark.parametrize("fitting", [TABLE, SHELF])
    def test_before_furniture_the_robot_touches_nothing(self, fitting: object) -> None:
        away = TABLE_AWAY_M if fitting is TABLE else SHELF_AWAY_M
        joints = looking(HSR, TABLE if fitting is TABLE else SHELF, away, 0.7)
        world = CELL.world
        world.place(HOUSE.solids)
        assert world.free(joints)


class TestCarrying:
    @pytest.mark.parametrize("down_rad", [0.0, np.radians(30), np.radians(90)])
    def test_things_stay_upright_near_the_robot(self, down_rad: float) -> None:
        held = held_object(solid("soup_can"), down_rad)
        base = before(SHELF, SHELF_AWAY_M)
        goals = carrying(held, READY, base, SHELF.in_world((0.0, 0.0, 0.8)))
        assert len(goals)
        tools, rotations = hsr.forward(goals)
        for tool, rotation in zip(tools, rotations, strict=True):
            # The plane it stood on is level again.
            np.testing.assert_allclose((rotation @ held.R_OH.T)[2], [0.0, 0.0, 1.0], atol=1e-9)
            assert np.linalg.norm(tool[:2] - base[:2]) < 0.7
        turned = np.abs((goals[:, 2] - base[2] + np.pi) % (2 * np.pi) - np.pi)
        assert turned.max() < 1e-9
        np.testing.assert_array_equal(goals[:, HSR.jaw], READY[HSR.jaw])


@given(st.floats(-9, 9), st.floats(-3.2, 3.2))
def test_a_base_elsewhere_is_turned_the_short_way(turn_rad: float, to_rad: float) -> None:
    joints = READY.copy()
    joints[2] = turn_rad
    moved = shifted(joints, (1.0, 2.0, to_rad))
    assert abs(moved[2] - turn_rad) <= np.pi + 1e-9
    assert np.cos(moved[2]) == pytest.approx(np.cos(to_rad), abs=1e-9)
    assert moved[:2].tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(moved[3:], joints[3:])
