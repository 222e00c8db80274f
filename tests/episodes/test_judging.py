"""The goal by truth, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.scenes.cube_table import CUBE, cube_start, cube_variation
from graspline.tasks.lift_cube import judge
from graspline.tasks.task import Draw, ObjectTruth, Snapshot

from .playing import PARAMETERS

EDGE_M = 0.03
DRAW = Draw(
    start=cube_start(x_m=0.25, y_m=0.0, yaw_rad=0.0, edge_m=EDGE_M),
    variation=cube_variation(edge_m=EDGE_M, mass_kg=0.03, pad_friction=1.0),
    refused=0,
)


def snapshot(*, raised_m: float = 0.06, aside_m: float = 0.0, speed_m_s: float = 0.0) -> Snapshot:
    at = np.array([0.25, 0.0, EDGE_M / 2 + raised_m])
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    cube = ObjectTruth(
        position_m=at,
        start_position_m=np.array([0.25, 0.0, EDGE_M / 2]),
        quaternion=upright,
        speed_m_s=speed_m_s,
        half_extents_m=np.full(3, EDGE_M / 2),
    )
    return Snapshot(
        objects={CUBE: cube},
        places={},
        tool_m=at + np.array([0.0, aside_m, 0.0]),
        tool_quaternion=upright,
        jaw_gap_m=EDGE_M,
        pad_forces_n=(2.0, 2.0),
        joints_rad=np.zeros(6),
        time_s=5.0,
    )


def failed(found: Snapshot) -> list[str]:
    evidence = judge(PARAMETERS, DRAW, found)
    assert passes(evidence) == all(each.passed for each in evidence)
    return [each.name for each in evidence if not each.passed]


def test_a_cube_that_is_up_between_the_pads_and_still_is_a_success() -> None:
    assert failed(snapshot()) == []


@pytest.mark.parametrize(
    "found, names",
    [
        (snapshot(raised_m=0.0), ["raised"]),
        (snapshot(raised_m=0.049), ["raised"]),
        (snapshot(aside_m=0.021), ["off_pads"]),
        (snapshot(speed_m_s=0.021), ["speed"]),
        (snapshot(raised_m=0.0, aside_m=0.1, speed_m_s=1.0), ["raised", "off_pads", "speed"]),
        (snapshot(raised_m=float("nan")), ["raised", "off_pads"]),
        (snapshot(speed_m_s=float("nan")), ["speed"]),
    ],
)
def test_what_is_not_lifted_held_or_still_is_refused_by_name(found: Snapshot, names: list[str]) -> None:
    assert failed(found) == names
