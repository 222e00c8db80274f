"""Episodes in the lanes of an engine: each is set up, played by a machine or a pilot, and turned into an `Episode`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graspline.engine.actors import Actor, LaneView
from graspline.engine.protocol import Engine
from graspline.episodes.camera import Camera
from graspline.episodes.episode import INTERRUPTED, Episode, Transition
from graspline.episodes.fault_injection import Fault, FaultInjector
from graspline.episodes.log import log_of, state_hash
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import Pilot, Ruling
from graspline.episodes.push_clearance import TrueSurroundings
from graspline.episodes.questions import AskPerson, Questions
from graspline.episodes.scenario import GivenAnswer, Scenario
from graspline.episodes.snapshots import snapshot_of, truth_of
from graspline.evidence import Evidence
from graspline.execution.deferred_solves import Thinking
from graspline.execution.disturbance import Disturber, disturbed
from graspline.execution.executor import Executor
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Answered, Applied, Ended, Entered, Finished, Happening, Observer, Targeted
from graspline.execution.requests import Ask, Driver, Reply, Solve
from graspline.execution.sensor_faults import Eyesight
from graspline.faults.context import FaultContext
from graspline.machine.machine import Machine, Result
from graspline.rendering.batches import PictureSource
from graspline.rendering.picture import Picture
from graspline.scenes.variation import Variation
from graspline.tasks.task import Draw


class _Diary:
    """An observer that notes every lane's states."""

    def __init__(self, lanes: int) -> None:
        self.ended: list[list[tuple[float, Ended]]] = [[] for _ in range(lanes)]
        self.entered: list[list[tuple[float, str]]] = [[] for _ in range(lanes)]
        # In the order of the first mention.
        self.targeted: list[dict[str, None]] = [{} for _ in range(lanes)]
        self.answered: list[list[tuple[float, Answered]]] = [[] for _ in range(lanes)]

    def clear(self, lane: int) -> None:
        self.ended[lane], self.entered[lane], self.targeted[lane], self.answered[lane] = [], [], {}, []

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        if isinstance(notification, Ended):
            self.ended[lane].append((time_s, notification))
        elif isinstance(notification, Entered):
            self.entered[lane].append((time_s, notification.state))
        elif isinstance(notification, Targeted):
            self.targeted[lane][notification.name] = None
        elif isinstance(notification, Answered):
            self.answered[lane].append((time_s, notification))


class EpisodeRunner:
    """An executor with what episodes need around it: a diary of their states, faults that strike, and a camera."""

    def __init__(
        self,
        engine: Engine,
        *,
        allow_truth: bool,
        smooth: bool = True,
        observers: Sequence[Observer] = (),
        record_states: bool = False,
        ask: AskPerson | None = None,
        solve: Callable[[list[Solve[Any]]], list[Any]] | None = None,
        thinking: Thinking | None = None,
        take: Callable[[Callable[[], Picture]], Picture] = lambda render: render(),
        source: PictureSource | None = None,
    ) -> None:
        """What answers questions, computes and takes pictures can be chosen; see `Questions` and `Executor`.

        A `source` renders the pictures of all lanes that look in one tick together.
        """
        self.engine = engine
        self.questions = Questions(ask)
        self._diary = _Diary(engine.count)
        self._actors: dict[int, Actor | None] = {}
        # Built for the first scenario with pushes.
        self._surroundings: TrueSurroundings | None = None
        eyesight = Eyesight(engine)
        camera = self._camera = Camera(engine, eyesight, smooth=smooth)
        self.executor = Executor(
            engine,
            allow_truth=allow_truth,
            photograph=lambda lane, look: take(lambda: camera(lane, look)),
            photograph_many=None if source is None else lambda looks: camera.many(looks, source),
            answer=self._answer,
            solve=solve,
            thinking=thinking,
            eyesight=eyesight,
            observers=[self._diary, *observers],
            record_states=record_states,
        )
        self.faults = FaultInjector(self.executor)
        self.executor.observers += [self.faults, self._show]

    def begin(
        self, lane: int, scenario: Scenario, sampled: Draw, player: Machine | Pilot, faults: tuple[Fault, ...] = ()
    ) -> None:
        """Reset a lane to what was sampled, and let the player play the scenario from there."""
        given = self._set(lane, scenario, sampled, faults)

        def drive(reply: Reply) -> Driver:
            if isinstance(player, Machine):
                return self._pushed(lane, scenario, player.run(self.executor.robot, reply, given))
            instant = Instant(
                scenario=scenario,
                sampled=sampled,
                engine=self.engine,
                lane=lane,
                time_s=0.0,
                actor=self.actor(lane),
                events=self.executor.events(lane),
            )
            return player.drive(instant, reply)

        still_ticks = 1 if isinstance(player, Machine) else 0
        self.executor.start(lane, drive, sampled.start, sampled.variation, still_ticks=still_ticks)
        self._let_act(lane)

    def _pushed(self, lane: int, scenario: Scenario, driver: Driver) -> Driver:
        """The driver, or what pushes the arm off its paths if the scenario says so."""
        if scenario.disturb is None:
            return driver
        if self._surroundings is None:
            self._surroundings = TrueSurroundings(self.engine)
        around = self._surroundings
        disturber = Disturber(
            self.executor.robot,
            around.tool,
            scenario.disturb,
            scenario.stream("disturb"),
            functools.partial(around.clear_from, lane),
        )
        return disturbed(driver, disturber)

    def enter(
        self,
        lane: int,
        scenario: Scenario,
        sampled: Draw,
        make_driver: Callable[[Reply], Driver],
        *,
        logged: bool,
        alive: bool = True,
    ) -> None:
        """Reset a lane to what was sampled, and let a driver that plays no scenario drive from its first tick on.

        In a world that is not `alive` nothing else acts: the driver that plays a log applies what happened then.
        """
        self._set(lane, scenario, sampled, ())
        self.executor.start(lane, make_driver, sampled.start, sampled.variation, still_ticks=0, logged=logged)
        if alive:
            self._let_act(lane)
        else:
            self._actors[lane] = None

    def _set(self, lane: int, scenario: Scenario, sampled: Draw, faults: tuple[Fault, ...]) -> Mapping[str, Any]:
        """Make everything ready for a scenario; returns its machine's inputs."""
        given = scenario.task.inputs(scenario.parameters, sampled, scenario.stream("perception"))
        actor = scenario.task.actor(scenario.parameters, sampled, scenario.stream("world"))
        # What the episode is about from the start, if that is known; more may be turned to.
        meant = scenario.task.target or str(given.get(scenario.task.target_input, ""))
        context = FaultContext(
            engine=self.engine,
            lane=lane,
            variation=sampled.variation,
            random=scenario.stream("faults"),
            target=meant or self.engine.scene.object_names[0],
            parameters=scenario.parameters,
            hints=scenario.task.fault_hints,
            actor=actor,
        )
        self._diary.clear(lane)
        if meant:
            self._diary.targeted[lane][meant] = None
        self.questions.begin(lane, scenario.answers)
        self._camera.begin(lane, sampled.variation, seed=scenario.seed)
        self.faults.arm(lane, faults, context)
        self._actors[lane] = actor
        return given

    def _let_act(self, lane: int) -> None:
        actor = self._actors[lane]
        if actor is not None:
            let_act(self.executor, lane, actor)

    def _answer(self, lane: int, ask: Ask) -> str | None:
        answered = self.questions.answer(lane, ask, self.executor.time_s(lane))
        if answered is None:
            return None
        self.executor.notify(lane, answered)
        return answered.answer

    def actor(self, lane: int) -> Actor | None:
        """What acts in a lane's world, if anything does."""
        return self._actors[lane]

    def episode(
        self, lane: int, scenario: Scenario, sampled: Draw, machine: Machine, how: Finished, track: LaneRecording
    ) -> Episode:
        """What has become of a scenario whose lane is done and stays as it ended."""
        engine, diary, sim_time_s = self.engine, self._diary, track.ticks * self.executor.robot.dt_s
        verdict, evidence, retries = _verdict(how, machine, diary.ended[lane])
        log = log_of(track)
        snapshot = snapshot_of(engine, lane, sampled, sim_time_s, self.actor(lane), log.events)
        answers = tuple(diary.answered[lane])
        if answers and self.questions.attended:
            # Played again, the scenario gets the same answers at the same times.
            scenario = replace(scenario, answers=tuple(GivenAnswer(text=each.answer, t_s=t_s) for t_s, each in answers))
        return Episode(
            scenario=scenario,
            sampled=sampled,
            verdict=verdict,
            succeeded=verdict in machine.successes or (isinstance(how.value, Ruling) and how.value.succeeded),
            retries=retries,
            sim_time_s=sim_time_s,
            state_hash=state_hash(log, engine.state(lane)),
            transitions=tuple(
                Transition(
                    t_s=t_s,
                    state=each.state,
                    outcome=each.outcome,
                    then=each.then,
                    evidence=each.evidence,
                    about=str(each.about),
                )
                for t_s, each in diary.ended[lane]
            ),
            entries=tuple(diary.entered[lane]),
            evidence=evidence,
            truth=truth_of(snapshot),
            goal_by_truth=scenario.task.goal(scenario.parameters, sampled, snapshot),
            log=log,
            targets=self.targets(lane),
            strikes=tuple(self.faults.strikes[lane]),
            error=how.value.error if isinstance(how.value, Ruling) else how.error,
            failure=how.value.failure if isinstance(how.value, Ruling) else None,
            engine=engine.kind,
            outputs=_outputs(how, scenario, machine),
            answers=answers,
        )

    def targets(self, lane: int) -> tuple[str, ...]:
        """Objects of the scene that the task has turned to, in the order of the first time."""
        return tuple(name for name in self._diary.targeted[lane] if name in self.engine.scene.object_names)

    def variation(self, lane: int) -> Variation:
        """A lane's variation as its cameras have it now."""
        return self._camera.variation(lane)

    def _show(self, lane: int, time_s: float, notification: Happening) -> None:
        if isinstance(notification, Applied):
            self._camera.apply(lane, notification.event)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._camera.close()


def let_act(executor: Executor, lane: int, actor: Actor) -> None:
    """Let what acts in a lane's world act now, and again and again while its episode runs."""
    for event in actor.act(LaneView(engine=executor.engine, lane=lane, time_s=executor.time_s(lane))):
        executor.apply(lane, event)
    executor.call(lane, actor.period_s, lambda: let_act(executor, lane, actor))


def _outputs(how: Finished, scenario: Scenario, machine: Machine) -> Mapping[str, Any]:
    if not isinstance(how.value, Result) or how.value.outcome not in machine.successes:
        return {}
    return scenario.task.outputs(scenario.parameters, how.value.memory)


def _verdict(how: Finished, machine: Machine, ended: list[tuple[float, Ended]]) -> tuple[str, Evidence, int]:
    retries = machine.retries_in(each for _, each in ended) if not isinstance(how.value, Ruling) else 0
    if isinstance(how.value, Result):
        return how.value.outcome, how.value.evidence, retries
    if isinstance(how.value, Ruling):
        return how.value.verdict, how.value.evidence, retries
    names = {"preempted": INTERRUPTED, "physics_diverged": "physics_diverged", "crashed": "crashed"}
    return names[how.how], (), retries
