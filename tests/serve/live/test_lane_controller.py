"""Who drives the lane, ticked by hand: no threads and no clock, the simulation as fast as it goes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.execution.requests import Ask, Reply, pictured
from graspline.machine.outcome import Outcome, Stage
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE
from graspline.serve.live.commands import (
    Answer,
    CheckReachable,
    CloseRange,
    Down,
    GraspClose,
    GraspOpen,
    Home,
    Jog,
    MoveJaw,
    MoveToGrab,
    MoveTool,
    OpenRange,
    Pick,
    Preview,
    Record,
    Refresh,
    ReplayEpisode,
    ResetScene,
    RunTask,
    Select,
    SetVariables,
    StrikeFault,
    Ticket,
    Zero,
)
from graspline.serve.live.operator import NO_CONSOLE
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.console import Done, Refused
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.oranges.task import ORANGES

from .benches import AWAY, PARAMETERS, Bench, PlainConsole, task_of

DOWN = math.pi / 2


@pytest.fixture
def bench() -> Bench:
    return Bench().tick()


@pytest.fixture(scope="module")
def episode() -> Episode:
    """Seed 5 as `run` plays it."""
    (episode,) = run_scenarios([Scenario(task=LIFT_CUBE, parameters=PARAMETERS, seed=5)])
    return episode


# Holding and moving by hand


def test_a_new_session_holds_at_home_and_knows_its_objects(bench: Bench) -> None:
    snapshot = bench.tick(30).snapshot
    assert (snapshot.mode, snapshot.doing, snapshot.state) == ("idle", "", "")
    assert snapshot.time_s == pytest.approx(31 * SO101.dt_s)
    assert snapshot.joints_rad == pytest.approx(SO101.home, abs=0.01)
    np.testing.assert_array_equal(snapshot.command_rad, SO101.home)
    (cube,) = snapshot.objects
    assert cube.name == CUBE
    assert cube.position_m == pytest.approx(snapshot.qpos[bench.conductor.scene.joint_address(CUBE) :][:3], abs=1e-3)
    assert (snapshot.task, snapshot.seed, snapshot.robot) == ("lift-cube", 3, "so101")


def test_the_readouts_agree_with_each_other(bench: Bench) -> None:
    snapshot = bench.tick().snapshot
    apart = snapshot.tcp.position_m - snapshot.gripper.position_m
    # The maker's tool centre point is 98 mm ahead of the gripper's frame and 8 mm beside it.
    assert np.linalg.norm(apart) == pytest.approx(math.hypot(0.0981274, 0.0079), abs=1e-6)
    assert snapshot.tcp.quaternion == pytest.approx(snapshot.gripper.quaternion)
    assert np.linalg.norm(snapshot.tool_mid_m - snapshot.tcp.position_m) == pytest.approx(snapshot.jaw_gap_m / 2)


def test_sliders_move_the_arm_and_the_newest_wish_counts(bench: Bench) -> None:
    assert bench.do(Jog(tuple(AWAY))) == Done()
    assert bench.tick(20).snapshot.mode == "jogging"
    assert bench.snapshot.doing == "jog"
    back = SO101.home + np.array([0.2, 0, 0, 0, 0, 0])
    bench.give(Jog(tuple(back)))
    snapshot = bench.until(lambda each: each.mode == "idle")
    np.testing.assert_array_equal(snapshot.command_rad, back)
    assert snapshot.joints_rad == pytest.approx(back, abs=0.02)


@pytest.mark.parametrize(
    ("joints", "reason"),
    [
        ((0.0,) * 5, "so101 has 6 joints, got 5 angles"),
        ((9.0, 0, 0, 0, 0, 0), "shoulder_pan 516° (limit <= 110°)"),
        ((0, 0, math.nan, 0, 0, 0), "elbow_flex absent"),
    ],
)
def test_wishes_out_of_range_are_refused_with_the_limit(bench: Bench, joints: tuple[float, ...], reason: str) -> None:
    assert reason in bench.refused(Jog(joints)).reason
    np.testing.assert_array_equal(bench.tick(5).snapshot.command_rad, SO101.home)


def test_a_jog_into_the_table_is_refused_with_the_measurement(bench: Bench) -> None:
    into = (0.0, 0.9, 0.4, 0.6, 0.0, 0.1)
    refused = bench.refused(Jog(into))
    assert "table" in refused.reason
    assert refused.evidence[0].value < refused.evidence[0].limit
    np.testing.assert_array_equal(bench.tick(30).snapshot.command_rad, SO101.home)
    assert bench.snapshot.mode == "idle"


def test_a_jog_that_is_refused_stops_the_one_before_it(bench: Bench) -> None:
    bench.done(Jog(tuple(AWAY)))
    assert bench.tick(20).snapshot.mode == "jogging"
    bench.refused(Jog((0.0, 0.9, 0.4, 0.6, 0.0, 0.1)))
    held = bench.tick(30).snapshot.command_rad
    assert bench.snapshot.mode == "idle"
    np.testing.assert_array_equal(bench.tick(20).snapshot.command_rad, held)


def test_the_tool_goes_where_it_is_sent(bench: Bench) -> None:
    order = bench.give(MoveTool((0.22, 0.05, 0.08), DOWN, 0.0))
    snapshot = bench.tick(10).snapshot
    assert (snapshot.mode, snapshot.doing) == ("moving", "move_tool")
    bench.until(lambda each: each.mode == "idle")
    assert isinstance(order.ticket.settled, Done)
    assert bench.tick(20).snapshot.tcp.position_m == pytest.approx([0.22, 0.05, 0.08], abs=0.004)


def test_a_target_out_of_reach_is_refused_with_numbers_and_nothing_moves(bench: Bench) -> None:
    refused = bench.refused(MoveTool((0.6, 0.0, 0.1), DOWN, 0.0))
    assert "out of reach" in refused.reason
    assert not refused.evidence[0].passed
    snapshot = bench.tick(5).snapshot
    np.testing.assert_array_equal(snapshot.command_rad, SO101.home)
    assert snapshot.mode == "idle"
    assert snapshot.evidence == refused.evidence
    assert snapshot.message == f"move tool: {refused.reason}"


@pytest.mark.parametrize("command", [MoveTool((0.2, 0.0, math.nan), 0.0), MoveTool((0.2, 0.0, 0.1), math.inf)])
def test_a_pose_that_is_none_is_refused(bench: Bench, command: MoveTool) -> None:
    assert bench.refused(command).reason.startswith("not a pose")


def test_home_and_zero_are_two_places(bench: Bench) -> None:
    bench.done(Zero())
    np.testing.assert_array_equal(bench.snapshot.command_rad, np.zeros(6))
    bench.done(Home())
    np.testing.assert_array_equal(bench.snapshot.command_rad, SO101.home)


def test_down_points_the_gripper_straight_down(bench: Bench) -> None:
    bench.done(Down())
    bench.tick(30)
    approach = matrix_from_quaternion(bench.snapshot.tcp.quaternion)[:, 0]
    assert np.arccos(-approach[2]) < np.radians(0.5)


def test_the_jaw_goes_to_its_ends_to_gaps_and_to_angles(bench: Bench) -> None:
    lower, upper = SO101.limits.lower[5], SO101.limits.upper[5]
    for command, angle in (
        (MoveJaw(full="open"), upper),
        (MoveJaw(full="close"), lower),
        (MoveJaw(gap_m=0.04), float(SO101.jaw_law.angle_rad(0.04))),
        (MoveJaw(gap_m=0.1), float(SO101.jaw_law.angle_rad(0.1))),
        (MoveJaw(rad=0.5), 0.5),
        (OpenRange(1.2), 1.2),
        (CloseRange(0.1), 0.1),
    ):
        done = bench.done(command)
        assert bench.snapshot.command_rad[5] == pytest.approx(angle)
        # What is told is where the jaw came to rest, not where it swung through.
        assert done.data["jaw_rad"] == pytest.approx(angle, abs=1e-3)
        assert done.data["gap_m"] == pytest.approx(float(SO101.jaw_law.gap_m(angle)), abs=1e-4)
        assert bench.snapshot.message == f"jaw at {1000 * bench.tick(60).snapshot.jaw_gap_m:.1f} mm"
        np.testing.assert_array_equal(bench.snapshot.command_rad[:5], SO101.home[:5])


@pytest.mark.parametrize(
    "command",
    [
        MoveJaw(),
        MoveJaw(full="open", rad=0.1),
        MoveJaw(gap_m=0.5),
        MoveJaw(gap_m=-0.01),
        MoveJaw(rad=3.0),
        OpenRange(2.0),
        CloseRange(math.nan),
    ],
)
def test_a_jaw_command_that_cannot_be_is_refused(bench: Bench, command: Any) -> None:
    assert bench.refused(command).reason
    assert bench.tick(5).snapshot.command_rad[5] == SO101.home[5]


def test_one_move_at_a_time_and_a_jog_gives_way(bench: Bench) -> None:
    zero = bench.give(Zero())
    bench.tick(5)
    assert bench.refused(Home()).reason == "busy: zero; stop it first"
    assert bench.refused(ResetScene()).reason == "busy: the arm is moving; stop it first"
    bench.until(lambda each: each.mode == "idle")
    assert isinstance(zero.ticket.settled, Done)
    bench.give(Jog(tuple(AWAY)))
    bench.tick(20)
    bench.done(Home())
    np.testing.assert_array_equal(bench.snapshot.command_rad, SO101.home)


def test_a_move_that_something_blocks_ends_and_says_so(bench: Bench) -> None:
    bench.done(StrikeFault("jam"))
    bench.tick(5)
    results = [bench.do(each) for each in (Zero(), Home())]
    refused = [each for each in results if isinstance(each, Refused)]
    assert refused
    assert "in the way" in refused[0].reason
    assert refused[0].evidence[0].name == "tracking_error"


# Stop


def stop(bench: Bench) -> Ticket:
    ticket = Ticket()
    bench.conductor.stop([ticket])
    return ticket


def test_stop_brakes_within_a_quarter_of_a_second_and_the_arm_holds(bench: Bench) -> None:
    order = bench.give(Zero())
    bench.tick(25)
    before = bench.snapshot
    ticket = stop(bench)
    assert ticket.settled is None
    assert bench.snapshot.mode == "stopping"
    ticks = 0
    while ticket.settled is None:
        bench.tick()
        ticks += 1
    assert ticks * SO101.dt_s <= 0.25
    assert isinstance(ticket.settled, Done)
    snapshot = bench.until(lambda each: each.mode == "idle")
    assert order.ticket.settled == Refused(reason="stopped")
    held = bench.tick(60).snapshot
    np.testing.assert_array_equal(held.command_rad, snapshot.command_rad)
    assert held.joints_rad == pytest.approx(snapshot.command_rad, abs=0.02)
    assert 0 < np.abs(held.command_rad - before.command_rad).max() < 0.5


def test_stop_where_nothing_moves_is_done_at_once_and_changes_nothing(bench: Bench) -> None:
    ticket = stop(bench.tick(5))
    bench.tick()
    assert isinstance(ticket.settled, Done)
    assert bench.snapshot.mode == "idle"


def test_stopping_twice_answers_both(bench: Bench) -> None:
    bench.give(Zero())
    bench.tick(25)
    first = stop(bench)
    bench.tick(2)
    second = stop(bench)
    bench.until(lambda each: each.mode == "idle")
    assert isinstance(first.settled, Done)
    assert isinstance(second.settled, Done)


def test_a_scene_that_was_going_to_be_reset_is_not_after_stop(bench: Bench) -> None:
    order = bench.give(RunTask(7))
    stop(bench)
    bench.tick(10)
    assert order.ticket.settled == Refused(reason="stopped")
    assert (bench.snapshot.seed, bench.snapshot.mode) == (3, "idle")
    bench.done(Home())


@pytest.mark.parametrize("after_s", [0.02, 0.5, 1.2, 2.0, 3.0])
def test_stop_works_in_every_state_of_a_task_and_a_person_goes_on_from_there(bench: Bench, after_s: float) -> None:
    order = bench.give(RunTask(5))
    bench.until(lambda each: each.mode == "task" and each.time_s >= after_s)
    ticket = stop(bench)
    snapshot = bench.until(lambda each: each.mode == "idle", most=60)
    assert isinstance(ticket.settled, Done)
    assert snapshot.verdict == "interrupted"
    assert snapshot.time_s > after_s
    result = order.ticket.settled
    assert isinstance(result, Refused)
    assert result.reason == "stopped"
    assert result.data["verdict"] == "interrupted"
    bench.done(MoveJaw(full="open"))
    assert bench.snapshot.time_s > snapshot.time_s


def test_a_plan_that_is_given_up_stops_the_task() -> None:
    bench = Bench().tick()
    order = bench.give(RunTask(5))
    bench.background.given_up = True
    snapshot = bench.until(lambda each: each.verdict != "", most=60)
    assert snapshot.verdict == "interrupted"
    assert isinstance(order.ticket.settled, Refused)
    bench.background.given_up = False
    bench.done(Home())


# Tasks


def test_a_task_played_live_has_the_bits_of_a_run(bench: Bench, episode: Episode) -> None:
    bench.give(Jog(tuple(AWAY)))
    bench.tick(17)
    done = bench.done(RunTask(5))
    assert done.data == episode.as_dict()
    assert done.data["state_hash"] == episode.state_hash
    # And again, after a person has had it in hand.
    bench.done(Home())
    assert bench.done(RunTask(5)).data["state_hash"] == episode.state_hash


def test_a_task_is_told_while_it_plays(bench: Bench) -> None:
    bench.give(RunTask(5))
    snapshot = bench.until(lambda each: each.state == "lift")
    assert (snapshot.mode, snapshot.doing, snapshot.seed) == ("task", "lift", 5)
    assert [each.state for each in snapshot.history][:3] == ["look", "plan", "approach"]
    assert snapshot.retries == {"grasps": 2, "looks": 4}
    assert snapshot.targets == (CUBE,)
    assert snapshot.verdict == ""
    snapshot = bench.until(lambda each: each.mode == "idle")
    assert (snapshot.verdict, snapshot.state, snapshot.reset_required) == ("success", "", False)
    assert [each.name for each in snapshot.evidence] == ["raised", "off_pads", "speed", "speed_now"]
    assert snapshot.episodes == 1


def test_after_a_task_the_world_stays_and_what_is_held_stays_in_the_hand(bench: Bench) -> None:
    bench.done(RunTask(5))
    before = bench.snapshot
    assert before.objects == ()
    after = bench.tick(2).snapshot
    assert after.time_s == pytest.approx(before.time_s + 2 * SO101.dt_s)
    np.testing.assert_array_equal(after.command_rad, before.command_rad)
    assert after.objects[0].position_m[2] > 0.05
    bench.done(Home())
    snapshot = bench.tick(30).snapshot
    assert min(snapshot.pad_forces_n) > 0.05
    np.testing.assert_array_equal(snapshot.command_rad[:5], SO101.home[:5])
    bench.done(Refresh())
    assert bench.snapshot.objects[0].position_m[2] > 0.05


def test_while_a_task_plays_the_arm_takes_no_orders(bench: Bench) -> None:
    bench.give(RunTask(5))
    bench.until(lambda each: each.mode == "task")
    for command in (Home(), Jog(tuple(AWAY)), ResetScene(), RunTask(4), Refresh()):
        assert bench.refused(command).reason == "busy: run task; stop it first"


def test_oranges_play_live_with_the_bits_of_a_run() -> None:
    parameters = ORANGES.parameters()
    (expected,) = run_scenarios([Scenario(task=ORANGES, parameters=parameters, seed=2)])
    bench = Bench(ORANGES, parameters, 1).tick()
    assert bench.done(RunTask(2)).data["state_hash"] == expected.state_hash
    assert {each.name for each in bench.tick(2).snapshot.objects} >= {"orange_1", "orange_2"}


def crashing(last: Reply) -> Stage[Literal["done"]]:
    raise RuntimeError("a bug in a state")
    yield


def test_a_task_that_crashes_offers_a_reset_and_the_session_goes_on() -> None:
    bench = Bench(task_of(crashing)).tick()
    refused = bench.refused(RunTask(5))
    assert refused.reason == "crashed: RuntimeError: a bug in a state"
    snapshot = bench.tick().snapshot
    assert (snapshot.verdict, snapshot.reset_required, snapshot.mode) == ("crashed", True, "idle")
    assert "can be reset" in snapshot.message
    bench.done(Home())
    bench.done(ResetScene())
    assert not bench.snapshot.reset_required


def test_physics_that_diverges_refuses_all_but_a_reset(bench: Bench) -> None:
    bench.give(RunTask(5))
    bench.until(lambda each: each.state == "approach")
    bench.done(StrikeFault("nan-control"))
    snapshot = bench.until(lambda each: each.verdict != "", most=30)
    assert (snapshot.verdict, snapshot.reset_required, snapshot.mode) == ("physics_diverged", True, "idle")
    assert np.isfinite(snapshot.qpos).all()
    assert snapshot.as_dict()["mode"] == "idle"
    bench.tick(5)
    for command in (Home(), Jog(tuple(AWAY)), StrikeFault("shove")):
        assert bench.refused(command).reason == "physics diverged; reset the scene first"
    ticket = stop(bench)
    bench.tick()
    assert isinstance(ticket.settled, Done)
    bench.done(ResetScene(8))
    bench.done(Home())
    assert (bench.snapshot.seed, bench.snapshot.reset_required) == (8, False)


def test_the_scene_is_reset_to_a_seed_or_to_the_one_in_force(bench: Bench) -> None:
    start = bench.snapshot.qpos
    bench.done(Zero())
    bench.done(ResetScene())
    snapshot = bench.snapshot
    np.testing.assert_allclose(snapshot.qpos, start, atol=1e-3)
    assert snapshot.time_s <= SO101.dt_s
    bench.done(ResetScene(11))
    assert bench.snapshot.seed == 11
    assert np.abs(bench.snapshot.qpos - start).max() > 0.01
    assert bench.refused(ResetScene(-1)).reason == "a seed is a whole number from 0, got -1"


def test_a_scene_that_cannot_be_drawn_leaves_this_one_as_it_is() -> None:
    seeds: list[int] = []

    def sample(parameters: LiftCube, random: np.random.Generator) -> Any:
        seeds.append(1)
        if len(seeds) > 1:
            raise InputError("no cube could be grasped")
        return LIFT_CUBE.sample(parameters, random)

    bench = Bench(dataclasses.replace(LIFT_CUBE, sample=sample)).tick()
    assert bench.refused(RunTask(5)).reason == "no cube could be grasped"
    assert bench.snapshot.seed == 3
    bench.done(Home())


# Faults, episodes, replays, questions


def test_a_fault_strikes_a_running_task_which_recovers(bench: Bench) -> None:
    handed: list[Episode] = []
    bench = Bench(hand_over=handed.append).tick()
    assert bench.done(Record(on=True, into="mine")).text == "recording into mine"
    assert bench.snapshot.recording == "mine"
    order = bench.give(RunTask(5))
    bench.until(lambda each: each.state == "lift" and each.doing == "lift")
    bench.tick(15)
    struck = bench.done(StrikeFault("drop"))
    assert struck.data["target"] == CUBE
    assert struck.data["fault"].startswith("drop@lift+0.")
    snapshot = bench.until(lambda each: each.mode == "idle")
    assert (snapshot.verdict, snapshot.retries["grasps"]) == ("success", 1)
    assert isinstance(order.ticket.settled, Done)
    (recorded,) = handed
    assert [each.target for each in recorded.strikes] == [CUBE]
    assert len(recorded.log.states) == recorded.log.ticks
    # The log has the fault, and gives the same bits without anybody.
    assert replay_log(CpuEngine(bench.conductor.scene, 1, 1), recorded.log) == recorded.state_hash


def test_a_fault_that_finds_nothing_or_does_not_exist_is_refused(bench: Bench) -> None:
    assert bench.refused(StrikeFault("drop")).reason == "nothing in the hand"
    assert bench.refused(StrikeFault("plate-full")).reason == "the scene has no plate"
    assert "did you mean 'drop'" in bench.refused(StrikeFault("dorp")).reason


def test_eyes_that_are_blinded_as_a_task_ends_heal_in_the_hands_of_a_person(bench: Bench) -> None:
    bench.give(RunTask(5))
    bench.until(lambda each: each.state == "hold")
    bench.done(StrikeFault("blackout"))
    assert bench.snapshot.blind == {"": None}
    stop(bench)
    bench.tick(90)
    assert bench.snapshot.blind == {}


def test_nothing_is_recorded_unless_asked_for_and_somebody_writes_it(bench: Bench) -> None:
    assert "does not record episodes" in bench.refused(Record(on=True)).reason
    handed: list[Episode] = []
    bench = Bench(hand_over=handed.append).tick()
    bench.done(RunTask(5))
    assert handed == []
    bench.done(Record(on=True))
    bench.done(RunTask(6))
    bench.done(Record(on=False))
    bench.done(RunTask(7))
    assert [each.scenario.seed for each in handed] == [6]
    assert bench.snapshot.recording == ""


def test_an_episode_is_replayed_with_its_own_bits(bench: Bench, episode: Episode) -> None:
    order = bench.give(ReplayEpisode(episode.log, "number 5", episode.state_hash))
    bench.until(lambda each: each.mode == "replaying")
    snapshot = bench.tick().snapshot
    assert (snapshot.doing, snapshot.message) == ("replay", "replaying number 5")
    bench.until(lambda each: each.mode == "idle")
    assert order.ticket.settled == Done(
        text="number 5 replayed, the same bits as recorded", data={"state_hash": episode.state_hash}
    )
    assert bench.tick(2).snapshot.objects[0].position_m[2] > 0.05
    refused = bench.refused(ReplayEpisode(episode.log, "number 5", "another"))
    assert "played with other bits" in refused.reason


def test_an_episode_with_faults_is_replayed_with_its_own_bits(bench: Bench) -> None:
    scenario = Scenario(task=LIFT_CUBE, parameters=PARAMETERS, seed=1, faults=("drop@lift+0.3", "shove@approach"))
    (faulty,) = run_scenarios([scenario])
    assert faulty.log.events
    assert bench.done(ReplayEpisode(faulty.log, state_hash=faulty.state_hash)).data["state_hash"] == faulty.state_hash


def test_a_replay_can_be_stopped(bench: Bench, episode: Episode) -> None:
    order = bench.give(ReplayEpisode(episode.log))
    bench.until(lambda each: each.mode == "replaying")
    bench.tick(40)
    stop(bench)
    bench.until(lambda each: each.mode == "idle")
    assert isinstance(order.ticket.settled, Refused)
    bench.done(Home())


def test_a_log_of_another_scene_is_refused(bench: Bench, episode: Episode) -> None:
    other = dataclasses.replace(episode.log, start=np.zeros(99))
    assert "of another scene" in bench.refused(ReplayEpisode(other)).reason


ANSWERED: list[object] = []


def asking(last: Reply) -> Stage[Literal["done"]]:
    reply = yield Ask(question="red or green?", options=("red", "green"), default="green")
    ANSWERED.append(reply.value)
    return Outcome("done")


def test_a_question_waits_for_its_answer_and_the_arm_holds() -> None:
    bench = Bench(task_of(asking)).tick()
    assert bench.refused(Answer("red")).reason == "no question is open"
    order = bench.give(RunTask(5))
    snapshot = bench.until(lambda each: each.question != "")
    assert (snapshot.question, snapshot.options) == ("red or green?", ("red", "green"))
    assert bench.tick(100).snapshot.mode == "task"
    assert "the options are red, green" in bench.refused(Answer("blue")).reason
    bench.done(Answer("red"))
    snapshot = bench.until(lambda each: each.mode == "idle")
    assert (ANSWERED.pop(), snapshot.question) == ("red", "")
    assert isinstance(order.ticket.settled, Done)


def test_a_question_nobody_answers_gets_its_default_in_time() -> None:
    bench = Bench(task_of(asking), ask_timeout_s=1.0).tick()
    done = bench.done(RunTask(5))
    assert ANSWERED.pop() == "green"
    assert done.data["sim_time_s"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("text, by", [("red", "person"), ("", "timeout")])
def test_what_was_answered_is_part_of_the_scenario_which_played_again_gives_the_same_bits(text: str, by: str) -> None:
    handed: list[Episode] = []
    bench = Bench(task_of(asking), hand_over=handed.append, ask_timeout_s=1.0).tick()
    bench.done(Record(True, "somewhere"))
    bench.give(RunTask(5))
    bench.until(lambda each: each.question != "")
    bench.tick(20)
    if text:
        bench.done(Answer(text))
    bench.until(lambda each: each.mode == "idle")
    ((t_s, answered),) = handed[0].answers
    assert (answered.answer, answered.by) == (text or "green", by)
    assert t_s > 0.3
    (again,) = run_scenarios([handed[0].scenario])
    assert again.state_hash == handed[0].state_hash
    assert [(time_s, each.answer, each.by) for time_s, each in again.answers] == [(t_s, text or "green", "scenario")]
    assert handed[0].scenario.as_dict()["answers"] == [{"t_s": t_s, "text": text or "green"}]
    (unattended,) = run_scenarios([dataclasses.replace(handed[0].scenario, answers=())])
    assert (unattended.answers[0][1].by, unattended.scenario.answers) == ("default", ())
    ANSWERED.clear()


def test_a_question_is_gone_when_its_task_is_stopped() -> None:
    bench = Bench(task_of(asking)).tick()
    bench.give(RunTask(5))
    bench.until(lambda each: each.question != "")
    stop(bench)
    snapshot = bench.until(lambda each: each.mode == "idle")
    assert snapshot.question == ""


def test_a_task_that_sees_through_a_camera_looks_by_other_hands() -> None:
    pictures: list[Any] = []

    def looking(last: Reply) -> Stage[Literal["done"]]:
        pictures.append((yield from pictured("front", 64, 48)))
        return Outcome("done")

    bench = Bench(task_of(looking, uses_truth=lambda parameters: False)).tick()
    assert bench.snapshot.objects == ()
    assert "detects objects in camera images" in bench.refused(Refresh()).reason
    bench.done(RunTask(5))
    assert pictures[0].rgb.shape == (48, 64, 3)
    bench.background.given_up = True
    assert bench.refused(RunTask(5)).reason == "stopped"
    bench.background.given_up = False
    bench.conductor.close()


# The console


GRAB_COMMANDS = (
    Select(CUBE),
    SetVariables({"tcp": "between"}),
    CheckReachable(),
    Preview(),
    MoveToGrab(),
    Pick(),
    GraspOpen(),
    GraspClose(),
)


@pytest.mark.parametrize("command", GRAB_COMMANDS)
def test_without_a_console_its_commands_are_refused_with_the_reason(bench: Bench, command: Any) -> None:
    assert bench.refused(command).reason == NO_CONSOLE


def test_a_console_gets_its_commands_and_shows_what_it_has() -> None:
    console = PlainConsole()
    bench = Bench(console=console).tick()
    bench.done(Select(CUBE))
    bench.done(SetVariables({"tcp": "between"}))
    snapshot = bench.snapshot
    assert (snapshot.selected, dict(snapshot.variables)) == (CUBE, {"tcp": "between"})
    np.testing.assert_array_equal(snapshot.tcp.position_m, snapshot.tool_mid_m)
    console.calls.clear()
    for command, name in ((Refresh(), "refresh"), (CheckReachable(), "check"), (Preview(), "preview")):
        assert bench.done(command) == Done(text=name, data={"letters": len(name)})
    bench.done(GraspOpen())
    assert bench.done(MoveToGrab()).data == {"by": "completed"}
    bench.done(Home())
    bench.done(Pick((0.2, 0.1)))
    # Going home looks again: it keeps clear of things where they are now.
    assert console.calls == ["refresh", "check", "preview", "open", "move", "refresh", "pick (0.2, 0.1)", "move"]
    bench.done(ResetScene())
    assert console.calls[-1] == "forget"


def test_a_console_at_work_can_be_stopped() -> None:
    bench = Bench(console=PlainConsole()).tick()
    order = bench.give(MoveToGrab())
    bench.tick(20)
    assert (bench.snapshot.mode, bench.snapshot.doing) == ("moving", "grab")
    stop(bench)
    bench.until(lambda each: each.mode == "idle")
    assert order.ticket.settled == Refused(reason="stopped")


def test_a_bug_in_a_console_ends_its_command_only() -> None:
    bench = Bench(console=PlainConsole()).tick()
    refused = bench.refused(GraspClose())
    assert refused.reason == "crashed: ZeroDivisionError: a bug on the console"
    assert bench.tick().snapshot.reset_required
    bench.done(Home())
