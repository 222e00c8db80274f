"""The sorting line: what stands where, belts that carry, blocks that wait out of sight."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Place
from graspline.robots.robot import with_arm_limits
from graspline.robots.ur5e import UR5E
from graspline.scenes.belt_line import (
    BELT,
    BELT_END_M,
    BELT_HALF_WIDTH_M,
    BELT_START_M,
    BELT_X_M,
    OUTPUT_END_M,
    OUTPUT_HALF_WIDTH_M,
    OUTPUT_START_M,
    OUTPUTS,
    PooledBlock,
    belt_line,
    block_name,
    line_start,
    line_variation,
    mass_kg,
    parked_m,
    speed_of,
)
from graspline.scenes.scene import Array, Lying
from graspline.scenes.variation import apply_to_model, weight_of

ROBOT = with_arm_limits(UR5E, 3.0, 15.0, 600.0)
POOL = 6
CUBE_M = (0.04, 0.04, 0.04)
BRICK_M = (0.056, 0.036, 0.034)
RED = (0.85, 0.12, 0.10)


def block(x: float, y: float, size: tuple[float, float, float] = CUBE_M, yaw: float = 0.3) -> PooledBlock:
    half = (size[0] / 2, size[1] / 2, size[2] / 2)
    lying = Lying(x_m=x, y_m=y, half_extents_m=half, mass_kg=mass_kg(size), yaw_rad=yaw)
    return PooledBlock(size_m=size, rgb=RED, lying=lying)


def engine_with(*lying: PooledBlock, belt_m_s: float = 0.0, output_m_s: float = 0.0) -> CpuEngine:
    """One lane of the line with these blocks; the rest of the pool waits."""
    scene = belt_line(ROBOT, POOL)
    waiting = PooledBlock(size_m=BRICK_M, rgb=RED)
    pool = (*lying, *[waiting] * (POOL - len(lying)))
    blocks: Mapping[str, PooledBlock] = {block_name(number): each for number, each in enumerate(pool)}
    variation = line_variation(blocks, belt_m_s=belt_m_s, output_m_s=output_m_s, material="lit", described={})
    engine = CpuEngine(scene, 1, 1)
    engine.reset(0, line_start(scene, blocks), variation)
    return engine


def wait(engine: CpuEngine, duration_s: float) -> None:
    for _ in range(round(duration_s * ROBOT.control_hz)):
        assert not engine.step(ROBOT.home[None], np.zeros(1, np.intp))


def at_m(engine: CpuEngine, number: int) -> Array:
    at = engine.scene.joint_address(block_name(number))
    return engine.qpos[0, at : at + 3].copy()


def test_blocks_on_a_belt_at_rest_stay_where_they_lie() -> None:
    places = [(0.41, 0.3), (0.5, 0.1), (0.59, -0.2)]
    engine = engine_with(*(block(x, y, size) for (x, y), size in zip(places, (CUBE_M, BRICK_M, CUBE_M), strict=True)))
    wait(engine, 0.5)
    for number, ((x, y), height) in enumerate(zip(places, (0.04, 0.034, 0.04), strict=True)):
        assert at_m(engine, number) == pytest.approx((x, y, height / 2), abs=1e-4)


@pytest.mark.parametrize("speed", [0.05, 0.2, -0.1])
def test_blocks_ride_at_the_speed_of_the_belt_and_do_not_drift_aside(speed: float) -> None:
    engine = engine_with(block(0.42, 0.3), block(0.58, 0.0, BRICK_M), belt_m_s=speed)
    # A belt takes along what is put down on it.
    wait(engine, 0.4)
    before = [at_m(engine, number) for number in (0, 1)]
    wait(engine, 1.0)
    for number in (0, 1):
        assert at_m(engine, number) - before[number] == pytest.approx((0.0, -speed, 0.0), abs=0.01 * abs(speed))


def test_a_block_sent_at_the_speed_of_the_belt_rides_from_the_first_moment() -> None:
    engine = engine_with(belt_m_s=0.1)
    name = block_name(0)
    engine.apply(0, Change(edits=(weight_of(name, weightless=False),)))
    engine.apply(0, Place(body=name, position_m=(0.5, 1.2, BRICK_M[2] / 2), velocity_m_s=(0.0, -0.1, 0.0)))
    wait(engine, 1.0)
    assert at_m(engine, 0) == pytest.approx((0.5, 1.1, BRICK_M[2] / 2), abs=3e-4)


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_belts_carry_away_along_minus_x(name: str) -> None:
    engine = engine_with(block(0.2, OUTPUTS[name]), output_m_s=0.1)
    wait(engine, 0.4)
    before = at_m(engine, 0)
    wait(engine, 1.0)
    assert at_m(engine, 0) - before == pytest.approx((-0.1, 0.0, 0.0), abs=1e-3)


def test_a_belt_changes_its_speed_while_it_runs() -> None:
    engine = engine_with(block(0.5, 0.3), belt_m_s=0.1)
    wait(engine, 0.4)
    engine.apply(0, Change(edits=(speed_of(BELT, 0.0),)))
    wait(engine, 0.4)
    stopped = at_m(engine, 0)
    wait(engine, 0.5)
    assert at_m(engine, 0) == pytest.approx(stopped, abs=1e-4)


def test_what_waits_stays_out_of_sight_and_falls_once_it_has_weight() -> None:
    engine = engine_with(belt_m_s=0.1, output_m_s=0.1)
    wait(engine, 1.0)
    places = [at_m(engine, number) for number in range(POOL)]
    for number, place in enumerate(places):
        assert place == pytest.approx(parked_m(number), abs=1e-9)
        assert np.linalg.norm(place[:2]) > 5.0
    # None touches another.
    assert min(abs(a[2] - b[2]) for a, b in pairwise(places)) > 0.1
    engine.apply(0, Change(edits=(weight_of(block_name(2), weightless=False),)))
    wait(engine, 0.1)
    assert at_m(engine, 2)[2] < parked_m(2)[2] - 0.03
    assert at_m(engine, 3) == pytest.approx(parked_m(3), abs=1e-9)


def test_a_block_off_the_edge_falls_from_the_belt() -> None:
    engine = engine_with(block(BELT_X_M + BELT_HALF_WIDTH_M + 0.03, 0.0))
    wait(engine, 0.5)
    assert at_m(engine, 0)[2] < -0.02


def test_belts_are_level_with_the_foot_and_as_large_as_they_say() -> None:
    model = belt_line(ROBOT, POOL).model
    tops = {}
    for name in (BELT, *OUTPUTS):
        geom = model.geom(name)
        tops[name] = geom.pos[2] + geom.size[2]
    assert tops == pytest.approx(dict.fromkeys(tops, 0.0), abs=1e-9)
    belt = model.geom(BELT)
    assert belt.pos[:2] == pytest.approx((BELT_X_M, (BELT_START_M + BELT_END_M) / 2))
    assert belt.size[:2] == pytest.approx((BELT_HALF_WIDTH_M, (BELT_START_M - BELT_END_M) / 2))
    for name, y in OUTPUTS.items():
        output = model.geom(name)
        assert output.pos[:2] == pytest.approx(((OUTPUT_START_M + OUTPUT_END_M) / 2, y))
        assert output.size[:2] == pytest.approx(((OUTPUT_START_M - OUTPUT_END_M) / 2, OUTPUT_HALF_WIDTH_M))
        # A gap for nothing to be dragged from one belt to the other.
        assert output.pos[0] + output.size[0] < belt.pos[0] - belt.size[0]


def test_bays_are_the_output_belts_and_do_not_overlap() -> None:
    bays = belt_line(ROBOT, POOL).bays
    assert [bay.name for bay in bays] == list(OUTPUTS)
    spans = sorted(
        (bay.position_m[1] - bay.half_extents_m[1], bay.position_m[1] + bay.half_extents_m[1]) for bay in bays
    )
    assert all(high < low for (_, high), (low, _) in pairwise(spans))
    # Nor does any lie under the arm's foot.
    assert all(high < -0.11 or low > 0.11 for low, high in spans)


def test_cameras_show_the_line_from_in_front_the_belt_from_above_and_what_the_hand_sees() -> None:
    scene = belt_line(ROBOT, POOL)
    assert set(scene.cameras) >= {"front", "bins", "overhead", "wrist"}
    overhead = scene.model.camera("overhead")
    assert overhead.pos[0] == BELT_X_M
    # It looks straight down.
    assert overhead.mat0.reshape(3, 3)[:, 2] == pytest.approx((0, 0, 1), abs=1e-9)


def test_blocks_have_the_size_mass_and_inertia_of_their_kind() -> None:
    scene = belt_line(ROBOT, POOL)
    blocks = {block_name(0): block(0.5, 0.0), block_name(1): block(0.5, 0.2, BRICK_M)}
    model = copy.copy(scene.model)
    apply_to_model(model, line_variation(blocks, belt_m_s=0.1, output_m_s=0.2, material="emissive", described={}))
    for name, each in blocks.items():
        x, y, z = each.size_m
        mass = 1500.0 * x * y * z
        assert mass == pytest.approx(mass_kg(each.size_m))
        assert model.body(name).mass[0] == pytest.approx(mass)
        inertia = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        assert model.body(name).inertia == pytest.approx(inertia)
        assert model.geom(name).size == pytest.approx((x / 2, y / 2, z / 2))
        assert model.geom(name).rgba[:3] == pytest.approx(RED)
    assert model.geom_surfacevel[model.geom(BELT).id, :3] == pytest.approx((0.0, -0.1, 0.0))
    for name in OUTPUTS:
        assert model.geom_surfacevel[model.geom(name).id, :3] == pytest.approx((-0.2, 0.0, 0.0))
    assert model.material("block").emission[0] > 0.0


def test_a_scene_is_compiled_once() -> None:
    assert belt_line(ROBOT, POOL) is belt_line(ROBOT, POOL)
    assert len(belt_line(ROBOT, 0).objects) == 0


def test_the_arm_at_home_touches_nothing() -> None:
    engine = engine_with(block(0.5, 0.0))
    wait(engine, 0.2)
    at = [engine.scene.joint_address(joint) for joint in ROBOT.joints]
    assert engine.qpos[0, at] == pytest.approx(ROBOT.home, abs=5e-3)
