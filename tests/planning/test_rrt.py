"""Ways go around what is in the way, say why there is none, and come out the same however often they are asked for."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as File

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.motion.path import Path, check_path
from graspline.perception.core.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.planning.rrt import NoWay, WaypointRoute, plan_way, timed
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import WHOLE_BODY_JOINTS
from graspline.robots.ur5e import UR5E
from graspline.spatial.poses import Pose

from .rooms import BOARDS_M, SHELF_M, TABLE_M, level, reaching, room, solid, table

Array = NDArray[np.float64]

BOX = HeldObject(
    name="box",
    shape="box",
    half_extents_m=np.array([0.03, 0.09, 0.03]),
    X_HO=Pose(position_m=np.array([0.01, 0.0, 0.0]), rotation=np.eye(3)),
)


@pytest.fixture(scope="module")
def shared() -> CollisionWorld:
    return CollisionWorld.among_solids(HSR)


@pytest.fixture
def world(shared: CollisionWorld) -> CollisionWorld:
    shared.place(tuple(room()))
    return shared


def standing(x: float, y: float, turn: float) -> Array:
    row = HSR.home.copy()
    row[:3] = x, y, turn
    return row


# On either side of the table.
HERE, THERE = standing(0.5, -1.0, np.pi / 2), standing(1.9, 0.0, np.pi)


def way(
    world: CollisionWorld, start: Array, *goals: Array, seed: int = 3, moving: tuple[str, ...] = WHOLE_BODY_JOINTS
) -> WaypointRoute:
    found = plan_way(world, start, np.stack(goals), moving=moving, seed=seed)
    assert isinstance(found, WaypointRoute), str(found)
    return found


def digest(found: WaypointRoute) -> str:
    return hashlib.sha256(found.waypoints.tobytes()).hexdigest()


def no_way(world: CollisionWorld, start: Array, *goals: Array, checks: int = 20_000) -> NoWay:
    found = plan_way(world, start, np.stack(goals), moving=WHOLE_BODY_JOINTS, seed=0, checks=checks)
    assert isinstance(found, NoWay)
    return found


def test_where_nothing_is_in_the_way_it_is_straight(world: CollisionWorld) -> None:
    goal = standing(0.2, 0.3, 0.5)
    found = way(world, HSR.home, goal)
    assert found.by == "line"
    assert np.array_equal(found.waypoints, [HSR.home, goal])


def test_it_leads_around_the_table_and_touches_nothing(world: CollisionWorld) -> None:
    found = way(world, HERE, THERE)
    assert found.by == "search"
    assert np.array_equal(found.waypoints[0], HERE)
    assert np.array_equal(found.waypoints[-1], THERE)
    assert world.first_collision(world.between(found.waypoints), clearance_m=0.004) is None
    assert ((found.waypoints >= HSR.limits.lower) & (found.waypoints <= HSR.limits.upper)).all()
    # Head and hand were not named.
    assert (found.waypoints[:, 8:] == HERE[8:]).all()


def test_the_first_goal_that_can_be_had_is_taken(world: CollisionWorld) -> None:
    inside_table, near = standing(1.3, 0.0, 0.0), standing(0.6, -1.0, np.pi / 2)
    found = way(world, HERE, inside_table, THERE, near)
    assert (found.goal, found.by) == (2, "line")


def test_the_same_query_has_the_same_bits_whatever_was_asked_before(world: CollisionWorld) -> None:
    first = way(world, HERE, THERE)
    for seed in range(3):
        way(world, THERE, HERE, seed=seed)
    again = way(world, HERE, THERE)
    fresh = CollisionWorld.among_solids(HSR)
    fresh.place(tuple(room()))
    assert digest(first) == digest(again) == digest(way(fresh, HERE, THERE))
    assert first.checks == again.checks
    assert digest(way(world, HERE, THERE, seed=4)) != digest(first)


def test_threads_do_not_disturb_each_other(world: CollisionWorld) -> None:
    def answer(seed: int) -> str:
        own = CollisionWorld.among_solids(HSR)
        own.place(tuple(room()))
        return digest(way(own, HERE, THERE, seed=seed))

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(answer, range(3)))
    assert together == [digest(way(world, HERE, THERE, seed=seed)) for seed in range(3)]


def test_another_process_finds_the_same(world: CollisionWorld) -> None:
    program = (
        "from planning.test_rrt import *\n"
        "world = CollisionWorld.among_solids(HSR)\n"
        "world.place(tuple(room()))\n"
        "print(digest(way(world, HERE, THERE)))"
    )
    tests = File(__file__).parents[1]
    told = subprocess.run([sys.executable, "-c", program], cwd=tests, capture_output=True, text=True, check=True)
    # OMPL keeps its complaints to itself.
    assert (told.stdout.split(), told.stderr) == ([digest(way(world, HERE, THERE))], "")


def test_a_start_in_collision_is_a_reason(world: CollisionWorld) -> None:
    found = no_way(world, standing(1.3, 0.0, 0.0), THERE)
    assert found.reason == "start_in_collision"
    assert found.collisions[0].touched == "table"
    assert str(found).endswith("meets table at the start")


def test_goals_in_collision_are_named_one_by_one(world: CollisionWorld) -> None:
    found = no_way(world, HERE, standing(1.3, 0.0, 0.0), standing(2.1, 0.0, 0.0))
    assert found.reason == "goals_in_collision"
    assert [(each.sample, each.touched) for each in found.collisions] == [(0, "table"), (1, "wall")]
    assert "goal 1: " in str(found)


def test_a_spent_budget_is_a_reason_with_its_count(world: CollisionWorld) -> None:
    cell = [
        solid("cell", (x, y, 0.7), (0.02 + abs(y), 0.02 + abs(x), 0.7))
        for x, y in ((0.5, 0), (-0.5, 0), (0, 0.5), (0, -0.5))
    ]
    world.place(tuple(cell))
    found = no_way(world, HSR.home, standing(3.0, 0.0, 0.0), checks=1500)
    assert found.reason == "not_found"
    # A line under way is checked to its end.
    assert 1500 <= found.checks < 1700
    assert "1500 allowed" in str(found)


def test_goals_that_need_other_joints_than_may_move_are_a_mistake(world: CollisionWorld) -> None:
    goal = THERE.copy()
    goal[-1] += 0.1
    with pytest.raises(WiringError, match="may not move"):
        plan_way(world, HERE, goal[None], moving=WHOLE_BODY_JOINTS, seed=0)


def test_the_hand_keeps_its_width_and_the_head_turns_evenly(world: CollisionWorld) -> None:
    goal = THERE.copy()
    goal[8] += 1.0
    found = way(world, HERE, goal, moving=HSR.joints)
    assert found.by == "search"
    assert (found.waypoints[:, -1] == HERE[-1]).all()
    assert (np.diff(found.waypoints[:, 8]) >= 0).all()


def test_timed_it_keeps_limits_and_touches_nothing(world: CollisionWorld) -> None:
    found = way(world, HERE, THERE)
    fast, slow = timed(world, found), timed(world, found, speed=0.5)
    assert isinstance(fast, Path)
    assert isinstance(slow, Path)
    assert check_path(fast, HSR) is None
    assert np.array_equal(fast.end, THERE)
    assert world.first_collision(world.between(fast.positions), clearance_m=0.003) is None
    assert slow.duration_s > fast.duration_s


def test_what_stands_closer_than_the_clearance_at_the_start_can_be_left(world: CollisionWorld) -> None:
    thing = solid("thing", (0.215 + 0.003 + 0.05, 0, 0.09), (0.05, 0.05, 0.05))
    goal = standing(-0.3, 0.4, 1.0)
    world.place((thing,))
    assert no_way(world, HSR.home, goal).reason == "start_in_collision"
    world.place((thing,), start=HSR.home)
    assert isinstance(timed(world, way(world, HSR.home, goal)), Path)


def test_a_held_box_goes_from_the_table_to_the_shelf_and_out_again(world: CollisionWorld) -> None:
    above = TABLE_M + np.array([-0.15, 0.1, 0.15])
    inside = np.array([SHELF_M[0] + 0.1, SHELF_M[1] - 0.05, BOARDS_M[2] + 0.15])
    world.place(
        (
            *room(),
            solid("can", (1.2, -0.1, 0.78), (0.03, 0.03, 0.06), "cylinder"),
        ),
        BOX,
    )
    row = HSR.home
    for tool, heading in ((above, 0.3), (inside, np.pi / 2), (above, 0.3)):
        goals = reaching(tool, level(heading), row)
        free = np.stack([goal for goal in goals if world.free(goal)][:6])
        path = timed(world, way(world, row, *free))
        assert isinstance(path, Path)
        assert check_path(path, HSR) is None
        row = path.end


def test_an_arm_on_a_table_goes_over_a_wall() -> None:
    world = CollisionWorld.among_solids(UR5E)
    world.place((solid("wall", (0.6, 0.0, 0.3), (0.2, 0.02, 0.3)),))
    left, right = UR5E.home.copy(), UR5E.home.copy()
    left[0] += 0.8
    right[0] -= 0.8
    found = plan_way(world, left, right[None], moving=UR5E.joints[:6], seed=1)
    assert isinstance(found, WaypointRoute), str(found)
    assert found.by == "search"
    assert isinstance(timed(world, found), Path)


@pytest.mark.slow
def test_all_of_many_random_queries_are_answered(world: CollisionWorld) -> None:
    random = np.random.default_rng(7)
    for seed in range(40):
        rows = list[Array]()
        while len(rows) < 2:
            over = TABLE_M + random.uniform((-0.25, -0.45, 0.1), (0.25, 0.45, 0.3))
            into = np.array([*SHELF_M, 0.0]) + random.uniform((-0.3, -0.1, 0.5), (0.3, 0.05, 0.65))
            tool, heading = (over, random.uniform(-3, 3)) if random.random() < 0.5 else (into, np.pi / 2)
            rows += [goal for goal in reaching(tool, level(heading), HSR.home)[:20] if world.free(goal)][:1]
        path = timed(world, way(world, *rows, seed=seed))
        assert isinstance(path, Path)
        assert check_path(path, HSR) is None


def test_a_table_can_be_reached_over_with_the_base_beside_its_legs(world: CollisionWorld) -> None:
    world.place(tuple(table()))
    goals = reaching(TABLE_M + np.array([0.0, 0.0, 0.1]), level(0.0), HSR.home)
    free = np.stack([goal for goal in goals if world.free(goal)])
    assert isinstance(timed(world, way(world, HSR.home, *free[:8])), Path)
