"""Planted spread, ties and detours are found; what is a plain function of the scene is not blamed."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.format.store import Dataset
from graspline.datasets.teachability.findings import JointSpread, SceneFindings
from graspline.datasets.teachability.measure import measure, scene_findings
from graspline.datasets.teachability.reading import read_dataset
from graspline.datasets.write.generate import generate
from graspline.errors import DatasetProblem, InputError

from ..conftest import InlinePool, cube_settings
from ..report.test_summary import change_log
from .planted import demonstrations_of, grasps_of, planted

COUNT = 60


def found(choices: np.ndarray, yaws: np.ndarray, **other: float) -> SceneFindings:
    scene, why = scene_findings(*planted(choices, yaws, **other), 5)
    assert scene is not None, why
    return scene


def roll(scene: SceneFindings) -> JointSpread:
    return next(each for each in scene.joints if each.joint == "roll")


def test_hands_that_all_choose_alike_spread_only_with_the_yaw_of_their_cubes() -> None:
    yaws = np.random.default_rng(1).uniform(-0.6, 0.6, COUNT)
    scene = found(np.zeros(COUNT), yaws)
    assert roll(scene).spread.median > 5
    assert roll(scene).chosen.p90 == pytest.approx(0.0, abs=1e-6)
    assert scene.ties.scenes == 0
    assert scene.spread_is_good(roll(scene))


def test_a_choice_that_no_scene_explains_is_found() -> None:
    random = np.random.default_rng(2)
    scene = found(random.integers(0, 2, COUNT).astype(float), np.zeros(COUNT))
    assert roll(scene).spread.median == pytest.approx(90.0)
    assert roll(scene).chosen.median == pytest.approx(90.0)
    assert scene.ties.scenes > 0.9 * COUNT
    assert scene.ties.nearest_mm.median < 5
    assert not scene.spread_is_good(roll(scene))
    # An expert that always takes the least turn would not have flipped at all.
    assert scene.ties.least_turn_scenes == 0


def test_a_choice_that_flips_at_one_place_is_a_tie_there_and_good_elsewhere() -> None:
    choices = (np.arange(COUNT) >= COUNT // 2).astype(float)
    scene = found(choices, np.zeros(COUNT))
    assert 0 < scene.ties.scenes < 10
    assert scene.few_ties
    assert roll(scene).outside_ties == pytest.approx(0.0)
    assert scene.spread_is_good(roll(scene))
    near, *_, far = [each for each in scene.ties.by_distance if each.pairs]
    assert near.otherwise / near.pairs < far.otherwise / far.pairs


def test_scenes_that_are_far_apart_are_not_judged() -> None:
    scene = found(np.zeros(COUNT), np.zeros(COUNT), apart_mm=50.0)
    assert not scene.similar
    assert scene.spread_is_good(roll(scene)) is None


def test_another_joint_that_spreads_is_found_too() -> None:
    pans = np.where(np.arange(COUNT) % 2, 20.0, 0.0)
    grasps = grasps_of(np.zeros(COUNT), np.zeros(COUNT))
    scene, _ = scene_findings(demonstrations_of(np.zeros(COUNT), pans), grasps, 5)
    assert scene is not None
    pan = scene.joints[0]
    assert (pan.joint, pan.spread.median) == ("pan", 20.0)
    assert not scene.spread_is_good(pan)
    assert scene.ties.scenes == 0
    reach, hold = scene.states
    assert (reach.state, hold.state) == ("reach", "hold")
    assert hold.joints["pan"].median == pytest.approx(20.0)
    assert 5 < reach.joints["pan"].median < 15
    assert reach.joints["pan"].median < scene.whole.joints["pan"].median < 20


def test_a_hand_that_turns_to_the_far_side_has_turned_too_far() -> None:
    """All cubes are turned by 10 degrees; the other faces are 80 degrees the other way."""
    yaws = np.full(COUNT, np.radians(10.0))
    near, far = found(np.zeros(COUNT), yaws), found(-np.ones(COUNT), yaws)
    assert near.roll_turn.ratio.median == pytest.approx(1.0)
    assert near.turn_is_good
    assert far.roll_turn.path.median == pytest.approx(80.0)
    assert far.roll_turn.least.median == pytest.approx(10.0)
    assert far.roll_turn.ratio.median == far.roll_turn.of_medians == pytest.approx(8.0)
    assert not far.turn_is_good


def test_a_detour_is_longer_than_the_way() -> None:
    demonstrations, grasps = planted(np.zeros(COUNT), np.full(COUNT, np.radians(10.0)))
    actions = demonstrations.actions.copy()
    # Half way, pan swings out by 15 degrees and back.
    actions[demonstrations.first[:-1] + 10, 0] += 15.0
    scene, _ = scene_findings(dataclasses.replace(demonstrations, actions=actions), grasps, 5)
    assert scene is not None
    pan = scene.turns[0]
    assert (pan.path.median, pan.least.median) == (30.0, 0.0)


def test_a_thing_that_any_roll_takes_has_no_ratio() -> None:
    grasps = grasps_of(np.zeros(COUNT), np.zeros(COUNT), period_rad=0.0)
    scene, _ = scene_findings(demonstrations_of(np.full(COUNT, 40.0)), grasps, 5)
    assert scene is not None
    assert scene.roll_turn.path.median == pytest.approx(40.0)
    assert scene.roll_turn.least.median == 0.0
    assert scene.turn_is_good is None
    assert scene.ties.least_turn_scenes is None


def test_too_few_scenes_and_no_grasp_are_told() -> None:
    assert scene_findings(*planted(np.zeros(4), np.zeros(4)), 5) == (
        None,
        "no scene has 5 others of the same objects and the same instruction",
    )
    assert scene_findings(*planted(np.zeros(0), np.zeros(0)), 5)[0] is None


@pytest.fixture(scope="module")
def cubes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes without cameras; nobody may change them."""
    root = tmp_path_factory.mktemp("teachability") / "cubes"
    generate(root, cube_settings(views=(), fps=30), 3, InlinePool())
    return root


def test_a_generated_dataset_is_measured(cubes: Path) -> None:
    told = measure(cubes, neighbours=2, still_per_s=1.0)
    assert told.episodes == 3
    assert told.scene is not None
    assert told.scene.scenes == 3
    assert told.scene.roll == "wrist_roll"
    assert [each.state for each in told.scene.states][:3] == ["look", "approach", "descend"]
    assert sum(each.share for each in told.scene.states) == pytest.approx(1.0, abs=0.02)
    # It holds still for a second, and then looks once more.
    assert told.pacing.pauses_per_episode >= 1
    assert told.pacing.paused_in[0].state == "hold"
    assert 0.1 < told.pacing.idle_last < 0.5
    assert told.pacing.idle_first == 0
    plain = json.loads(json.dumps(told.as_dict(), allow_nan=False))
    assert plain["scene"]["good"]["roll_turn"] in (True, False)


def test_the_grasp_is_where_the_task_first_claims_to_hold_the_cube(cubes: Path) -> None:
    dataset = Dataset.open(cubes)
    demonstrations, grasps = read_dataset(dataset)
    for episode, frame in zip(grasps.episodes, grasps.frames, strict=True):
        transitions = dataset.log(dataset.rows[episode]).facts["transitions"]
        closed_s = next(each["t_s"] for each in transitions if each["outcome"] == "closed")
        assert frame - demonstrations.first[episode] == int(closed_s * 30 + 1e-6)


def test_joints_are_degrees_whatever_units_a_dataset_has(tmp_path: Path, cubes: Path) -> None:
    generate(tmp_path / "other", cube_settings(views=(), fps=30, units="normalized"), 1, InlinePool())
    one, _ = read_dataset(Dataset.open(tmp_path / "other"))
    other, _ = read_dataset(Dataset.open(cubes))
    assert one.actions == pytest.approx(other.actions[: len(one.actions)], abs=1e-3)


def test_a_log_that_does_not_say_how_large_things_are_is_a_problem(cubes: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(cubes, tmp_path / "cubes"))
    change_log(root, 1, truth={"objects": {"cube": {}}})
    with pytest.raises(DatasetProblem, match="episode 1 cannot be measured: KeyError"):
        measure(root, neighbours=2, still_per_s=1.0)


def test_what_graspline_did_not_write_is_measured_by_its_actions_alone(cubes: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(cubes, tmp_path / "foreign"))
    (root / "meta/graspline.json").unlink()
    ours, theirs = (measure(each, neighbours=2, still_per_s=1.0) for each in (cubes, root))
    assert theirs.scene is None
    assert "meta/graspline.json" in theirs.why
    # The jaw is in percent there.
    assert theirs.pacing.idle == pytest.approx(ours.pacing.idle, abs=0.02)
    assert theirs.pacing.joints[0] == dataclasses.replace(
        ours.pacing.joints[0],
        unit="",
        **{
            name: pytest.approx(getattr(ours.pacing.joints[0], name), rel=1e-3)
            for name in ("median", "p95", "jerk_p95")
        },
    )
    assert (theirs.episodes, theirs.frames) == (ours.episodes, ours.frames)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a LeRobot dataset"):
        measure(tmp_path, neighbours=5, still_per_s=1.0)
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text(json.dumps({"codebase_version": "v2.1", "fps": 30}))
    with pytest.raises(InputError, match=r"codebase_version is 'v2.1', expected v3.0"):
        measure(tmp_path, neighbours=5, still_per_s=1.0)
    (tmp_path / "meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "fps": 30}))
    with pytest.raises(DatasetProblem, match="no data files"):
        measure(tmp_path, neighbours=5, still_per_s=1.0)
    (tmp_path / "data/chunk-000").mkdir(parents=True)
    (tmp_path / "data/chunk-000/file-000.parquet").write_bytes(b"nothing")
    with pytest.raises(DatasetProblem, match=r"file-000.parquet: cannot be read"):
        measure(tmp_path, neighbours=5, still_per_s=1.0)
