"""The goal of `oranges` by truth, and what it must refuse."""

from __future__ import annotations

import numpy as np

from graspline.scenes.fruit_table import FLOOR_M, PLATE
from graspline.scenes.variation import Variation
from graspline.tasks.oranges.parameters import FruitParameters, Oranges
from graspline.tasks.oranges.task import judge
from graspline.tasks.task import Draw, ObjectTruth, Snapshot

SETTINGS = Oranges(oranges=FruitParameters(count=2))
DRAW = Draw(start=np.zeros(1), variation=Variation(), refused=0)
RADIUS_M = 0.03
AWAY = np.array([0.1, -0.2, 0.2])


def thing(x_m: float, y_m: float, z_m: float, size_m: float, speed_m_s: float = 0.0) -> ObjectTruth:
    at = np.array([x_m, y_m, z_m])
    return ObjectTruth(
        position_m=at,
        start_position_m=at,
        quaternion=np.array([1.0, 0, 0, 0]),
        speed_m_s=speed_m_s,
        half_extents_m=np.full(3, size_m),
    )


def failed(
    *, raised_m: float = 0.0, speed_m_s: float = 0.0, tool_m: np.ndarray = AWAY, press_n: float = 0.0
) -> list[str]:
    """What the goal has against two oranges on the plate, the second one raised or moving."""
    height = FLOOR_M + RADIUS_M
    oranges = {
        "orange_1": thing(0.22, -0.04, height, RADIUS_M),
        "orange_2": thing(0.22, 0.04, height + raised_m, RADIUS_M, speed_m_s),
    }
    truth = Snapshot(
        objects=oranges,
        places={PLATE: thing(0.22, 0.0, 0.0, 0.105)},
        tool_m=tool_m,
        tool_quaternion=np.array([1.0, 0, 0, 0]),
        jaw_gap_m=2 * RADIUS_M,
        pad_forces_n=(press_n, press_n),
        joints_rad=np.zeros(6),
        time_s=20.0,
    )
    return [each.name for each in judge(SETTINGS, DRAW, truth) if not each.passed]


def test_oranges_that_lie_still_on_the_plate_are_a_success() -> None:
    assert failed() == []


def test_an_orange_above_the_plate_or_on_the_move_is_none() -> None:
    assert failed(raised_m=0.02) == ["orange_2 off_floor"]
    assert failed(speed_m_s=0.05) == ["orange_2 speed"]


def test_an_orange_on_the_plate_that_the_hand_still_holds_is_none() -> None:
    held_at = np.array([0.22, 0.04, FLOOR_M + RADIUS_M + 0.01])
    assert failed(tool_m=held_at, press_n=1.0) == ["oranges_in_hand"]
    assert failed(tool_m=held_at, press_n=0.0) == []
