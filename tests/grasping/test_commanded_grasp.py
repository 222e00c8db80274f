"""Grabbing as told: the jaw's gaps, the chain of checks in its order, and plans that keep what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_checks import jaws_for
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabRefusal, GrabVariables, Jaws
from graspline.kinematics.so101 import forward
from graspline.motion.path import check_path
from graspline.robots.so101 import FIXED_TIP_M, HOME, SO101

from .things import asked, thing

Array = NDArray[np.float64]


def planned(found: GrabPlan | GrabRefusal) -> GrabPlan:
    assert isinstance(found, GrabPlan), str(found)
    return found


def rejected(found: GrabPlan | GrabRefusal) -> GrabRefusal:
    assert isinstance(found, GrabRefusal)
    return found


def tip_m(joints: Array) -> Array:
    return forward(joints[None], np.array(FIXED_TIP_M))[0][0]


@pytest.mark.parametrize(
    ("variables", "width", "opened", "closed"),
    [
        ({}, 0.032, 0.032 + 0.002 + 0.005, 0.032 + 0.002),
        ({"tcp_clearance_m": 0.003}, 0.032, 0.032 + 0.006 + 0.005, 0.032 + 0.006),
        ({"close_clearance_m": -0.001}, 0.032, 0.039, 0.033),
        ({"open_clearance_m": 0.012}, 0.032, 0.046, 0.034),
        ({"cross_axis": True}, 0.048, 0.055, 0.050),
    ],
)
def test_gaps_are_the_objects_width_the_clearance_on_both_sides_and_a_little_more(
    variables: dict[str, float | bool], width: float, opened: float, closed: float
) -> None:
    jaws = jaws_for(SO101, thing("green_2x3"), GrabVariables.model_validate(variables))
    assert isinstance(jaws, Jaws)
    assert jaws.width_m == pytest.approx(width)
    assert jaws.open_gap_m == pytest.approx(opened)
    assert jaws.close_gap_m == pytest.approx(closed)
    # By the measured law, not by a line.
    assert float(SO101.jaw_law.gap_m(jaws.open_rad)) == pytest.approx(opened, abs=1e-6)
    assert float(SO101.jaw_law.gap_m(jaws.close_rad)) == pytest.approx(closed, abs=1e-6)


@pytest.mark.parametrize("variables", [{"close_clearance_m": -0.04}, {"open_clearance_m": 0.05, "cross_axis": True}])
def test_a_gap_that_the_jaw_does_not_have_is_refused(variables: dict[str, float | bool]) -> None:
    found = jaws_for(SO101, thing("blue_2x4"), GrabVariables.model_validate(variables))
    assert isinstance(found, GrabRefusal)
    assert found.check == "jaw_width"
    assert not found.evidence[0].passed


def test_the_fixed_tip_stops_beside_the_object_by_the_clearance() -> None:
    block = thing("red_2x2", yaw=0.4)
    plan = planned(attempt(asked(block, tcp_clearance_m=0.002)))
    tip = tip_m(plan.final.joints_rad)
    assert np.linalg.norm(tip[:2] - block.position_m[:2]) == pytest.approx(0.016 + 0.002, abs=1e-6)
    assert tip == pytest.approx(plan.tcp_m, abs=1e-6)
    assert tip[2] == pytest.approx(0.012, abs=1e-6)


def test_two_stages_are_one_above_the_other() -> None:
    plan = planned(attempt(asked(thing(), approach_height_m=0.04)))
    assert [each.name for each in plan.stages] == ["approach", "grasp"]
    above, at = (tip_m(each.joints_rad) for each in plan.stages)
    assert above - at == pytest.approx([0.0, 0.0, 0.04], abs=1e-6)


def test_without_an_approach_height_there_is_one_stage_that_still_comes_from_above() -> None:
    plan = planned(attempt(asked(thing(), approach_height_m=0.0)))
    assert [each.name for each in plan.stages] == ["grasp"]
    heights = [tip_m(row)[2] for row in plan.final.path.positions[-12:]]
    assert np.all(np.diff(heights) < 1e-9)


def test_another_height_moves_the_hand_and_not_the_jaw() -> None:
    usual, raised = (planned(attempt(asked(thing(), object_z_m=height))) for height in (0.0, 0.015))
    assert raised.tcp_m[2] == pytest.approx(0.015)
    assert raised.jaws == usual.jaws


def test_clearances_of_the_jaw_do_not_move_the_arm() -> None:
    usual, other = (
        planned(attempt(asked(thing(), open_clearance_m=each, close_clearance_m=each))) for each in (0.004, 0.01)
    )
    assert np.array_equal(usual.final.joints_rad[:5], other.final.joints_rad[:5])
    assert usual.jaws.open_rad < other.jaws.open_rad


def test_the_middle_of_the_jaws_as_tool_centre_means_the_same_motion() -> None:
    tip, middle = (planned(attempt(asked(thing(yaw=0.3), tcp=each))) for each in ("fixed_tip", "between"))
    assert np.array_equal(tip.final.joints_rad, middle.final.joints_rad)
    assert middle.tcp_m[:2] == pytest.approx((0.24, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ("check", "stage", "name", "place", "variables"),
    [
        ("ground", "grasp", "red_2x2", (0.24, 0.0), {"object_z_m": 0.005}),
        ("workspace", "approach", "red_2x2", (0.40, 0.0), {}),
        ("workspace", "approach", "red_2x2", (0.24, 0.0), {"approach_height_m": 0.12}),
        ("jaw_width", "grasp", "blue_2x4", (0.24, 0.0), {"cross_axis": True}),
        ("ik", "approach", "red_2x2", (0.29, 0.0), {"approach_height_m": 0.075}),
        ("pad_overlap", "grasp", "red_2x2", (0.24, 0.0), {"object_z_m": 0.03}),
        ("open_clearance", "grasp", "red_2x2", (0.24, 0.0), {"tcp_offset": False}),
        ("open_clearance", "grasp", "red_2x2", (0.24, 0.0), {"open_clearance_m": -0.002}),
    ],
)
def test_each_check_names_its_stage_and_what_it_measured(
    check: str, stage: str, name: str, place: tuple[float, float], variables: dict[str, float | bool]
) -> None:
    found = rejected(attempt(asked(thing(name, *place), **variables)))
    assert (found.check, found.stage) == (check, stage)
    assert found.evidence
    assert not any(each.passed for each in found.evidence)


def test_cheap_checks_come_first() -> None:
    """Everything is wrong at once; the ground is named."""
    found = rejected(attempt(asked(thing("blue_2x4", 0.45, 0.0), object_z_m=0.001, cross_axis=True, tcp_offset=False)))
    assert found.check == "ground"


def test_a_neighbour_in_the_way_is_named() -> None:
    block = thing("red_2x2")
    plan = planned(attempt(asked(block)))
    side = np.array([np.cos(plan.yaw_rad), np.sin(plan.yaw_rad)])
    walls = [
        thing(name, *(block.position_m[:2] + sign * 0.045 * side), yaw=plan.yaw_rad + np.pi / 2)
        for name, sign in (("blue_2x4", 1.0), ("green_2x3", -1.0))
    ]
    found = rejected(attempt(asked(block, *walls)))
    assert found.check == "collision"
    assert "blue_2x4" in found.evidence[0].name or "green_2x3" in found.evidence[0].name


def test_something_that_has_fallen_over_is_not_taken() -> None:
    fallen = thing("white_can")
    tipped = type(fallen)(
        name=fallen.name,
        position_m=fallen.position_m,
        quaternion=np.array([np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]),
        half_extents_m=fallen.half_extents_m,
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape="cylinder",
    )
    assert rejected(attempt(asked(tipped))).check == "shape"


def test_the_moving_finger_swings_deeper_than_the_tool_point() -> None:
    assert 0.006 < SO101.hand.lowest_m < 0.011


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["red_2x2", "blue_2x4", "yellow_1x4", "white_can", "purple_can", "orange_1"]),
    st.floats(0.12, 0.24),
    st.floats(-1.4, 1.4),
    st.floats(-np.pi, np.pi),
    st.floats(0.0, 0.004),
    st.floats(0.0, 0.06),
)
def test_a_plan_starts_here_keeps_limits_and_ends_with_the_object_between_the_jaws(
    name: str, radius: float, azimuth: float, yaw: float, clearance: float, approach: float
) -> None:
    block = thing(name, 0.0388 + radius * np.cos(azimuth), radius * np.sin(azimuth), yaw)
    found = attempt(asked(block, tcp_clearance_m=clearance, approach_height_m=approach))
    if isinstance(found, GrabRefusal):
        assert found.evidence
        return
    at = HOME
    for path in (found.opening, *(each.path for each in found.stages)):
        assert path.positions[0] == pytest.approx(at, abs=1e-6)
        assert check_path(path, SO101) is None
        at = path.end
    point, rotation = forward(at[None], np.array(FIXED_TIP_M))
    # Straight down, and the object lies in opening direction from the fixed jaw.
    assert rotation[0, :, 0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-6)
    to = block.position_m[:2] - point[0, :2]
    assert to == pytest.approx((found.jaws.width_m / 2 + clearance) * rotation[0, :2, 2], abs=1e-6)


def test_the_fixed_jaw_keeps_off_an_object_by_what_is_not_known_of_its_place() -> None:
    sure = thing("red_2x2")
    assert isinstance(attempt(asked(sure, tcp_clearance_m=0.001)), GrabPlan)
    unsure = replace(sure, position_sigma_m=0.001)
    refused = rejected(attempt(asked(unsure, tcp_clearance_m=0.001)))
    assert (refused.check, refused.evidence[0].name) == ("open_clearance", "fixed_jaw_room")
    assert refused.evidence[0].limit == pytest.approx(0.0015)
    assert isinstance(attempt(asked(unsure, tcp_clearance_m=0.002)), GrabPlan)
