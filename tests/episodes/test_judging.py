"""The goal by truth, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.scenes.cube_table import cube_start, cube_variation
from graspline.tasks.lift_cube import judge
from graspline.tasks.task import Draw, Witness

from .playing import PARAMETERS

EDGE_M = 0.03
DRAW = Draw(
    start=cube_start(x_m=0.25, y_m=0.0, yaw_rad=0.0, edge_m=EDGE_M),
    variation=cube_variation(edge_m=EDGE_M, mass_kg=0.03, pad_friction=1.0),
    refused=0,
)


def witness(*, raised_m: float = 0.06, aside_m: float = 0.0, speed_m_s: float = 0.0) -> Witness:
    at = np.array([0.25, 0.0, EDGE_M / 2 + raised_m])
    return Witness(object_m=at, speed_m_s=speed_m_s, tool_m=at + np.array([0.0, aside_m, 0.0]), time_s=5.0)


def failed(found: Witness) -> list[str]:
    evidence = judge(PARAMETERS, DRAW, (found,))
    assert passes(evidence) == all(each.passed for each in evidence)
    return [each.name for each in evidence if not each.passed]


def test_a_cube_that_is_up_between_the_pads_and_still_is_a_success() -> None:
    assert failed(witness()) == []


@pytest.mark.parametrize(
    "found, names",
    [
        (witness(raised_m=0.0), ["raised"]),
        (witness(raised_m=0.049), ["raised"]),
        (witness(aside_m=0.021), ["off_pads"]),
        (witness(speed_m_s=0.021), ["speed"]),
        (witness(raised_m=0.0, aside_m=0.1, speed_m_s=1.0), ["raised", "off_pads", "speed"]),
        (witness(raised_m=float("nan")), ["raised", "off_pads"]),
        (witness(speed_m_s=float("nan")), ["speed"]),
    ],
)
def test_what_is_not_lifted_held_or_still_is_refused_by_name(found: Witness, names: list[str]) -> None:
    assert failed(found) == names
