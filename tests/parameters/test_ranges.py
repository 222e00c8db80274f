from __future__ import annotations

import pickle

import pytest

from graspline.parameters import Range, load

from .samples import Cube


def test_a_range_is_a_pair_with_names() -> None:
    friction = load(Cube, {"friction": [1, 2]}).friction
    low, high = friction
    assert (low, high) == (friction.low, friction.high) == (1.0, 2.0)


def test_a_range_of_one_point_is_a_range() -> None:
    assert load(Cube, {"friction": [1, 1]}).friction == Range(1, 1)


@pytest.mark.parametrize(
    "bounded, holds",
    [
        (Range(1, 2) >= 1, True),
        (Range(1, 2) > 1, False),
        (Range(1, 2) <= 2, True),
        (Range(1, 2) < 2, False),
        (Range(1, 2) <= 1.5, False),
        (Range(1, 2) < Range(1, 3), True),
    ],
)
def test_a_range_compares_with_a_number_as_a_whole(bounded: bool, holds: bool) -> None:
    assert bounded is holds


def test_parameters_with_a_range_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Cube())) == Cube()
