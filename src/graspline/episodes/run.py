"""Running scenarios in lanes: each from its scene to its verdict, refilled as lanes become free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.episodes.episode import HUNG, INTERRUPTED, Episode
from graspline.episodes.failures import Failure
from graspline.episodes.fault_injection import Fault, parse_faults
from graspline.episodes.observers import Instant, NotingObserver, Onlooker
from graspline.episodes.policy_drivers import Pilot
from graspline.episodes.processes import cores
from graspline.episodes.questions import AskPerson
from graspline.episodes.runner import EpisodeRunner
from graspline.episodes.scenario import Scenario
from graspline.episodes.starts import ScenarioQueue
from graspline.errors import WiringError
from graspline.evidence import at_most
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Finished, Happening, Observer
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.rendering.batches import OpenSource
from graspline.scenes.scene import Scene
from graspline.tasks.task import Draw


def run_scenarios(
    scenarios: Sequence[Scenario],
    *,
    lanes: int = 1,
    threads: int = 0,
    record_states: bool = False,
    observers: Sequence[Observer] = (),
    onlookers: Sequence[Onlooker] = (),
    witness: NotingObserver | None = None,
    limit_s: float = float("inf"),
    after_tick: Callable[[Engine], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    pilot: Pilot | None = None,
    spread_ticks: int = 0,
    make_engine: Callable[[Scene, int, int], Engine] = CpuEngine,
    ask: AskPerson | None = None,
    open_source: OpenSource | None = None,
) -> Iterator[Episode]:
    """Play scenarios of one task, as many at once as there are lanes, and yield each when it is finished.

    A scenario gives the same bits whatever the lanes and threads. When `stop` turns true every lane is preempted: the
    arms brake and hold, and their episodes end `interrupted`. An episode that has not ended after `limit_s` of
    simulated time is preempted alike and ends `hung`. Without a `pilot` the task's machine plays. Lanes that all start
    at once all plan at once, again and again; `spread_ticks` spreads their first starts. Questions of tasks get their
    default unless the scenario brings answers or `ask` asks a person; no simulated time passes meanwhile. Pictures are
    rendered here, one after the other, unless `open_source` gives what renders them for all lanes at once.

    >>> from graspline import Scenario, find_task, run_scenarios
    >>> task = find_task("lift-cube")
    >>> scenarios = [Scenario(task=task, parameters=task.parameters(), seed=seed) for seed in range(4)]
    >>> sum(episode.succeeded for episode in run_scenarios(scenarios, lanes=4))
    4
    """
    if not scenarios:
        return
    scene, uses_truth = _shared(scenarios)
    machines = _machines(scenarios)
    faults = _faults(scenarios, machines, pilot)
    engine = make_engine(scene, min(lanes, len(scenarios)), threads or cores())
    source = None if open_source is None else open_source(scene, engine.count)
    queue = ScenarioQueue(scenarios, engine, spread_ticks=spread_ticks)
    runner = EpisodeRunner(
        engine,
        allow_truth=uses_truth,
        smooth=pilot is None or pilot.smooth,
        observers=observers,
        record_states=record_states,
        ask=ask,
        thinking=queue.thinking,
        source=source,
    )
    run = _Run(runner, queue, machines, faults, pilot=pilot, limit_s=limit_s, onlookers=onlookers, witness=witness)
    try:
        while run.begin(stop):
            finished = run.tick(stop)
            if after_tick is not None:
                after_tick(engine)
            for lane, (how, track) in finished.items():
                yield run.episode(lane, how, track)
    finally:
        runner.close()
        if source is not None:
            source.close()


@dataclass(slots=True)
class _Lane:
    """What a lane plays."""

    scenario: Scenario
    sampled: Draw
    # Of the witness.
    notes: list[Any] = field(default_factory=list)
    # Whether it has been stopped for taking too long.
    hung: bool = False


class _Run:
    """Scenarios that are being played: which lane plays what, and what becomes of it."""

    def __init__(
        self,
        runner: EpisodeRunner,
        queue: ScenarioQueue,
        machines: Mapping[Scenario, Machine],
        faults: Mapping[Scenario, tuple[Fault, ...]],
        *,
        pilot: Pilot | None,
        limit_s: float,
        onlookers: Sequence[Onlooker],
        witness: NotingObserver | None,
    ) -> None:
        self._runner, self._executor, self._queue = runner, runner.executor, queue
        self._machines, self._faults, self._pilot, self._limit_s = machines, faults, pilot, limit_s
        self._onlookers, self._witness = onlookers, witness
        self._playing: dict[int, _Lane] = {}
        self._ticks, self._stopped = 0, False
        if onlookers or witness is not None:
            self._executor.observers.append(self._notify_onlookers)

    def begin(self, stop: Callable[[], bool]) -> bool:
        """Let free lanes begin the next scenarios; whether anything is played."""
        for lane, scenario, sampled in self._queue.take(self._executor, self._ticks, stop):
            player = self._pilot or self._machines[scenario]
            self._playing[lane] = _Lane(scenario, sampled)
            self._runner.begin(lane, scenario, sampled, player, self._faults.get(scenario, ()))
        return self._executor.busy

    def tick(self, stop: Callable[[], bool]) -> dict[int, tuple[Finished, LaneRecording]]:
        """One control tick of all lanes; returns those that are done."""
        if not self._stopped and stop():
            self._stopped = True
            self._queue.close()
            for lane in self._playing:
                self._executor.preempt(lane)
        self._queue.before_tick()
        finished = self._executor.tick()
        self._ticks += 1
        if self._runner.questions.problem is not None:
            raise self._runner.questions.problem
        if self._limit_s < float("inf"):
            self._stop_hung(finished)
        return finished

    def _stop_hung(self, finished: Mapping[int, object]) -> None:
        for lane, mine in self._playing.items():
            if lane in finished or mine.hung or self._executor.paused(lane):
                continue
            if self._executor.time_s(lane) >= self._limit_s:
                mine.hung = True
                self._executor.preempt(lane)

    def episode(self, lane: int, how: Finished, track: LaneRecording) -> Episode:
        """What has become of a lane's scenario."""
        mine = self._playing.pop(lane)
        episode = self._runner.episode(lane, mine.scenario, mine.sampled, self._machines[mine.scenario], how, track)
        if mine.hung and episode.verdict == INTERRUPTED:
            episode = _hung(episode, self._limit_s)
        if self._pilot is not None:
            episode = _with_failure(episode)
        return replace(episode, notes=tuple(mine.notes)) if mine.notes else episode

    def _notify_onlookers(self, lane: int, time_s: float, notification: Happening) -> None:
        mine, runner = self._playing[lane], self._runner
        instant = Instant(
            scenario=mine.scenario,
            sampled=mine.sampled,
            engine=runner.engine,
            lane=lane,
            time_s=time_s,
            actor=runner.actor(lane),
        )
        for onlooker in self._onlookers:
            onlooker(instant, notification)
        note = self._witness(instant, notification) if self._witness is not None else None
        if note is not None:
            mine.notes.append(note)


def _machines(scenarios: Sequence[Scenario]) -> dict[Scenario, Machine]:
    """What plays each scenario; those with the same parameters share one."""
    known: dict[Parameters, Machine] = {}
    found: dict[Scenario, Machine] = {}
    for each in scenarios:
        machine = known.get(each.parameters)
        if machine is None:
            machine = known[each.parameters] = each.task.machine(each.parameters)
        found[each] = machine
    return found


def _faults(
    scenarios: Sequence[Scenario], machines: Mapping[Scenario, Machine], pilot: Pilot | None
) -> dict[Scenario, tuple[Fault, ...]]:
    return {
        each: parse_faults(each.faults, machines[each].paths() if pilot is None else pilot.states)
        for each in scenarios
        if each.faults
    }


def shared_scene(scenarios: Sequence[Scenario]) -> Scene:
    """The scene of scenarios that are played together."""
    return _shared(scenarios)[0]


def _shared(scenarios: Sequence[Scenario]) -> tuple[Scene, bool]:
    """What lanes of one engine have in common: the scene, and whether its truth may be looked at."""
    shared = {(each.task.scene(each.parameters), each.task.uses_truth(each.parameters)) for each in scenarios}
    if len(shared) > 1:
        raise WiringError("scenarios played together must share their scene and their estimator")
    return shared.pop()


def _with_failure(episode: Episode) -> Episode:
    """An episode that broke off before its pilot could say how it failed has failed by its verdict."""
    if episode.succeeded or episode.failure is not None or episode.verdict == INTERRUPTED:
        return episode
    return replace(episode, failure=Failure(mode=episode.verdict))


def _hung(episode: Episode, limit_s: float) -> Episode:
    return replace(episode, verdict=HUNG, evidence=(at_most("episode_time", episode.sim_time_s, limit_s, "s"),))
