"""A plan has the bits it has alone, whatever is planned beside it: the lanes of a tick plan together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.execution.batched_solves import Crash, solve_all
from graspline.execution.requests import Solve
from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import Move, Moves, ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp, plan_lift, plan_shift
from graspline.kinematics.questions import Stances, Targets
from graspline.kinematics.so101 import ARM, PAN_X_M, STRAIGHT_DOWN_RAD
from graspline.motion.path import at_rest
from graspline.placement.carry import plan_carry, plan_raise
from graspline.placement.query import CarryQuery, Support
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.robots.so101 import HOME, LOWER, SO101, UPPER
from graspline.tasks import lift_cube
from graspline.tasks.lift_cube import LiftCube, certify, collision_world
from graspline.tasks.oranges import layout
from graspline.tasks.oranges.parameters import FruitParameters, Oranges
from graspline.tasks.oranges.pick_state import (
    Errand,
    Where,
    free_spots,
    nominal_hold,
    plan_pick_and_place,
    plan_way,
)
from graspline.tasks.oranges.sight import plate_shape
from graspline.tasks.scatter import lying_at

Array = NDArray[np.float64]

JAW, REACH = JawParameters(), ReachParameters()
SEEDS = st.integers(0, 2**32 - 1)


def bits(value: Any) -> Any:
    """A value with every array in it as shape and bytes."""
    if isinstance(value, np.ndarray):
        return value.shape, np.ascontiguousarray(value).tobytes()
    if isinstance(value, list | tuple):
        return [bits(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Robot):
        return type(value).__name__, [bits(getattr(value, each.name)) for each in dataclasses.fields(value)]
    return repr(value)


def assert_alone(planner: Any, asked: list[tuple[Any, ...]]) -> list[Any]:
    """What all ask together is what each asks alone; returns the answers."""
    together = planner.many(asked)
    for arguments, found in zip(asked, together, strict=True):
        assert bits(found) == bits(planner(*arguments))
    return together


# Questions


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.lists(st.integers(1, 30), min_size=2, max_size=9))
def test_targets(seed: int, counts: list[int]) -> None:
    random = np.random.default_rng(seed)
    asked = [
        Targets(
            arm=ARM,
            position_m=random.uniform([0.0, -0.35, -0.05], [0.45, 0.35, 0.25], (count, 3)),
            pitch_rad=np.where(random.random(count) < 0.5, STRAIGHT_DOWN_RAD, random.uniform(0.5, 2.0, count)),
            yaw_rad=random.uniform(-np.pi, np.pi, count),
            tool_m=random.uniform([0.07, -0.005, -0.01], [0.105, 0.005, 0.03], (count, 3)),
            margin_rad=float(random.choice([0.0, 0.01, 0.02])),
        )
        for count in counts
    ]
    for one, found in zip(asked, Targets.answered(asked), strict=True):
        assert bits(found) == bits(Targets.answered([one])[0])


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.lists(st.integers(1, 30), min_size=2, max_size=9))
def test_stances(seed: int, counts: list[int]) -> None:
    random = np.random.default_rng(seed)
    asked = [
        Stances(
            arm=ARM,
            joints_rad=random.uniform(LOWER, UPPER, (count, 6)),
            tool_m=tuple(random.uniform(0.0, 0.1, 3).tolist()),
        )
        for count in counts
    ]
    for one, found in zip(asked, Stances.answered(asked), strict=True):
        assert bits(found) == bits(Stances.answered([one])[0])


def random_moves(random: np.random.Generator) -> Moves:
    """Lines and arcs of one arm, some of which it does not reach, and some faster than it can."""
    moves = []
    for _ in range(int(random.integers(1, 5))):
        azimuth, radius, height = random.uniform([-1.5, 0.12, 0.0], [1.5, 0.38, 0.12])
        point = (PAN_X_M + radius * np.cos(azimuth), radius * np.sin(azimuth), height)
        polar = bool(random.random() < 0.4)
        pitch = STRAIGHT_DOWN_RAD - float(random.choice([0.0, random.uniform(0.0, 0.8)]))
        start = (*((azimuth, radius, height) if polar else point), pitch, random.uniform(-1.5, 1.5))
        way = random.uniform(-1, 1, 5) * (0.4 if polar else 0.05, 0.05, 0.05, 0.2, 0.3 if polar else 0.0)
        moves.append(
            Move(
                stage="move",
                start=tuple(map(float, start)),
                way=tuple(way.tolist()),
                jaw_rad=float(random.uniform(0.0, 1.0)),
                length_m=float(random.uniform(0.001, 0.2)),
                speed_m_s=float(random.uniform(0.05, 2.0)),
                polar=polar,
            )
        )
    return Moves(
        robot=SO101,
        branch=int(random.random() < 0.2),
        tool_m=(float(random.uniform(0.08, 0.1)), 0.0, float(random.uniform(0.0, 0.03))),
        margin_rad=float(random.choice([0.0, 0.02])),
        label="random",
        moves=tuple(moves),
    )


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 12))
def test_moves(seed: int, arms: int) -> None:
    random = np.random.default_rng(seed)
    asked = [random_moves(random) for _ in range(arms)]
    for one, found in zip(asked, Moves.answered(asked), strict=True):
        assert bits(found) == bits(Moves.answered([one])[0])


def test_among_random_moves_some_are_reached_and_some_are_not() -> None:
    random = np.random.default_rng(0)
    missed = [isinstance(each, Refusal) for each in Moves.answered([random_moves(random) for _ in range(60)])]
    assert any(missed)
    assert not all(missed)


def test_moves_of_different_robots_are_planned_apart() -> None:
    other = dataclasses.replace(SO101)
    random = np.random.default_rng(1)
    first, second = random_moves(random), random_moves(random)
    with pytest.raises(Exception, match="different robots"):
        Moves.answered([first, dataclasses.replace(second, robot=other)])


# Planners of `lift-cube`


@pytest.fixture(scope="module")
def cubes() -> list[tuple[Any, ...]]:
    """Cubes near and far, turned anyhow, some out of reach; some have been tried before."""
    random = np.random.default_rng(7)
    asked = []
    for index in range(48):
        azimuth, radius, half = random.uniform([-1.9, 0.1, 0.01], [1.9, 0.42, 0.02])
        x, y = PAN_X_M + radius * np.cos(azimuth), radius * np.sin(azimuth)
        cube = lying_at("cube", x, y, np.full(3, half), "box", random.uniform(-np.pi, np.pi))
        tried = ((), (), ("along",), ("across", "along_turned"))[index % 4]
        asked.append((SO101, collision_world(SO101), cube, at_rest(HOME), JAW, REACH, tried))
    return asked


def test_grasps(cubes: list[tuple[Any, ...]]) -> None:
    found = assert_alone(plan_grasp, cubes)
    kinds = {each.check if isinstance(each, Refusal) else "planned" for each in found}
    assert {"planned", "reach"} <= kinds


def test_lifts_and_shifts(cubes: list[tuple[Any, ...]]) -> None:
    random = np.random.default_rng(8)
    plans = [each for each in plan_grasp.many(cubes) if isinstance(each, GraspPlan)]
    ends = [at_rest(each.seat.positions[int(random.integers(len(each.seat.positions)))]) for each in plans]
    lifts = [
        (SO101, plan, start, float(random.choice([0.03, 0.06, 0.4])), REACH)
        for plan, start in zip(plans, ends, strict=True)
    ]
    kinds = {type(each) for each in assert_alone(plan_lift, lifts)}
    assert Refusal in kinds
    assert len(kinds) == 2
    shifts = [
        (SO101, plan, start, float(random.uniform(0.0, 0.01)), REACH, float(random.choice([0.0, -0.003, 0.4])))
        for plan, start in zip(plans, ends, strict=True)
    ]
    assert len({type(each) for each in assert_alone(plan_shift, shifts)}) == 2


def test_certified_places() -> None:
    random = np.random.default_rng(9)
    places = [(LiftCube(), *lift_cube.sample_place(LiftCube(), random)) for _ in range(24)]
    assert_alone(certify, places)


def test_scenes_of_cubes() -> None:
    parameters = LiftCube()

    def asked() -> list[tuple[Any, ...]]:
        return [(parameters, np.random.default_rng(seed)) for seed in range(12)]

    for found, one in zip(lift_cube.sample.many(asked()), asked(), strict=True):
        assert bits(found) == bits(lift_cube.sample(*one))


def test_a_planner_that_raises_ends_its_own_lane_only(cubes: list[tuple[Any, ...]]) -> None:
    broken = (*cubes[1][:2], None, *cubes[1][3:])
    answers = solve_all([Solve(plan_grasp, each) for each in (cubes[0], broken, cubes[2])])
    assert isinstance(answers[1], Crash)
    for arguments, found in ((cubes[0], answers[0]), (cubes[2], answers[2])):
        assert bits(found) == bits(plan_grasp(*arguments))


# Planners of `oranges`


TWO = Oranges(oranges=FruitParameters(count=2))


@pytest.fixture(scope="module")
def errands() -> list[tuple[Any, ...]]:
    """Two oranges and a plate each, some of them out of the arm's way."""
    random, asked = np.random.default_rng(11), []
    world = layout.collision_world(TWO)
    for index in range(12):
        at = [(PAN_X_M + r * np.cos(a), r * np.sin(a)) for r, a in zip((0.24, 0.3), (-0.9, -0.3), strict=True)]
        at = [(x + random.uniform(-0.03, 0.03), y + random.uniform(-0.03, 0.03)) for x, y in at]
        (x, y), other = at[0], at[1]
        plate = lying_at("plate", 0.2 + random.uniform(-0.03, 0.03), 0.17, np.array([0.105, 0.105, 0.0]), "box")
        plate = dataclasses.replace(plate, shape="plate")
        if index % 4 == 3:
            x += 0.25
        where = Where(
            target=lying_at("orange_1", x, y, np.full(3, 0.03), "ball"),
            around=(lying_at("orange_2", *other, np.full(3, 0.031), "ball"), plate),
            plate=plate_shape(plate),
            resting=(),
            still_to_come_m=(0.031,),
        )
        asked.append((world, where, at_rest(HOME), TWO))
    return asked


def test_errands(errands: list[tuple[Any, ...]]) -> None:
    kinds = {type(each) for each in assert_alone(plan_pick_and_place, errands)}
    assert Errand in kinds
    assert len(kinds) == 2


def test_ways_again_and_anew(errands: list[tuple[Any, ...]]) -> None:
    random, ways, raises = np.random.default_rng(12), [], []
    for (world, where, _, table), found in zip(errands, plan_pick_and_place.many(errands), strict=True):
        if not isinstance(found, Errand):
            continue
        robot, (grip, top) = world.robot, nominal_hold(found.pick, table)
        start = at_rest(top.position + random.uniform(-0.002, 0.002, 6) * (1, 1, 1, 1, 1, 0))
        ways.append((world, where, grip, start, table, [found.carry.spot_m], found.carry))
        ways.append((world, where, grip, start, table, free_spots(where, table)))
        low = at_rest(np.append(found.pick.seat.end[robot.arm], grip.jaw_rad))
        raises.append(
            CarryQuery(
                world=world,
                held=grip,
                start=low,
                obstacles=where.around,
                settings=table.carry,
                margin_rad=0.01,
            )
        )
    assert_alone(plan_way, ways)
    assert_alone(plan_raise, [(each,) for each in raises])
    assert_alone(plan_carry, [(each, [Support(x_m=0.2, y_m=0.17)]) for each in raises])


def test_scenes_of_oranges() -> None:
    def asked() -> list[tuple[Any, ...]]:
        return [(TWO, np.random.default_rng(seed)) for seed in range(6)]

    for found, one in zip(layout.sample.many(asked()), asked(), strict=True):
        assert bits(found) == bits(layout.sample(*one))
