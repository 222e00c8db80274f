"""Random scenes: every orange can be fetched, things lie apart, and the same seed draws the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graspline.errors import InputError
from graspline.kinematics.so101 import PAN_X_M
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.placement.plate import Resting
from graspline.robots.so101 import BASE_FOOTPRINT_M, HOME, SO101
from graspline.scenes.fruit_table import PLATE
from graspline.tasks.oranges.layout import collision_world, nearest_first, probe, sample, scene_of
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import Errand, Where, at_spot, plan_pick_and_place
from graspline.tasks.oranges.sight import plate_shape
from graspline.tasks.task import Draw

from .stagecraft import at, parameters, seen_ball, seen_plate

THREE = parameters()
MIXED = parameters("oranges.distractors=2", "oranges.count=2")


def drawn(settings: Oranges, seed: int) -> Draw:
    return sample(settings, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def draws() -> list[Draw]:
    return [drawn(THREE, seed) for seed in range(8)]


def things(settings: Oranges, draw: Draw) -> dict[str, Belief]:
    """What lies on the table, as an exact eye sees it."""
    scene = scene_of(settings)
    sizes = {edit.element: edit.values for edit in draw.variation.edits if edit.field == "geom_size"}
    found = {}
    for name in scene.object_names:
        at = scene.joint_address(name)
        half = np.array(sizes[name])
        found[name] = Belief(
            name=name,
            position_m=draw.start[at : at + 3].copy(),
            quaternion=draw.start[at + 3 : at + 7].copy(),
            half_extents_m=half,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
            time_s=0.0,
            shape="ball" if name.startswith("orange") else "box",
        )
    return found


def plate_of(settings: Oranges, draw: Draw) -> Belief:
    at = scene_of(settings).joint_address(PLATE)
    return seen_plate((float(draw.start[at]), float(draw.start[at + 1])))


def spread_m(thing: Belief) -> float:
    return thing.radius_m if thing.shape == "ball" else float(np.hypot(*thing.half_extents_m[:2]))


def test_every_orange_drawn_can_be_fetched_one_after_the_other(draws: list[Draw]) -> None:
    world = collision_world(THREE)
    for draw in draws[:4]:
        lying, plate = things(THREE, draw), plate_of(THREE, draw)
        resting: list[Resting] = []
        start = at_rest(HOME)
        waiting = nearest_first(SO101, list(lying.values()))
        while waiting:
            target = waiting.pop(0)
            where = Where(
                target=target,
                around=(*(each for name, each in lying.items() if name != target.name), plate),
                plate=plate_shape(plate),
                resting=tuple(resting),
                still_to_come_m=tuple(each.radius_m for each in waiting),
            )
            found = plan_pick_and_place(world, where, start, THREE)
            assert isinstance(found, Errand)
            x, y = found.carry.spot_m
            lying[target.name] = at_spot(target, (x, y), plate_shape(plate))
            resting.append(Resting(name=target.name, x_m=x, y_m=y, radius_m=target.radius_m))
            start = at_rest(found.carry.withdraw.end)


def test_the_same_seed_draws_the_same_bits(draws: list[Draw]) -> None:
    for seed in (0, 3):
        again = drawn(THREE, seed)
        assert again.start.tobytes() == draws[seed].start.tobytes()
        assert again.variation == draws[seed].variation
        assert again.refused == draws[seed].refused
    assert len({draw.start.tobytes() for draw in draws}) == len(draws)


def test_oranges_are_named_from_left_to_right_as_the_robot_looks(draws: list[Draw]) -> None:
    for draw in draws:
        places = [things(THREE, draw)[f"orange_{number}"].position_m for number in (1, 2, 3)]
        azimuths = [np.arctan2(place[1], place[0] - PAN_X_M) for place in places]
        assert azimuths == sorted(azimuths, reverse=True)


def test_things_lie_apart_from_each_other_from_the_plate_and_from_the_robots_base(draws: list[Draw]) -> None:
    low_x, high_x, half_y = BASE_FOOTPRINT_M
    for settings, draw in [*((THREE, draw) for draw in draws), (MIXED, drawn(MIXED, 1))]:
        lying = [*things(settings, draw).values(), plate_of(settings, draw)]
        for one, other in itertools.combinations(lying, 2):
            apart = float(np.hypot(*(one.position_m - other.position_m)[:2]))
            spread = sum(each.radius_m if each.shape == "plate" else spread_m(each) for each in (one, other))
            assert apart >= spread + settings.oranges.apart_m - 1e-9
        for each in lying[:-1]:
            x, y, z = each.position_m
            assert z == each.half_extents_m[2]
            assert not (low_x < x < high_x and abs(y) < half_y)


def test_sizes_masses_and_regions_are_those_asked_for(draws: list[Draw]) -> None:
    oranges, plate = THREE.oranges, THREE.plate
    for draw in draws:
        for name, each in things(THREE, draw).items():
            assert oranges.diameter_m.low <= 2 * each.radius_m <= oranges.diameter_m.high
            assert oranges.mass_kg.low <= draw.variation.described[f"{name}.mass_kg"] <= oranges.mass_kg.high
            azimuth = np.arctan2(each.position_m[1], each.position_m[0] - PAN_X_M)
            assert oranges.azimuth_rad.low <= azimuth <= oranges.azimuth_rad.high
        x, y, _ = plate_of(THREE, draw).position_m
        assert plate.radius_m.low - 1e-9 <= np.hypot(x - PAN_X_M, y) <= plate.radius_m.high + 1e-9


def test_distractors_lie_among_the_oranges() -> None:
    draw = drawn(MIXED, 2)
    lying = things(MIXED, draw)
    assert set(lying) == {"orange_1", "orange_2", "block_1", "block_2"}
    for name in ("block_1", "block_2"):
        assert np.hypot(*lying[name].position_m[:2]) < 0.45


def test_the_number_of_distractors_may_be_drawn_and_is_recorded() -> None:
    settings = parameters("oranges.count=1", "randomize.distractors.on=true", "randomize.distractors.most=3")
    scene, counts = scene_of(settings), set()
    for seed in range(12):
        draw = drawn(settings, seed)
        count = draw.variation.described["distractors.count"]
        forward_m = [draw.start[scene.joint_address(name)] for name in ("block_1", "block_2", "block_3")]
        assert sum(x > -1 for x in forward_m) == count
        counts.add(count)
    assert counts == {0.0, 1.0, 2.0, 3.0}


def test_drawn_distractors_come_on_top_of_those_asked_for() -> None:
    fixed = ("oranges.count=1", "oranges.distractors=1", "randomize.distractors.on=true")
    settings = parameters(*fixed, "randomize.distractors.fewest=1", "randomize.distractors.most=1")
    assert drawn(settings, 0).variation.described["distractors.count"] == 1.0
    assert set(things(settings, drawn(settings, 0))) == {"orange_1", "block_1", "block_2"}


def test_oranges_may_be_off_round() -> None:
    settings = parameters("oranges.off_round=0.05", "oranges.count=1")
    half = things(settings, drawn(settings, 1))["orange_1"].half_extents_m
    assert len(set(half.tolist())) == 3
    assert np.ptp(half) / half.mean() < 0.11


def test_without_a_plate_there_is_none_in_the_scene() -> None:
    settings = parameters("plate.present=false", "oranges.count=1")
    assert scene_of(settings).place_names == ()
    lying = things(settings, drawn(settings, 1))["orange_1"]
    virtual = np.array([settings.plate.virtual_x_m, settings.plate.virtual_y_m])
    assert np.hypot(*(lying.position_m[:2] - virtual)) >= settings.plate.outer_radius_m + lying.radius_m


def test_scenes_that_cannot_be_served_are_given_up_with_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graspline.tasks.oranges.layout.MAX_TRIES", 30)
    behind = parameters("oranges.azimuth_rad=[2.6, 3.0]", "oranges.count=1")
    with pytest.raises(
        InputError, match=r"no scene was found in 30 samples; rejected by reach 30; reach depends on oranges.radius_m"
    ):
        drawn(behind, 0)


def test_a_region_that_the_arm_does_not_reach_at_all_is_refused() -> None:
    far = parameters("oranges.radius_m=[0.44, 0.45]", "oranges.count=1")
    with pytest.raises(InputError, match=r"oranges.radius_m is outside the arm's reach"):
        drawn(far, 0)


def test_a_probe_says_whether_an_orange_can_be_grasped_there_and_why_not() -> None:
    random = np.random.default_rng(2)
    probes = [probe(THREE, random) for _ in range(60)]
    assert {each.certified for each in probes} == {True, False}
    assert all(bool(each.refusal) != each.certified for each in probes)
    assert {each.refusal for each in probes} <= {"", "reach", "jaw_width", "jaw_alignment", "limits", "collision"}


def test_the_nearest_comes_first_and_of_equals_the_first_name() -> None:
    balls = [seen_ball("orange_3", at(0.3, 0.0)), seen_ball("orange_2", at(0.2, 0.5))]
    balls.append(seen_ball("orange_1", at(0.2, -0.5)))
    assert [each.name for each in nearest_first(SO101, balls)] == ["orange_1", "orange_2", "orange_3"]
