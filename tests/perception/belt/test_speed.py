"""The belt's speed from marks: right, honest, and quick to follow a change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.perception.belt.speed import BeltSpeed, Mark, with_marks

SIGMA_M = 0.0003
START = BeltSpeed(speed_m_s=0.05, sigma_m_s=0.05)


def watched(speeds_m_s: list[float], blocks: int = 3, every_s: float = 0.1, seed: int = 0) -> list[BeltSpeed]:
    """What is believed after each picture, with one speed from each to the next."""
    random = np.random.default_rng(seed)
    belt, along, beliefs = START, np.linspace(0.0, 0.3, blocks), []
    for number, speed in enumerate([0.0, *speeds_m_s]):
        along = along + speed * every_s
        seen = along + random.normal(0, SIGMA_M, blocks)
        marks = tuple(
            Mark(block=(k, 0), time_s=number * every_s, along_m=float(seen[k]), sigma_m=SIGMA_M) for k in range(blocks)
        )
        belt = with_marks(belt, marks, number * every_s, every_s)
        beliefs.append(belt)
    return beliefs


@given(st.floats(-0.3, 0.3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_steady_speed_is_found_to_a_third_of_a_percent_within_a_second(speed: float, blocks: int, seed: int) -> None:
    belt = watched([speed] * 10, blocks, seed=seed)[-1]
    assert abs(belt.speed_m_s - speed) < 5 * belt.sigma_m_s
    assert belt.sigma_m_s < 0.001 / np.sqrt(blocks)


def test_what_is_said_of_the_error_is_true() -> None:
    last = [watched([0.1] * 8, seed=seed)[-1] for seed in range(200)]
    within = [abs(belt.speed_m_s - 0.1) < 2 * belt.sigma_m_s for belt in last]
    assert np.mean(within) >= 0.93


@pytest.mark.parametrize("after", [0.0, -0.2, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_a_change_is_known_in_the_third_picture_after_it(after: float, share: float) -> None:
    # In one interval the belt had both speeds.
    mixed = share * 0.2 + (1 - share) * after
    beliefs = watched([0.2] * 12 + [mixed] + [after] * 8)
    assert beliefs[15].speed_m_s == pytest.approx(after, abs=0.008)
    assert abs(beliefs[-1].speed_m_s - after) < 4 * beliefs[-1].sigma_m_s
    assert beliefs[-1].sigma_m_s < 0.0007


def test_the_first_picture_after_a_change_is_not_believed_much() -> None:
    beliefs = watched([0.2] * 12 + [0.1] + [0.0] * 2)
    assert abs(beliefs[13].speed_m_s - 0.0) < 2 * beliefs[13].sigma_m_s
    assert beliefs[14].sigma_m_s < 0.005


def test_without_marks_a_speed_is_kept_and_less_sure() -> None:
    known = watched([0.1] * 10)[-1]
    later = with_marks(known, (), 20.0, 18.0)
    assert later.speed_m_s == known.speed_m_s
    assert known.sigma_m_s < later.sigma_m_s < 0.005
    assert later.marks == ()


def test_a_block_that_was_shoved_says_nothing_of_the_belt() -> None:
    known = watched([0.1] * 10)[-1]
    marks = tuple(Mark(block=(k, 1), time_s=1.1, along_m=3.0 * k, sigma_m=SIGMA_M) for k in range(3))
    after = with_marks(known, marks, 1.1, 0.1)
    assert after.speed_m_s == pytest.approx(0.1, abs=0.001)
