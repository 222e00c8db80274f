from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graspline.datasets.check.doctor import Diagnosis, examine
from graspline.datasets.check.findings import Finding
from graspline.datasets.edit.compact import compact
from graspline.datasets.edit.delete import delete, restore
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.files import SCRATCH, json_bytes
from graspline.datasets.format.index import INFO, info_of
from graspline.datasets.format.log_reader import _found
from graspline.datasets.format.rows import Slot, data_file, log_file, row_file, stats_in, video_file
from graspline.datasets.format.sentences import TASKS, tasks_bytes
from graspline.datasets.format.stats import NAMES, all_merged
from graspline.datasets.format.store import DELETED, OURS, STATS, Dataset
from graspline.datasets.write.generate import generate
from graspline.datasets.write.jobs import Attempts, do, judged
from graspline.datasets.write.writer import open_writer
from graspline.episodes.run import run_scenarios
from graspline.episodes.workers import Filled
from graspline.errors import InputError
from graspline.tasks import catalogue
from graspline.tasks.lift_cube import LIFT_CUBE
from graspline.tasks.task import Instruction

from ..conftest import EPISODES, InlinePool, cube_settings
from ..damage import FRONT, edit_frames, edit_json, edit_log, edit_row, edit_table, film, with_column

SENTENCE = "Lift the cube and hold it still."
DATA, ROW, LOG, VIDEO = data_file(Slot(0, 1)), row_file(Slot(0, 1)), log_file(1), video_file(FRONT, Slot(0, 1))


def problems(root: Path, *, fast: bool = True) -> list[str]:
    return [str(each) for each in examine(root, fast=fast).problems]


def length_of(root: Path, episode: int = 1) -> int:
    return Dataset.open(root).row(episode)["length"]


def test_a_dataset_as_it_was_made_is_healthy(made: Path) -> None:
    dataset = Dataset.open(made)
    for fast in (False, True):
        diagnosis = examine(made, fast=fast)
        assert diagnosis == Diagnosis(problems=(), notes=(), summary=diagnosis.summary)
        assert diagnosis.summary is not None
        assert diagnosis.summary.as_dict() == {
            "episodes": EPISODES,
            "successes": EPISODES,
            "frames": sum(row["length"] for row in dataset.rows),
            "fps": 10,
            "cameras": ["front:64x48"],
            "disk_bytes": sum(path.stat().st_size for path in made.rglob("*") if path.is_file()),
        }


def test_files_are_named_alike_wherever_one_stands(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (dataset / LOG).unlink()
    (dataset / DATA).write_bytes(b"damaged")
    from_outside = problems(dataset, fast=False)
    monkeypatch.chdir(dataset)
    assert problems(Path(), fast=False) == from_outside
    assert f"{LOG}: episode 1: is missing" in from_outside


def test_what_is_being_written_is_not_counted(dataset: Path) -> None:
    (dataset / SCRATCH).mkdir()
    (dataset / SCRATCH / "half").write_bytes(bytes(1000))
    (dataset / "gone").symlink_to(dataset / "nowhere")
    found = examine(dataset, fast=True).summary
    assert found is not None
    files = [path for path in dataset.rglob("*") if path.is_file() and path.parent.name != SCRATCH]
    assert found.disk_bytes == sum(path.stat().st_size for path in files)


def test_every_step_is_counted(made: Path) -> None:
    counted: list[int] = []

    def begin(steps: int) -> Callable[[], None]:
        counted.append(steps)
        return lambda: counted.append(-1)

    examine(made, begin=begin)
    assert sum(counted) == 0
    assert counted[0] == EPISODES * 3


@pytest.fixture(scope="module")
def failed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode whose cube is taken away, labelled as the failure that it is; nobody may change it."""
    root = tmp_path_factory.mktemp("datasets") / "failed"
    generate(root, cube_settings(views=(), keep="all", faults=("remove@hold+0.2",)), 1, InlinePool())
    assert not Dataset.open(root).row(0)["success"]
    return root


def test_failures_and_episodes_that_diverged_are_healthy(failed_once: Path, tmp_path: Path) -> None:
    assert problems(failed_once, fast=False) == []
    settings = cube_settings(views=(), keep="all", units="normalized", fps=60, faults=("nan-control@lift+0.2",))
    generate(tmp_path / "dataset", settings, 1, InlinePool())
    assert problems(tmp_path / "dataset", fast=False) == []


def test_datasets_that_were_packed_cut_and_merged_are_healthy(
    dataset: Path, filmed: Path, filmed_elsewhere: Path, tmp_path: Path
) -> None:
    merge([filmed, filmed_elsewhere], tmp_path / "merged")
    compact(dataset)
    assert problems(dataset, fast=False) == []
    delete(dataset, [1])
    delete(filmed, [0, 2])
    for root in (dataset, filmed, tmp_path / "merged"):
        diagnosis = examine(root, fast=root == dataset)
        assert (diagnosis.problems, diagnosis.notes) == ((), ())
    restore(dataset, [1])
    assert problems(dataset) == []


def info(key: str, value: Any) -> Callable[[Path], None]:
    return lambda root: edit_json(root, INFO, lambda plain: plain.update({key: value}))


def feature(name: str, **parts: Any) -> Callable[[Path], None]:
    return lambda root: edit_json(root, INFO, lambda plain: plain["features"][name].update(parts))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (info("total_frames", 7), "total_frames is 7, expected "),
        (info("total_episodes", 4), "total_episodes is 4, and there is no row in meta/episodes for 3"),
        (info("total_episodes", "3"), "total_episodes is '3', expected 3"),
        (info("total_episodes", 3.0), "total_episodes is 3.0, expected 3"),
        (info("total_episodes", 10**20), "there is no row in meta/episodes for 3, 4, "),
        (info("total_episodes", -1), "total_episodes is -1, expected 3"),
        (info("total_tasks", 2), "total_tasks is 2, expected 1"),
        (info("fps", 30), "fps is 30, expected 10"),
        (info("fps", 10.0), "fps is 10.0, expected 10"),
        (info("codebase_version", "v2.1"), "codebase_version is 'v2.1', expected 'v3.0'"),
        (info("robot_type", None), "robot_type is None, expected 'so_follower'"),
        (info("chunks_size", 0), "chunks_size is 0, expected a whole number above 0"),
        (info("video_path", None), "video_path is None, expected 'videos/"),
        (info("splits", {"train": "0:9"}), "split train is '0:9', and there are 3 episodes"),
        (info("splits", {"train": "all"}), "split train is 'all', expected a range such as 0:10"),
        (info("splits", {}), "splits is {}, expected ranges"),
        (info("features", []), "features is [], expected an object"),
        (lambda root: edit_json(root, INFO, lambda plain: plain.pop("data_path")), "data_path is missing"),
        (
            lambda root: edit_json(root, INFO, lambda plain: plain["features"].pop("action")),
            "feature action is missing",
        ),
        (feature("action", dtype="float64"), "feature action: dtype is 'float64', expected 'float32'"),
        (feature("action", shape=[5]), "feature action: shape is [5], expected [6]"),
        (feature("action", names=None), "feature action: names is None, expected ['shoulder_pan.pos'"),
        (feature(FRONT, shape=[3, 48, 64]), "shape is [3, 48, 64], expected [48, 64, 3]"),
        (feature(FRONT, info={}), "info is {}, expected {'video.height': 48"),
    ],
)
def test_an_index_that_does_not_fit_is_told(dataset: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(dataset)
    found = problems(dataset)
    assert any(each.startswith(f"{INFO}: ") and told in each for each in found), found


@pytest.mark.parametrize("name", [INFO, STATS])
def test_an_empty_object_is_not_taken_for_a_healthy_one(dataset: Path, name: str) -> None:
    (dataset / name).write_text("{}")
    assert len(problems(dataset)) > 10


def test_other_splits_of_the_same_episodes_are_fine(dataset: Path) -> None:
    info("splits", {"train": "0:2", "val": "2:3"})(dataset)
    assert problems(dataset) == []


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"episode_index": 0}, "row 1 is that of episode 0"),
        ({"dataset_from_index": 5}, "begins at frame 5, expected "),
        ({"dataset_to_index": 5}, "frames long from "),
        ({"length": 3}, "is 3 frames long from "),
        ({"length": 0}, "row 0: length is 0"),
        ({"tasks": ["Dance."]}, "its task ['Dance.'] is not in meta/tasks.parquet"),
        ({"tasks": []}, "row 0: tasks is [], expected one sentence"),
        ({"meta__episodes__file_index": 7}, "its row says that it is in meta/episodes/chunk-000/file-007.parquet"),
        ({"seed": None}, "row 0: seed is None"),
        ({"seed": 9}, "its scenario has another seed than the dataset"),
        ({"scenario": "{"}, "row 0: scenario is not JSON"),
        ({"scenario": "[]"}, "row 0: scenario is not JSON"),
        ({"rejected_before": "[{}]"}, "rejected_before: {} is no rejected attempt"),
        ({"rejected_before": "[3]"}, "rejected_before: 3 is no rejected attempt"),
        ({"scenario": "{}"}, "its scenario has another seed and task and origin and parameters and faults"),
        ({f"videos__{FRONT}__to_timestamp": 1.0}, f"{FRONT} runs from 0.0000 to 1.0000 s"),
        ({f"videos__{FRONT}__from_timestamp": 0.1}, f"{FRONT} runs from 0.1000 to "),
        ({"success": False}, "is labelled a failure, and only successes were to be kept"),
        ({"stats__action__mean": [0.0] * 6}, "statistics of action (mean) are not those of its frames"),
        ({"stats__action__mean": [0.0] * 5}, "statistics of action (mean) are not those of its frames"),
        ({"stats__action__std": None}, "statistics of action (std) are not those of its frames"),
        ({"stats__action__count": None}, "its statistics cannot be read"),
        ({f"stats__{FRONT}__q50": [[[float("nan")]]] * 3}, f"statistics of {FRONT} are not in order from 0 to 1"),
        ({"stats__timestamp__count": [1]}, "statistics of timestamp (count) are not those of its frames"),
        ({f"stats__{FRONT}__count": [1]}, f"statistics of {FRONT} are of 1 frames"),
        ({f"stats__{FRONT}__max": [[[7.0]]] * 3}, f"statistics of {FRONT} are not in order from 0 to 1"),
    ],
)
def test_a_row_that_does_not_fit_is_told(dataset: Path, values: dict[str, Any], told: str) -> None:
    edit_row(dataset, 1, **values)
    found = problems(dataset)
    assert any(each.startswith(f"{ROW}: ") and told in each for each in found), found


def test_a_sentence_that_does_not_say_what_was_asked_is_told(dataset: Path) -> None:
    other = "Put every orange on the plate."
    (dataset / TASKS).write_bytes(tasks_bytes([SENTENCE, other]))
    edit_row(dataset, 1, tasks=[other])
    edit_frames(dataset, 1, "task_index", lambda numbers: [1] * len(numbers))
    assert f"{LOG}: episode 1: tasks is {[other]} in the row and {[SENTENCE]} in the log" in problems(dataset)


def test_a_success_without_the_object_that_was_asked_for_is_told(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Instruction(sentence=SENTENCE, objects=("cube", "distractor_1"))
    task = dataclasses.replace(LIFT_CUBE, instruction=lambda parameters, draw, outcomes: asked)
    monkeypatch.setitem(catalogue.TASKS, "lift-cube", task)
    _found.cache_clear()
    try:
        found = problems(dataset)
    finally:
        _found.cache_clear()
    told = f"{SENTENCE!r} is about distractor_1, and no outcome of this success is"
    assert len([each for each in found if told in each]) == EPISODES


@pytest.mark.parametrize("sentences", [[SENTENCE, "Dance."], ["Dance.", SENTENCE], ["Dance."], [SENTENCE, SENTENCE]])
def test_sentences_that_are_not_those_of_the_episodes_are_told(dataset: Path, sentences: list[str]) -> None:
    (dataset / TASKS).write_bytes(tasks_bytes(sentences))
    assert any("tasks.parquet" in each for each in problems(dataset))


@pytest.mark.parametrize("column", ["seed", "episode_id", "state_hash"])
def test_an_episode_that_is_in_twice_is_told(dataset: Path, column: str) -> None:
    edit_row(dataset, 2, **{column: Dataset.open(dataset).row(0)[column]})
    assert any(f"episodes 0, 2 have the same {column}" in each for each in problems(dataset))


def test_rows_without_our_columns_are_told(dataset: Path) -> None:
    edit_table(dataset, ROW, lambda table: table.drop_columns(["verdict", "seed"]))
    assert problems(dataset) == [f"{ROW}: row 0: column seed is missing", f"{ROW}: row 0: column verdict is missing"]


def test_rows_with_statistics_of_other_features_are_told(dataset: Path) -> None:
    gone = [f"stats/{FRONT}/{name}" for name in NAMES]
    edit_table(dataset, ROW, lambda table: table.drop_columns(gone))
    told = [f"statistics of {FRONT} are missing", f"it alone, or the first episode alone, has statistics of {FRONT}"]
    assert problems(dataset) == [f"{ROW}: episode 1: {each}" for each in told]


def each_frame(value: Any, at: int = 4) -> Callable[[list[Any]], list[Any]]:
    """Another value in one frame."""
    return lambda values: [*values[:at], value, *values[at + 1 :]]


@pytest.mark.parametrize(
    ("column", "change", "told"),
    [
        ("index", each_frame(0), "index is 0 in frame 4, expected "),
        ("frame_index", lambda values: values[::-1], "frame_index is "),
        ("episode_index", each_frame(0), "episode_index is 0 in frame 4, expected 1"),
        ("task_index", each_frame(1), "task_index is 1 in frame 4, expected 0"),
        ("timestamp", each_frame(float(np.nextafter(np.float32(0.4), np.float32(1)))), "timestamp is 0.4"),
        ("next.done", each_frame(True), "next.done is True in frame 4, expected False"),
        ("next.done", lambda values: [False] * len(values), "next.done is False in frame "),
        ("next.success", lambda values: [False] * len(values), "next.success is False in frame "),
        ("graspline.state_index", each_frame(0, at=20), "has the number 0, which is another's"),
        ("action", each_frame([np.nan] * 6), "action is not a number in 1 frames, first in frame 4"),
        ("action", each_frame([np.inf] * 6), "action is not a number in 1 frames, first in frame 4"),
        ("action", each_frame(None), "column action has gaps"),
        ("timestamp", each_frame(None), "column timestamp has gaps"),
        ("action", each_frame([0.0, 0.0, 0.0, 0.0, 0.0, 101.0]), "action of gripper.pos is "),
        ("observation.state", each_frame([200.0] * 6), "observation.state of shoulder_pan.pos is "),
        ("action", each_frame([-100.0, 0.0, 0.0, 0.0, 0.0, 50.0]), "action of shoulder_pan.pos goes "),
        ("action", each_frame([-100.0, 0.0, 0.0, 0.0, 0.0, 50.0]), "(degrees), after frame "),
    ],
)
def test_frames_that_do_not_fit_are_told(
    dataset: Path, column: str, change: Callable[[list[Any]], list[Any]], told: str
) -> None:
    edit_frames(dataset, 1, column, change)
    found = problems(dataset)
    assert any(each.startswith(f"{DATA}: episode 1: ") and told in each for each in found), found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.drop_columns(["action"]), "column action is missing"),
        (lambda table: table.slice(0, len(table) - 2), "frames, its episodes have "),
        (lambda table: table.append_column("mood", [["good"] * len(table)]), "column mood is not among the features"),
        (
            lambda table: table.set_column(0, "observation.state", pa.array([[1.0]] * len(table))),
            "column observation.state is list<",
        ),
    ],
)
def test_data_files_of_another_shape_are_told(dataset: Path, change: Callable[[pa.Table], pa.Table], told: str) -> None:
    edit_table(dataset, DATA, change)
    found = problems(dataset)
    assert any(each.startswith(f"{DATA}: episode 1: ") and told in each for each in found), found
    # The same is told when everything is looked at, without falling over it.
    assert set(found) <= set(problems(dataset, fast=False))


def _state_as_action(table: pa.Table, late: int) -> pa.Table:
    state = table.column("observation.state").to_pylist()
    return with_column(table, "action", [*state[late:], *state[len(state) - late :]])


@pytest.mark.parametrize("late", [0, 1])
def test_an_action_that_is_only_the_state_is_told(dataset: Path, late: int) -> None:
    edit_table(dataset, DATA, lambda table: _state_as_action(table, late))
    found = problems(dataset)
    assert f"{DATA}: episode 1: action is the state itself, in every frame: not what was commanded" in found
    assert any(each.startswith(f"{LOG}: episode 1: action is not what the log says was commanded") for each in found)


def test_an_action_in_radians_is_told(dataset: Path) -> None:
    edit_frames(dataset, 1, "action", lambda values: np.radians(values).tolist())
    assert any(each.startswith(f"{LOG}: episode 1: action is not what the log says") for each in problems(dataset))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda plain: plain.pop("action"), "action is missing"),
        (lambda plain: plain.update(mood=plain["action"]), "mood is in no episode"),
        (
            lambda plain: plain["action"]["q99"].__setitem__(0, 1e3),
            "statistics of action (q99) are not those of all episodes",
        ),
        (lambda plain: plain[FRONT].update(mean=[0.1, 0.1, 0.1]), f"statistics of {FRONT} (mean) are not those of all"),
        (lambda plain: plain["action"].update(count=[1]), "statistics of action (count) are not those of all episodes"),
        (lambda plain: plain["action"].pop("std"), "holds something else than statistics"),
        (lambda plain: plain.update(action=3), "holds something else than statistics"),
    ],
)
def test_statistics_that_are_not_those_of_the_episodes_are_told(
    dataset: Path, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    edit_json(dataset, STATS, change)
    found = problems(dataset)
    assert any(each.startswith(f"{STATS}: ") and told in each for each in found), found


def test_a_joint_that_never_moves_is_noted(failed_once: Path, tmp_path: Path) -> None:
    """A trainer divides by its deviation. The statistics are made to fit, so nothing else is wrong."""
    root = Path(shutil.copytree(failed_once, tmp_path / "still"))
    for name in ("observation.state", "action"):
        edit_frames(root, 0, name, lambda values: [[*each[:4], 12.0, each[5]] for each in values])
    (row,) = Dataset.open(root).rows
    still = {
        "min": 12.0,
        "max": 12.0,
        "mean": 12.0,
        "std": 0.0,
        **dict.fromkeys(("q01", "q10", "q50", "q90", "q99"), 12.0),
    }
    for name in ("observation.state", "action"):
        for which, value in still.items():
            numbers = list(row[f"stats/{name}/{which}"])
            numbers[4] = value
            edit_row(root, 0, **{f"stats/{name}/{which}": numbers})
    (row,) = Dataset.open(root).rows
    (root / STATS).write_bytes(json_bytes({name: each.as_lists() for name, each in stats_in(row).items()}))
    notes = [str(each) for each in examine(root, fast=True).notes]
    assert notes == [
        f"{STATS}: wrist_roll.pos of {name} never changes, so its deviation is 0"
        for name in ("observation.state", "action")
    ]


@pytest.mark.parametrize(
    ("times", "how", "told", "seen_fast"),
    [
        (lambda n: range(n - 1), {}, " frames", True),
        (lambda n: range(n), {"size": (32, 48)}, "its size is 32x48, expected 64x48", True),
        (lambda n: range(n), {"fps": 30}, "its rate is 30, expected 10", True),
        (lambda n: range(n), {"codec": "mpeg4"}, "its codec is mpeg4, expected h264", True),
        (lambda n: range(n), {"pix_fmt": "yuv444p"}, "its pixel format is yuv444p, expected yuv420p", True),
        (lambda n: [*range(n - 1), n + 3], {}, "is at ", False),
    ],
)
def test_videos_that_do_not_show_the_frames_are_told(
    dataset: Path, times: Callable[[int], list[int]], how: dict[str, Any], told: str, seen_fast: bool
) -> None:
    film(dataset, 1, list(times(length_of(dataset))), **how)
    for fast in (True, False) if seen_fast else (False,):
        found = problems(dataset, fast=fast)
        assert any(each.startswith(f"{VIDEO}: ") and told in each for each in found), found


def test_a_video_that_is_damaged_inside_is_only_found_by_decoding_it(dataset: Path) -> None:
    data = bytearray((dataset / VIDEO).read_bytes())
    begin = data.index(b"mdat") + 2000
    data[begin : begin + 400] = bytes(400)
    (dataset / VIDEO).write_bytes(data)
    assert problems(dataset) == []
    assert any(each.startswith(f"{VIDEO}: ") for each in problems(dataset, fast=False))


@pytest.mark.parametrize("level", [0, 90, 255])
def test_a_video_that_shows_nothing_is_told(dataset: Path, level: int) -> None:
    film(dataset, 1, range(length_of(dataset)), level=level)
    assert problems(dataset) == []
    told = problems(dataset, fast=False)
    assert told[0].startswith(f"{VIDEO}: episode 1: its pictures have a mean of "), told
    assert all(each.startswith(f"{VIDEO}: episode 1: its pictures have a ") for each in told)


def test_pictures_of_a_packed_video_are_those_of_their_episode(filmed: Path) -> None:
    compact(filmed)
    column = f"stats/{FRONT}/mean"

    def brighter(table: pa.Table) -> pa.Table:
        means = table.column(column).to_pylist()
        means[2] = [[[channel[0][0] + 0.2]] for channel in means[2]]
        return with_column(table, column, means)

    edit_table(filmed, row_file(Slot(0, 0)), brighter)
    (found,) = [each for each in problems(filmed, fast=False) if "pictures have" in each]
    assert found.startswith(f"{video_file(FRONT, Slot(0, 0))}: episode 2: its pictures have a mean of ")


def test_sound_without_pictures_is_no_video(dataset: Path) -> None:
    shutil.copy(dataset / DATA, dataset / VIDEO)
    assert any("cannot be decoded" in each for each in problems(dataset))


def test_a_log_of_another_episode_is_told(dataset: Path) -> None:
    shutil.copy(dataset / log_file(2), dataset / LOG)
    for fast in (True, False):
        found = problems(dataset, fast=fast)
        for name in ("seed", "state_hash"):
            assert any(each.startswith(f"{LOG}: episode 1: {name} is ") for each in found), found


def test_a_changed_log_is_found_by_playing_it(dataset: Path) -> None:
    edit_log(dataset, 1, lambda arrays, facts: arrays.update(velocities=arrays["velocities"] + 1e-6))
    assert problems(dataset) == []
    assert any("the replay ends in state" in each for each in problems(dataset, fast=False))


def _relabel(root: Path, verdict: str, success: bool) -> None:
    """Change a label everywhere, statistics included, as a forger would."""
    recovered = success and bool(Dataset.open(root).log({"episode_id": 0}).facts["recoveries"])
    edit_row(root, 0, verdict=verdict, success=success, recovered=recovered)
    edit_log(root, 0, lambda arrays, facts: facts.update(verdict=verdict))
    edit_frames(root, 0, "next.success", lambda values: [*values[:-1], success])
    row = Dataset.open(root).row(0)
    done = {
        name: row[f"stats/next.done/{name}"]
        for name in ("min", "max", "mean", "std", "q01", "q10", "q50", "q90", "q99")
    }
    done = done if success else {name: [0.0] for name in done}
    edit_row(root, 0, **{f"stats/next.success/{name}": value for name, value in done.items()})
    stats = all_merged(stats_in(each) for each in Dataset.open(root).rows)
    (root / STATS).write_bytes(json_bytes({name: each.as_lists() for name, each in stats.items()}))


def test_a_failure_that_is_labelled_a_success_is_found_by_the_simulator(failed_once: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(failed_once, tmp_path / "forged"))
    _relabel(root, "success", True)
    assert problems(root) == []
    (told,) = problems(root, fast=False)
    assert told.startswith(f"{row_file(Slot(0, 0))}: episode 0: is labelled a success, and by the simulator it is none")
    assert "limit" in told


def test_a_success_that_its_own_verdict_denies_is_told(failed_once: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(failed_once, tmp_path / "forged"))
    _relabel(root, "dropped", True)
    assert any("is labelled a success, and its verdict is dropped" in each for each in problems(root))


@pytest.mark.parametrize(("verdict", "is_problem"), [("success", True), ("dropped", False)])
def test_a_success_that_is_labelled_a_failure_is_told(dataset: Path, verdict: str, is_problem: bool) -> None:
    """The machine may doubt what is so; but what both say is so is so."""
    edit_json(dataset, OURS, lambda plain: plain["settings"].update(keep="all"))
    _relabel(dataset, verdict, False)
    diagnosis = examine(dataset)
    (told,) = diagnosis.problems if is_problem else diagnosis.notes
    assert told.what == f"is labelled a failure ({verdict}), and by the simulator the goal is reached"


STAGES = ("video", "log", "data", "row", "statistics")


@pytest.mark.parametrize("stage", range(len(STAGES) + 1), ids=["nothing", *STAGES])
def test_what_a_killed_writer_leaves_is_only_noted(made: Path, tmp_path: Path, stage: int) -> None:
    """Everything of the last episode up to a stage is there, and the index does not count it."""
    root = Path(shutil.copytree(made, tmp_path / "killed"))
    dataset, last = Dataset.open(root), Slot(0, EPISODES - 1)
    before = dataset.rows[:-1]
    written = [video_file(FRONT, last), log_file(EPISODES - 1), data_file(last), row_file(last)]
    for name in written[stage:]:
        (root / name).unlink()
    frames = before[-1]["dataset_to_index"]
    (root / INFO).write_bytes(json_bytes(info_of(dataset.settings, dataset.scene, len(before), frames, 1)))
    if stage < len(STAGES):
        stats = all_merged(stats_in(row) for row in before)
        (root / STATS).write_bytes(json_bytes({name: each.as_lists() for name, each in stats.items()}))
    diagnosis = examine(root, fast=True)
    assert diagnosis.healthy, diagnosis.problems
    noted = {each.where for each in diagnosis.notes}
    if stage < 4:
        assert noted == set(written[:stage])
    else:
        assert noted == {row_file(last), *([STATS] if stage == 5 else [])}
    if stage == len(STAGES):
        generate(root, dataset.settings, EPISODES, InlinePool())
        assert examine(root, fast=True) == Diagnosis(problems=(), notes=(), summary=examine(made, fast=True).summary)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read: "),
        ('{"seed": 7}', "episode_id is None, expected a whole number"),
        ('{"episode_id": 1, "seed": 7}', "episode 1 is said to be deleted, and is there"),
    ],
)
def test_a_note_of_a_deleted_episode_that_cannot_be_followed_is_told(dataset: Path, text: str, told: str) -> None:
    (dataset / DELETED).mkdir(parents=True)
    (dataset / DELETED / "episode-000009.json").write_text(text)
    (found,) = problems(dataset)
    assert found.startswith(f"{DELETED}/episode-000009.json: {told}")


@pytest.mark.parametrize("name", ["data/chunk-000/file-0005.parquet", "meta/episodes/chunk-000/file-0005.parquet"])
def test_a_file_that_pushes_in_between_is_told(dataset: Path, name: str) -> None:
    shutil.copy(dataset / DATA, dataset / name)
    if name.startswith("data"):
        assert problems(dataset) == [f"{name}: no episode names it, and LeRobot reads it"]
    else:
        assert any(each.startswith(f"{name}: row 0: column ") for each in problems(dataset))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        (name, how)
        for name in (DATA, ROW, LOG, VIDEO, INFO, STATS, TASKS, OURS)
        for how in ("missing", "empty", "half", "noise")
        # Without it the folder is no dataset of ours.
        if (name, how) != (OURS, "missing")
    ],
)
def test_a_file_that_is_not_whole_is_told_by_its_name(dataset: Path, name: str, how: str) -> None:
    path = dataset / name
    size = path.stat().st_size
    if how == "missing":
        path.unlink()
    elif how == "noise":
        path.write_bytes(np.random.default_rng(0).bytes(size))
    else:
        path.write_bytes(path.read_bytes()[: size // 2 if how == "half" else 0])
    told = INFO if (name, how) == (ROW, "missing") else name
    for fast in (True, False) if how == "half" else (True,):
        found = problems(dataset, fast=fast)
        assert any(each.startswith(f"{told}: ") for each in found), found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda plain: plain.update(format=9), "format 9, this version reads"),
        (lambda plain: plain.pop("settings"), "KeyError: 'settings'"),
        (lambda plain: plain["settings"].update(fps="10"), "fps is '10'"),
        (lambda plain: plain["settings"].update(fps=7), "7 does not divide the control rate"),
        (lambda plain: plain["settings"].update(task="juggle"), "juggle"),
        (lambda plain: plain["settings"].update(origin={}), "origin is {}"),
        (lambda plain: plain["settings"].update(views=["front"]), "'front' is not a view"),
        (lambda plain: plain["settings"].update(units="turns"), "units are 'turns'"),
        (lambda plain: plain["settings"]["parameters"].update(speed=1), "unknown key 'speed'"),
    ],
)
def test_settings_that_nobody_can_follow_are_told(
    dataset: Path, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    edit_json(dataset, OURS, change)
    (found,) = problems(dataset)
    assert found.startswith(f"{OURS}: ")
    assert told in found


def test_other_settings_than_those_that_were_played_are_told(dataset: Path) -> None:
    edit_json(dataset, OURS, lambda plain: plain["settings"]["parameters"].update(state_limit_s=9.0))
    told = "its scenario has another parameters than the dataset"
    assert [each.rpartition(": ")[2] for each in problems(dataset)] == [told] * EPISODES


def test_a_task_list_that_pandas_would_not_understand_is_told(dataset: Path) -> None:
    edit_table(dataset, TASKS, lambda table: table.replace_schema_metadata({}))
    assert any("does not tell pandas that column task is its index" in each for each in problems(dataset))
    edit_table(dataset, TASKS, lambda table: table.replace_schema_metadata({"pandas": "{"}))
    assert any("does not tell pandas that column task is its index" in each for each in problems(dataset))


def test_a_dataset_of_somebody_else_is_refused(dataset: Path, tmp_path: Path) -> None:
    (dataset / OURS).unlink()
    with pytest.raises(InputError, match="a LeRobot dataset, but not made by graspline"):
        examine(dataset)
    with pytest.raises(InputError, match="not a graspline dataset"):
        examine(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        examine(tmp_path / "nowhere")


def test_a_dataset_without_episodes_is_told(dataset: Path) -> None:
    shutil.rmtree(dataset / "meta/episodes")
    diagnosis = examine(dataset)
    assert diagnosis.summary is None
    assert [str(each) for each in diagnosis.problems] == [f"{INFO}: no episode has been committed, or none can be read"]


def test_a_dataset_that_was_only_begun_has_one_problem(tmp_path: Path) -> None:
    with open_writer(tmp_path, cube_settings()):
        pass
    diagnosis = examine(tmp_path)
    assert diagnosis.summary is None
    (problem,) = diagnosis.problems
    assert str(problem).startswith(f"{INFO}: no episode has been committed yet; `graspline generate`")


def test_a_finding_says_where_and_in_which_episode() -> None:
    assert str(Finding(where=DATA, what="is missing", episode=1)) == f"{DATA}: episode 1: is missing"
    assert str(Finding(where=INFO, what="is missing")) == f"{INFO}: is missing"
    assert json.loads(json.dumps(Finding(where=INFO, what="x").as_dict())) == {
        "where": INFO,
        "episode": None,
        "what": "x",
    }


def test_what_a_gpu_played_uncertified_is_healthy_and_noted(tmp_path: Path) -> None:
    settings = cube_settings(views=(), engine="gpu", certify=False)

    class Gpu(InlinePool):
        def results(self, *, hungry: bool = True) -> Sequence[Filled]:
            ticket, order = self._waiting.popleft()
            if not isinstance(order, Attempts):
                return [Filled(ticket, do(order))]
            episodes = run_scenarios([settings.scenario(seed) for seed in order.seeds], record_states=True)
            told = [dataclasses.replace(each, engine="gpu", state_hash="0" * 32) for each in episodes]
            return [Filled(ticket, [judged(each, settings) for each in told])]

    generate(tmp_path, settings, 1, Gpu())
    diagnosis = examine(tmp_path)
    assert diagnosis.healthy, diagnosis.problems
    assert any("not certified" in str(note) for note in diagnosis.notes)


@pytest.mark.parametrize("at", [0.2, 0.4, 0.5, 0.7])
def test_a_flipped_bit_of_a_picture_is_found(dataset: Path, at: float) -> None:
    data = bytearray((dataset / VIDEO).read_bytes())
    begin, end = data.index(b"mdat"), data.index(b"moov")
    data[int(begin + at * (end - begin))] ^= 4
    (dataset / VIDEO).write_bytes(data)
    found = problems(dataset, fast=False)
    assert found
    assert all(each.startswith(f"{VIDEO}: ") for each in found)


def test_pictures_of_another_episode_are_found(dataset: Path) -> None:
    """Of two episodes that are equally long and equally bright nothing else would tell."""
    edit_row(dataset, 1, **{f"videos__{FRONT}__sha256": Dataset.open(dataset).row(2)[f"videos/{FRONT}/sha256"]})
    assert problems(dataset, fast=False) == [
        f"{VIDEO}: episode 1: its pictures are not those that were encoded: other bits (SHA-256)"
    ]


def test_any_other_number_in_the_statistics_of_all_is_found(dataset: Path) -> None:
    def change(stats: dict[str, Any]) -> None:
        stats["action"]["mean"][0] *= 1 + 1e-15

    edit_json(dataset, STATS, change)
    assert problems(dataset) == [f"{STATS}: statistics of action (mean) are not those of all episodes together"]


@pytest.mark.parametrize("name", [ROW, TASKS])
def test_a_table_without_its_schema_is_found(dataset: Path, name: str) -> None:
    pq.write_table(pq.ParquetFile(dataset / name).read(), dataset / name, store_schema=False)
    told = f"{name}: its footer does not tell the types of its columns (ARROW:schema is missing)"
    assert told in problems(dataset)


def test_a_footer_with_another_range_than_the_rows_is_found(dataset: Path) -> None:
    data, last = (dataset / DATA).read_bytes(), length_of(dataset) - 1
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[begin:].replace(last.to_bytes(8, "little"), (last + 1).to_bytes(8, "little"))
    (dataset / DATA).write_bytes(data[:begin] + footer)
    assert problems(dataset) == [
        f"{DATA}: episode 1: its footer has another range for column frame_index than its rows"
    ]
