"""A dataset is read as it was committed, and what cannot be relied on is named when it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cli.distributions import with_module
from graspline.datasets.check.doctor import examine
from graspline.datasets.format.index import INFO
from graspline.datasets.format.rows import Slot, data_file, log_file, row_file
from graspline.datasets.format.store import DELETED, OURS, Dataset, deleted_in
from graspline.errors import DatasetProblem, InputError
from graspline.registry import refresh

from ..conftest import EPISODES, cube_settings
from ..damage import edit_json, edit_row, edit_table
from ..write.test_writer import writing

SETTINGS = cube_settings()
KEY = SETTINGS.views[0].key


def test_what_is_committed_can_be_read(made: Path) -> None:
    dataset = Dataset.open(made)
    assert len(dataset) == EPISODES
    assert dataset.settings == SETTINGS
    assert [row["seed"] for row in dataset.rows] == [0, 1, 2]
    for row in dataset.rows:
        assert len(dataset.frames(row)) == row["length"]
        assert dataset.video(row, KEY).is_file()
    with pytest.raises(InputError, match="--episode 3: the dataset has episodes 0 to 2"):
        dataset.row(3)


def test_a_reader_does_not_see_what_the_index_does_not_count(dataset: Path) -> None:
    info = json.loads((dataset / INFO).read_bytes())
    (dataset / INFO).write_text(json.dumps({**info, "total_episodes": 2}))
    assert [row["episode_index"] for row in Dataset.open(dataset).rows] == [0, 1]


def test_a_folder_without_a_dataset_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Dataset.open(tmp_path / "nothing")
    with pytest.raises(InputError, match=f"not a graspline dataset \\({OURS} is missing\\)"):
        Dataset.open(tmp_path)
    with writing(tmp_path):
        pass
    with pytest.raises(DatasetProblem, match="no episode has been committed yet"):
        Dataset.open(tmp_path)


@pytest.mark.parametrize(
    "name, damage, words",
    [
        (INFO, "{", "meta/info.json: cannot be read"),
        (INFO, "[]", "meta/info.json: expected an object"),
        (INFO, "{}", "meta/info.json: total_episodes is missing"),
        (OURS, '{"format": 99}', "format 99, this version reads 2"),
        (OURS, '{"format": 2, "settings": {}}', "meta/graspline.json: KeyError"),
        (row_file(Slot(0, 1)), "damaged", "file-001.parquet: cannot be read"),
        (log_file(0), "damaged", "not a log of an episode"),
        (data_file(Slot(0, 0)), "damaged", "file-000.parquet: cannot be read"),
    ],
)
def test_what_is_damaged_is_named(dataset: Path, name: str, damage: str, words: str) -> None:
    (dataset / name).write_text(damage)
    with pytest.raises(DatasetProblem, match=words):  # noqa: PT012  (whichever of them reads it)
        found = Dataset.open(dataset)
        found.frames(found.rows[0])
        found.log(found.rows[0])


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (INFO, lambda plain: plain.update(total_episodes=9), "the index counts 9 episodes, 3 have a row"),
        (INFO, lambda plain: plain.update(total_episodes=0), "total_episodes is 0, expected a whole number above 0"),
        (INFO, lambda plain: plain.update(fps=0), "fps is 0, expected a whole number above 0"),
        (INFO, lambda plain: plain.update(fps=30), "fps is 30, and the dataset was made with 10"),
        (INFO, lambda plain: plain.update(video_files_size_in_mb="200"), "video_files_size_in_mb is '200', expected"),
        (INFO, lambda plain: plain.update(splits=[]), r"splits is \[\], expected ranges"),
        (INFO, lambda plain: plain.update(features=[]), r"features is \[\], expected an object"),
        (INFO, lambda plain: plain["features"].pop("action"), "feature action is missing"),
        (INFO, lambda plain: plain["features"].update(action=7), "feature action is missing"),
        (INFO, lambda plain: plain["features"].pop(KEY), f"feature {KEY} is missing"),
        (INFO, lambda plain: plain["features"]["action"].pop("dtype"), "feature action: dtype is None, expected"),
        (INFO, lambda plain: plain["features"]["action"].pop("names"), "feature action: names is None, expected"),
        (INFO, lambda plain: plain["features"].update(mood={}), "feature mood: dtype is None"),
        (INFO, lambda plain: plain["features"].update(mood={"dtype": "video"}), "feature mood: dtype is 'video'"),
        (OURS, lambda plain: plain["settings"].update(faults=[1]), r"faults are \[1\]"),
        (OURS, lambda plain: plain["settings"].update(renderer="brush"), "renderer is 'brush'"),
        (OURS, lambda plain: plain["settings"].update(smooth="yes"), "smooth is 'yes'"),
        (OURS, lambda plain: plain.update(states=[1]), r"states are \[1\]"),
        (OURS, lambda plain: plain.update(merged_from=[1]), "merged_from holds 1, expected name, episodes"),
        (OURS, lambda plain: plain.update(merged_from={"a": 1}), "merged_from holds {'a': 1}, expected name"),
        (OURS, lambda plain: plain.update(merged_from=[{"name": "a", "episodes": 1}]), "KeyError: 'settings'"),
    ],
)
def test_what_was_edited_so_that_nobody_can_follow_it_is_named(
    dataset: Path, name: str, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    edit_json(dataset, name, change)
    with pytest.raises(DatasetProblem, match=words):
        Dataset.open(dataset)


def test_rows_that_do_not_follow_each_other_are_named(dataset: Path) -> None:
    edit_row(dataset, 1, dataset_from_index=0)
    with pytest.raises(DatasetProblem, match="row 1 of meta/episodes: begins at frame 0, expected "):
        Dataset.open(dataset)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["index"]), "column index is missing"),
        (lambda table: table.drop_columns(["episode_index"]), "column episode_index is missing"),
        (lambda table: _as_text(table, "index"), "column index is string, expected int64"),
        (lambda table: table.take(list(reversed(range(len(table))))), "column index does not count from "),
        (lambda table: table.slice(1), " rows of an episode of "),
    ],
)
def test_frames_that_cannot_be_told_apart_are_named(
    dataset: Path, change: Callable[[pa.Table], pa.Table], words: str
) -> None:
    edit_table(dataset, data_file(Slot(0, 0)), change)
    found = Dataset.open(dataset)
    with pytest.raises(DatasetProblem, match=f"file-000.parquet: .*{words}"):
        found.frames(found.rows[0])
    found.frames(found.rows[1])


def _as_text(table: pa.Table, column: str) -> pa.Table:
    return table.set_column(
        table.column_names.index(column), column, pa.array([str(each) for each in table.column(column).to_pylist()])
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "episode_id is None, expected a whole number"),
        ('{"episode_id": "1", "seed": 2}', "episode_id is '1', expected a whole number"),
        ('{"episode_id": 1, "seed": true}', "seed is True, expected a whole number"),
        ("[]", "expected an object"),
    ],
)
def test_a_note_of_a_deleted_episode_that_says_nothing_is_named(dataset: Path, text: str, words: str) -> None:
    (dataset / DELETED).mkdir()
    (dataset / DELETED / "episode-000007.json").write_text(text)
    with pytest.raises(DatasetProblem, match=rf"episode-000007\.json: {words}"):
        deleted_in(dataset)
    with pytest.raises(DatasetProblem, match=rf"episode-000007\.json: {words}"), writing(dataset):
        pass


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs a distribution of one module that has tasks."""

    def add(distribution: str, source: str, **entries: str) -> None:
        monkeypatch.syspath_prepend(str(with_module(tmp_path, distribution, source, **entries)))
        refresh()

    yield add
    monkeypatch.undo()
    refresh()


def test_a_robot_whose_files_are_gone_is_asked_for_by_its_path(dataset: Path) -> None:
    edit_json(dataset, OURS, lambda plain: plain["settings"]["parameters"].update(robot="/lab/arm.yaml"))
    with pytest.raises(DatasetProblem, match=r"cannot be read.*put the description and its model back there"):
        Dataset.open(dataset)


def test_a_task_that_cannot_be_imported_is_no_problem_of_its_datasets(
    dataset: Path, beside: Callable[..., None]
) -> None:
    beside("broken-today", "1 / 0", juggle="broken_today:JUGGLE")
    origin = {"name": "juggle", "place": "broken_today:JUGGLE", "distribution": "broken-today", "version": "1.0"}
    edit_json(dataset, OURS, lambda plain: plain["settings"].update(task="juggle", origin=origin))
    for read in (Dataset.open, examine):
        with pytest.raises(InputError, match=r"^task 'juggle' \(broken_today:JUGGLE of broken-today 1\.0\) cannot be"):
            read(dataset)


def test_another_distribution_with_a_task_of_the_same_name_does_not_hide_the_one_of_a_dataset(
    dataset: Path, beside: Callable[..., None]
) -> None:
    beside("same-name", "", **{"lift-cube": "same_name:CUBE"})
    assert Dataset.open(dataset).settings.found_task()[0].name == "lift-cube"
    assert examine(dataset).healthy
