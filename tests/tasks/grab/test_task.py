"""`grab`: orders that are carried out, orders that are refused before anything moves, and the goal by truth."""

from __future__ import annotations

import functools
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.evidence import passes
from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabRefusal, GrabVariables
from graspline.parameters import build, dump, load
from graspline.placement.query import Support
from graspline.robots.so101 import SO101
from graspline.scenes.block_table import KINDS, block_table, kind_of
from graspline.tasks.grab.layout import as_numbers, ordered, probe, query_for, refusal, sample
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.pick import PickPlan, plan_pick
from graspline.tasks.grab.task import GRAB
from graspline.tasks.scatter import lying_at
from graspline.tasks.task import Draw


def grab(**assignments: Any) -> Grab:
    return build(Grab, assignments=[f"{key.replace('__', '.')}={value}" for key, value in assignments.items()])


def episodes(seeds: range, lanes: int = 8, faults: tuple[str, ...] = (), **assignments: Any) -> list[Episode]:
    parameters = grab(**assignments)
    scenarios = [Scenario(task=GRAB, parameters=parameters, seed=seed, faults=faults) for seed in seeds]
    return sorted(run_scenarios(scenarios, lanes=lanes), key=lambda each: each.scenario.seed)


@functools.cache
def drawn_episodes() -> tuple[Episode, ...]:
    return tuple(episodes(range(40, 72), order__any="true"))


def test_every_accepted_order_is_carried_out() -> None:
    accepted = [each for each in drawn_episodes() if each.verdict != "rejected"]
    assert len(accepted) >= 12
    assert [each.verdict for each in accepted] == ["success"] * len(accepted)
    assert not any(each.false_success for each in accepted)


def test_a_rejected_order_moves_nothing_and_says_why() -> None:
    rejected = [each for each in drawn_episodes() if each.verdict == "rejected"]
    assert len(rejected) >= 4
    for each in rejected:
        assert each.log.ticks == 1
        assert np.ptp(each.log.positions, axis=0).max() == 0.0
        stage, check, _ = each.evidence[0].name.split(".", 2)
        assert stage in ("approach", "grasp", "lift", "place")
        assert check
        assert not passes(each.evidence)


def test_the_same_order_gives_the_same_bits_whatever_the_lanes() -> None:
    alone = episodes(range(40, 46), lanes=1, order__any="true")
    assert [each.state_hash for each in alone] == [each.state_hash for each in drawn_episodes()[:6]]


def test_orders_are_drawn_that_can_be_carried_out_unless_any_is_wanted() -> None:
    possible, free = grab(), grab(order__any="true")
    for seed in range(40, 60):
        drawn = Scenario(task=GRAB, parameters=possible, seed=seed).sample()
        wished = Scenario(task=GRAB, parameters=free, seed=seed).sample()
        accepted = drawn_episodes()[seed - 40].verdict != "rejected"
        # An order that can be carried out is the same with both: nothing else is narrowed.
        assert np.array_equal(drawn.start, wished.start) == accepted
        assert (dict(drawn.variation.described) == dict(wished.variation.described)) == accepted


def test_orders_drawn_by_default_are_accepted() -> None:
    turned_down = [seed - 40 for seed in range(40, 60) if drawn_episodes()[seed - 40].verdict == "rejected"]
    played = [episodes(range(40 + at, 41 + at))[0] for at in turned_down[:3]]
    assert [each.verdict for each in played] == ["success"] * 3


def test_an_order_that_is_impossible_everywhere_is_played_and_turned_down() -> None:
    (episode,) = episodes(range(3, 4), order__variables="given", grasp__cross_axis="true", order__target="blue_2x4")
    assert episode.verdict == "rejected"


def test_a_place_far_away_is_refused_as_too_far_and_one_that_works_is_named() -> None:
    parameters = grab()
    query = query_for(
        parameters, lying_at("red_2x2", 0.22, 0.0, np.array([0.016, 0.016, 0.012]), "box"), GrabVariables()
    )
    found = plan_pick(query, Support(x_m=5.0, y_m=0.0), parameters.put)
    assert isinstance(found, GrabRefusal)
    assert (found.stage, found.check) == ("place", "workspace")
    (far,) = found.evidence
    assert far.name == "place_distance_from_pan_axis"
    assert far.value == pytest.approx(4.961, abs=1e-3)
    assert far.limit == pytest.approx(0.306, abs=1e-3)
    named = re.search(r"x (\S+) y (\S+) m", found.advice)
    assert named is not None
    assert isinstance(plan_pick(query, Support(x_m=float(named[1]), y_m=float(named[2])), parameters.put), PickPlan)


def test_noisy_poses_are_refused_with_the_clearance_that_they_take() -> None:
    (episode,) = episodes(range(7001, 7002), perception__position_sigma_m=0.003)
    assert episode.verdict == "rejected"
    advice = GRAB.rejections.advise(grab(perception__position_sigma_m=0.003), episode.evidence[0])
    assert "raise grasp.tcp_clearance_m to at least 0.0045" in advice
    settings = {"order__variables": "given", "grasp__tcp_clearance_m": 0.0045}
    (again,) = episodes(range(7001, 7002), perception__position_sigma_m=0.003, **settings)
    assert again.verdict == "success"


def test_regenerated_bounds_decide_and_are_part_of_the_parameters(tmp_path: Path) -> None:
    packaged = (resources.files("graspline.kinematics") / "bounds" / "so101.yaml").read_text()
    file = tmp_path / "workspace_bounds.yaml"
    file.write_text(packaged)
    same = grab(workspace__bounds_file=file)
    assert same.workspace.envelope(SO101) == Grab().workspace.envelope(SO101)
    file.write_text(packaged.replace("radius_m: [0.0, 0.285]", "radius_m: [0.0, 0.1]"))
    narrow = grab(workspace__bounds_file=file)
    file.unlink()
    assert load(Grab, dump(narrow)) == narrow
    assert narrow.workspace.radius_m == pytest.approx((0.0, 0.105))
    block = lying_at("red_2x2", 0.24, 0.0, np.array([0.016, 0.016, 0.012]), "box")
    assert isinstance(attempt(query_for(Grab(), block, GrabVariables())), GrabPlan)
    refused = attempt(query_for(narrow, block, GrabVariables()))
    assert isinstance(refused, GrabRefusal)
    assert refused.check == "workspace"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: No such file"),
        ("robot: so101", "'grasp' is missing"),
        ("[1, 2]", "it has no keys"),
        ("robot: {", "not a workspace_bounds.yaml"),
        ("radius: .nan", "radius_m nan is not finite"),
        ("radius: 0.0", "does not grow"),
    ],
)
def test_bounds_that_cannot_be_are_refused_with_the_reason(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "bounds.yaml"
    head, far = "robot: so101, axis_m: [0, 0]", "1.0"
    if text is not None and text.startswith("radius: "):
        text, far = head, text.removeprefix("radius: ")
    if text is not None and "axis_m" in text:
        text = f"{{{text}, grasp: {{step_m: 0.005, raw: {{radius_m: [0.0, {far}], height_m: [0, 1]}}}}}}"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=re.escape(problem)):
        grab(workspace__bounds_file=file)


def test_bounds_of_another_robot_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "workspace_bounds.yaml"
    packaged = (resources.files("graspline.kinematics") / "bounds" / "ur5e.yaml").read_text()
    file.write_text(packaged)
    assert GRAB.problems(grab(workspace__bounds_file=file)) == ["workspace.bounds_file: bounds of 'ur5e', not of so101"]


def test_the_height_of_the_ground_can_be_set() -> None:
    block = lying_at("red_2x2", 0.24, 0.0, np.array([0.016, 0.016, 0.012]), "box")
    refused = attempt(query_for(grab(workspace__ground_z_m=0.01), block, GrabVariables()))
    assert isinstance(refused, GrabRefusal)
    assert refused.check == "ground"
    assert refused.evidence[0].limit == pytest.approx(0.011)


@pytest.mark.parametrize("name", [each.name for each in KINDS])
def test_each_thing_of_the_pool_can_be_moved(name: str) -> None:
    (episode,) = episodes(range(900, 901), order__target=name, order__variables="given", things__count="[1, 1]")
    assert episode.verdict == "success"
    assert episode.targets == (name,)


def test_a_thing_is_put_where_it_was_told_to() -> None:
    parameters = grab(order__place="random", order__variables="given", things__count="[2, 2]")
    (episode,) = run_scenarios([Scenario(task=GRAB, parameters=parameters, seed=7)])
    target, spot, _ = ordered(parameters, episode.sampled)
    there = episode.truth["objects"][target]["position_m"]
    assert episode.verdict == "success"
    assert np.hypot(there[0] - spot[0], there[1] - spot[1]) < parameters.goal.off_spot_m
    assert np.hypot(there[0] - episode.truth["objects"][target]["start_position_m"][0], 0) > 0.01


def test_a_thing_that_is_taken_away_is_missed() -> None:
    (episode,) = episodes(
        range(900, 901), faults=("remove@move+0.5",), order__variables="given", things__count="[1, 1]"
    )
    assert episode.verdict in ("target_not_found", "missed")
    assert not episode.succeeded


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drop@lift+0.3", "drop@put_down+0.8", "shove@move+1.0"])
def test_what_is_dropped_or_shoved_is_taken_again_or_named(fault: str) -> None:
    found = episodes(range(300, 312), faults=(fault,), order__variables="given", things__count="[1, 2]")
    assert not any(each.false_success for each in found)
    assert not any(each.verdict in ("crashed", "hung") for each in found)
    assert sum(each.succeeded for each in found) >= 8


def test_an_unknown_target_is_refused_with_the_known_ones() -> None:
    (problem,) = GRAB.problems(grab(order__target="blue_2x5"))
    assert "blue_2x4" in problem


def test_a_table_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="things"):
        sample(grab(things__radius_m="[0.4, 0.45]", things__count="[1, 1]"), np.random.default_rng(0))


def test_variables_survive_being_drawn() -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        draw = sample(Grab(), random)
        name, spot, variables = ordered(Grab(), draw)
        assert name in block_table().object_names
        assert np.hypot(*spot) < 0.45
        assert as_numbers(variables) == {key: draw.variation.described[key] for key in as_numbers(GrabVariables())}


def test_the_target_lies_in_the_certified_region() -> None:
    random = np.random.default_rng(9)
    for _ in range(5):
        draw = sample(Grab(), random)
        name, _, _ = ordered(Grab(), draw)
        at = block_table().joint_address(name)
        x, y, z = draw.start[at : at + 3]
        yaw = 2 * np.arctan2(draw.start[at + 6], draw.start[at + 3])
        half = np.array(kind_of(name).half_extents_m) * z / kind_of(name).half_extents_m[2]
        assert not refusal(Grab(), lying_at(name, x, y, half, kind_of(name).shape, yaw))


def test_probes_are_certified_or_say_why_not() -> None:
    random = np.random.default_rng(1)
    probes = [probe(Grab(), random) for _ in range(60)]
    assert 0 < sum(each.certified for each in probes) < 60


def test_a_draw_without_an_order_is_a_bug() -> None:
    bare = Draw(start=np.zeros(0), variation=drawn_episodes()[0].sampled.variation.__class__(), refused=0)
    with pytest.raises(KeyError):
        ordered(Grab(), bare)


@pytest.mark.slow
def test_with_pictures_alone_orders_are_carried_out_and_nothing_is_claimed_falsely() -> None:
    played = episodes(range(40, 54), perception__source="camera")
    accepted = [each for each in played if each.verdict != "rejected"]
    assert len(accepted) >= 6
    assert [each.verdict for each in accepted] == ["success"] * len(accepted)
    assert not any(each.false_success for each in played)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drop@lift+0.2", "shove@move", "blackout@confirm", "remove@put_down"])
def test_with_pictures_alone_no_mishap_is_taken_for_success(fault: str) -> None:
    played = episodes(range(40, 44), faults=(fault,), perception__source="camera", order__variables="given")
    assert not any(each.false_success or each.error for each in played)
