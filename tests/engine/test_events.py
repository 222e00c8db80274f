from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.robots.hsr import HSR, add_hsr
from graspline.scenes.cube_table import CUBE
from graspline.scenes.scene import Scene, new_spec
from graspline.scenes.variation import Edit, friction_of, held_at

from .worlds import PLAIN, START, bits, cube_m, engine_with, play, rest, varied

SLIPPERY = Change(
    edits=(
        Edit(field="geom_friction", element=CUBE, values=(0.0, 0.0, 0.0)),
        Edit(field="geom_friction", element="table", values=(0.0, 0.0, 0.0)),
    )
)


def test_a_push_moves_a_cube_until_it_ends() -> None:
    engine = engine_with([(START, PLAIN)] * 2)
    rest(engine, 20)
    start = cube_m(engine, 0)
    engine.apply(0, Push(body=CUBE, force_n=(0.0, 0.6, 0.0)))
    rest(engine, 12)
    pushed = cube_m(engine, 0)
    assert pushed[1] - start[1] > 0.005
    assert abs(pushed[0] - start[0]) < 0.005
    engine.apply(0, Push(body=CUBE, force_n=(0.0, 0.0, 0.0)))
    rest(engine, 60)
    stopped = cube_m(engine, 0)
    rest(engine, 30)
    assert cube_m(engine, 0) == pytest.approx(stopped, abs=1e-5)
    assert cube_m(engine, 1) == pytest.approx(start, abs=1e-5)


def test_place_puts_an_object_at_rest_where_it_says() -> None:
    engine = engine_with([(START, PLAIN)])
    rest(engine, 10)
    engine.apply(0, Push(body=CUBE, force_n=(0.5, 0.0, 0.0)))
    rest(engine, 10)
    engine.apply(0, Push(body=CUBE, force_n=(0.0, 0.0, 0.0)))
    turned = (np.cos(0.3), 0.0, 0.0, np.sin(0.3))
    engine.apply(0, Place(body=CUBE, position_m=(0.30, -0.12, 0.015), quaternion=turned))
    rest(engine, 30)
    assert cube_m(engine) == pytest.approx((0.30, -0.12, 0.015), abs=1e-4)
    quaternion = engine.truth[0, engine.layout.truth["cube.quaternion"]]
    assert abs(np.dot(quaternion, turned)) == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.norm(engine.truth[0, engine.layout.truth["cube.velocity"]]) < 1e-3


def test_a_change_of_friction_lets_a_cube_slide_that_would_have_stayed() -> None:
    engine = engine_with([(START, PLAIN)] * 2)
    rest(engine, 20)
    before = cube_m(engine, 0)
    engine.apply(1, SLIPPERY)
    for lane in (0, 1):
        # A third of what friction holds.
        engine.apply(lane, Push(body=CUBE, force_n=(0.0, 0.08, 0.0)))
    rest(engine, 20)
    assert cube_m(engine, 0) == pytest.approx(before, abs=1e-4)
    assert cube_m(engine, 1)[1] - before[1] > 0.05


def test_a_change_that_is_taken_back_leaves_the_lane_as_its_variation_has_it() -> None:
    start, variation = varied(1)
    changed, plain = engine_with([(start, variation)]), engine_with([(start, variation)])
    friction = tuple(edit for edit in variation.edits if edit.field == "geom_friction")
    oiled = friction_of(tuple(edit.element for edit in friction), (0.01, 0.001, 0.0001))
    changed.apply(0, Change(edits=oiled))
    changed.apply(0, Change(edits=friction))
    play(changed, range(40))
    play(plain, range(40))
    assert bits(changed, 0) == bits(plain, 0)


@pytest.mark.parametrize("joint", ["shoulder_pan", "elbow_flex", "gripper"])
def test_a_corrupt_control_makes_exactly_its_lane_diverge(joint: str) -> None:
    worlds = [varied(0), varied(1), varied(2)]
    struck, plain = engine_with(worlds), engine_with(worlds)
    play(struck, range(10))
    play(plain, range(10))
    struck.apply(1, CorruptControl(joint=joint))
    # It strikes the next tick of its own lane, however often the others go on before.
    assert not play(struck, range(10, 12), [0, 2])
    assert play(struck, range(10, 11), [1])
    assert struck.diverged.tolist() == [False, True, False]
    play(plain, range(10, 12), [0, 2])
    assert [bits(struck, lane) for lane in (0, 2)] == [bits(plain, lane) for lane in (0, 2)]


@pytest.mark.parametrize(
    "event",
    [
        Blind(kind="black"),
        Blind(kind="frozen", camera="wrist"),
        Misjudge(sigma_m=0.1, delay_s=1.0),
        Roughen(sigma_factor=3.0),
        See(),
    ],
)
def test_what_happens_to_eyes_does_not_happen_to_bodies(event: Event) -> None:
    blind, plain = engine_with([varied(0)]), engine_with([varied(0)])
    blind.apply(0, event)
    play(blind, range(20))
    play(plain, range(20))
    assert bits(blind, 0) == bits(plain, 0)


def test_a_joint_whose_damping_is_changed_stays_where_it_is() -> None:
    engine = engine_with([(START, PLAIN)] * 2)
    rest(engine, 5)
    engine.apply(1, Change(edits=(Edit(field="dof_damping", element="elbow_flex", values=(2000.0,)),)))
    before = engine.readings[:, engine.layout.readings["joint_position"]].copy()
    play(engine, range(60))
    moved = np.abs(engine.readings[:, engine.layout.readings["joint_position"]] - before)
    assert moved[0, 2] > 0.05
    assert moved[1, 2] < 0.01
    assert moved[1, 0] > 0.05


def test_a_servo_whose_force_is_changed_pushes_no_harder() -> None:
    engine = engine_with([(START, PLAIN)])
    engine.apply(0, Change(edits=(Edit(field="actuator_forcerange", element="shoulder_lift", values=(-0.1, 0.1)),)))
    rest(engine, 20)
    assert abs(engine.readings[0, engine.layout.readings["joint_load"]][1]) <= 0.1 + 1e-9


def test_a_robot_whose_odometry_slips_moves_in_the_world_and_reads_nothing_of_it() -> None:
    spec = new_spec()
    add_hsr(spec)
    scene = Scene(name="bare", robot=HSR, model=spec.compile(), objects=())
    slip = Change(edits=(held_at("slip_y", 0.02), held_at("slip_turn", -0.03)))
    engine, again = CpuEngine(scene, 2, 1), CpuEngine(scene, 1, 1)
    for lane in (0, 1):
        engine.reset(lane, scene.start({}), PLAIN)
    again.reset(0, scene.start({}), PLAIN)
    before = engine.readings[1].copy()
    engine.apply(1, slip)
    again.apply(0, slip)
    for _ in range(90):
        engine.step(np.tile(HSR.home, (2, 1)), np.arange(2))
        again.step(HSR.home[None], np.arange(1))
    at = [scene.joint_address(name) for name in ("slip_x", "slip_y", "slip_turn")]
    np.testing.assert_allclose(engine.qpos[1, at], (0.0, 0.02, -0.03), atol=1e-4)
    np.testing.assert_allclose(engine.qpos[0, at], 0.0, atol=1e-6)
    for name in ("joint_position", "tool_position", "tool_axes"):
        part = engine.layout.readings[name]
        np.testing.assert_allclose(engine.readings[1, part], before[part], atol=1e-4)
    assert bits(engine, 1) == bits(again, 0)


def test_an_event_for_something_that_does_not_exist_is_refused() -> None:
    engine = engine_with([(START, PLAIN)])
    with pytest.raises(KeyError, match="cubes"):
        engine.apply(0, Push(body="cubes", force_n=(0.0, 0.0, 0.0)))
    with pytest.raises(KeyError, match="elbow"):
        engine.apply(0, CorruptControl(joint="elbow"))
