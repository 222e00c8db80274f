"""What faults do to plates, joints and eyes, on a table with fruit."""

from __future__ import annotations

import functools
from collections.abc import Generator
from typing import Any

import mujoco
import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Change, Misjudge, Place, Push, See
from graspline.episodes import mishaps
from graspline.episodes.faults import FAULTS, Fault, FaultInjector, FaultKind, missing_in_scene
from graspline.episodes.mishaps import Context, Timed
from graspline.execution.executor import Executor
from graspline.execution.happenings import Entered, Targeted
from graspline.execution.requests import Announce, Motion, Reply
from graspline.motion.joint_moves import hold
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_table
from graspline.scenes.fruit_table import FLOOR_M, Lying, fruit_start, fruit_table, fruit_variation
from graspline.scenes.scene import Array, Scene

PLATE_M = (0.0, 0.27)
RADIUS_M = 0.11
BALL_M = 0.03
ROUND_M = (BALL_M, BALL_M, BALL_M)


@functools.cache
def scene_with(oranges: int) -> Scene:
    return fruit_table(oranges, RADIUS_M, 0, False)


def on_plate(angle: float, distance_m: float = 0.055) -> Lying:
    x, y = PLATE_M
    return Lying(
        x_m=x + distance_m * np.cos(angle),
        y_m=y + distance_m * np.sin(angle),
        half_extents_m=ROUND_M,
        mass_kg=0.12,
    )


def world(*placed: Lying, beside: int = 0, seed: int = 0) -> Context:
    """Oranges that lie on the plate, and some that lie beside it on the table."""
    scene = scene_with(len(placed) + beside)
    things = {f"orange_{index + 1}": thing for index, thing in enumerate(placed)}
    for index in range(beside):
        name = f"orange_{len(placed) + index + 1}"
        things[name] = Lying(x_m=0.25, y_m=-0.1 - 0.1 * index, half_extents_m=ROUND_M, mass_kg=0.12)
    start = fruit_start(scene, things, PLATE_M)
    for index in range(len(placed)):
        start[scene.joint_address(f"orange_{index + 1}") + 2] += FLOOR_M
    engine, variation = CpuEngine(scene, 1, 1), fruit_variation(things, 1.0)
    engine.reset(0, start, variation)
    context = Context(engine=engine, lane=0, variation=variation, random=np.random.default_rng(seed), target="orange_1")
    rest(context, 20)
    return context


def rest(context: Context, ticks: int) -> None:
    for _ in range(ticks):
        context.engine.step(SO101.home[None], np.zeros(1, np.intp))


def happen(context: Context, events: list[Timed]) -> None:
    """Let timed events strike, each before its tick, and then everything come to rest."""
    last = round(max((after_s for after_s, _ in events), default=0.0) * SO101.control_hz)
    for tick in range(last + 1):
        for after_s, deed in events:
            if round(after_s * SO101.control_hz) == tick:
                context.engine.apply(0, deed(context) if callable(deed) else deed)
        rest(context, 1)
    rest(context, 90)


def apart_m(context: Context, name: str) -> float:
    """From the middle of the plate."""
    return float(np.hypot(*(context.position_m(name) - context.position_m("plate"))[:2]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("load", [0, 3])
def test_a_plate_that_is_moved_slides_a_few_centimetres_with_what_lies_on_it(seed: int, load: int) -> None:
    context = world(*(on_plate(2.1 * index) for index in range(load)), beside=1, seed=seed)
    before = context.position_m("plate")
    happen(context, mishaps.move_plate(context))
    moved = context.position_m("plate") - before
    assert 0.02 <= np.hypot(*moved[:2]) <= 0.07
    assert abs(moved[2]) < 1e-3
    assert np.hypot(*context.position_m("plate")[:2]) <= 0.31
    for index in range(load):
        name = f"orange_{index + 1}"
        assert apart_m(context, name) < RADIUS_M - BALL_M + 0.005
        assert context.position_m(name)[2] == pytest.approx(FLOOR_M + BALL_M, abs=2e-3)


def test_a_plate_moves_in_a_direction_of_its_seed() -> None:
    ends: list[Array] = []
    for seed in (0, 0, 1):
        context = world(seed=seed, beside=1)
        happen(context, mishaps.move_plate(context))
        ends.append(context.position_m("plate"))
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.hypot(*(ends[2] - ends[0])[:2]) > 0.005


def test_a_plate_that_is_put_away_takes_along_what_lies_on_it_and_nothing_else() -> None:
    context = world(on_plate(0.0), beside=1)
    left, before = context.position_m("orange_2"), apart_m(context, "orange_1")
    happen(context, mishaps.plate_away(context))
    assert np.hypot(*context.position_m("plate")[:2]) == pytest.approx(0.75, abs=0.01)
    assert apart_m(context, "orange_1") == pytest.approx(before, abs=2e-3)
    assert context.position_m("orange_2") == pytest.approx(left, abs=1e-3)


@pytest.mark.parametrize("lying", [0, 1, 2])
def test_strangers_fill_a_plate_until_no_spot_is_left(lying: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mishaps, "strangers", lambda engine: [f"orange_{lying + 1 + index}" for index in range(8)])
    context = world(*(on_plate(2.5 * index) for index in range(lying)), beside=8)
    happen(context, mishaps.plate_full(context))
    there = context.lying_on(context.place())
    spots = [context.position_m(name)[:2] for name in there]
    assert len(there) > lying
    for index, spot in enumerate(spots):
        assert all(np.hypot(*(spot - other)) >= 2 * BALL_M - 1e-3 for other in spots[:index])
    # Nowhere within the rim is room for one more orange.
    radii, angles = np.meshgrid(np.linspace(0, RADIUS_M - 0.008 - BALL_M, 15), np.linspace(0, 2 * np.pi, 60))
    grid = context.position_m("plate")[:2] + np.stack([radii * np.cos(angles), radii * np.sin(angles)], -1)
    nearest_m = np.min([np.hypot(*np.moveaxis(grid - spot, -1, 0)) for spot in spots], axis=0)
    assert nearest_m.max() < 2 * BALL_M


def test_without_strangers_a_plate_stays_as_it_is() -> None:
    assert mishaps.plate_full(world(beside=1)) == []
    assert missing_in_scene(FAULTS["plate-full"], scene_with(1)) == "the scene has no objects named stranger_…"


@pytest.mark.parametrize("name", ["move-plate", "plate-away", "plate-full"])
def test_faults_of_plates_make_no_sense_without_one(name: str) -> None:
    assert missing_in_scene(FAULTS[name], cube_table()) == "the scene has no plate"


def test_a_shoved_ball_rolls_a_few_centimetres() -> None:
    for seed in range(4):
        context = world(beside=1, seed=seed)
        before = context.position_m("orange_1")
        happen(context, mishaps.shove(context))
        assert 0.02 < np.hypot(*(context.position_m("orange_1") - before)[:2]) < 0.15


def test_two_objects_that_are_taken_away_do_not_end_in_one_place() -> None:
    context = world(beside=2)
    first = mishaps.remove(context)
    context.target = "orange_2"
    happen(context, [*first, *mishaps.remove(context)])
    assert np.linalg.norm(context.position_m("orange_1") - context.position_m("orange_2")) > 0.1
    assert np.linalg.norm(context.position_m("orange_1")) > 1.0


def edits_of(events: list[Timed]) -> dict[str, tuple[float, ...]]:
    ((_, change),) = events
    assert isinstance(change, Change)
    return {edit.field: edit.values for edit in change.edits}


def test_a_weakened_servo_has_two_fifths_of_its_force_and_gain() -> None:
    context = world(beside=1)
    events = mishaps.weaken(context)
    ((_, change),) = events
    assert isinstance(change, Change)
    servo = context.engine.scene.model.actuator(change.edits[0].element)
    edits = edits_of(events)
    assert edits["actuator_gainprm"][0] == pytest.approx(0.4 * servo.gainprm[0])
    assert edits["actuator_biasprm"][1] == pytest.approx(0.4 * servo.biasprm[1])
    assert edits["actuator_biasprm"][2] == servo.biasprm[2]
    assert edits["actuator_forcerange"] == pytest.approx(0.4 * servo.forcerange)


def test_jammed_joints_are_of_the_arm_and_the_stuck_one_is_the_jaw() -> None:
    context, jammed = world(beside=1), set()
    for _ in range(20):
        ((_, change),) = mishaps.jam(context)
        assert isinstance(change, Change)
        jammed.add(change.edits[0].element)
    assert jammed <= set(SO101.joints[SO101.arm])
    assert len(jammed) > 2
    ((_, change),) = mishaps.stuck_jaw(context)
    assert isinstance(change, Change)
    assert change.edits[0].element == SO101.joints[SO101.jaw]


@pytest.mark.parametrize(
    "name, kind", [("blackout", Blind), ("freeze", Blind), ("noise", Misjudge), ("delay", Misjudge)]
)
def test_bad_eyes_are_well_again_after_a_second(name: str, kind: type) -> None:
    (begins_s, begin), (ends_s, end) = FAULTS[name].strike(world(beside=1))
    assert isinstance(begin, kind)
    assert isinstance(end, See)
    assert (begins_s, ends_s) == (0.0, 1.0)


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_every_fault_says_what_happens(kind: FaultKind) -> None:
    assert kind.about.endswith(".")


# Whom they strike


def driver(first: Reply) -> Generator[Any, Any, None]:
    """Works on one orange after the other."""
    reply = first
    for name in ("orange_1", "orange_2"):
        yield Announce(Targeted(name))
        yield Announce(Entered(f"take {name}"))
        reply = yield Motion("wait", hold(SO101, reply.command, 0.2))


def struck(*faults: Fault) -> tuple[Context, FaultInjector]:
    context = world(on_plate(0.0), beside=1)
    executor = Executor(context.engine)
    injector = FaultInjector(executor)
    executor.observers.append(injector)
    start = context.engine.qpos[0].copy()
    injector.arm(0, faults, context)
    executor.start(0, driver, start, context.variation)
    while executor.busy:
        executor.tick()
    return context, injector


@pytest.mark.parametrize("name", ["orange_1", "orange_2"])
def test_a_fault_strikes_what_the_task_is_working_on(name: str) -> None:
    context, injector = struck(Fault(name="remove", state=f"take {name}", delay_s=0.1))
    away = {each for each in ("orange_1", "orange_2") if np.linalg.norm(context.position_m(each)) > 1}
    assert away == {name}
    (strike,) = injector.strikes[0]
    assert (strike.target, strike.missed) == (name, "")


def test_a_fault_strikes_what_is_worked_on_when_its_time_comes() -> None:
    _, injector = struck(Fault(name="remove", state="take orange_1", delay_s=0.3))
    assert injector.strikes[0][0].target == "orange_2"


def test_a_drop_with_nothing_in_the_hand_says_so_and_leaves_the_world_alone() -> None:
    _, injector = struck(Fault(name="drop", state="take orange_1", delay_s=0.0))
    (strike,) = injector.strikes[0]
    assert strike.missed == "nothing in the hand"


def test_what_was_taken_away_cannot_be_shoved() -> None:
    faults = (
        Fault(name="remove", state="take orange_1", delay_s=0.0),
        Fault(name="shove", state="take orange_1", delay_s=0.1),
    )
    _, injector = struck(*faults)
    assert [each.missed for each in injector.strikes[0]] == ["", "orange_1 is not on the table"]


def test_pushes_and_places_of_mishaps_name_bodies_of_the_scene() -> None:
    struck = set[str]()
    for name, kind in FAULTS.items():
        context = world(on_plate(0.0), beside=1)
        if missing_in_scene(kind, context.engine.scene):
            continue
        for _, deed in kind.strike(context):
            event = deed(context) if callable(deed) else deed
            if isinstance(event, Push | Place):
                assert mujoco.mj_name2id(context.engine.scene.model, mujoco.mjtObj.mjOBJ_BODY, event.body) > 0, name
                struck.add(name)
    assert struck >= {"drop", "shove", "remove"}
