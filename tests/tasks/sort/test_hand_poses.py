"""How the hand takes a block: which way round, how wide, and whether its fingers have room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.grasping.candidates import Grasp
from graspline.perception.belt.tracks import BlockTrack
from graspline.tasks.sort.hand_poses import HOME_YAW_RAD, HOP_M, grasps_of, landing, leaving, tool_height_m
from graspline.tasks.sort.parameters import SIZES, GripParameters

from .lines import BRICK_M, CUBE_M, ROBOT, seen

Array = NDArray[np.float64]

GRIP = GripParameters()
YAWS = st.floats(-np.pi, np.pi)


def taken(block: BlockTrack, *others: BlockTrack) -> list[Grasp]:
    return [grasp for grasp, _ in grasps_of(ROBOT, block, (block, *others), 0.0, GRIP)]


# Ways to take a block


@settings(max_examples=60, deadline=None)
@given(YAWS, st.sampled_from(SIZES))
def test_an_axis_of_the_block_is_gripped_within_a_quarter_turn_of_home(
    yaw: float, size: tuple[float, float, float]
) -> None:
    block = seen(yaw=yaw, size=size)
    grasps = taken(block)
    # Both ways round where both sides are alike, else across the narrow one.
    assert [each.width_m for each in grasps] == [min(size[:2])] * (2 if size[0] == size[1] else 1)
    for each in grasps:
        assert abs(each.yaw_rad - HOME_YAW_RAD) <= np.pi / 2 + 1e-9
        # Along the side that is gripped.
        turn = (each.yaw_rad - yaw) % np.pi
        axis = 0 if min(turn, np.pi - turn) < 1e-6 else 1
        assert turn == pytest.approx(axis * np.pi / 2, abs=1e-6) or axis == 0
        assert each.width_m == size[axis]


def test_the_jaw_opens_for_the_block_with_slack_on_either_side() -> None:
    block = seen(size=BRICK_M)
    grasps = taken(block)
    assert grasps
    for each in grasps:
        assert ROBOT.jaw_law.gap_m(each.open_rad) == pytest.approx(each.width_m + 2 * GRIP.slack_m, abs=1e-4)


def test_a_block_wider_than_the_jaw_is_taken_the_other_way_or_not_at_all() -> None:
    wide = seen(size=(0.09, 0.036, 0.034))
    assert [each.width_m for each in taken(wide)] == [0.036]
    assert taken(seen(size=(0.09, 0.09, 0.034))) == []


def test_fingertips_are_as_high_above_the_belt_as_they_are_told() -> None:
    (grasp, *_), (narrow, *_) = taken(seen(size=CUBE_M)), taken(seen(size=(0.03, 0.03, 0.04)))
    low, high = (tool_height_m(ROBOT, grasp, tip) for tip in (0.004, 0.014))
    assert high - low == pytest.approx(0.01)
    # Pads swing: closed further they reach farther out.
    assert tool_height_m(ROBOT, narrow, 0.01) > tool_height_m(ROBOT, grasp, 0.01)
    tips, _ = ROBOT.hand.moving_face_m(grasp.touch_rad)
    assert low == pytest.approx(0.004 + tips.max() - ROBOT.hand.tool_m[0], abs=1e-9)
    assert grasp.standoff_m > CUBE_M[2] - GRIP.tip_m


# Room


def test_a_block_by_itself_has_all_the_room_that_may_be_believed_in() -> None:
    block = seen(number=1)
    alone = grasps_of(ROBOT, block, (block,), 0.0, GRIP)
    far = grasps_of(ROBOT, block, (block, seen(number=2, y=0.3)), 0.0, GRIP)
    assert alone == far
    assert all(room > 0.02 for _, room in alone)


def test_a_neighbour_leaves_room_for_fingers_on_the_other_sides_only() -> None:
    block, beside = seen(number=1, yaw=0.0), seen(number=2, yaw=0.0, x=0.5 + 0.05)
    (grasp,) = taken(block, beside)
    # Beside it along x: the hand closes along y.
    assert abs(np.sin(grasp.yaw_rad)) == pytest.approx(1.0)


def test_a_block_between_others_cannot_be_taken() -> None:
    block = seen(number=1, yaw=0.0)
    others = [seen(number=2, yaw=0.0, x=0.5 + 0.05), seen(number=3, yaw=0.0, y=0.05)]
    assert taken(block, *others) == []


def test_a_brick_is_taken_across_its_narrow_side_while_there_is_room_for_that() -> None:
    brick = seen(number=1, yaw=0.0, size=BRICK_M)
    (narrow,) = taken(brick)
    assert narrow.width_m == BRICK_M[1]
    # One on either end of the narrow side's fingers.
    (wide,) = taken(brick, seen(number=2, yaw=0.0, y=0.05))
    assert wide.width_m == BRICK_M[0]
    assert abs(np.cos(wide.yaw_rad)) == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 0.1), YAWS, st.floats(0.0005, 0.004))
def test_room_shrinks_as_a_neighbour_comes_nearer_or_is_less_certain(away: float, yaw: float, sigma: float) -> None:
    block = seen(number=1, yaw=0.0)

    def room(distance: float, sigma_m: float) -> list[float]:
        other = replace(seen(number=2, yaw=yaw, y=distance), sigma_m=sigma_m)
        found = grasps_of(ROBOT, block, (block, other), 0.0, GRIP)
        turned = {round(each.yaw_rad, 6): room for each, room in found}
        assert {each.width_m for each, _ in found} <= {CUBE_M[0]}
        return [turned.get(round(HOME_YAW_RAD + k * np.pi / 2, 6), 0.0) for k in (-1, 0, 1)]

    here = room(away, 0.0005)
    assert all(near <= far + 1e-12 for near, far in zip(here, room(away + 0.01, 0.0005), strict=True))
    assert all(vague <= sure + 1e-12 for vague, sure in zip(room(away, sigma), here, strict=True))


def test_less_room_asks_for_a_steeper_way_down_and_up() -> None:
    block = seen(number=1, yaw=0.0)
    ((grasp, free), *_), ((_, tight),) = (
        grasps_of(ROBOT, block, (block, *others), 0.0, GRIP)
        for others in ((), (seen(number=2, yaw=0.0, x=0.5 + 0.045),))
    )
    for wide, narrow in (
        (leaving(free), leaving(tight)),
        (landing(grasp, free, GRIP, 0.0005), landing(grasp, tight, GRIP, 0.0005)),
    ):
        assert narrow[-1].along_m < wide[-1].along_m
        assert narrow[-1].height_m == wide[-1].height_m
        assert wide[-1].height_m < HOP_M
    # The hand comes down around its block, the less certain the more exactly.
    vague, sure = (landing(grasp, free, GRIP, sigma)[0].along_m for sigma in (0.003, 0.0005))
    assert vague < sure < GRIP.slack_m
