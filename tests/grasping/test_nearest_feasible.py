"""What a rejected grab advises is a pose that really passes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabRefusal
from graspline.grasping.nearest_feasible import plan_grab

from .things import asked, thing


@pytest.mark.parametrize(
    ("name", "place", "variables"),
    [
        ("red_2x2", (0.36, 0.0), {}),
        ("red_2x2", (0.24, 0.0), {"object_z_m": 0.004}),
        ("red_2x2", (0.24, 0.0), {"object_z_m": 0.03}),
        ("red_2x2", (0.24, 0.0), {"approach_height_m": 0.12}),
        ("white_can", (0.33, 0.1), {}),
        ("orange_1", (0.29, 0.0), {"approach_height_m": 0.06}),
    ],
)
def test_the_nearest_pose_passes(name: str, place: tuple[float, float], variables: dict[str, float]) -> None:
    block = thing(name, *place, yaw=0.2)
    found = plan_grab(asked(block, **variables))
    assert isinstance(found, GrabRefusal)
    near = found.nearest
    assert near is not None
    assert "nearest that passes" in str(found)
    there = thing(name, near.position_m[0], near.position_m[1], yaw=near.yaw_rad)
    again = {**variables, "approach_height_m": near.approach_height_m}
    if near.position_m[2] != pytest.approx(there.position_m[2]) or "object_z_m" in again:
        again["object_z_m"] = near.position_m[2]
    assert isinstance(attempt(asked(there, **again)), GrabPlan)


def test_a_neighbour_is_not_advised_to_be_moved_into() -> None:
    block = thing("red_2x2", 0.36, 0.0)
    free = plan_grab(asked(block))
    assert isinstance(free, GrabRefusal)
    assert free.nearest is not None
    blocker = replace(thing("orange_1"), position_m=np.array([*free.nearest.position_m[:2], 0.028]))
    found = plan_grab(asked(block, blocker))
    assert isinstance(found, GrabRefusal)
    if found.nearest is not None:
        apart = np.hypot(*(np.array(found.nearest.position_m[:2]) - blocker.position_m[:2]))
        assert apart > 0.028 + 0.016


@pytest.mark.parametrize(
    ("variables", "sigma_m"),
    [({}, 0.003), ({"open_clearance_m": -0.001}, 0.0), ({"open_clearance_m": -0.005}, 0.002)],
)
def test_too_little_room_is_told_with_the_clearances_that_are_enough(
    variables: dict[str, float], sigma_m: float
) -> None:
    block = replace(thing("red_2x2"), position_sigma_m=sigma_m)
    found = plan_grab(asked(block, **variables))
    assert isinstance(found, GrabRefusal)
    assert found.check in ("open_clearance", "jaw_width")
    assert found.advice.startswith("raise ")
    raised = dict(re.findall(r"(\w+) to at least (\S+)", found.advice))
    assert {name: f"{value:g}" for name, value in found.change.items()} == raised
    again = {**variables, **{name: float(value) for name, value in raised.items()}}
    assert isinstance(attempt(asked(block, **again)), GrabPlan)


def test_too_high_an_approach_is_told_with_one_that_works() -> None:
    block = thing("red_2x2", 0.24, 0.0)
    found = plan_grab(asked(block, approach_height_m=0.12))
    assert isinstance(found, GrabRefusal)
    assert "it works from" in found.advice
    (lower,) = re.findall(r"approach_height_m (\S+)\)", found.advice)
    assert found.change == {"approach_height_m": float(lower)}
    assert isinstance(attempt(asked(block, approach_height_m=float(lower))), GrabPlan)


@pytest.mark.parametrize("variables", [{"cross_axis": True}, {"tcp_offset": False}])
def test_what_no_pose_can_mend_advises_none(variables: dict[str, bool]) -> None:
    found = plan_grab(asked(thing("blue_2x4"), **variables))
    assert isinstance(found, GrabRefusal)
    assert found.nearest is None


def test_a_grab_that_passes_is_planned() -> None:
    assert isinstance(plan_grab(asked(thing())), GrabPlan)
