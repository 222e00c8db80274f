"""An arm driven by hand, ticked by hand: limits are kept, letting go stops it, and what is refused is said in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101
from graspline.serve.live.commands import Drive, Jog, KeepDriving, MoveTool, RunTask, ToolTarget, Zero
from graspline.serve.live.driving import DEAD_MAN_S
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.tasks.catalogue import find_task
from graspline.tasks.console import Done, Refused
from graspline.tasks.lift_cube import LIFT_CUBE

from .benches import PARAMETERS, Bench
from .hands import Hand

DEAD_MAN_TICKS = round(DEAD_MAN_S * SO101.control_hz)


@pytest.fixture
def bench() -> Bench:
    return Bench(seed=5).tick(5)


@pytest.fixture
def hand(bench: Bench) -> Hand:
    return Hand(bench)


def commands_while(bench: Bench, ticks: int, **wish: Any) -> np.ndarray:
    """(ticks + 1, nu): the commanded joints of every tick while the arm is driven."""
    rows = [bench.snapshot.command_rad.copy()]
    for tick in range(ticks):
        if tick % 6 == 0:
            bench.give(Drive(**wish))
        rows.append(bench.tick().snapshot.command_rad.copy())
    return np.array(rows)


# Where it goes


@pytest.mark.parametrize("axis", range(3))
def test_the_tool_goes_straight_along_an_axis_of_the_world_and_keeps_its_rotation(bench: Bench, axis: int) -> None:
    before = bench.snapshot
    rate = np.zeros(3)
    rate[axis] = -0.05
    Hand(bench).drive(60, linear_m_s=tuple(rate))
    after = bench.snapshot
    moved = after.tcp.position_m - before.tcp.position_m
    assert moved[axis] < -0.04
    assert np.abs(np.delete(moved, axis)).max() < 1e-3
    # The gripper leans at home: five joints cannot keep that direction when they pan.
    turned = 2 * math.acos(min(1.0, abs(float(before.tcp.quaternion @ after.tcp.quaternion))))
    assert turned < (0.2 if axis == 1 else 0.01)


def test_axes_of_the_tool_go_where_the_tool_points(bench: Bench, hand: Hand) -> None:
    before = bench.snapshot.tcp
    hand.drive(30, linear_m_s=(0.05, 0.0, 0.0), frame="tool")
    moved = bench.snapshot.tcp.position_m - before.position_m
    w, x, y, z = before.quaternion
    approach = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])
    assert moved @ approach / np.linalg.norm(moved) > 0.999


def test_the_wrist_turns_and_tilts_about_a_tool_that_stays_where_it_is(bench: Bench, hand: Hand) -> None:
    before = bench.snapshot
    hand.drive(45, turn_rad_s=0.5)
    turned = bench.snapshot
    assert abs(turned.command_rad[4] - before.command_rad[4]) > 0.2
    hand.drive(45, tilt_rad_s=0.3)
    tilted = bench.snapshot
    assert tilted.command_rad[1:4].sum() > turned.command_rad[1:4].sum() + 0.1
    assert np.linalg.norm(tilted.tcp.position_m - before.tcp.position_m) < 1e-3


def test_the_jaw_opens_and_closes_and_rests_at_the_ends_of_its_range(bench: Bench, hand: Hand) -> None:
    assert hand.drive(180, jaw=1.0) == Done()
    assert bench.snapshot.jaw_rad > SO101.limits.upper[SO101.jaw] - 0.02
    assert hand.drive(240, jaw=-1.0) == Done()
    assert bench.snapshot.jaw_rad < SO101.limits.lower[SO101.jaw] + 0.02


def test_one_joint_moves_alone(bench: Bench, hand: Hand) -> None:
    before = bench.snapshot.command_rad
    hand.drive(60, joints_rad_s=(0.3, 0.0, 0.0, 0.0, 0.0, 0.0))
    moved = bench.snapshot.command_rad - before
    assert moved[0] > 0.2
    assert np.abs(moved[1:]).max() < 1e-9


def test_the_tool_goes_towards_a_target_and_stays_there(bench: Bench, hand: Hand) -> None:
    there = bench.snapshot.tcp.position_m + np.array([-0.02, 0.03, -0.03])
    assert hand.drive(150, target=ToolTarget(position_m=tuple(there))) == Done()
    assert np.linalg.norm(bench.snapshot.tcp.position_m - there) < 2e-3


# Limits


def test_speed_acceleration_and_range_are_kept_however_it_is_driven(bench: Bench) -> None:
    random, limits = np.random.default_rng(4), SO101.limits
    rows = [bench.snapshot.command_rad[None]]
    for _ in range(25):
        wish = {
            "linear_m_s": tuple(random.uniform(-0.25, 0.25, 3)),
            "turn_rad_s": float(random.uniform(-1.5, 1.5)),
            "tilt_rad_s": float(random.uniform(-1.5, 1.5)),
            "jaw": float(random.uniform(-1, 1)),
        }
        rows.append(commands_while(bench, int(random.integers(3, 40)), **wish)[1:])
    positions = np.concatenate(rows)
    assert (positions >= limits.lower - 1e-9).all()
    assert (positions <= limits.upper + 1e-9).all()
    speeds = np.diff(positions, axis=0) * SO101.control_hz
    assert (np.abs(speeds) <= limits.velocity).all()
    assert (np.abs(np.diff(speeds, axis=0)) * SO101.control_hz <= limits.acceleration * 1.01).all()
    world = CollisionWorld(LIFT_CUBE.scene(PARAMETERS), 0.0)
    world.place(())
    assert world.first_collision(positions) is None
    assert np.abs(np.ptp(positions, axis=0)).min() > 0.05


def test_at_the_edge_of_its_reach_the_arm_says_how_much_further_is_not_possible(bench: Bench, hand: Hand) -> None:
    refused = hand.drive(240, linear_m_s=(0.2, 0.0, 0.0))
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("at the edge of reach: ")
    assert "mm further is not possible" in refused.reason
    assert refused.evidence
    held = bench.until(lambda seen: seen.mode == "idle")
    assert held.message == f"drive: {refused.reason}"
    # There it is stretched, and comes back when it is driven back.
    assert hand.drive(90, linear_m_s=(-0.2, 0.0, 0.0)) == Done()
    assert bench.snapshot.tcp.position_m[0] < held.tcp.position_m[0] - 0.05


def test_a_refusal_stays_the_same_to_the_last_digit_while_the_arm_stands_there(bench: Bench, hand: Hand) -> None:
    first = hand.drive(240, linear_m_s=(0.2, 0.0, 0.0))
    assert hand.drive(60, linear_m_s=(0.2, 0.0, 0.0)) == first


def test_the_table_stops_it_and_is_named(bench: Bench, hand: Hand) -> None:
    refused = hand.drive(240, linear_m_s=(0.0, 0.0, -0.1))
    assert isinstance(refused, Refused)
    assert "may come no closer than 1 mm to table" in refused.reason
    assert bench.snapshot.tcp.position_m[2] < 0.03
    assert hand.drive(30, linear_m_s=(0.0, 0.0, 0.1)) == Done()


def test_a_joint_at_its_limit_is_named_with_the_limit(bench: Bench, hand: Hand) -> None:
    refused = hand.drive(240, joints_rad_s=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0))
    assert isinstance(refused, Refused)
    assert refused.reason == "wrist_flex is at its limit of 95.0°"
    assert bench.snapshot.command_rad[3] > SO101.limits.upper[3] - 0.02


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Drive(linear_m_s=(0.0, math.nan, 0.0)), "finite"),
        (Drive(linear_m_s=(0.3, 0.0, 0.0)), "at most 0.25 m/s"),
        (Drive(turn_rad_s=2.0), "at most 1.5 rad/s"),
        (Drive(jaw=1.5), "from -1"),
        (Drive(joints_rad_s=(0.1,)), "6 joints, got 1"),
        (Drive(linear_m_s=(0.1, 0.0, 0.0), joints_rad_s=(0.0,) * 6), "one of them at a time"),
        (Drive(target=ToolTarget(position_m=(0.2, 0.0, 0.1), quaternion=(0.0, 0.0, 0.0, 0.0))), "no length"),
    ],
)
def test_what_could_never_be_driven_is_refused_at_once(bench: Bench, wish: Drive, words: str) -> None:
    refused = bench.refused(wish)
    assert refused.mistaken
    assert words in refused.reason


# Letting go


def test_without_another_word_the_arm_brakes_and_holds(bench: Bench) -> None:
    bench.give(Drive(linear_m_s=(0.0, 0.1, 0.0)))
    bench.tick(DEAD_MAN_TICKS - 1)
    assert bench.snapshot.mode == "jogging"
    held = bench.tick(20).snapshot
    assert held.mode == "idle"
    assert np.array_equal(bench.tick(30).snapshot.command_rad, held.command_rad)


def test_a_word_that_the_operator_is_there_keeps_the_arm_going_and_drives_nothing_else(bench: Bench) -> None:
    assert bench.done(KeepDriving()) == Done()
    assert bench.tick(5).snapshot.mode == "idle"
    bench.give(Drive(linear_m_s=(0.0, 0.05, 0.0)))
    for _ in range(5):
        bench.tick(10)
        bench.give(KeepDriving())
    assert bench.snapshot.mode == "jogging"
    assert bench.until(lambda seen: seen.mode == "idle", 60).message == ""


def test_letting_go_stops_it_sooner_than_silence_does(bench: Bench, hand: Hand) -> None:
    hand.drive(30, linear_m_s=(0.0, 0.1, 0.0))
    before = bench.snapshot
    hand.let_go()
    assert bench.snapshot.time_s - before.time_s < DEAD_MAN_S


def test_stop_brakes_and_what_was_driven_does_not_go_on(bench: Bench, hand: Hand) -> None:
    hand.drive(30, linear_m_s=(0.0, 0.1, 0.0))
    order = bench.give(Drive(linear_m_s=(0.0, 0.1, 0.0)))
    bench.conductor.stop([])
    assert bench.until(lambda seen: seen.mode == "idle", 60).mode == "idle"
    held = bench.snapshot.command_rad
    assert np.array_equal(bench.tick(60).snapshot.command_rad, held)
    assert order.ticket.settled == Refused(reason="stopped")


# With other commands


def test_driving_gives_way_to_other_commands_and_waits_for_none(bench: Bench, hand: Hand) -> None:
    hand.drive(12, linear_m_s=(0.0, 0.1, 0.0))
    order = bench.give(Zero())
    bench.tick(20)
    assert bench.snapshot.mode == "moving"
    refused = bench.refused(Drive(linear_m_s=(0.0, 0.1, 0.0)))
    assert refused.reason == "busy: zero; stop it first"
    bench.until(lambda seen: seen.mode == "idle")
    assert isinstance(order.ticket.settled, Done)
    bench.give(RunTask(5))
    bench.tick(3)
    assert bench.refused(Drive(jaw=1.0)).reason == "busy: run task; stop it first"


def test_sliders_and_keys_take_over_from_each_other(bench: Bench, hand: Hand) -> None:
    goal = SO101.home + np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    bench.give(Jog(tuple(goal)))
    bench.tick(10)
    assert hand.drive(20, linear_m_s=(0.0, 0.0, -0.05)) == Done()
    bench.give(Jog(tuple(goal)))
    held = bench.until(lambda seen: seen.mode == "idle")
    assert np.allclose(held.command_rad, goal)


def test_what_is_in_the_way_of_the_arm_stops_it(bench: Bench, hand: Hand) -> None:
    """The shut jaw presses the cube against the table: objects are no obstacles, but they push back."""
    cube = bench.snapshot.objects[0]
    hand.go_to(cube.position_m + np.array([0.0, 0.0, 0.06]))
    hand.drive_until(lambda seen: seen.jaw_gap_m < 0.003, jaw=-1.0)
    hand.go_to(cube.position_m + np.array([0.0, 0.0, 0.03]), 0.004)

    def told(seen: SessionSnapshot) -> bool:
        return "something is in the way" in seen.message or "may come no closer" in seen.message

    hand.drive_until(told, linear_m_s=(0.0, 0.0, -0.1))
    # A little behind its command, never far.
    seen = bench.snapshot
    assert np.linalg.norm((seen.joints_rad - seen.command_rad)[SO101.arm]) < 0.15


# Grasping


def test_an_arm_driven_by_hand_grasps_a_cube_and_lifts_it(bench: Bench, hand: Hand) -> None:
    cube = bench.snapshot.objects[0]
    hand.grasp(cube)
    hand.lift(0.075)
    bench.tick(30)
    assert bench.snapshot.qpos[-7:][2] > 0.06
    assert min(bench.snapshot.pad_forces_n) > 1.0


@pytest.mark.parametrize("task", ["grab", "oranges", "sort", "tidy"])
@pytest.mark.slow
def test_every_robot_is_driven_straight(task: str) -> None:
    found = find_task(task)
    bench = Bench(found, found.parameters(), 0).tick(10)
    before = bench.snapshot
    assert Hand(bench).drive(60, linear_m_s=(0.0, 0.05, 0.0)) == Done()
    moved = bench.snapshot.tcp.position_m - before.tcp.position_m
    assert moved[1] > 0.015
    assert np.abs(moved[[0, 2]]).max() < 2e-3


def test_a_move_of_the_tool_starts_where_driving_has_left_the_arm(bench: Bench, hand: Hand) -> None:
    hand.drive(30, linear_m_s=(0.0, 0.1, 0.0))
    assert isinstance(bench.do(MoveTool((0.2, 0.0, 0.08), math.pi / 2, 0.0)), Done)
