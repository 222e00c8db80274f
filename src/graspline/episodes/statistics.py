"""Rates with honest intervals."""

from __future__ import annotations

import math


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % Wilson interval of a success rate; (0, 1) when nothing has been tried."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def rate_text(successes: int, trials: int, digits: int = 1) -> str:
    """A rate with its 95 % interval, as text."""
    low, high = (f"{100 * end:.{digits}f}" for end in wilson(successes, trials))
    share = f"{100 * successes / max(trials, 1):.{digits}f}"
    return f"{successes}/{trials} = {share} % (95 % interval {low} to {high} %)"


def wilson_paired(both: int, only_first: int, only_second: int, neither: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of the difference of two rates, first less second, measured on the same trials.

    Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired data",
    method 10: Wilson's intervals of both rates, joined by the correlation of the pairs.
    """
    trials = both + only_first + only_second + neither
    if trials == 0:
        return -1.0, 1.0
    first, second = (both + only_first) / trials, (both + only_second) / trials
    low_first, high_first = wilson(both + only_first, trials, z)
    low_second, high_second = wilson(both + only_second, trials, z)
    correlation = _correlation(both, only_first, only_second, neither)

    def spread(below: float, above: float) -> float:
        # Rounding can push a vanishing spread below zero.
        return math.sqrt(max(0.0, below * below - 2 * correlation * below * above + above * above))

    return (
        max(-1.0, first - second - spread(first - low_first, high_second - second)),
        min(1.0, first - second + spread(high_first - first, second - low_second)),
    )


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Of pairs, corrected for continuity where it is positive; 0 where one of the rates is 0 or 1."""
    trials = both + only_first + only_second + neither
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    product = both * neither - only_first * only_second
    return (max(product - trials / 2, 0.0) if product > 0 else product) / math.sqrt(margins)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value that trials on which only one of two succeeded favour either by chance."""
    discordant, fewer = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(discordant, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / 2**discordant)
