"""An episode is in the dataset or it is not, whatever happens to the writer and whenever."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import graspline.datasets.files
from graspline.datasets.files import SCRATCH, half_file
from graspline.datasets.rows import Slot, data_file, log_file, row_file, video_file
from graspline.datasets.settings import DatasetSettings
from graspline.datasets.store import CARD, INFO, OURS, STATS, TASKS, Dataset, Writer, open_writer
from graspline.datasets.work import Drawn
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError

from .conftest import EPISODES, cube_settings
from .whole import check_whole, tree

SETTINGS = cube_settings()
KEY = SETTINGS.views[0].key


class Killed(BaseException):
    """What nobody may catch."""


def writing(root: Path, settings: DatasetSettings = SETTINGS) -> AbstractContextManager[Writer]:
    task, _ = settings.found_task()
    return open_writer(root, settings, task.sentence)


def commit(writer: Writer, drawn: Drawn) -> None:
    writer.commit(drawn.recording, drawn.values, drawn.films)


def commits(root: Path, drawn: Drawn, count: int) -> None:
    with writing(root) as writer:
        for _ in range(count):
            commit(writer, drawn)


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Raise at the so-manyth thing that is done to the disk, and let nothing be tidied up afterwards."""
    counter = itertools.count()
    write_bytes, replace, sync = Path.write_bytes, Path.replace, graspline.datasets.files.sync

    def written(path: Path, data: bytes) -> int:
        if next(counter) == step:
            write_bytes(path, data[: len(data) // 2])
            raise Killed
        return write_bytes(path, data)

    def replaced(path: Path, target: Path) -> Path:
        if next(counter) == step:
            raise Killed
        return replace(path, target)

    def synced(path: Path) -> None:
        if next(counter) == step:
            raise Killed
        sync(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", written)
        patched.setattr(Path, "replace", replaced)
        patched.setattr(graspline.datasets.files, "sync", synced)
        patched.setattr(graspline.datasets.files, "sweep", lambda root: None)
        yield


def test_a_commit_cut_short_at_any_step_is_a_whole_one_or_none(
    tmp_path: Path, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits(tmp_path / "one", drawn, 1)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    commits(tmp_path / "two", drawn, 1)
    before, after = tree(tmp_path / "one"), tree(tmp_path / "two")
    seen, steps = set[int](), 0
    for step in itertools.count():
        root = tmp_path / f"cut-{step}"
        shutil.copytree(tmp_path / "one", root)
        try:
            with killed_at(step, monkeypatch), writing(root) as writer:
                commit(writer, drawn)
        except Killed:
            pass
        else:
            steps = step
            break
        committed = len(Dataset.open(root))
        seen.add(committed)
        for row in Dataset.open(root).rows:
            assert len(Dataset.open(root).frames(row)) == row["length"]
            assert Dataset.open(root).log(row).facts["seed"] == 3
        kept = {name: data for name, data in tree(root).items() if not name.startswith(SCRATCH)}
        assert set(kept) <= set(after), "nothing half-written lies among the others"
        assert all(kept[name] == data for name, data in before.items() if name not in (INFO, STATS))
        with writing(root):
            pass
        assert tree(root) == (before, after)[committed - 1], "opening it again clears up"
        commits(root, drawn, 2 - committed)
        assert tree(root) == after
        shutil.rmtree(root)
    assert steps > 20
    assert seen == {1, 2}


def test_a_start_cut_short_at_any_step_can_be_made_again(
    tmp_path: Path, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits(tmp_path / "whole", drawn, 1)
    steps = 0
    for step in itertools.count():
        root = tmp_path / f"cut-{step}"
        try:
            with killed_at(step, monkeypatch), writing(root):
                pass
        except Killed:
            commits(root, drawn, 1)
            assert tree(root) == tree(tmp_path / "whole")
        else:
            steps = step
            break
    assert steps > 8


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


def test_a_writer_clears_up_after_one_that_was_killed(dataset: Path) -> None:
    whole = tree(dataset)
    slot, last = Slot(0, EPISODES), Slot(0, EPISODES - 1)
    for left, source in (
        (video_file(KEY, slot), video_file(KEY, last)),
        (log_file(EPISODES), log_file(EPISODES - 1)),
        (data_file(slot), data_file(last)),
        (row_file(slot), row_file(last)),
    ):
        shutil.copy(dataset / source, dataset / left)
    (dataset / STATS).write_text("{}")
    (dataset / CARD).unlink()
    (dataset / TASKS).unlink()
    half_file(dataset, INFO).parent.mkdir()
    half_file(dataset, INFO).write_text("{")
    with writing(dataset):
        pass
    assert tree(dataset) == whole


def test_going_on_continues_every_count(dataset: Path, drawn: Drawn) -> None:
    frames = Dataset.open(dataset).info["total_frames"]
    with writing(dataset) as writer:
        assert (writer.committed, writer.next_seed, writer.frames) == (EPISODES, EPISODES, frames)
        row = writer.commit(drawn.recording, drawn.values, drawn.films)
    assert (row["episode_index"], row["episode_id"], row["dataset_from_index"]) == (3, 3, frames)
    assert Dataset.open(dataset).info["total_frames"] == row["dataset_to_index"]


def test_the_next_files_come_after_the_last_of_any_kind(dataset: Path, drawn: Drawn) -> None:
    rows = Dataset.open(dataset).rows
    row = {**rows[-1], f"videos/{KEY}/file_index": 7}
    writer = Writer(dataset, SETTINGS, "lift it", (*rows[:-1], row))
    found = writer.commit(drawn.recording, drawn.values, drawn.films)
    assert (found["data/file_index"], found["meta/episodes/file_index"], found[f"videos/{KEY}/file_index"]) == (8, 8, 8)


def test_numbered_pictures_are_where_the_rows_say(filmed_once: Path) -> None:
    check_whole(filmed_once)


@pytest.mark.parametrize("name", ["README.md", "meta/notes.txt", ".tmp/mine.txt", "photos/me.jpg", ".hidden"])
def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(InputError, match="holds other files and is no dataset of graspline"), writing(tmp_path):
        pass
    assert tree(tmp_path) == {name: b"mine"}


def test_a_link_to_elsewhere_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(InputError, match="holds other files"), writing(tmp_path):
        pass


def test_empty_folders_are_taken(tmp_path: Path, drawn: Drawn) -> None:
    (tmp_path / "meta").mkdir()
    commits(tmp_path, drawn, 1)
    assert len(Dataset.open(tmp_path)) == 1


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"mine")
    with pytest.raises(InputError, match="is a file, expected a folder"), writing(tmp_path / "x"):
        pass


def test_a_folder_that_cannot_be_made_is_a_problem_of_this_machine() -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be written to"), writing(Path("/proc/graspline/set")):
        pass


def test_other_settings_are_refused_with_every_difference(dataset: Path) -> None:
    whole = tree(dataset)
    with pytest.raises(InputError) as raised, writing(dataset, cube_settings(fps=30, views=())):
        pass
    assert [line.strip() for line in raised.value.problems] == [
        f"{dataset}: the dataset was made with other settings:",
        "fps: the dataset has 10, asked for 30",
        "views: the dataset has ['front:64x48'], asked for []",
    ]
    assert tree(dataset) == whole


def test_two_writers_are_one_too_many(dataset: Path) -> None:
    with writing(dataset):
        with pytest.raises(EnvironmentProblem, match="another process is writing"), writing(dataset):
            pass
        assert len(Dataset.open(dataset)) == EPISODES, "while readers are welcome"


def test_a_folder_without_a_dataset_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such dataset folder"):
        Dataset.open(tmp_path / "nothing")
    with pytest.raises(InputError, match=f"not a dataset of graspline \\({OURS} is missing\\)"):
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
        (INFO, '{"total_episodes": 9}', "the index counts 9 episodes, 3 have a row"),
        (INFO, "{}", "meta/info.json: KeyError: 'total_episodes'"),
        (OURS, '{"format": 99}', "format 99, this version reads 1"),
        (OURS, '{"format": 1, "settings": {}}', "meta/graspline.json: KeyError"),
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
