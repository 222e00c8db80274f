from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from measured.plain_mujoco import raw_ticks
from mujoco.batch import SimulationError

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, CorruptControl, Place, Push
from graspline.robots.so101 import PAD_GEOMS, SO101
from graspline.scenes.cube_table import CUBE, cube_start, cube_table
from graspline.scenes.scene import Array
from graspline.scenes.variation import Edit, Variation, box_of, friction_of

from .worlds import CUBES, PLAIN, START, bits, cube_m, engine_with, play, rest, swing, varied, weighed_kg

WORLDS = [varied(0), varied(1), varied(2), (START, PLAIN)]


def test_every_lane_has_its_own_size_mass_and_friction() -> None:
    engine = engine_with(WORLDS)
    rest(engine, 60)
    for lane, (edge_m, mass_kg, pad_friction) in enumerate(CUBES):
        # Contacts are soft: the cube sinks in by about ten micrometres.
        assert cube_m(engine, lane)[2] == pytest.approx(edge_m / 2, abs=3e-5)
        assert weighed_kg(engine, lane) == pytest.approx(mass_kg, rel=0.01)
        assert engine.half_extents_m(lane, CUBE) == pytest.approx([edge_m / 2] * 3)
        assert engine._batch.get_model(lane).geom(PAD_GEOMS[0]).friction[0] == pad_friction
    assert cube_m(engine, 3)[2] == pytest.approx(0.015, abs=3e-5)
    assert weighed_kg(engine, 3) == pytest.approx(0.03, rel=0.01)
    assert not engine.diverged.any()


def test_a_cube_pushed_up_with_twice_its_weight_rises_as_fast_as_it_would_fall() -> None:
    engine = engine_with(WORLDS[:3])
    rest(engine, 30)
    before = [cube_m(engine, lane)[2] for lane in range(3)]
    for lane, (_, mass_kg, _) in enumerate(CUBES):
        engine.apply(lane, Push(body=CUBE, force_n=(0.0, 0.0, 2 * mass_kg * 9.81)))
    rest(engine, 12)
    # Sensors are one substep behind the state.
    time_s = 12 / 60 - 1 / 480
    for lane in range(3):
        assert cube_m(engine, lane)[2] - before[lane] == pytest.approx(0.5 * 9.81 * time_s**2, rel=0.02)


def test_a_lane_reset_after_a_variation_is_as_if_it_had_never_varied() -> None:
    fresh = engine_with([(START, PLAIN)])
    used = engine_with([varied(1)])
    play(used, range(20))
    used.apply(0, Push(body=CUBE, force_n=(1.0, 0.0, 0.0)))
    used.apply(0, Change(edits=friction_of(PAD_GEOMS, (0.01, 0.001, 0.0001))))
    used.apply(0, CorruptControl(joint="elbow_flex"))
    used.reset(0, START, PLAIN)
    assert bits(used, 0) == bits(fresh, 0)
    assert not play(used, range(60))
    play(fresh, range(60))
    assert bits(used, 0) == bits(fresh, 0)
    np.testing.assert_array_equal(used.half_extents_m(0, CUBE), fresh.half_extents_m(0, CUBE))
    np.testing.assert_array_equal(used.readings, fresh.readings)
    np.testing.assert_array_equal(used.truth, fresh.truth)


def test_a_lane_reset_from_one_variation_to_another_keeps_nothing_of_the_first() -> None:
    fresh, used = engine_with([varied(2)]), engine_with([varied(0)])
    play(used, range(10))
    used.reset(0, *varied(2))
    play(used, range(40))
    play(fresh, range(40))
    assert bits(used, 0) == bits(fresh, 0)


def test_the_shared_model_is_never_edited() -> None:
    engine = engine_with(WORLDS)
    play(engine, range(5))
    model = cube_table().model
    assert model.geom(CUBE).size[0] == 0.015
    assert model.body(CUBE).mass[0] == 0.03


def test_after_reset_the_arm_stands_at_its_start_and_the_servos_hold_it_there() -> None:
    start = START.copy()
    scene = cube_table()
    at = [scene.joint_address(joint) for joint in SO101.joints]
    start[at] = SO101.home + 0.1
    engine = engine_with([(start, PLAIN)])
    np.testing.assert_array_equal(engine.qpos[0], start)
    np.testing.assert_allclose(engine.readings[0, engine.layout.readings["joint_position"]], SO101.home + 0.1)
    controls = engine.qpos[:, at].copy()
    for _ in range(30):
        engine.step(controls, np.arange(1))
    assert np.abs(engine.qpos[0, at] - start[at]).max() < 0.01


@pytest.mark.parametrize("threads", [1, 2])
def test_many_lanes_give_the_bits_each_lane_gets_alone(threads: int) -> None:
    together = engine_with(WORLDS, threads=threads)
    play(together, range(90))
    for lane, world in enumerate(WORLDS):
        alone = CpuEngine(cube_table(), len(WORLDS), 1)
        alone.reset(lane, *world)
        play(alone, range(90), [lane])
        assert bits(alone, lane) == bits(together, lane)
        np.testing.assert_array_equal(alone.readings[lane], together.readings[lane])
        np.testing.assert_array_equal(alone.truth[lane], together.truth[lane])


def test_a_lane_of_a_large_engine_gives_the_bits_of_an_engine_of_its_own() -> None:
    together = engine_with([*WORLDS, *WORLDS, *WORLDS], threads=2)
    controls = np.tile(SO101.home + 0.05, (12, 1))
    for _ in range(60):
        together.step(controls, np.arange(12))
    for lane, world in enumerate(WORLDS):
        alone = engine_with([world])
        for _ in range(60):
            alone.step(controls[:1], np.zeros(1, np.intp))
        assert bits(alone, 0) == bits(together, lane) == bits(together, lane + 4) == bits(together, lane + 8)


def test_lanes_stepped_in_any_subsets_give_the_same_bits() -> None:
    together, apart = engine_with(WORLDS, threads=2), engine_with(WORLDS, threads=2)
    play(together, range(60))
    random = np.random.default_rng(5)
    reached = [0] * len(WORLDS)
    while min(reached) < 60:
        # Some of the lanes that are not there yet, each at its own tick.
        behind = [lane for lane in range(len(WORLDS)) if reached[lane] < 60]
        for lane in sorted(random.choice(behind, random.integers(1, len(behind) + 1), replace=False).tolist()):
            play(apart, range(reached[lane], reached[lane] + 1), [lane])
            reached[lane] += 1
    for lane in range(len(WORLDS)):
        assert bits(apart, lane) == bits(together, lane)


def test_lanes_that_are_not_stepped_do_not_move() -> None:
    engine = engine_with(WORLDS)
    play(engine, range(10))
    before = [bits(engine, lane) for lane in range(4)]
    play(engine, range(10, 20), [1, 3])
    after = [bits(engine, lane) for lane in range(4)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, False]


def test_a_state_is_a_copy() -> None:
    engine = engine_with([(START, PLAIN)])
    kept = engine.state(0)
    before = kept.tobytes()
    play(engine, range(5))
    assert kept.tobytes() == before
    assert bits(engine, 0) != before


CHANGE = Change(edits=friction_of(PAD_GEOMS, (0.2, 0.01, 0.0002)))
HEAVIER = Change(edits=box_of(CUBE, (0.018, 0.018, 0.018), 0.1))


@pytest.mark.parametrize(
    "events", [(), (CHANGE,), (HEAVIER,), (Push(body=CUBE, force_n=(0.1, 0.05, 0.3)),), (CHANGE, HEAVIER)]
)
def test_a_restored_lane_continues_with_the_same_bits(events: tuple[Change | Push, ...]) -> None:
    engine = engine_with([varied(0), varied(1)])
    play(engine, range(20))
    for event in events:
        engine.apply(0, event)
    play(engine, range(20, 30))
    saved = engine.save(0)
    play(engine, range(30, 60), [0])
    expected = bits(engine, 0)

    # The same lane after something else, another lane, and another engine.
    engine.apply(0, Place(body=CUBE, position_m=(0.3, 0.1, 0.1)))
    engine.apply(0, Change(edits=friction_of(PAD_GEOMS, (1.9, 0.01, 0.0002))))
    play(engine, range(60, 70), [0])
    engine.restore(0, saved)
    assert engine.state(0).tobytes() == saved.state.tobytes()
    play(engine, range(30, 60), [0])
    assert bits(engine, 0) == expected

    other = engine_with([varied(2)])
    other.restore(0, saved)
    play(other, range(30, 60))
    assert bits(other, 0) == expected
    np.testing.assert_array_equal(other.half_extents_m(0, CUBE), engine.half_extents_m(0, CUBE))


def test_a_diverged_lane_can_be_restored_and_goes_on() -> None:
    engine = engine_with([(START, PLAIN)])
    play(engine, range(10))
    saved = engine.save(0)
    play(engine, range(10, 20))
    expected = bits(engine, 0)
    engine.apply(0, CorruptControl(joint="wrist_flex"))
    assert play(engine, range(20, 21))
    engine.restore(0, saved)
    assert not play(engine, range(10, 20))
    assert not engine.diverged[0]
    assert bits(engine, 0) == expected


def test_a_saved_lane_keeps_a_fault_that_is_still_to_strike() -> None:
    engine = engine_with([(START, PLAIN), (START, PLAIN)])
    play(engine, range(5))
    engine.apply(0, CorruptControl(joint="wrist_flex"))
    engine.restore(1, engine.save(0))
    play(engine, range(5, 6))
    assert engine.diverged.tolist() == [True, True]


@pytest.mark.parametrize(
    "blow",
    [
        Push(body=CUBE, force_n=(1e12, 0.0, 0.0)),
        Push(body="gripper", force_n=(0.0, 0.0, -1e12)),
        Place(body=CUBE, position_m=(float("nan"), 0.0, 0.1)),
        Place(body=CUBE, position_m=(1e11, 0.0, 0.1)),
        CorruptControl(joint="elbow_flex"),
    ],
    ids=lambda event: f"{type(event).__name__}-{getattr(event, 'body', 'control')}",
)
def test_a_lane_that_blows_up_is_reported_at_once_and_the_others_do_not_notice(
    blow: Push | Place | CorruptControl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    engine, without = engine_with(WORLDS, threads=2), engine_with(WORLDS, threads=2)
    for each in (engine, without):
        assert not play(each, range(20))
    engine.apply(2, blow)
    assert play(engine, range(20, 21))
    play(without, range(20, 21))
    assert engine.diverged.tolist() == [False, False, True, False]
    # It goes on being reported, whatever MuJoCo makes of it, and the others go on.
    play(engine, range(21, 60))
    play(without, range(21, 60))
    assert engine.diverged.tolist() == [False, False, True, False]
    assert not without.diverged.any()
    for lane in (0, 1, 3):
        assert bits(engine, lane) == bits(without, lane)
    # Lanes next to a sick one that is no longer stepped are well.
    assert not play(engine, range(60, 70), [0, 1, 3])
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_diverged_lane_is_well_again_after_a_reset() -> None:
    engine, fresh = engine_with([varied(0), varied(1)]), engine_with([varied(0), varied(1)])
    engine.apply(1, Place(body=CUBE, position_m=(float("nan"), 0.0, 0.1)))
    assert play(engine, range(10))
    engine.reset(1, *varied(1))
    engine.reset(0, *varied(0))
    assert not play(engine, range(40))
    play(fresh, range(40))
    assert [bits(engine, lane) for lane in (0, 1)] == [bits(fresh, lane) for lane in (0, 1)]


def test_a_lane_in_which_mujoco_gives_up_is_reported_in_the_same_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with([(START, PLAIN)] * 3)

    def give_up(ids: object, nstep: int) -> None:
        raise SimulationError(np.array([1]), "out of memory")

    monkeypatch.setattr(engine._batch, "step", give_up)
    assert play(engine, range(1))
    assert engine.diverged.tolist() == [False, True, False]


def test_no_lanes_at_all_may_be_stepped() -> None:
    engine = engine_with([(START, PLAIN)])
    before = bits(engine, 0)
    assert not engine.step(np.zeros((0, 6)), np.zeros(0, np.intp))
    assert bits(engine, 0) == before


def test_lanes_on_tables_of_cubes_from_tiny_to_large_rest_in_order_of_size() -> None:
    edges = (0.016, 0.024, 0.032, 0.040, 0.048)
    worlds = [
        (
            cube_start(x_m=0.15, y_m=0.22, yaw_rad=0.0, edge_m=edge),
            Variation(edits=box_of(CUBE, (edge / 2, edge / 2, edge / 2), 0.03)),
        )
        for edge in edges
    ]
    engine = engine_with(worlds)
    rest(engine, 30)
    heights = [cube_m(engine, lane)[2] for lane in range(len(edges))]
    assert all(low < high for low, high in pairwise(heights))
    assert heights == pytest.approx([edge / 2 for edge in edges], abs=3e-5)


# Controls that arrive late


def late(ticks: int, which: int = 0) -> tuple[Array, Variation]:
    start, variation = varied(which)
    return start, dataclasses.replace(variation, latency_ticks=ticks)


def test_a_control_takes_effect_as_many_ticks_later_as_the_lane_is_late() -> None:
    engine, shifted = engine_with([late(3)]), engine_with([varied(0)])
    lane = np.zeros(1, np.intp)
    for tick in range(40):
        engine.step(swing(tick, 0)[None], lane)
        shifted.step((SO101.home if tick < 3 else swing(tick - 3, 0))[None], lane)
    assert bits(engine, 0) == bits(shifted, 0)


def test_a_late_lane_changes_no_other_and_is_the_same_alone() -> None:
    together = engine_with([varied(0), late(2, 1), varied(2)], threads=2)
    play(together, range(40))
    for lane, world in enumerate([varied(0), late(2, 1), varied(2)]):
        alone = engine_with([world])
        for tick in range(40):
            alone.step(swing(tick, lane)[None], np.zeros(1, np.intp))
        assert bits(alone, 0) == bits(together, lane)


def test_a_late_lane_that_waits_keeps_what_is_on_its_way() -> None:
    engine, other = engine_with([late(2), varied(1)]), engine_with([late(2)])
    play(engine, range(10))
    play(engine, range(10, 15), [1])
    play(engine, range(10, 20), [0])
    play(other, range(20))
    assert bits(engine, 0) == bits(other, 0)


def test_saving_a_late_lane_saves_what_is_on_its_way() -> None:
    engine = engine_with([late(3)])
    play(engine, range(20))
    saved = engine.save(0)
    assert len(saved.on_the_way) == 3
    play(engine, range(20, 30))
    after = bits(engine, 0)
    play(engine, range(7))
    engine.restore(0, saved)
    play(engine, range(20, 30))
    assert bits(engine, 0) == after
    other = engine_with([varied(1)])
    other.restore(0, saved)
    play(other, range(20, 30))
    assert bits(other, 0) == after


def test_a_lane_reset_is_no_longer_late() -> None:
    engine, fresh = engine_with([late(4)]), engine_with([varied(0)])
    play(engine, range(20))
    engine.reset(0, *varied(0))
    play(engine, range(20))
    play(fresh, range(20))
    assert bits(engine, 0) == bits(fresh, 0)
    assert engine.save(0).on_the_way == ()


@pytest.mark.parametrize("ticks", [0, 2, 50])
def test_bare_physics_is_late_alike(ticks: int) -> None:
    engine = engine_with([late(ticks)])
    play(engine, range(30))
    controls = np.stack([swing(tick, 0) for tick in range(30)])
    *_, bare = raw_ticks(cube_table(), *late(ticks), controls)
    np.testing.assert_array_equal(bare, engine.qpos[0])


def test_what_is_only_seen_is_kept_from_physics() -> None:
    start, variation = varied(0)
    seen = Variation(
        edits=(
            Edit(field="geom_rgba", element=CUBE, values=(0, 0, 1, 1)),
            Edit(field="cam_pos", element="front", values=(1, 0, 1)),
            Edit(field="light_dir", element="key", values=(0, 0, -1)),
            Edit(field="headlight_ambient", element="headlight", values=(0.1, 0.1, 0.1)),
            Edit(field="tex_rgb", element="backdrop", values=(10, 20, 30)),
        )
    )
    engine, plain = engine_with([(start, variation + seen)]), engine_with([(start, variation)])
    play(engine, range(20))
    play(plain, range(20))
    assert bits(engine, 0) == bits(plain, 0)
    assert engine.save(0).edits == plain.save(0).edits


# What appears at speed, and numbers as a lane has them


def test_what_appears_at_speed_flies_on() -> None:
    engine = engine_with([(START, PLAIN)] * 2)
    rest(engine, 10)
    before = cube_m(engine, 1)
    engine.apply(0, Place(body=CUBE, position_m=(0.2, -0.3, 0.5), velocity_m_s=(0.1, -0.2, 0.3)))
    rest(engine, 12)
    time_s = 12 / 60 - 1 / 480
    flown = np.array([0.2, -0.3, 0.5]) + time_s * np.array([0.1, -0.2, 0.3]) - (0, 0, 0.5 * 9.81 * time_s**2)
    assert cube_m(engine, 0) == pytest.approx(flown, abs=3e-3)
    velocity = engine.truth[0, engine.layout.truth["cube.velocity"]]
    assert velocity == pytest.approx((0.1, -0.2, 0.3 - 9.81 * time_s), abs=0.03)
    assert cube_m(engine, 1) == pytest.approx(before, abs=1e-5)


def test_what_is_placed_without_a_speed_loses_the_one_it_had() -> None:
    engine = engine_with([(START, PLAIN)])
    engine.apply(0, Place(body=CUBE, position_m=(0.2, -0.3, 0.5), velocity_m_s=(0.0, 2.0, 0.0)))
    rest(engine, 2)
    engine.apply(0, Place(body=CUBE, position_m=(0.2, -0.3, 0.5)))
    rest(engine, 4)
    assert cube_m(engine)[:2] == pytest.approx((0.2, -0.3), abs=1e-6)


def test_a_number_is_that_of_its_lane_and_else_the_models() -> None:
    engine = engine_with([varied(0), (START, PLAIN)])
    assert engine.number(0, "body_mass", CUBE).tolist() == [CUBES[0][1]]
    assert engine.number(1, "body_mass", CUBE).tolist() == [0.03]
    friction = (0.3, 0.01, 0.001)
    engine.apply(1, Change(edits=friction_of((CUBE,), friction)))
    assert engine.number(1, "geom_friction", CUBE).tolist() == list(friction)
    model = cube_table().model
    assert engine.number(0, "geom_friction", CUBE).tolist() == model.geom(CUBE).friction.tolist()
    engine.reset(1, START, PLAIN)
    assert engine.number(1, "geom_friction", CUBE).tolist() == model.geom(CUBE).friction.tolist()
