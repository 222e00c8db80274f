from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.episodes.statistics import rate_text, wilson


@pytest.mark.parametrize(
    "successes, trials, low, high",
    [
        # Newcombe 1998, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0000),
        # By hand: (1 + z²) / 2 over (1 + z²) at either end.
        (1, 1, 0.2065, 1.0),
        (0, 1, 0.0, 0.7935),
        (5, 10, 0.2366, 0.7634),
    ],
)
def test_intervals_are_those_of_the_literature(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=6e-5)


def test_without_trials_everything_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


counts = st.integers(1, 5000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@given(counts)
def test_an_interval_lies_within_bounds_around_the_rate(count: tuple[int, int]) -> None:
    successes, trials = count
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1
    assert low < high


@given(counts)
def test_failures_have_the_mirrored_interval(count: tuple[int, int]) -> None:
    successes, trials = count
    low, high = wilson(successes, trials)
    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(counts)
def test_more_trials_at_the_same_rate_narrow_the_interval(count: tuple[int, int]) -> None:
    successes, trials = count
    few, many = wilson(successes, trials), wilson(4 * successes, 4 * trials)
    assert many[1] - many[0] < few[1] - few[0]


def test_a_rate_is_told_with_its_interval() -> None:
    assert rate_text(5, 10) == "5/10 = 50.0 % (95 % interval 23.7 to 76.3 %)"
    assert rate_text(0, 0) == "0/0 = 0.0 % (95 % interval 0.0 to 100.0 %)"
