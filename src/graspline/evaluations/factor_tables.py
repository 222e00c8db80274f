"""Success against what varied: rates in bins of every factor, and which factors matter by more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.episodes.statistics import wilson

Array = NDArray[np.float64]

# A factor with at most this number of values has one bin for each; others have this number of equally large bins.
BINS = 5
# Episodes that a bin should have.
_PER_BIN = 10
# Outcomes are shuffled among the episodes at least _SHUFFLES times, and _PER_FACTOR times for each factor: with N
# shuffles the least p-value is 1 / (N + 1), and correcting it multiplies it by up to the number of factors.
_SHUFFLES, _PER_FACTOR = 1999, 100
_AT_ONCE = 200
# A factor stands out if its p-value, corrected for the number of factors, is below this.
LEVEL = 0.05
# With fewer episodes, or fewer that differ from the rest, nothing is tested.
LEAST_EPISODES, LEAST_DIFFERENT = 20, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Episodes in which a factor was within bounds, and the sum of their outcomes."""

    low: float
    high: float
    episodes: int
    total: float

    @property
    def mean(self) -> float:
        """The mean of the bin."""
        return self.total / self.episodes

    @property
    def label(self) -> str:
        """The range of the bin as text."""
        return f"{self.low:.3g}" if self.low == self.high else f"{self.low:.3g} to {self.high:.3g}"

    def as_dict(self) -> dict[str, Any]:
        """Of outcomes that are successes."""
        low, high = wilson(round(self.total), self.episodes)
        return {
            "low": self.low,
            "high": self.high,
            "episodes": self.episodes,
            "succeeded": round(self.total),
            "rate": self.mean,
            "interval": [low, high],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Outcomes against one factor; p-values are None where too little was played to test anything."""

    name: str
    bins: tuple[Bin, ...]
    p: float | None = None
    p_corrected: float | None = None

    @property
    def stands_out(self) -> bool:
        """Whether success depends on the factor, after correction."""
        return self.p_corrected is not None and self.p_corrected < LEVEL

    @property
    def spread(self) -> float:
        """Between the bins with the highest and the lowest mean."""
        means = [each.mean for each in self.bins]
        return max(means) - min(means)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "p": self.p,
            "p_corrected": self.p_corrected,
            "stands_out": self.stands_out,
            "bins": [each.as_dict() for each in self.bins],
        }


def factor_tables(factors: Sequence[Mapping[str, float]], outcomes: Sequence[float]) -> list[Factor]:
    """Outcomes, one per episode, against every factor that varied; those that matter most come first.

    The statistic of a factor is the variance of the outcomes between its bins. Its p-value is the share of shuffles of
    the outcomes that give at least as much. Many factors give a small one by chance, so it is corrected: by how often
    the least p-value of all factors is as small in a shuffle (Westfall and Young's min-P), which takes into account
    that factors go together, such as x and radius.
    """
    y = np.array(outcomes, float)
    varied = _varied(factors)
    tables = {name: _bins(values, bins, y) for name, (values, bins) in varied.items()}
    if not tables:
        return []
    different = min(np.count_nonzero(y == y.max(initial=0)), np.count_nonzero(y != y.max(initial=0)))
    if len(y) < LEAST_EPISODES or different < LEAST_DIFFERENT:
        found = [Factor(name=name, bins=bins) for name, bins in tables.items()]
        return sorted(found, key=lambda each: -each.spread)
    p, corrected = _p_values([bins for _, bins in varied.values()], y)
    found = [
        Factor(name=name, bins=bins, p=float(p[number]), p_corrected=float(corrected[number]))
        for number, (name, bins) in enumerate(tables.items())
    ]
    return sorted(found, key=lambda each: (each.p_corrected, each.p, -each.spread))


def shuffles_for(factors: int) -> int:
    """How many shuffles are made to test this number of factors."""
    return max(_SHUFFLES, _PER_FACTOR * factors - 1)


def _varied(factors: Sequence[Mapping[str, float]]) -> dict[str, tuple[Array, NDArray[np.intp]]]:
    """Values of every factor that has two bins at least, nan where it is absent, and the bin of each episode.

    Of factors with the same values in all episodes the first is kept.
    """
    names = dict.fromkeys(name for each in factors for name in each)
    found: dict[str, tuple[Array, NDArray[np.intp]]] = {}
    seen = set[bytes]()
    for name in names:
        values = np.array([each.get(name, math.nan) for each in factors])
        bins = _bin_of(values)
        if len(np.unique(bins)) < 2 or values.tobytes() in seen:
            continue
        seen.add(values.tobytes())
        found[name] = values, bins
    return found


def _bin_of(values: Array) -> NDArray[np.intp]:
    """The bin of each value; -1 where it is absent."""
    there = values[np.isfinite(values)]
    distinct = np.unique(there)
    if len(distinct) <= BINS:
        edges = distinct[1:]
    else:
        count = max(2, min(BINS, len(there) // _PER_BIN))
        edges = np.unique(np.quantile(there, np.arange(1, count) / count))
    return np.where(np.isfinite(values), np.searchsorted(edges, values, side="right"), -1)


def _bins(values: Array, bin_of: NDArray[np.intp], y: Array) -> tuple[Bin, ...]:
    found = []
    for number in np.unique(bin_of[bin_of >= 0]):
        inside = bin_of == number
        low, high = float(values[inside].min()), float(values[inside].max())
        found.append(Bin(low=low, high=high, episodes=int(inside.sum()), total=float(y[inside].sum())))
    return tuple(found)


def _p_values(bins: Sequence[NDArray[np.intp]], y: Array) -> tuple[Array, Array]:
    """Of each factor by itself, and corrected for their number."""
    members = [np.stack([each == number for number in np.unique(each)], axis=1) for each in bins]
    sizes = [each.sum(axis=0) for each in members]
    joined = np.concatenate(members, axis=1).astype(float)
    ends = np.cumsum([0, *(each.shape[1] for each in members)])
    random, shuffles = np.random.default_rng(0), shuffles_for(len(bins))

    def between(shuffled: Array) -> Array:
        """Variance between bins, (shuffles, factors); the mean is the same for all."""
        squares = (shuffled @ joined) ** 2 / np.concatenate(sizes)
        return np.add.reduceat(squares, ends[:-1], axis=1)

    # As they are, and shuffled: were outcomes chance, the first row would be like any other.
    rows = [between(y[None])] + [
        between(random.permuted(np.tile(y, (min(_AT_ONCE, shuffles - first), 1)), axis=1))
        for first in range(0, shuffles, _AT_ONCE)
    ]
    p = _ranked(np.concatenate(rows))
    least = p.min(axis=1)
    return p[0], (least[:, None] <= p[0] + 1e-12).mean(axis=0)


def _ranked(statistics: Array) -> Array:
    """The share of rows that have at least as much, column by column."""
    # Sums of the same numbers in another order differ by rounding.
    rounded = statistics.round(9)
    below = [np.searchsorted(np.sort(column), column, side="left") for column in rounded.T]
    return 1 - np.stack(below, axis=1) / len(statistics)
