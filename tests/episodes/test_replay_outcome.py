"""What a belt's feeder has sent, and what became of it, told by a log."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.datasets.format.log_reader import TaskInstance
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Place
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import interface_of
from graspline.envs.policies import LocalPolicies
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_logs
from graspline.episodes.replay_outcome import actor_after
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.snapshots import snapshot_of, truth_of
from graspline.parameters import load
from graspline.robots.ur5e import HOME
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import SORT

# So many blocks that most of them have to be sent, on a belt that soon takes them past the arm.
QUICK = load(Sort, {"belt": {"blocks": 14, "density_per_m": 6.0, "speed_m_s": 0.4}})
SORTING = TaskInstance(task=SORT, parameters=QUICK, machine=SORT.machine(QUICK))


@pytest.fixture(scope="module")
def episode() -> Episode:
    """Nobody moves while blocks ride by, and somebody takes one of them away."""
    interface = interface_of(SORT.scene(QUICK), fps=10, cameras="none", units="degrees")
    home = interface.units.outward(HOME)
    policies = LocalPolicies(interface, lambda _: lambda observation: home)
    pilot = PolicyPilot(interface=interface, policies=policies, max_seconds=5.0)
    scenario = Scenario(task=SORT, parameters=QUICK, seed=3, faults=("remove@follow+1.5",))
    (episode,) = run_scenarios([scenario], pilot=pilot)
    return episode


def test_accounts_told_by_a_log_are_those_that_were_kept_while_it_happened(episode: Episode) -> None:
    scene = SORT.scene(QUICK)
    engine = CpuEngine(scene, 1, 1)
    (replayed,) = replay_logs(engine, [episode.log])
    assert replayed.state_hash == episode.state_hash
    actor = actor_after(SORTING.task, SORTING.parameters, scene, episode.log, replayed.states)
    snapshot = snapshot_of(engine, 0, episode.sampled, episode.sim_time_s, actor)
    assert truth_of(snapshot) == episode.truth
    # Enough has happened for this to mean something.
    sent = snapshot.accounts
    assert len(sent) == 14
    assert sum(each.sent_s > 0 for each in sent) >= 8
    assert sum(each.where == "missed" for each in sent) >= 3
    assert sum(each.where == "removed" for each in sent) == 1


def test_a_block_that_is_put_elsewhere_and_taken_away_in_one_tick_has_left_from_there(episode: Episode) -> None:
    log = episode.log
    parked = next((tick, event) for tick, event in log.events if isinstance(event, Change) and event.edits[0].values[0])
    tick, name = parked[0], parked[1].edits[0].element
    events = [(tick, Place(body=name, position_m=(0.5, 0.0, -0.5))), *log.events[log.events.index(parked) :]]
    states = np.tile(log.start, (tick + 2, 1))
    scene = SORT.scene(QUICK)
    fallen = type(log)(
        start=log.start,
        variation=log.variation,
        positions=log.positions[: tick + 2],
        velocities=log.velocities[: tick + 2],
        events=tuple((when, event) for when, event in events if when == tick),
        states=log.states,
    )
    actor = actor_after(SORTING.task, SORTING.parameters, scene, fallen, states)
    engine = CpuEngine(scene, 1, 1)
    engine.reset(0, log.start, log.variation)
    accounts = snapshot_of(engine, 0, episode.sampled, 0.0, actor).accounts
    (account,) = (each for each in accounts if each.name == name)
    assert (account.where, account.left_s) == ("fallen", tick * scene.robot.dt_s)


def test_where_nobody_acts_there_are_no_accounts() -> None:
    parameters = LiftCube()
    played = TaskInstance(task=LIFT_CUBE, parameters=parameters, machine=LIFT_CUBE.machine(parameters))
    (episode,) = run_scenarios([Scenario(task=LIFT_CUBE, parameters=parameters, seed=7)], limit_s=0.1)
    states = np.tile(episode.log.start, (episode.log.ticks + 1, 1))
    assert actor_after(played.task, played.parameters, LIFT_CUBE.scene(parameters), episode.log, states) is None
