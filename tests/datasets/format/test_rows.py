"""The row of one episode: what is in it comes back from the file, whatever the values."""

from __future__ import annotations

import dataclasses
import io
import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.datasets.format.files import parquet_bytes
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import (
    CHUNK,
    Rejected,
    Row,
    Slot,
    data_file,
    data_slot,
    episode_row,
    log_file,
    rejected_in,
    rejected_of,
    row_file,
    row_problems,
    row_slot,
    rows_table,
    stats_in,
    video_file,
    video_slot,
)
from graspline.datasets.format.stats import PictureStats, Stats, stats_of
from graspline.episodes.camera_views import View
from graspline.execution.notifications import EndsAs

VIEW = View("front", 64, 48)
REJECTED = Rejected(seed=2, verdict="not_grasped", state="close", cause="gap 0 m (limit >= 0.01 m)")


def made_row(recording: Recording, **other: object) -> Row:
    counted = PictureStats()
    counted.add(np.full((16, 16, 3), 9, np.uint8))
    stats: dict[str, Stats] = {"action": stats_of(np.arange(12.0).reshape(4, 3)), VIEW.key: counted.stats()}
    given: dict[str, object] = {
        "index": 1,
        "episode_id": 5,
        "length": 4,
        "first_row": 10,
        "fps": 10,
        "digests": {VIEW.key: "0" * 64},
        "slot": Slot(2, 3),
        "stats": stats,
        "rejected": (REJECTED,),
    }
    return episode_row(recording, **{**given, **other})  # pyright: ignore[reportArgumentType]


@given(st.integers(0, 50), st.integers(0, CHUNK - 1))
def test_the_next_slot_is_the_next_file_name(chunk: int, file: int) -> None:
    slot = Slot(chunk, file)
    assert slot < slot.next()
    assert data_file(slot) < data_file(slot.next())


def test_a_full_chunk_is_followed_by_the_next() -> None:
    assert Slot(0, CHUNK - 1).next() == Slot(1, 0)


def test_files_are_named_as_lerobot_names_them() -> None:
    slot = Slot(1, 23)
    assert data_file(slot) == "data/chunk-001/file-023.parquet"
    assert row_file(slot) == "meta/episodes/chunk-001/file-023.parquet"
    assert video_file(VIEW.key, slot) == "videos/observation.images.front/chunk-001/file-023.mp4"
    assert log_file(7) == "graspline/logs/episode-000007.npz"


def test_a_row_survives_its_file(recovered: Recording) -> None:
    rows = [made_row(recovered), made_row(recovered, index=2, rejected=())]
    data = parquet_bytes(rows_table(rows))
    assert pq.read_table(io.BytesIO(data)).to_pylist() == rows


def test_a_row_says_where_everything_is(played: Recording) -> None:
    row = made_row(played)
    assert data_slot(row) == row_slot(row) == video_slot(row, VIEW.key) == Slot(2, 3)
    assert (row["dataset_from_index"], row["dataset_to_index"], row["length"]) == (10, 14, 4)
    assert (row[f"videos/{VIEW.key}/from_timestamp"], row[f"videos/{VIEW.key}/to_timestamp"]) == (0.0, 0.4)


def test_statistics_come_back_by_feature(played: Recording) -> None:
    found = stats_in(made_row(played))
    assert set(found) == {"action", VIEW.key}
    assert found["action"].mean.tolist() == [4.5, 5.5, 6.5]
    assert (found["action"].picture, found[VIEW.key].picture) == (False, True)


def test_rejected_attempts_come_back(played: Recording) -> None:
    assert rejected_in(made_row(played)) == [REJECTED]


def test_a_row_tells_whether_something_was_made_good(played: Recording, recovered: Recording) -> None:
    assert not made_row(played)["recovered"]
    row = made_row(recovered)
    assert row["recovered"]
    assert row["retries"] == 1
    ((_, fault, target, missed),) = json.loads(row["strikes"])
    assert (fault, target, missed) == ("drop@lift+0.3", "cube", "")
    failed = dataclasses.replace(recovered, succeeded=False)
    assert not made_row(failed)["recovered"], "what failed in the end was not made good"


def test_a_rejected_attempt_names_the_state_in_which_it_went_wrong(recovered: Recording) -> None:
    last = dataclasses.replace(recovered.transitions[-1], state="lift", then=EndsAs("dropped"))
    home = dataclasses.replace(last, state="go_home", t_s=last.t_s + 1)
    failed = dataclasses.replace(
        recovered, succeeded=False, verdict="dropped", transitions=(*recovered.transitions[:-1], last, home)
    )
    found = rejected_of(failed)
    assert (found.seed, found.verdict, found.state, found.contradicted) == (3, "dropped", "lift", False)


def test_a_good_row_has_no_problems(played: Recording) -> None:
    assert row_problems(made_row(played), (VIEW,)) == []


@pytest.mark.parametrize(
    "name, value", [("length", 0), ("seed", None), ("scenario", "{"), ("tasks", "one"), ("end_s", math.nan)]
)
def test_a_bad_row_is_told(played: Recording, name: str, value: object) -> None:
    (problem,) = row_problems({**made_row(played), name: value}, (VIEW,))
    assert name in problem
