"""Taking episodes out and putting them back: the others move up, and nothing of what is out is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graspline.datasets.edit.compact import compact
from graspline.datasets.edit.delete import delete, deleted_in, restore
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.store import Dataset
from graspline.datasets.write.generate import generate
from graspline.errors import DatasetProblem, InputError

from ..conftest import InlinePool, filmed_settings
from ..damage import edit_table
from ..whole import check_whole, counts, episodes_in, tree


def ids(root: Path) -> list[int]:
    return [row["episode_id"] for row in Dataset.open(root).rows]


@pytest.mark.parametrize("packed", [False, True])
def test_the_others_move_up(filmed: Path, packed: bool) -> None:
    if packed:
        compact(filmed)
    before = episodes_in(filmed)
    gone = delete(filmed, [2, 0])
    assert [row["episode_id"] for row in gone] == [0, 2]
    check_whole(filmed)
    assert ids(filmed) == [1, 3]
    assert episodes_in(filmed) == [before[1], before[3]]
    assert counts(filmed)["videos"] == (2 if packed else 4)
    assert len(list((filmed / "graspline/logs").iterdir())) == 2


def test_videos_of_those_that_stay_are_not_written_again(filmed: Path) -> None:
    videos = {path: path.stat().st_ino for path in sorted(filmed.glob("videos/*front/*/*"))}
    delete(filmed, [1])
    after = [path.stat().st_ino for path in sorted(filmed.glob("videos/*front/*/*"))]
    assert after == [videos[path] for path in sorted(videos) if path.name != "file-001.mp4"]


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_put_back_goes_where_it_was(filmed: Path, packed: bool) -> None:
    if packed:
        compact(filmed)
    before, frames = episodes_in(filmed), Dataset.open(filmed)
    delete(filmed, [1])
    delete(filmed, [1, 2])
    assert ids(filmed) == [0]
    assert [note["episode_id"] for note in deleted_in(filmed)] == [1, 2, 3]
    restore(filmed, [2])
    assert ids(filmed) == [0, 2]
    restore(filmed, [3, 1])
    again = check_whole(filmed)
    assert ids(filmed) == [0, 1, 2, 3]
    assert episodes_in(filmed) == before
    assert json.loads((filmed / "meta/info.json").read_bytes()) == frames.info
    assert [set(row) for row in again.rows] == [set(row) for row in frames.rows]
    assert deleted_in(filmed) == []
    assert not list((filmed / "graspline").glob("deleted/*"))
    compact(filmed)
    check_whole(filmed)
    assert counts(filmed) == {"data": 1, "rows": 1, "videos": 2}


def test_neither_seed_nor_number_is_given_again(filmed: Path) -> None:
    delete(filmed, [3])
    generate(filmed, filmed_settings(), 4, InlinePool())
    rows = check_whole(filmed).rows
    assert [(row["episode_id"], row["seed"]) for row in rows] == [(0, 0), (1, 1), (2, 2), (4, 4)]
    restore(filmed, [3])
    check_whole(filmed)
    assert ids(filmed) == [0, 1, 2, 3, 4]


def test_a_merged_dataset_can_be_cut_too(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    before = episodes_in(tmp_path / "merged")
    delete(tmp_path / "merged", [0, 4])
    check_whole(tmp_path / "merged")
    restore(tmp_path / "merged", [0, 4])
    assert episodes_in(tmp_path / "merged") == before


def test_episodes_that_do_not_exist_are_refused(filmed: Path) -> None:
    before = tree(filmed)
    with pytest.raises(InputError) as refused:
        delete(filmed, [1, 4, -1])
    assert refused.value.problems == tuple(f"--episode {index}: the dataset has episodes 0 to 3" for index in (-1, 4))
    with pytest.raises(InputError, match="--restore 2: no episode of this dataset is deleted"):
        restore(filmed, [2])
    with pytest.raises(InputError, match="would delete every episode"):
        delete(filmed, range(4))
    assert tree(filmed) == before
    delete(filmed, [1, 2])
    with pytest.raises(InputError, match="--restore 3: deleted are 1, 2"):
        restore(filmed, [1, 3])
    assert ids(filmed) == [0, 3]


def test_one_that_was_not_kept_whole_is_not_put_back(filmed: Path) -> None:
    delete(filmed, [1])
    (filmed / "graspline/deleted/episode-000001/observation.images.wrist.mp4").unlink()
    with pytest.raises(DatasetProblem, match=r"wrist\.mp4: is missing"):
        restore(filmed, [1])
    check_whole(filmed)
    assert [note["episode_id"] for note in deleted_in(filmed)] == [1]


def test_one_whose_row_was_edited_is_not_put_back(filmed: Path) -> None:
    delete(filmed, [1])
    aside = "graspline/deleted/episode-000001/row.parquet"
    edit_table(filmed, aside, lambda table: table.drop_columns(["verdict", "stats/action/mean"]))
    with pytest.raises(DatasetProblem) as refused:
        restore(filmed, [1])
    assert [each.partition("row.parquet: ")[2] for each in str(refused.value).splitlines()] == [
        "column verdict is missing",
        "statistics of action (mean) are missing",
    ]
    check_whole(filmed)
