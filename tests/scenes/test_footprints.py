"""Gaps between outlines, against a search over many points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.scenes.footprints import ConvexOutline, gap_m, outlines_of, room_m
from graspline.scenes.household import ITEMS, Item, item_of

ITEM = st.sampled_from(ITEMS)
PLACE = st.tuples(st.floats(-0.2, 0.2), st.floats(-0.2, 0.2), st.floats(-np.pi, np.pi))


def rim(outline: ConvexOutline, count: int = 60) -> np.ndarray:
    """(n, 2): points along an outline of one or four corners."""
    if len(outline.points_m) == 1:
        angle = np.linspace(0, 2 * np.pi, 4 * count, endpoint=False)
        return outline.points_m + outline.radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    along = np.linspace(0, 1, count)[:, None]
    return np.concatenate(
        [a + along * (b - a) for a, b in zip(outline.points_m, np.roll(outline.points_m, -1, axis=0), strict=True)]
    )


@settings(max_examples=60, deadline=None)
@given(ITEM, PLACE, ITEM, PLACE)
def test_a_gap_is_the_least_distance_between_rims(
    one: Item, here: tuple[float, float, float], other: Item, there: tuple[float, float, float]
) -> None:
    these, those = outlines_of(one, *here), outlines_of(other, *there)
    gap = gap_m(these, those)
    assert gap == pytest.approx(gap_m(those, these), abs=1e-12)
    nearest = min(np.linalg.norm(rim(a)[:, None] - rim(b)[None], axis=2).min() for a in these for b in those)
    if gap > 0:
        assert gap == pytest.approx(nearest, abs=2e-3)
    # Rims that cross come as near as their points are dense.
    if nearest > 3e-3 and gap <= 0:
        # One stands wholly within the other.
        assert np.hypot(here[0] - there[0], here[1] - there[1]) < 0.1


def test_a_mugs_handle_keeps_others_away() -> None:
    ball = outlines_of(item_of("tennis_ball"), 0.10, 0.0, 0.0)
    assert gap_m(outlines_of(item_of("mug"), 0.0, 0.0, np.pi), ball) == pytest.approx(0.10 - 0.040 - 0.0335)
    assert gap_m(outlines_of(item_of("mug"), 0.0, 0.0, 0.0), ball) == pytest.approx(0.10 - 0.072 - 0.0335)


def test_things_in_one_place_overlap() -> None:
    can = outlines_of(item_of("soup_can"), 0.1, 0.1, 0.0)
    assert gap_m(can, can) == pytest.approx(-0.067)


def test_room_to_an_edge_counts_from_the_farthest_corner() -> None:
    box = outlines_of(item_of("sugar_box"), 0.0, 0.2, np.pi / 2)
    assert room_m(box, (0.3, 0.4)) == pytest.approx(min(0.3 - 0.046, 0.4 - 0.2 - 0.0225))
    assert room_m(outlines_of(item_of("apple"), 0.0, 0.39, 0.0), (0.3, 0.4)) == pytest.approx(0.01 - 0.038)
