"""The whole of `tidy`, from pictures to shelf and hand; and what it refuses before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.kinematics import hsr
from graspline.robots.hsr import HSR, SLIPS
from graspline.scenes.fittings import SHELF
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.person import is_with_person
from graspline.tasks.tidy.single_components import held_object
from graspline.tasks.tidy.task import TIDY, living, probe, problems, sample_room

from .stagecraft import SETTINGS, settings


def run(parameters: Tidy, *seeds: int, lanes: int = 1, **how: Any) -> list[Episode]:
    scenarios = [Scenario(task=TIDY, parameters=parameters, seed=seed) for seed in seeds]
    return sorted(run_scenarios(scenarios, lanes=lanes, **how), key=lambda each: each.scenario.seed)


def outcomes(episode: Episode) -> list[str]:
    return [f"{each.state.split('.')[-1]}: {each.outcome}" for each in episode.transitions]


@pytest.mark.slow
def test_a_named_thing_ends_upright_on_its_board_with_the_same_bits_in_any_lane() -> None:
    order = settings("table.objects=[soup_can]", "table.count=[2, 2]", "object_to_grasp=soup_can")
    (alone,) = run(order, 3)
    assert alone.verdict == "success"
    assert passes(alone.goal_by_truth)
    can = alone.truth["objects"]["soup_can"]
    assert can["position_m"][2] == pytest.approx(SHELF.level("board_middle").position_m[2] + 0.051, abs=0.012)
    assert {"end_placement"} <= {each.outcome for each in alone.transitions}
    several = run(order, 2, 3, lanes=2)
    assert several[1].state_hash == alone.state_hash
    assert outcomes(several[1]) == outcomes(alone)


@pytest.mark.slow
def test_a_thing_is_given_to_who_pulls_and_kept_if_nobody_does() -> None:
    order = ("then=handover", "table.count=[1, 1]", "table.shelved=[0, 0]")
    (episode,) = run(settings(*order), 0)
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)
    assert {"offer: pulled", "let_go: given"} <= set(outcomes(episode))
    (episode,) = run(settings(*order, "person.present=false", "handover.wait_s=2"), 0)
    assert episode.verdict == "aborted"
    assert "offer: not_taken" in outcomes(episode)
    assert not passes(episode.goal_by_truth)
    heights = [each["position_m"][2] for each in episode.truth["objects"].values()]
    # Still in the hand, while all others wait below the floor.
    assert [height > 0.7 for height in heights if height > -1] == [True]


@pytest.mark.slow
def test_a_table_is_cleared_by_rules_to_shelf_and_person() -> None:
    order = settings(
        "program=clear_table",
        "table.objects=[soup_can, apple]",
        "table.count=[2, 2]",
        "table.shelved=[0, 0]",
        "rules.shelf=[soup_can]",
    )
    (episode,) = run(order, 1)
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)
    objects = episode.truth["objects"]
    assert is_with_person(np.array(objects["apple"]["position_m"]))
    assert objects["soup_can"]["position_m"][1] > 1.5


def test_an_empty_table_is_said_to_be_empty_and_nothing_is_touched() -> None:
    order = settings("table.count=[0, 0]", "table.shelved=[0, 0]")
    (episode,) = run(order, 0)
    assert episode.verdict == "nothing_found"
    assert "choose: empty" in outcomes(episode)
    assert not episode.succeeded
    (cleared,) = run(settings("table.count=[0, 0]", "table.shelved=[0, 0]", "program=clear_table"), 0)
    assert cleared.verdict == "success"
    assert passes(cleared.goal_by_truth)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("object_to_grasp=elephant", "object_to_grasp: unknown object 'elephant'"),
        ("table.objects=[mug, elephant]", "table.objects: unknown object 'elephant'"),
        ("rules.shelf=[elephant]", "rules.shelf: unknown object 'elephant'"),
        ("placing.area=cellar", "placing.area: 'cellar' is unknown"),
        ("placing.areas_file=missing.yaml", "missing.yaml: cannot be read"),
        ("handover.force_thresh=0.2", "handover.force_thresh: at 0.2 N"),
        ("program=execute_grasp", "needs alone.grasp_poses"),
        ("alone.grasp_poses=[1, 0, 0.8, 0, 0, 0, 0, 0.06]", "alone.grasp_poses: a quaternion of nothing but zeros"),
    ],
)
def test_what_cannot_work_is_a_problem(setting: str, words: str) -> None:
    assert words in problems(settings(setting))[0]


def test_all_problems_are_told_at_once_and_what_is_right_has_none(tmp_path: Path) -> None:
    wrong = settings("object_to_grasp=cup", "table.objects=[cup]", "placing.area=cellar", "handover.force_thresh=0")
    assert len(problems(wrong)) == 4
    assert not problems(SETTINGS)
    right = settings(
        "object_to_grasp=mug", "rules.shelf=[unknown, mug]", "handover.force_thresh=8", "table.count=[0, 0]"
    )
    assert not problems(right)


def test_most_of_the_table_is_in_reach() -> None:
    random = np.random.default_rng(0)
    found = [probe(SETTINGS, random) for _ in range(8)]
    assert sum(each.certified for each in found) >= 7


class TestDraws:
    def test_the_robot_is_not_quite_where_it_believes_to_be(self) -> None:
        scene = TIDY.scene(SETTINGS)
        draws = [sample_room(SETTINGS, np.random.default_rng(seed)) for seed in range(5)]
        slips = np.array([[each.start[scene.joint_address(name)] for name in ("slip_x", "slip_y")] for each in draws])
        assert 0 < np.abs(slips).max() <= SETTINGS.base.shift_m
        exact = settings("base.shift_m=0", "base.turn_rad=0")
        start = sample_room(exact, np.random.default_rng(0)).start
        assert [start[scene.joint_address(name)] for name in ("slip_x", "slip_y", "slip_turn")] == [0.0, 0.0, 0.0]

    def test_the_heads_camera_may_sit_askew(self) -> None:
        def edited(parameters: Tidy) -> set[str]:
            return {edit.field for edit in sample_room(parameters, np.random.default_rng(0)).variation.edits}

        assert "cam_pos" not in edited(SETTINGS)
        assert {"cam_pos", "cam_quat"} <= edited(settings("sight.shift_m=0.005", "sight.turn_rad=0.009"))

    @pytest.mark.parametrize("program", ["placement", "handover"])
    def test_parts_that_need_it_begin_with_the_thing_in_the_hand(self, program: str) -> None:
        order = settings(f"program={program}", "alone.object=mug", "base.shift_m=0.05", "base.turn_rad=0.1")
        scene, start = TIDY.scene(order), sample_room(order, np.random.default_rng(0)).start
        at = scene.joint_address("mug")
        tool, _ = hsr.forward(np.array([start[scene.joint_address(name)] for name in HSR.joints]))
        x, y, turn = (start[scene.joint_address(name)] for name in SLIPS)
        hand = np.array([x, y, 0.0]) + rotation_z(turn) @ tool
        # Its middle is a little ahead of where closed fingertips would meet.
        assert np.linalg.norm(start[at : at + 3] - hand) < 0.03
        assert 0.4 < start[at + 2] < 1.2


def test_a_mug_that_is_held_from_the_start_has_its_handle() -> None:
    held = held_object(settings("program=placement", "alone.object=mug"), HSR)
    assert held.shape == "box"
    assert held.half_extents_m[0] > 0.05


class TestPerson:
    def person(self, *assignments: str, seed: int = 0) -> Any:
        draw: Any = None
        return living(settings(*assignments), draw, np.random.default_rng(seed)).person

    def test_how_long_and_how_hard_is_drawn_from_what_is_asked_for(self) -> None:
        somebody = self.person("person.pull_n=[5, 6]", "person.after_s=[1, 2]")
        assert all(5 <= each <= 6 for each in somebody.pulls_n)
        assert all(1 <= each <= 2 for each in somebody.waits_s)
        assert len(somebody.pulls_n) == len(somebody.waits_s) >= 5

    def test_the_same_seed_is_the_same_person(self) -> None:
        assert self.person().pulls_n == self.person().pulls_n != self.person(seed=1).pulls_n

    def test_nobody_may_be_there(self) -> None:
        assert self.person("person.present=false") is None


def test_the_task_never_looks_at_truth() -> None:
    assert not TIDY.uses_truth(SETTINGS)
    assert TIDY.scene(SETTINGS).robot is HSR
