"""Configurations that cannot work are refused before anything is drawn, with every reason at once."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.robots.so101 import SO101
from graspline.tasks.oranges.feasible import fruit_ring_m, problems

from .stagecraft import parameters


def test_the_usual_configuration_is_feasible() -> None:
    assert problems(parameters()) == []
    assert problems(parameters("plate.present=false")) == []
    assert problems(parameters("oranges.count=6", "oranges.diameter_m=[0.05, 0.05]")) == []


@pytest.mark.parametrize(
    "setting, words",
    [
        (["targets.choose=9"], "targets.choose: there is no orange with key 9"),
        (["oranges.radius_m=[0.5, 0.6]"], "oranges.radius_m: [0.5, 0.6] m is outside the arm's reach"),
        (["oranges.radius_m=[0.0, 0.02]"], "oranges.radius_m: [0, 0.02] m is outside the arm's reach"),
        (
            ["oranges.azimuth_rad=[2.5, 3.0]"],
            "oranges.azimuth_rad: [2.5, 3] rad is outside the arm's range of headings",
        ),
        (["oranges.azimuth_rad=[-3.0, -2.5]"], "oranges.azimuth_rad: [-3, -2.5] rad is outside"),
        (["plate.radius_m=[0.5, 0.6]"], "plate.radius_m: [0.5, 0.6] m is outside the arm's reach"),
        (["plate.azimuth_rad=[2.5, 3.0]"], "plate.azimuth_rad: [2.5, 3] rad is outside the arm's range of headings"),
        (
            ["plate.present=false", "plate.virtual_x_m=0.8"],
            "plate.virtual_x_m, plate.virtual_y_m: (0.8, -0.05) is outside the arm's reach",
        ),
        (["plate.present=false", "plate.virtual_x_m=-0.3"], "plate.virtual_x_m, plate.virtual_y_m: (-0.3, -0.05)"),
        (
            ["oranges.count=6", "oranges.diameter_m=[0.07, 0.07]"],
            "oranges.count: 6 oranges of 70 mm or more do not fit on a plate of plate.outer_radius_m=0.105; it holds 5",
        ),
    ],
)
def test_each_thing_that_cannot_work_is_named(setting: list[str], words: str) -> None:
    (found,) = problems(parameters(*setting))
    assert found.startswith(words)


def test_all_problems_are_told_at_once() -> None:
    found = problems(
        parameters(
            "targets.choose=apple",
            "oranges.radius_m=[0.5, 0.6]",
            "plate.azimuth_rad=[2.5, 3.0]",
            "plate.outer_radius_m=0.06",
        )
    )
    assert [each.split(":")[0] for each in found] == [
        "targets.choose",
        "oranges.radius_m",
        "plate.azimuth_rad",
        "oranges.count",
    ]


def test_where_there_is_no_plate_its_region_does_not_matter() -> None:
    assert problems(parameters("plate.present=false", "plate.radius_m=[0.5, 0.6]")) == []


def test_the_more_the_hand_may_lean_the_farther_it_reaches() -> None:
    rings = [fruit_ring_m(SO101, tilt) for tilt in (0.0, 0.5, 1.05)]
    farthest = [far for _, far in rings]
    assert (np.diff(farthest) >= 0).all()
    assert farthest[0] < farthest[-1]
    assert all(0.0 <= near < 0.2 < far < 0.45 for near, far in rings)


def test_jaws_that_stand_closer_to_the_fruit_than_plans_allow_are_refused_at_once() -> None:
    (problem,) = problems(parameters("jaw.fixed_clearance_m=0.001"))
    assert "jaw.fixed_clearance_m: 0.001 m is less than the 1.2 mm" in problem
    assert not problems(parameters("jaw.fixed_clearance_m=0.0013"))
    # Who sees worse opens them wider.
    assert not problems(parameters("jaw.fixed_clearance_m=0", "perception.source=camera"))
