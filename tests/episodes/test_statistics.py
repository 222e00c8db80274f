from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.episodes.statistics import mcnemar, rate_text, wilson, wilson_paired


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


@pytest.mark.parametrize(
    "counts, low, high",
    [
        # Newcombe 1998 (paired data), method 10: 36 both, 12 and 2 discordant, none neither.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        # By hand: nothing is known of the correlation where a rate is 0, so the spreads of both rates add in squares.
        ((0, 10, 0, 10), 0.2426, 0.7007),
    ],
)
def test_paired_intervals_are_those_of_the_literature(counts: tuple[int, ...], low: float, high: float) -> None:
    assert wilson_paired(*counts) == pytest.approx((low, high), abs=6e-5)


paired = st.tuples(*[st.integers(0, 400)] * 4).filter(any)


@given(paired)
def test_a_paired_interval_lies_around_the_difference_and_turns_round_with_it(counts: tuple[int, ...]) -> None:
    both, first, second, neither = counts
    low, high = wilson_paired(both, first, second, neither)
    difference = (first - second) / sum(counts)
    assert -1 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1
    assert wilson_paired(both, second, first, neither) == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize("shares", [(0.5, 0.2, 0.1, 0.2), (0.85, 0.05, 0.02, 0.08), (0.25, 0.25, 0.25, 0.25)])
def test_a_paired_interval_covers_the_true_difference_about_as_often_as_it_says(shares: tuple[float, ...]) -> None:
    random = np.random.default_rng(7)
    rounds = random.multinomial(200, shares, size=2000).tolist()
    intervals = [wilson_paired(*counts) for counts in rounds]
    covered = sum(low <= shares[1] - shares[2] <= high for low, high in intervals)
    assert 0.935 <= covered / len(rounds) <= 0.985


def test_without_trials_any_difference_is_possible() -> None:
    assert wilson_paired(0, 0, 0, 0) == (-1.0, 1.0)


@pytest.mark.parametrize(
    "first, second, p",
    [
        # Armitage and Berry, two media for sputum, 12 and 2 discordant: P = 0.0129.
        (12, 2, 0.012939453125),
        (10, 1, 0.01171875),
        (0, 5, 0.0625),
        (0, 0, 1.0),
        (5, 5, 1.0),
        (5, 6, 1.0),
    ],
)
def test_mcnemars_exact_p_values_are_those_of_the_binomial(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p)
    assert mcnemar(second, first) == pytest.approx(p)


def test_mcnemar_takes_many_thousand_pairs() -> None:
    assert 0 < mcnemar(5300, 5000) < 0.01
