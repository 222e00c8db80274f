"""Statistics against numpy on all the data at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from graspline.datasets.format.stats import QUANTILES, PictureStats, Stats, all_merged, merged, stats_of

NUMBERS = st.floats(-1e3, 1e3, width=32)


def columns(width: int) -> st.SearchStrategy[NDArray[np.float32]]:
    return arrays.arrays(np.float32, st.tuples(st.integers(1, 20), st.just(width)), elements=NUMBERS)


def check(found: Stats, rows: NDArray[Any]) -> None:
    whole = rows.astype(np.float64)
    np.testing.assert_array_equal(found.min, whole.min(axis=0))
    np.testing.assert_array_equal(found.max, whole.max(axis=0))
    np.testing.assert_allclose(found.mean, whole.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.std, whole.std(axis=0), rtol=1e-6, atol=1e-6)
    assert found.count == len(whole)


@given(columns(3))
def test_of_one_episode_they_are_numpys(rows: NDArray[np.float32]) -> None:
    found = stats_of(rows)
    check(found, rows)
    for name, share in QUANTILES.items():
        np.testing.assert_array_equal(found.quantiles[name], np.quantile(rows.astype(np.float64), share, axis=0))


@given(st.lists(columns(2), min_size=1, max_size=5))
def test_merged_they_are_those_of_the_whole(parts: list[NDArray[np.float32]]) -> None:
    found = all_merged({"x": stats_of(part)} for part in parts)["x"]
    check(found, np.concatenate(parts))


@given(columns(1), columns(1))
def test_merged_quantiles_enclose_those_of_the_parts(one: NDArray[np.float32], other: NDArray[np.float32]) -> None:
    parts = stats_of(one), stats_of(other)
    found = merged(*parts).quantiles
    assert all(found["q01"] <= part.quantiles["q01"] for part in parts)
    assert all(found["q99"] >= part.quantiles["q99"] for part in parts)


def test_a_flag_counts_as_zero_and_one() -> None:
    found = stats_of(np.array([False, True, True, True]))
    assert (found.mean.tolist(), found.min.tolist(), found.max.tolist()) == ([0.75], [0.0], [1.0])


def test_pictures_are_measured_by_channel_between_zero_and_one() -> None:
    random = np.random.default_rng(0)
    counted, levels = PictureStats(), []
    for _ in range(5):
        rgb = random.integers(0, 256, (48, 64, 3), np.uint8)
        counted.add(rgb)
        # Every eighth pixel is counted, across and down.
        levels.append(rgb[::8, ::8].reshape(-1, 3) / 255)
    found, pixels = counted.stats(), np.concatenate(levels)
    np.testing.assert_array_equal(found.min, pixels.min(axis=0))
    np.testing.assert_array_equal(found.max, pixels.max(axis=0))
    np.testing.assert_allclose(found.mean, pixels.mean(axis=0))
    np.testing.assert_allclose(found.std, pixels.std(axis=0))
    for name, share in QUANTILES.items():
        wanted = np.quantile(pixels, share, axis=0, method="inverted_cdf")
        np.testing.assert_allclose(found.quantiles[name], wanted)
    assert found.count == 5


@pytest.mark.parametrize("level", [0, 7, 255])
def test_a_picture_of_one_colour_has_no_spread(level: int) -> None:
    counted = PictureStats()
    counted.add(np.full((16, 16, 3), level, np.uint8))
    found = counted.stats()
    np.testing.assert_allclose(found.std, 0, atol=1e-7)
    np.testing.assert_allclose([found.min, found.max, found.quantiles["q50"]], level / 255)


def test_files_hold_pictures_with_a_shape_of_their_own_and_give_the_same_back() -> None:
    counted = PictureStats()
    counted.add(np.random.default_rng(1).integers(0, 256, (32, 32, 3), np.uint8))
    for found in (counted.stats(), stats_of(np.arange(12.0).reshape(4, 3))):
        lists = found.as_lists()
        assert np.shape(lists["mean"]) == ((3, 1, 1) if found.picture else (3,))
        assert lists["count"] == [found.count]
        again = Stats.from_lists(lists)
        assert again.as_lists() == lists
        assert again.picture == found.picture
