"""What faults do on a belt line: whom they strike, what they change, and what `sort` makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graspline.campaigns.audit import EPISODE, run_audit
from graspline.campaigns.campaign import Plan, run_campaign
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Place, Push
from graspline.episodes.camera import Camera
from graspline.execution.requests import Look
from graspline.execution.sensor_faults import Eyesight
from graspline.faults.cameras import LIGHTING
from graspline.faults.catalogue import find_fault
from graspline.faults.context import FaultContext, Timed
from graspline.faults.objects import SHOVE
from graspline.faults.robot import SLIPPERY, STUCK_JAW
from graspline.parameters import build
from graspline.robots.ur5e import UR5E
from graspline.scenes.belt_line import BELT, PooledBlock, belt_line, block_name, line_start, line_variation
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Array, Lying
from graspline.tasks.sort.faults import BELT_JAM, BELT_REVERSE, BELT_STEP, FAULT_HINTS
from graspline.tasks.sort.task import SORT

EDGE_M = 0.04
CUBE_M, HALF_M = (EDGE_M, EDGE_M, EDGE_M), (EDGE_M / 2, EDGE_M / 2, EDGE_M / 2)
MASS_KG = 0.1
SPEED_M_S = 0.05
BELT_FAULTS = ("belt-step", "belt-jam", "belt-reverse")


def line(*spots_m: tuple[float, float], seed: int = 0) -> FaultContext:
    """Cubes that lie there, and one more that waits."""
    scene = belt_line(UR5E, len(spots_m) + 1)
    lying = [Lying(x_m=x, y_m=y, half_extents_m=HALF_M, mass_kg=MASS_KG) for x, y in spots_m]
    blocks = {
        block_name(number): PooledBlock(size_m=CUBE_M, rgb=(0.8, 0.1, 0.1), lying=where)
        for number, where in enumerate([*lying, None])
    }
    variation = line_variation(blocks, belt_m_s=SPEED_M_S, output_m_s=SPEED_M_S, material="lit", described={})
    engine = CpuEngine(scene, 1, 1)
    engine.reset(0, line_start(scene, blocks), variation)
    # Whoever is not asked to aim strikes what was said last.
    random = np.random.default_rng(seed)
    return FaultContext(
        engine=engine, lane=0, variation=variation, random=random, target=block_name(0), hints=FAULT_HINTS
    )


def play(context: FaultContext, seconds: float, controls: Array = UR5E.home) -> None:
    for _ in range(round(seconds * UR5E.control_hz)):
        context.engine.step(controls[None], np.zeros(1, np.intp))


def happen(context: FaultContext, events: list[Timed]) -> Iterator[tuple[float, float]]:
    """Let events strike one after the other; gives when, and how fast the belt runs then."""
    for after_s, deed in events:
        context.engine.apply(0, deed(context) if callable(deed) else deed)
        yield after_s, -float(context.engine.number(0, "geom_surfacevel", BELT)[1])


# Whom they strike


def test_what_is_nearest_to_the_hand_is_struck() -> None:
    # The hand is at (0.5, 0, 0.5).
    context = line((0.5, 0.9), (0.5, 0.3), (0.26, 0.45))
    context.aim()
    assert context.target == "block_2"
    context.engine.apply(0, Place(body="block_2", position_m=(3.0, 3.0, 0.02)))
    context.aim()
    assert context.target == "block_3"


def test_a_block_at_either_end_of_the_belt_is_there_and_one_that_waits_is_not() -> None:
    context = line((0.5, 1.29), (0.5, -0.89))
    assert [context.is_here(name) for name in ("block_1", "block_2", "block_3")] == [True, True, False]


@pytest.mark.parametrize("name", ["remove", "shove"])
def test_an_empty_line_has_nothing_to_strike(name: str) -> None:
    context = line()
    context.aim()
    assert context.target == ""
    assert find_fault(name).missing_now(context) == "no object is there"
    assert find_fault("belt-jam").missing_now(context) == ""


def test_a_table_has_a_target_by_name_wherever_the_hand_is() -> None:
    scene = cube_table()
    engine = CpuEngine(scene, 1, 1)
    context = FaultContext(
        engine=engine, lane=0, variation=line().variation, random=np.random.default_rng(), target="cube"
    )
    context.aim()
    assert context.target == "cube"


@pytest.mark.parametrize("name", BELT_FAULTS)
def test_faults_of_belts_make_no_sense_without_one(name: str) -> None:
    assert find_fault(name).missing_in(cube_table()) == "the scene has no belt"
    assert find_fault(name).missing_in(line().engine.scene) == ""


# What they do


def test_a_belt_that_changes_its_speed_is_faster_or_slower_from_now_on() -> None:
    found = set()
    for seed in range(12):
        context = line(seed=seed)
        ((after_s, speed),) = happen(context, BELT_STEP.strike(context))
        assert after_s == 0.0
        found.add(round(speed / SPEED_M_S, 6))
    assert found == {0.6, 1.6}


def test_a_belt_that_jams_goes_on_after_two_to_four_seconds() -> None:
    for seed in range(6):
        context = line(seed=seed)
        (_, stands), (after_s, goes) = happen(context, BELT_JAM.strike(context))
        assert 2.0 <= after_s <= 4.0
        assert (stands, goes) == (0.0, pytest.approx(SPEED_M_S))


def test_a_belt_runs_backwards_for_a_moment() -> None:
    context = line((0.5, 0.3))
    play(context, 0.2)
    (_, back), (after_s, goes) = happen(context, BELT_REVERSE.strike(context))
    assert after_s == 1.5
    assert (back, goes) == (pytest.approx(-SPEED_M_S), pytest.approx(SPEED_M_S))


def test_a_block_on_a_belt_that_runs_backwards_goes_back() -> None:
    context = line((0.5, 0.3))
    next(happen(context, BELT_REVERSE.strike(context)))
    play(context, 0.2)
    before = context.position_m("block_1")[1]
    play(context, 1.0)
    assert context.position_m("block_1")[1] - before == pytest.approx(SPEED_M_S, rel=0.02)


def test_after_a_second_jam_the_belt_runs_as_fast_as_before_the_first() -> None:
    context = line()
    (step,) = happen(context, BELT_STEP.strike(context))
    first, second = BELT_JAM.strike(context), BELT_JAM.strike(context)
    *_, last = happen(context, [first[0], second[0], first[1], second[1]])
    assert last[1] == step[1] != 0.0


def test_light_of_another_brightness_and_tint_is_seen_and_not_felt() -> None:
    context = line((0.5, 0.1))
    camera = Camera(context.engine, Eyesight(context.engine))
    camera.begin(0, context.variation)
    look = Look("overhead", 48, 36)
    before = camera(0, look).rgb.astype(float)
    ((_, change),) = LIGHTING.strike(context)
    assert isinstance(change, Change)
    assert {edit.element for edit in change.edits} == {"key", "fill", "headlight"}
    assert all(edit.only_seen for edit in change.edits)
    camera.apply(0, change)
    channels = camera(0, look).rgb.mean(axis=(0, 1)) / before.mean(axis=(0, 1))
    camera.close()
    assert (abs(channels - 1) > 0.02).any()
    assert channels.max() - channels.min() > 0.01


def test_greasy_pads_stay_so() -> None:
    context = line()
    ((_, change),) = SLIPPERY.strike(context)
    assert isinstance(change, Change)
    context.engine.apply(0, change)
    for pad in UR5E.pads:
        slide, turn, _ = context.engine.number(0, "geom_friction", pad)
        dry = context.number("geom_friction", pad)
        assert 0.15 <= slide <= 0.3
        assert turn / slide == pytest.approx(dry[1] / dry[0])


def test_a_jaw_that_sticks_stops_both_fingers_and_their_pads() -> None:
    context = line()
    play(context, 0.1)
    joints = [context.engine.scene.joint_address(name) for name in ("jaw", "right_jaw", "left_pad", "right_pad")]
    before = context.engine.qpos[0, joints].copy()
    ((_, change),) = STUCK_JAW.strike(context)
    assert isinstance(change, Change)
    context.engine.apply(0, change)
    shut = UR5E.home.copy()
    shut[UR5E.jaw] = 0.0
    play(context, 1.0, shut)
    assert abs(context.engine.qpos[0, joints] - before).max() < 0.005


@pytest.mark.parametrize("seed", range(3))
def test_a_shoved_block_slides_a_few_centimetres_over_the_belt(seed: int) -> None:
    context = line((0.5, 0.3), seed=seed)
    play(context, 0.3)
    before = context.position_m("block_1")
    (_, push), (after_s, let) = SHOVE.strike(context)
    assert isinstance(push, Push)
    assert isinstance(let, Push)
    context.engine.apply(0, push)
    play(context, after_s)
    context.engine.apply(0, let)
    play(context, 0.5 - after_s)
    moved = context.position_m("block_1") - before + np.array([0.0, 0.5 * SPEED_M_S, 0.0])
    assert 0.015 < np.hypot(*moved[:2]) < 0.045


# What the task makes of them

SHORT = build(SORT.parameters, None, SORT.brief)
# One of three may be lost.
THREE = SHORT.model_copy(update={"belt": SHORT.belt.model_copy(update={"blocks": 3}), "success_share": 0.6})


def test_a_trial_of_sort_is_short_and_may_lose_one_block() -> None:
    assert 2 <= SHORT.belt.blocks <= 8
    assert 1 - 2 / SHORT.belt.blocks < SHORT.success_share <= 1 - 1 / SHORT.belt.blocks


@pytest.mark.slow
def test_a_block_that_is_taken_away_and_a_belt_that_jams_cost_no_other_block() -> None:
    plan = Plan(task=SORT, parameters=THREE, faults=("remove", "belt-jam"), states=("travel",), seed=1, episodes=1)
    campaign = run_campaign(plan, lanes=2)
    assert campaign.clean
    assert campaign.calm == {"success": 1}
    assert campaign.count("recovered") == campaign.struck == 2


@pytest.mark.slow
def test_an_audit_of_sort_counts_holds_and_blocks_in_their_bins() -> None:
    audit = run_audit(SORT, THREE, seed=3, episodes=2, faults_share=0.0, lanes=2)
    assert list(audit.tallies) == [EPISODE, "held", "sorted"]
    assert audit.false_successes == 0
    assert audit.tally("sorted").asserted >= 4
    assert audit.tally("sorted").false_accepts == audit.tally("held").false_accepts == 0
