"""Nothing that was committed is taken away because an index does not count it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import graspline.datasets.check.leftovers
from graspline.datasets.check.doctor import examine
from graspline.datasets.edit.compact import compact
from graspline.datasets.edit.delete import delete
from graspline.datasets.format.files import json_bytes
from graspline.datasets.format.index import INFO, info_of
from graspline.datasets.format.rows import Slot, data_file, log_file, row_file, video_file
from graspline.datasets.format.store import DELETED, Dataset
from graspline.datasets.format.uncommitted import left_behind
from graspline.datasets.write.generate import generate
from graspline.errors import DatasetProblem

from ..conftest import EPISODES, InlinePool, cube_settings
from ..damage import FRONT, edit_json
from ..whole import tree

SETTINGS = cube_settings()


def go_on(root: Path) -> None:
    generate(root, SETTINGS, EPISODES + 1, InlinePool())


def take_out_the_first(root: Path) -> None:
    delete(root, [0])


COMMANDS = [go_on, compact, take_out_the_first]


def count_only(root: Path, episodes: int) -> None:
    """An index that was right when there were so many."""
    dataset = Dataset.open(root)
    frames = dataset.rows[episodes - 1]["dataset_to_index"]
    (root / INFO).write_bytes(json_bytes(info_of(dataset.settings, dataset.scene, episodes, frames, 1)))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("total", [0, -1, True, "3", 3.0, None, EPISODES + 1])
def test_a_number_of_episodes_that_cannot_be_is_refused(
    dataset: Path, command: Callable[[Path], None], total: object
) -> None:
    edit_json(dataset, INFO, lambda plain: plain.update(total_episodes=total))
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match=r"total_episodes is|the index counts 4 episodes, 3 have a row"):
        command(dataset)
    assert tree(dataset) == before


def test_episodes_whose_index_is_gone_stay(dataset: Path) -> None:
    (dataset / INFO).unlink()
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match=r"3 episodes have a row in meta/episodes, and meta/info\.json is missing"):
        go_on(dataset)
    assert tree(dataset) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_episodes_that_an_older_index_does_not_count_stay(dataset: Path, command: Callable[[Path], None]) -> None:
    count_only(dataset, 1)
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match=r"3 episodes have a row in meta/episodes, and meta/info\.json counts 1;"):
        command(dataset)
    assert tree(dataset) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_one_that_lies_among_others_was_not_left_by_a_killed_writer(
    dataset: Path, command: Callable[[Path], None]
) -> None:
    """Packed, its row and its frames are in files that others share."""
    compact(dataset)
    count_only(dataset, EPISODES - 1)
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match=r"counts 2; put back the index that counts them"):
        command(dataset)
    assert tree(dataset) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_one_that_a_killed_writer_leaves_may_go(dataset: Path, command: Callable[[Path], None]) -> None:
    last = Slot(0, EPISODES - 1)
    count_only(dataset, EPISODES - 1)
    names = {video_file(FRONT, last), log_file(EPISODES - 1), data_file(last), row_file(last)}
    assert left_behind(Dataset.open(dataset)) == names
    command(dataset)
    assert len(Dataset.open(dataset)) == {go_on: EPISODES + 1, compact: EPISODES - 1}.get(command, EPISODES - 2)
    assert left_behind(Dataset.open(dataset)) == frozenset()


def test_a_killed_first_commit_may_go_though_there_is_no_index(dataset: Path, made: Path) -> None:
    for episode in (1, 2):
        slot = Slot(0, episode)
        for name in (video_file(FRONT, slot), log_file(episode), data_file(slot), row_file(slot)):
            (dataset / name).unlink()
    (dataset / INFO).unlink()
    generate(dataset, SETTINGS, EPISODES, InlinePool())
    assert tree(dataset) == tree(made)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", [data_file(Slot(0, 7)), video_file(FRONT, Slot(1, 0)), log_file(9)])
def test_a_file_named_as_an_episodes_that_is_none_is_not_written_over(
    dataset: Path, command: Callable[[Path], None], name: str
) -> None:
    (dataset / name).parent.mkdir(exist_ok=True)
    (dataset / name).write_bytes(b"mine")
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match=f"{name}: no episode names it, and no killed writer leaves it"):
        command(dataset)
    assert tree(dataset) == before
    assert [each.where for each in examine(dataset, fast=True).problems] == [name]


def test_the_doctor_tells_of_more_than_a_killed_writer_leaves(dataset: Path) -> None:
    count_only(dataset, 1)
    told = [str(each) for each in examine(dataset, fast=True).problems]
    where = row_file(Slot(0, 2))
    what = "the index counts 1 episodes, and an interrupted writer leaves at most one more"
    assert f"{where}: episode 2: {what}" in told
    assert not any(each.startswith(row_file(Slot(0, 1))) for each in told), "that one may be left"


def test_a_writer_that_goes_on_meanwhile_is_no_problem(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index counts one when the doctor begins, and all when everything else has been read."""
    whole = json.loads((dataset / INFO).read_bytes())
    count_only(dataset, 1)
    monkeypatch.setattr(graspline.datasets.check.leftovers, "json_in", lambda root, name: whole)
    told = [str(each) for each in examine(dataset, fast=True).problems]
    assert not any("killed writer" in each for each in told), told


@pytest.mark.parametrize("command", [compact, take_out_the_first])
def test_peoples_own_files_are_carried_along(dataset: Path, command: Callable[[Path], None]) -> None:
    own = [
        "data/README.txt",
        "data/chunk-000/notes.csv",
        "videos/holiday.mp4",
        f"videos/{FRONT}/chunk-000/best.mp4",
        "videos/mine/chunk-000/file-000.mp4",
        "meta/episodes/comments.txt",
        "graspline/logs/why.txt",
        f"{DELETED}/empty.txt",
        "graspline/logs/episode-1.npz",
    ]
    for name in own:
        (dataset / name).parent.mkdir(parents=True, exist_ok=True)
        (dataset / name).write_text(name)
    command(dataset)
    assert [(dataset / name).read_text() for name in own] == own
    go_on(dataset)
    assert [(dataset / name).read_text() for name in own] == own
