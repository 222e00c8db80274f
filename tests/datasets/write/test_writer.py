"""An episode is in the dataset or it is not, whatever happens to the writer and whenever."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import graspline.datasets.format.files
from graspline.datasets.format.files import SCRATCH, half_file, json_bytes
from graspline.datasets.format.index import INFO, IndexFile, info_of
from graspline.datasets.format.rows import Slot, data_file, log_file, row_file, video_file
from graspline.datasets.format.sentences import TASKS
from graspline.datasets.format.settings import DatasetSettings, settings_of
from graspline.datasets.format.stats import NAMES
from graspline.datasets.format.store import CARD, STATS, Dataset, origin_in
from graspline.datasets.write.episode_files import Ahead, lay_out
from graspline.datasets.write.jobs import Drawn
from graspline.datasets.write.writer import Writer, open_writer
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Instruction

from ..conftest import EPISODES, cube_settings
from ..damage import edit_row, edit_table
from ..whole import check_whole, tree

SETTINGS = cube_settings()
KEY = SETTINGS.views[0].key
SENTENCE = "Lift the cube and hold it still."


class Killed(BaseException):
    """What nobody may catch."""


def writing(root: Path, settings: DatasetSettings = SETTINGS) -> AbstractContextManager[Writer]:
    return open_writer(root, settings)


def commit(writer: Writer, drawn: Drawn) -> None:
    writer.commit(drawn)


def commits(root: Path, drawn: Drawn, count: int) -> None:
    with writing(root) as writer:
        for _ in range(count):
            commit(writer, drawn)


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Raise at the so-manyth thing that is done to the disk, and let nothing be tidied up afterwards."""
    counter = itertools.count()
    write_bytes, replace, sync = Path.write_bytes, Path.replace, graspline.datasets.format.files.sync

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
        patched.setattr(graspline.datasets.format.files, "sync", synced)
        patched.setattr(graspline.datasets.format.files, "sweep", lambda root: None)
        yield


@pytest.mark.usefixtures("unchecked")
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
    edit_row(dataset, EPISODES, episode_index=EPISODES, meta__episodes__file_index=EPISODES)
    (dataset / STATS).write_text("{}")
    (dataset / CARD).unlink()
    half_file(dataset, INFO).parent.mkdir()
    half_file(dataset, INFO).write_text("{")
    with writing(dataset):
        pass
    assert tree(dataset) == whole


@pytest.mark.parametrize("before", [[], [Ahead(7, "Lift it.")], [Ahead(7, "Lift it."), Ahead(8, "Drop it.")]])
def test_an_episode_is_the_same_whoever_laid_it_out_and_for_whatever_place(
    before: list[Ahead], tmp_path: Path, drawn: Drawn
) -> None:
    commits(tmp_path / "here", drawn, 2)
    with writing(tmp_path / "there") as writer:
        writer.commit(drawn)
        task, parameters = SETTINGS.found_task()
        place, scene = writer.place(SENTENCE, before), task.scene(parameters)
        laid_out = lay_out(drawn.recording, drawn.values, drawn.films, SETTINGS, scene, place)
        writer.commit(dataclasses.replace(drawn, laid_out=laid_out))
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def test_places_follow_each_other(tmp_path: Path, drawn: Drawn) -> None:
    with writing(tmp_path) as writer:
        foreseen = writer.place(SENTENCE, [Ahead(len(drawn.values["timestamp"]), SENTENCE)])
        writer.commit(drawn)
        assert writer.place(SENTENCE) == foreseen


def told(drawn: Drawn, sentence: str) -> Drawn:
    """The same episode with another sentence."""
    recording = dataclasses.replace(drawn.recording, instruction=Instruction(sentence=sentence))
    return dataclasses.replace(drawn, recording=recording)


def test_each_sentence_has_one_row_in_the_order_of_first_use(tmp_path: Path, drawn: Drawn) -> None:
    with writing(tmp_path) as writer:
        assert not (tmp_path / TASKS).exists()
        for sentence in ("B.", "A.", "B.", "C."):
            writer.commit(told(drawn, sentence))
        assert writer.place("A.").task_index == 1
        assert writer.place("E.", [Ahead(3, "D."), Ahead(3, "A.")]).task_index == 4
    dataset = Dataset.open(tmp_path)
    assert pq.read_table(tmp_path / TASKS).column("task").to_pylist() == ["B.", "A.", "C."]
    assert dataset.info["total_tasks"] == 3
    assert [dataset.frames(row).column("task_index")[0].as_py() for row in dataset.rows] == [0, 1, 0, 2]


def test_the_index_of_a_growing_dataset_is_written_as_any_other() -> None:
    task, parameters = SETTINGS.found_task()
    scene = task.scene(parameters)
    assert IndexFile(SETTINGS, scene).of(12, 345, 6) == json_bytes(info_of(SETTINGS, scene, 12, 345, 6))


def test_going_on_continues_every_count(dataset: Path, drawn: Drawn) -> None:
    frames = Dataset.open(dataset).info["total_frames"]
    with writing(dataset) as writer:
        assert (writer.committed, writer.next_seed, writer.frames) == (EPISODES, EPISODES, frames)
        row = writer.commit(drawn)
    assert (row["episode_index"], row["episode_id"], row["dataset_from_index"]) == (3, 3, frames)
    assert Dataset.open(dataset).info["total_frames"] == row["dataset_to_index"]


def test_the_next_files_come_after_the_last_of_any_kind(dataset: Path, drawn: Drawn) -> None:
    rows = Dataset.open(dataset).rows
    row = {**rows[-1], f"videos/{KEY}/file_index": 7}
    writer = Writer(dataset, SETTINGS, (*rows[:-1], row))
    found = writer.commit(drawn)
    assert (found["data/file_index"], found["meta/episodes/file_index"], found[f"videos/{KEY}/file_index"]) == (8, 8, 8)


def test_numbered_pictures_are_where_the_rows_say(filmed_once: Path) -> None:
    check_whole(filmed_once)


@pytest.mark.parametrize("name", ["README.md", "meta/notes.txt", ".tmp/mine.txt", "photos/me.jpg", ".hidden"])
def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(InputError, match="contains other files and is not a graspline dataset"), writing(tmp_path):
        pass
    assert tree(tmp_path) == {name: b"mine"}


def test_a_link_to_elsewhere_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(InputError, match="contains other files"), writing(tmp_path):
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
        "cameras: the dataset has ['front:64x48'], asked for []",
        "to continue it with `graspline generate`, use: --fps 10 --cameras front:64x48",
        f"choose another folder for these settings, such as {dataset}-2",
    ]
    assert tree(dataset) == whole


def test_another_task_is_one_difference(dataset: Path) -> None:
    oranges = settings_of(find_task("oranges"), find_task("oranges").parameters(), views=())
    with pytest.raises(InputError) as raised, writing(dataset, oranges):
        pass
    assert [line.strip() for line in raised.value.problems][1:-1] == [
        "task: the dataset has lift-cube, asked for oranges"
    ]


def test_a_dataset_to_which_nothing_was_added_may_begin_anew(tmp_path: Path) -> None:
    with writing(tmp_path, cube_settings(fps=30, views=())):
        pass
    with writing(tmp_path, cube_settings(fps=10)):
        pass
    assert origin_in(tmp_path).settings == cube_settings(fps=10)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "something.parquet").write_bytes(b"of something else")
    with pytest.raises(InputError, match="made with other settings"), writing(tmp_path, cube_settings(fps=30)):
        pass


def test_two_writers_are_one_too_many(dataset: Path) -> None:
    with writing(dataset):
        with pytest.raises(EnvironmentProblem, match="another process is writing"), writing(dataset):
            pass
        assert len(Dataset.open(dataset)) == EPISODES, "while readers are welcome"


@pytest.mark.parametrize(
    "values",
    [{"dataset_from_index": 7}, {"dataset_to_index": 10**6}, {"episode_index": 5}, {"length": 3}],
    ids=lambda values: next(iter(values)),
)
def test_rows_that_are_numbered_wrongly_are_not_gone_on_with(dataset: Path, values: dict[str, int]) -> None:
    edit_row(dataset, EPISODES - 1, **values)
    before = tree(dataset)
    with pytest.raises(DatasetProblem, match="row 2 of meta/episodes: "), writing(dataset):
        pass
    assert tree(dataset) == before


def test_rows_without_statistics_are_not_gone_on_with(dataset: Path) -> None:
    gone = [f"stats/action/{name}" for name in NAMES]
    edit_table(dataset, row_file(Slot(0, 1)), lambda table: table.drop_columns(gone))
    before = tree(dataset)
    told = r"row 1 of meta/episodes: statistics of action \(min, .*\) are missing"
    with pytest.raises(DatasetProblem, match=told), writing(dataset):
        pass
    assert tree(dataset) == before


def test_the_folder_of_a_new_dataset_survives_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    sync = graspline.datasets.format.files.sync
    monkeypatch.setattr(graspline.datasets.format.files, "sync", lambda path: (synced.append(path), sync(path)))
    with writing(tmp_path / "new/dataset"):
        pass
    assert synced[:2] == [tmp_path, tmp_path / "new"]


def test_episodes_that_are_there_are_counted_while_they_are_checked(made: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_writer(made, cube_settings(), lambda checked, episodes: told.append((checked, episodes))):
        pass
    assert told[-1] == (EPISODES, EPISODES)
    assert [checked for checked, _ in told] == sorted(checked for checked, _ in told)
