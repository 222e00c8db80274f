"""Random lines: enough blocks, some of them on the belt, and a feeder that goes on where they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.engine.actors import LaneView
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Place
from graspline.perception.belt.blocks import in_view_of
from graspline.rendering.choose import open_renderer
from graspline.scenes.belt_line import BELT, BELT_X_M, OUTPUTS, parked_m
from graspline.tasks.sort.feeder import GONE_M, SENT_M
from graspline.tasks.sort.hand_poses import DOWNSTREAM_M, UPSTREAM_M
from graspline.tasks.sort.layout import feeder, pool_size, robot_of, sample, scene_of
from graspline.tasks.sort.parameters import ACCEPTED, COLOURS, SIZES, UNRULED, BeltParameters, BlockParameters, Sort
from graspline.tasks.sort.sight import SURFACE, BeltEye
from graspline.tasks.task import Draw

from . import lines


def drawn(parameters: Sort, seed: int = 0) -> Draw:
    return sample(parameters, np.random.default_rng(seed))


def lying_m(parameters: Sort, draw: Draw) -> np.ndarray:
    """(N, 3) of the blocks on the belt, as they were drawn."""
    scene = scene_of(parameters)
    places = [draw.start[at : at + 3] for at in (scene.joint_address(name) for name in scene.object_names)]
    return np.array([place for place in places if place[0] > -2.0])


def with_belt(**belt: object) -> Sort:
    return Sort(belt=BeltParameters.model_validate(belt))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_blocks_lie_from_within_reach_to_where_more_are_sent(seed: int) -> None:
    parameters = Sort()
    draw = drawn(parameters, seed)
    places = lying_m(parameters, draw)
    assert DOWNSTREAM_M < places[0, 1] < UPSTREAM_M
    assert places[-1, 1] < SENT_M
    assert np.abs(places[:, 0] - BELT_X_M).max() <= parameters.belt.lateral_m
    gaps = np.diff(places[:, 1])
    assert gaps == pytest.approx(np.full(len(gaps), 0.4), abs=0.04 + 1e-9)
    assert set(np.round(places[:, 2], 6)) <= {size[2] / 2 for size in SIZES}


@pytest.mark.parametrize("speed_m_s", [0.01, 0.02, 0.03, 0.05, 0.1, 0.4])
def test_at_any_speed_the_first_block_lies_where_the_hands_camera_sees_it_or_upstream_of_that(speed_m_s: float) -> None:
    parameters = with_belt(speed_m_s=speed_m_s)
    scene, draw = scene_of(parameters), drawn(parameters)
    with open_renderer(scene, 64, 48, "rays") as renderer:
        # Only where the camera is counts, not what it shows.
        at_home = replace(renderer.render(draw.start, draw.variation, "wrist"), rgb=np.zeros((480, 640, 3), np.uint8))
    seen = in_view_of(at_home, SURFACE, BeltEye(camera="wrist").hidden(at_home, holding=False))
    for x in (BELT_X_M - parameters.belt.lateral_m, BELT_X_M + parameters.belt.lateral_m):
        first = lying_m(parameters, draw)[0, 1]
        assert seen(x, first) or first > 0


def test_the_same_seed_draws_the_same_line_and_another_another() -> None:
    one, two, other = drawn(Sort(), 3), drawn(Sort(), 3), drawn(Sort(), 4)
    assert one.start.tobytes() == two.start.tobytes()
    assert one.variation == two.variation
    assert one.start.tobytes() != other.start.tobytes()


def test_no_more_blocks_lie_on_the_belt_than_are_ordered() -> None:
    parameters = with_belt(blocks=2, density_per_m=8.0)
    draw = drawn(parameters)
    assert len(lying_m(parameters, draw)) == 2
    assert feeder(parameters, draw, np.random.default_rng(0)).first == ("block_1", "block_2")


@pytest.mark.parametrize(("share", "allowed"), [(0.0, ACCEPTED), (1.0, UNRULED), (0.5, (*ACCEPTED, *UNRULED))])
def test_colours_are_those_of_rules_but_for_a_share(share: float, allowed: tuple[str, ...]) -> None:
    parameters = Sort(blocks=BlockParameters(unknown_share=share), belt=BeltParameters(density_per_m=10.0))
    made = feeder(parameters, drawn(parameters), np.random.default_rng(0)).pool.values()
    assert {each.colour for each in made} == set(allowed)
    sizes = {(round(x, 6), round(y, 6), round(z, 6)) for x, y, z in (each.size_m for each in made)}
    assert sizes == set(SIZES)
    if share == 0.5:
        assert 0.2 < np.mean([each.colour in UNRULED for each in made]) < 0.8


def test_a_variation_says_how_belts_run_and_what_blocks_look_like() -> None:
    parameters = with_belt(speed_m_s=0.12, output_speed_m_s=0.07)
    draw, scene = drawn(parameters), scene_of(parameters)
    model = scene.model
    assert draw.variation.values(model, "geom_surfacevel", BELT)[:3] == pytest.approx((0.0, -0.12, 0.0))
    for name in OUTPUTS:
        assert draw.variation.values(model, "geom_surfacevel", name)[:3] == pytest.approx((-0.07, 0.0, 0.0))
    for name in scene.object_names:
        assert draw.variation.values(model, "geom_rgba", name)[:3] in COLOURS.values()


def test_blocks_that_wait_do_so_without_weight() -> None:
    parameters = Sort()
    draw, scene = drawn(parameters), scene_of(parameters)
    for number, name in enumerate(scene.object_names):
        at = scene.joint_address(name)
        waits = draw.start[at] < -2.0
        assert draw.variation.values(scene.model, "body_gravcomp", name) == ((1.0,) if waits else (0.0,))
        if waits:
            assert draw.start[at : at + 3] == pytest.approx(parked_m(number))


@pytest.mark.parametrize("spacing", ["even", "random"])
def test_the_feeder_goes_on_where_the_line_ends(spacing: str) -> None:
    parameters = with_belt(spacing=spacing, density_per_m=4.0)
    draw = drawn(parameters, 2)
    engine = CpuEngine(scene_of(parameters), 1, 1)
    engine.reset(0, draw.start, draw.variation)
    actor = feeder(parameters, draw, np.random.default_rng(7))
    last_m = lying_m(parameters, draw)[-1, 1]
    time_s, sent = 0.0, []
    while not sent:
        time_s += actor.period_s
        sent = [each for each in actor.act(LaneView(engine=engine, lane=0, time_s=time_s)) if isinstance(each, Place)]
    gap_m = sent[0].position_m[1] + parameters.belt.speed_m_s * time_s - last_m
    assert gap_m == pytest.approx(draw.variation.described["belt.next_m"] - last_m)
    assert gap_m >= (0.25 * 0.9 if spacing == "even" else parameters.belt.least_gap_m) - 1e-9


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 14), st.floats(0.01, 0.4), st.floats(0.03, 0.4), st.sampled_from(["even", "random"]))
def test_a_pool_covers_full_belts(density: float, speed: float, output: float, spacing: str) -> None:
    parameters = with_belt(density_per_m=density, speed_m_s=speed, output_speed_m_s=output, spacing=spacing)
    assert pool_size(parameters) >= (SENT_M - GONE_M) * density + 3
    faster = with_belt(density_per_m=density, speed_m_s=speed, output_speed_m_s=0.4, spacing=spacing)
    assert pool_size(faster) <= pool_size(parameters)


def test_the_robot_has_the_limits_it_is_given() -> None:
    parameters = Sort.model_validate(
        {"motion": {"velocity_rad_s": 2.0, "acceleration_rad_s2": 9.0, "jerk_rad_s3": 99.0}}
    )
    limits = robot_of(parameters).limits
    assert (limits.velocity[0], limits.acceleration[0], limits.jerk[0]) == (2.0, 9.0, 99.0)
    assert scene_of(parameters).robot is robot_of(parameters)


def test_any_arm_stands_at_the_line_with_the_limits_that_were_asked_for() -> None:
    parameters = Sort(robot=f"{lines.__name__}:BY_NUMBERS")
    robot = scene_of(parameters).robot
    assert robot.name == "ur5e_by_numbers"
    np.testing.assert_array_equal(robot.limits.jerk[robot.arm], parameters.motion.jerk_rad_s3)


def test_a_robot_without_a_camera_on_its_hand_needs_the_one_above_the_belt() -> None:
    with pytest.raises(
        ValueError, match=r"BLIND has no camera .wrist. to watch the belt with; expected sight\.camera=overhead"
    ):
        Sort(robot=f"{lines.__name__}:BLIND")
    overhead = Sort.model_validate({"robot": f"{lines.__name__}:BLIND", "sight": {"camera": "overhead"}})
    assert overhead.the_robot.name == "blind"
