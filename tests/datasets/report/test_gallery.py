from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from graspline.datasets.format.store import Dataset
from graspline.datasets.report.gallery import choose, sheet_of, spread
from graspline.datasets.report.summary import ReportedEpisode, summarise
from graspline.errors import DatasetProblem


def told(index: int, kind: str) -> ReportedEpisode:
    row: dict[str, Any] = {"episode_index": index, "success": kind != "failed", "recovered": kind == "recovered"}
    return ReportedEpisode(
        row=row,
        entries=(),
        taken=Counter(),
        setbacks=(),
        failure=None,
        targets=(),
        places=(),
        randomized={},
        struck=False,
    )


@given(st.lists(st.sampled_from(["failed", "recovered", "plain"]), max_size=60), st.integers(1, 15))
def test_as_many_episodes_are_shown_as_there_is_room_for_failures_first(kinds: list[str], most: int) -> None:
    shown = choose([told(index, kind) for index, kind in enumerate(kinds)], most)
    assert len(shown) == min(len(kinds), most)
    assert len({each.index for each in shown}) == len(shown)
    order = [kinds[each.index] for each in shown]
    assert order == sorted(order, key=["failed", "recovered", "plain"].index)
    if most >= 3:
        assert set(order) == set(kinds)


def test_the_first_and_the_last_are_among_those_spread() -> None:
    assert spread(range(100), 5)[0] == 0
    assert spread(range(100), 5)[-1] == 99
    assert spread(range(4), 0) == []


def test_a_sheet_is_a_picture_of_six_moments(made: Path) -> None:
    dataset = Dataset.open(made)
    sheet = sheet_of(dataset, summarise(dataset).episodes[0], dataset.settings.views[0])
    image = Image.open(io.BytesIO(sheet.jpeg))
    assert image.format == "JPEG"
    # Three frames of 240×180 side by side, two rows, gaps of 4 between them.
    assert image.size == (sheet.width, sheet.height) == (728, 364)


def test_a_video_that_is_too_short_is_a_problem_of_the_dataset(dataset: Path) -> None:
    opened = Dataset.open(dataset)
    view, episodes = opened.settings.views[0], summarise(opened).episodes
    long, short = sorted(episodes, key=lambda each: -each.row["length"])[::2]
    opened.video(long.row, view.key).write_bytes(opened.video(short.row, view.key).read_bytes())
    with pytest.raises(DatasetProblem, match="mp4"):
        sheet_of(opened, long, view)
