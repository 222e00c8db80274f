"""Which block is next and how the hand gets there: windows, reasons, and hops that touch nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics.arm import straight_down
from graspline.kinematics.ur5e import ARM
from graspline.motion.belt_transfers import Hop
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.perception.belt.tracks import BlockTrack
from graspline.refusal import Refusal
from graspline.scenes.belt_line import BELT_X_M, OUTPUT_HALF_WIDTH_M, OUTPUTS
from graspline.tasks.sort.catch_plans import (
    DROP_M,
    LEAVING_ANYTHING,
    Catch,
    downstream_first,
    is_free,
    is_high,
    leaving_bin,
    plan_carry,
    plan_catch,
    plan_home,
    plan_next,
    ride_of,
)
from graspline.tasks.sort.hand_poses import DOWNSTREAM_M, HOME_YAW_RAD, UPSTREAM_M, grasps_of, leaving, tool_height_m
from graspline.tasks.sort.parameters import SIZES, Sort, SortOrderParameters
from graspline.tasks.sort.task import cell_of

from . import lines
from .lines import CELL, HOME, ROBOT, SETTINGS, begin, seen, tool_of, tracks_of

Array = NDArray[np.float64]


def catch_of(track: BlockTrack, *others: BlockTrack, start: Command = HOME, now_s: float = 0.0) -> Catch | str:
    away = () if start is HOME else LEAVING_ANYTHING
    return plan_catch(CELL, begin(start, now_s=now_s, leaving=away), tracks_of(track, *others), track)


def caught(track: BlockTrack, *others: BlockTrack, start: Command = HOME) -> Catch:
    found = catch_of(track, *others, start=start)
    assert isinstance(found, Catch), found
    return found


def end_of(hop: Hop) -> Command:
    """The command after a hop, the jaw somewhere."""
    return Command(
        position=np.append(hop.positions[-1], 0.4),
        velocity=np.append(hop.velocities[-1], 0.0),
        acceleration=np.zeros(7),
    )


def assert_plays(hop: Hop) -> None:
    """Within limits and without touching furniture."""
    jaw = np.full(len(hop.positions), 0.4)
    path = Path(
        positions=np.column_stack([hop.positions, jaw]),
        velocities=np.column_stack([hop.velocities, 0 * jaw]),
        dt_s=ROBOT.dt_s,
    )
    refused = check_path(path, ROBOT)
    assert refused is None, str(refused)
    assert is_free(CELL, hop.positions)


# Catching

BLOCKS = st.builds(
    seen,
    x=st.floats(0.41, 0.59),
    y=st.floats(-0.25, 0.4),
    yaw=st.floats(-np.pi / 2, np.pi / 2),
    size=st.sampled_from(SIZES),
    speed=st.floats(0.02, 0.1),
)


@settings(max_examples=25, deadline=None)
@given(BLOCKS)
def test_a_block_in_reach_is_met_where_it_will_be_moving_with_it(block: BlockTrack) -> None:
    catch = caught(block)
    assert_plays(catch.hop)
    points, rotations = tool_of(catch.hop.positions[-1] + np.outer((0.0, 1e-4), catch.hop.velocities[-1]))
    x, y = block.at(catch.hop.ends_s)
    assert points[0] == pytest.approx((x, y, tool_height_m(ROBOT, catch.grasp, SETTINGS.grip.tip_m)), abs=1e-9)
    assert (points[1] - points[0]) / 1e-4 == pytest.approx((*block.velocity_m_s, 0.0), abs=1e-4)
    np.testing.assert_allclose(rotations[0], straight_down(catch.grasp.yaw_rad), atol=1e-9)
    assert DOWNSTREAM_M < y < UPSTREAM_M


def test_of_two_ways_round_the_sooner_one_is_taken() -> None:
    block = seen(number=1, y=0.2, yaw=0.2)
    cosine, sine = np.cos(0.2), np.sin(0.2)
    # Beside one side and the other, so that there is but one way each.
    only = [
        caught(block, seen(number=2, x=0.5 + 0.055 * x, y=0.2 + 0.055 * y, yaw=0.2))
        for x, y in ((cosine, sine), (-sine, cosine))
    ]
    assert only[0].grasp.yaw_rad != only[1].grasp.yaw_rad
    assert caught(block).hop.ends_s <= min(each.hop.ends_s for each in only)


def test_a_ride_goes_on_with_its_block() -> None:
    block = seen(y=0.2, speed=0.1)
    ((grasp, _), *_) = grasps_of(ROBOT, block, (), 0.0, SETTINGS.grip)
    height = tool_height_m(ROBOT, grasp, SETTINGS.grip.tip_m)
    assert ride_of(CELL, block, grasp).at(2.0) == pytest.approx((0.5, 0.0, height))


@pytest.mark.parametrize("y", [DOWNSTREAM_M - 0.05, DOWNSTREAM_M + 0.01])
def test_a_block_that_leaves_before_it_could_be_taken_is_late(y: float) -> None:
    assert catch_of(seen(y=y)) == "late"


def test_a_block_that_is_far_upstream_is_not_gone_for_yet_and_then_met_at_the_edge_of_reach() -> None:
    assert catch_of(seen(y=UPSTREAM_M + 0.1)) == "not_yet"
    soon = caught(seen(y=UPSTREAM_M + 0.04))
    assert tool_of(soon.hop.positions[-1])[0][1] <= UPSTREAM_M + 1e-6


def test_a_belt_that_runs_back_brings_blocks_from_the_other_side() -> None:
    assert catch_of(seen(y=DOWNSTREAM_M - 0.1, speed=-0.05)) == "not_yet"
    assert catch_of(seen(y=UPSTREAM_M + 0.05, speed=-0.05)) == "late"
    assert_plays(caught(seen(y=0.0, speed=-0.05)).hop)


def test_on_a_belt_that_stands_still_blocks_are_in_reach_or_never_come() -> None:
    assert_plays(caught(seen(y=-0.3, speed=0.0)).hop)
    assert catch_of(seen(y=UPSTREAM_M + 0.1, speed=0.0)) == "not_yet"
    assert catch_of(seen(y=DOWNSTREAM_M - 0.1, speed=0.0)) == "not_yet"


def test_a_block_between_others_is_crowded_and_free_once_they_are_gone() -> None:
    block = seen(number=1, yaw=0.0, y=0.1)
    others = (seen(number=2, yaw=0.0, x=0.55, y=0.1), seen(number=3, yaw=0.0, y=0.15))
    assert catch_of(block, *others) == "crowded"
    assert isinstance(catch_of(block), Catch)


# Carrying


def gripped(y: float = 0.1, yaw: float = 0.3, x: float = 0.5, colour: str = "red") -> tuple[Command, Catch]:
    """The hand on a block, riding with it."""
    catch = caught(seen(x=x, y=y, yaw=yaw, colour=colour))
    return end_of(catch.hop), catch


def carried(start: Command, catch: Catch, now_s: float = 0.0) -> Hop | Refusal:
    return plan_carry(CELL, begin(start, now_s=now_s, leaving=leaving(catch.room_m)), catch)


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_carry_ends_at_rest_over_its_own_bin_and_touches_nothing(name: str) -> None:
    rules = SETTINGS.rules.model_copy(update={"red": name})
    cell = replace(CELL, settings=SETTINGS.model_copy(update={"rules": rules}))
    random = np.random.default_rng(3)
    for _ in range(4):
        yaw = float(random.uniform(-1.5, 1.5))
        start, catch = gripped(float(random.uniform(-0.2, 0.35)), yaw, float(random.uniform(0.41, 0.59)))
        hop = plan_carry(cell, begin(start, now_s=5.0, leaving=leaving(catch.room_m)), catch)
        assert isinstance(hop, Hop), hop
        assert_plays(hop)
        point, rotation = tool_of(hop.positions[-1])
        assert point[:2] == pytest.approx((DROP_M, OUTPUTS[name]), abs=1e-9)
        assert abs(point[1] - OUTPUTS[name]) < OUTPUT_HALF_WIDTH_M
        # A little above where it was gripped: it is let go, not pressed down.
        assert point[2] - tool_height_m(ROBOT, catch.grasp, SETTINGS.grip.tip_m) == pytest.approx(
            SETTINGS.grip.release_m, abs=2e-3
        )
        assert np.abs(hop.velocities[-1]).max() < 1e-9
        np.testing.assert_allclose(rotation[:, 0], (0, 0, -1), atol=1e-9)
        heading = np.arctan2(rotation[1, 2], rotation[0, 2])
        assert abs((heading - HOME_YAW_RAD + np.pi) % (2 * np.pi) - np.pi) < 0.61


def test_a_carried_block_is_above_others_before_it_is_beside_them() -> None:
    start, catch = gripped()
    hop = carried(start, catch)
    assert isinstance(hop, Hop)
    points, _ = tool_of(hop.positions)
    ride = points[0] + np.outer(np.arange(len(points)) * ROBOT.dt_s, (0.0, -0.05, 0.0))
    beside = np.hypot(*(points - ride)[:, :2].T)
    low = points[:, 2] - points[0, 2] < max(size[2] for size in SIZES)
    half = len(points) // 2
    # Room both along and across, whatever the corner.
    assert beside[:half][low[:half]].max() < np.sqrt(2) * catch.room_m + 0.002


# Home


@pytest.mark.parametrize("away", [(), LEAVING_ANYTHING])
def test_the_way_home_ends_at_rest_at_home(away: tuple) -> None:
    start, _ = gripped()
    hop = plan_home(CELL, begin(start, leaving=away))
    assert isinstance(hop, Hop)
    assert_plays(hop)
    np.testing.assert_allclose(hop.positions[-1], ROBOT.home[:6], atol=1e-7)
    assert np.abs(hop.velocities[-1]).max() < 1e-9


def test_the_open_hand_rises_off_a_block_in_a_bin_before_it_moves_along_its_fingers() -> None:
    start, catch = gripped(colour="green")
    carry = carried(start, catch)
    assert isinstance(carry, Hop)
    hop = plan_home(CELL, begin(end_of(carry), leaving=leaving_bin(catch.grasp)))
    assert isinstance(hop, Hop)
    points, rotations = tool_of(hop.positions)
    low = points[:, 2] - points[0, 2] < catch.grasp.standoff_m - 0.001
    along = np.abs((points - points[0]) @ rotations[0][:, 2])
    assert along[low].max() < 0.009


def test_home_is_high_and_the_belt_is_not() -> None:
    assert is_high(CELL, HOME)
    assert not is_high(CELL, gripped()[0])


# Choosing


def chosen(*tracks: BlockTrack, rule: str = "planned", speed: float = 0.05) -> tuple[int | None, dict[int, str]]:
    wanted = SETTINGS.model_copy(update={"order": SortOrderParameters.model_validate({"rule": rule})})
    found = plan_next(replace(CELL, settings=wanted), begin(), tracks_of(*tracks, speed=speed))
    return (None if found.catch is None else found.catch.track.number), dict(found.refused)


def test_with_nothing_on_the_belt_there_is_nothing_to_go_for() -> None:
    assert chosen() == (None, {})


@pytest.mark.parametrize("rule", ["planned", "furthest"])
def test_every_block_that_is_not_gone_for_has_its_reason(rule: str) -> None:
    late, far = seen(number=1, y=DOWNSTREAM_M - 0.01), seen(number=2, y=0.9)
    number, refused = chosen(late, seen(number=3, y=0.1), far, rule=rule)
    assert number == 3
    assert refused[1] == "late"
    assert refused.get(2, "not_yet") == "not_yet"
    assert chosen(late, far, rule=rule) == (None, {1: "late", 2: "not_yet"})


def test_the_furthest_block_is_the_one_that_leaves_first() -> None:
    blocks = (seen(number=1, y=0.3), seen(number=2, y=-0.1), seen(number=3, y=0.1))
    assert chosen(*blocks, rule="furthest")[0] == 2
    assert [each.number for each in downstream_first(tracks_of(*blocks), SETTINGS)] == [2, 3, 1]
    back = downstream_first(tracks_of(*blocks, speed=-0.05), SETTINGS)
    assert [each.number for each in back] == [1, 3, 2]


def test_blocks_without_a_rule_or_out_of_sight_are_left_alone() -> None:
    blocks = (seen(number=1, colour="unknown"), replace(seen(number=2), missing=1), seen(number=3, y=0.2))
    assert [each.number for each in downstream_first(tracks_of(*blocks), SETTINGS)] == [3]
    rejecting = Sort.model_validate({"rules": {"unknown": "reject"}})
    assert [each.number for each in downstream_first(tracks_of(*blocks), rejecting)] == [1, 3]


def test_a_choice_is_the_same_twice() -> None:
    blocks = tuple(seen(number=number, y=0.4 - 0.2 * number, yaw=0.3 * number) for number in range(1, 4))
    one, two = (plan_next(CELL, begin(), tracks_of(*blocks)) for _ in range(2))
    assert one.catch is not None
    assert two.catch is not None
    assert one.catch.track == two.catch.track
    assert one.catch.hop.positions.tobytes() == two.catch.hop.positions.tobytes()
    assert one.refused == two.refused


def test_an_arm_that_would_touch_furniture_is_not_free() -> None:
    rows = ARM.follow(np.array([[BELT_X_M, 0.0, -0.05]]), straight(), ROBOT.home, CELL.tool_m)
    assert rows is not None
    assert not is_free(CELL, np.concatenate([ROBOT.home[None, :6], rows]))
    assert is_free(CELL, np.repeat(ROBOT.home[None, :6], 2, axis=0))


def straight() -> Array:
    return tool_of(ROBOT.home[:6])[1]


def test_where_the_arm_cannot_go_there_is_no_way_home() -> None:
    """A hand stretched out so far that it cannot rise is told so."""
    rows = ARM.follow(np.array([[0.82, 0.0, 0.03]]), straight(), ROBOT.home, CELL.tool_m)
    assert rows is not None
    stretched = at_rest(np.append(rows[0], 0.4))
    high = SETTINGS.model_copy(update={"motion": SETTINGS.motion.model_copy(update={"hop_m": 0.9})})
    assert isinstance(plan_home(replace(CELL, settings=high), begin(stretched)), Refusal)


def test_an_arm_without_a_closed_form_catches_and_carries() -> None:
    cell = cell_of(Sort(robot=f"{lines.__name__}:BY_NUMBERS"))
    block = seen(y=0.1)
    by_numbers, exact = plan_catch(cell, begin(), tracks_of(block), block), caught(block)
    assert isinstance(by_numbers, Catch)
    np.testing.assert_allclose(by_numbers.hop.positions, exact.hop.positions, atol=1e-5)
    carry = plan_carry(cell, begin(end_of(by_numbers.hop), leaving=leaving(by_numbers.room_m)), by_numbers)
    assert isinstance(carry, Hop)
