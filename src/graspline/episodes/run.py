"""Running scenarios in lanes: each from its scene to its verdict, refilled as lanes become free."""

from __future__ import annotations

import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Actor, World
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Event
from graspline.engine.protocol import Elsewhere, Engine, EngineKind
from graspline.episodes.camera import Camera
from graspline.episodes.card import episode_card, episode_line
from graspline.episodes.context import Context
from graspline.episodes.draws import Draws
from graspline.episodes.failures import Failure
from graspline.episodes.faults import Fault, FaultInjector, Strike, parse_faults
from graspline.episodes.log import EpisodeLog, log_of, state_hash
from graspline.episodes.questions import AskPerson, Questions
from graspline.episodes.scenario import GivenAnswer, Scenario
from graspline.episodes.snapshots import snapshot_of, truth_of
from graspline.episodes.surroundings import Surroundings
from graspline.errors import WiringError
from graspline.evidence import Evidence, EvidenceTable, at_most, passes
from graspline.execution.disturbance import Disturber, disturbed
from graspline.execution.executor import Executor
from graspline.execution.eyesight import Eyesight
from graspline.execution.happenings import Answered, Applied, Ended, Entered, Finished, Happening, Observer, Targeted
from graspline.execution.requests import Ask, Driver, Reply, Solve
from graspline.execution.thinking import Thinking
from graspline.execution.track import Track
from graspline.machine.machine import Machine, Result
from graspline.parameters import Parameters
from graspline.rendering.picture import Picture
from graspline.rendering.sources import OpenSource, PictureSource
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.tasks.task import Draw, Instruction, Snapshot

if TYPE_CHECKING:
    from graspline.episodes.inline_film import InlineFilm
    from graspline.machine.diagram import Diagram

Array = NDArray[np.float64]

# Verdicts of episodes that were stopped from outside: by whoever runs them, or for taking too long.
INTERRUPTED = "interrupted"
HUNG = "hung"
# Verdict of an episode that a policy could not go on with.
POLICY_ERROR = "policy_error"
# For every so many lanes one scenario is drawn ahead: a tick brings a question of each nearer to its answer, and a draw
# has dozens where an episode has hundreds of ticks.
_LANES_AHEAD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A state that ended: when, which, how, where that led, and what was measured."""

    t_s: float
    state: str
    outcome: str
    then: str
    evidence: Evidence = ()
    # The object the outcome is about, if it is about one.
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finished episode: its verdict with evidence, what the simulator says of it, and its log."""

    scenario: Scenario
    draw: Draw
    verdict: str
    succeeded: bool
    retries: int
    sim_time_s: float
    state_hash: str
    transitions: tuple[Transition, ...]
    # (time, state) of every entry, for captions.
    entries: tuple[tuple[float, str], ...]
    evidence: Evidence
    truth: Mapping[str, Any]
    goal_by_truth: Evidence
    log: EpisodeLog
    # Objects the task worked on, in the order it first turned to them.
    targets: tuple[str, ...] = ()
    # Faults that struck, or found nothing to strike.
    strikes: tuple[Strike, ...] = ()
    error: str = ""
    engine: EngineKind = "cpu"
    # Whether the CPU agrees with the verdict of what a GPU played; None if it was not asked.
    certified: bool | None = None
    # What a witness noted on the way.
    notes: tuple[Any, ...] = ()
    # What the task hands on, by name, as plain values.
    outputs: Mapping[str, Any] = field(default_factory=dict)
    # Questions of the task and what each was answered, with the time.
    answers: tuple[tuple[float, Answered], ...] = ()
    # Of a policy's episode that failed: how, by truth.
    failure: Failure | None = None

    def __post_init__(self) -> None:
        # The same measurements, as tuples that show themselves.
        object.__setattr__(self, "evidence", EvidenceTable(self.evidence))
        object.__setattr__(self, "goal_by_truth", EvidenceTable(self.goal_by_truth))

    def __repr__(self) -> str:
        return episode_line(self)

    def _repr_html_(self) -> str:
        return str(episode_card(self))

    def diagram(self, *, compact: bool = False) -> Diagram:
        """The task's machine with how often each outcome occurred; what did not happen is pale."""
        # Only notebooks need it.
        from graspline.machine.diagram import Diagram

        machine = self.scenario.task.machine(self.scenario.parameters)
        taken = Counter((each.state, each.outcome, each.then) for each in self.transitions)
        return Diagram(machine=machine, taken=taken, compact=compact)

    def film(self) -> InlineFilm:
        """A film that plays in a notebook and can be saved. Without recorded states the log is replayed first."""
        # Films are made of episodes; only this method needs the reverse.
        from graspline.episodes.inline_film import filmed

        return filmed(self)

    @property
    def declined(self) -> bool:
        """Whether the order was turned down before anything moved, which is no failure at it."""
        return self.verdict in self.scenario.task.declines and not self.retries

    @property
    def false_success(self) -> bool:
        """Claimed, but not so by the simulator: the worst thing that can happen."""
        return self.succeeded and not passes(self.goal_by_truth)

    @property
    def instruction(self) -> Instruction:
        """What it was told to do, by its scene and by what a person answered on the way."""
        outcomes = {each.state: each.outcome for each in self.transitions}
        return self.scenario.task.instruction(self.scenario.parameters, self.draw, outcomes)

    def _variation(self) -> dict[str, Any]:
        """What was drawn, if anything is randomised on top of the task's own scene."""
        settings = self.scenario.task.randomization(self.scenario.parameters)
        return {"variation": dict(self.draw.variation.described)} if settings.any_on else {}

    def _answers(self) -> dict[str, Any]:
        """What the task's questions were answered, if it asked any."""
        told = [
            {"t_s": round(t_s, 6), "question": each.question, "answer": each.answer, "by": each.by}
            for t_s, each in self.answers
        ]
        return {"answers": told} if told else {}

    def as_dict(self) -> dict[str, Any]:
        """What `run --json` prints."""
        return {
            "task": self.scenario.task.name,
            "seed": self.scenario.seed,
            "instruction": self.instruction.sentence,
            "verdict": self.verdict,
            "succeeded": self.succeeded,
            "retries": self.retries,
            "sim_time_s": round(self.sim_time_s, 6),
            "state_hash": self.state_hash,
            "engine": self.engine,
            **({} if self.certified is None else {"certified": self.certified}),
            "transitions": [
                {
                    "t_s": round(each.t_s, 6),
                    "state": each.state,
                    "outcome": each.outcome,
                    "about": each.about,
                    "evidence": [measurement.as_dict() for measurement in each.evidence],
                }
                for each in self.transitions
            ],
            "evidence": [measurement.as_dict() for measurement in self.evidence],
            **({"outputs": dict(self.outputs)} if self.outputs else {}),
            **self._answers(),
            "truth": self.truth,
            **({} if self.failure is None else {"failure": self.failure.as_dict()}),
            **self._variation(),
            **({"error": self.error} if self.error else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A moment of an episode that is being played, and the world it happens in."""

    scenario: Scenario
    draw: Draw
    engine: Engine
    lane: int
    time_s: float
    # Who acts in that world, if anybody does.
    actor: Actor | None = None
    # What has happened to it, with the tick before which it did; grows while the episode is played.
    events: Sequence[tuple[int, Event]] = ()

    def snapshot(self) -> Snapshot:
        """What the simulator knows now."""
        return snapshot_of(self.engine, self.lane, self.draw, self.time_s, self.actor, self.events)


class Onlooker(Protocol):
    """Told of everything that happens in an episode, with the world at hand. It only looks."""

    def __call__(self, instant: Instant, happening: Happening) -> None: ...


class Witness(Protocol):
    """An onlooker whose notes the episode carries; None where there is nothing to note. It may be in another process,
    so it is a plain function."""

    def __call__(self, instant: Instant, happening: Happening) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """How an episode ended that no machine played."""

    verdict: str
    evidence: Evidence
    # What went wrong with whoever played it, for people to read.
    error: str = ""
    # How it failed, unless it succeeded.
    failure: Failure | None = None
    # Where the verdict is one by which no machine of the task says that it succeeded.
    succeeded: bool = False


class Pilot(Protocol):
    """Plays episodes in place of the task's machine, from their first tick on.

    It ends with a ruling of its own, or, where the machine took over from it, with the machine's result.
    """

    @property
    def states(self) -> tuple[str, ...]:
        """States its driver announces, in which faults may strike."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether the pictures it looks at are antialiased."""
        ...

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling | Result]: ...


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

    def __call__(self, lane: int, time_s: float, happening: Happening) -> None:
        if isinstance(happening, Ended):
            self.ended[lane].append((time_s, happening))
        elif isinstance(happening, Entered):
            self.entered[lane].append((time_s, happening.state))
        elif isinstance(happening, Targeted):
            self.targeted[lane][happening.name] = None
        elif isinstance(happening, Answered):
            self.answered[lane].append((time_s, happening))


class Studio:
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
        take: Callable[[Callable[[], Picture]], Picture] = lambda draw: draw(),
        source: PictureSource | None = None,
    ) -> None:
        """Who answers questions, computes and takes pictures can be chosen; see `Questions` and `Executor`.

        A `source` renders the pictures of all lanes that look in one tick together.
        """
        self.engine = engine
        self.questions = Questions(ask)
        self._diary = _Diary(engine.count)
        self._actors: dict[int, Actor | None] = {}
        # Built for the first scenario with pushes.
        self._surroundings: Surroundings | None = None
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
        self, lane: int, scenario: Scenario, draw: Draw, player: Machine | Pilot, faults: tuple[Fault, ...] = ()
    ) -> None:
        """Reset a lane to what was drawn, and let the player play the scenario from there."""
        given = self._set(lane, scenario, draw, faults)

        def drive(reply: Reply) -> Driver:
            if isinstance(player, Machine):
                return self._pushed(lane, scenario, player.run(self.executor.robot, reply, given))
            instant = Instant(
                scenario=scenario,
                draw=draw,
                engine=self.engine,
                lane=lane,
                time_s=0.0,
                actor=self.actor(lane),
                events=self.executor.events(lane),
            )
            return player.drive(instant, reply)

        still_ticks = 1 if isinstance(player, Machine) else 0
        self.executor.start(lane, drive, draw.start, draw.variation, still_ticks=still_ticks)
        self._let_act(lane)

    def _pushed(self, lane: int, scenario: Scenario, driver: Driver) -> Driver:
        """The driver, or what pushes the arm off its paths if the scenario says so."""
        if scenario.disturb is None:
            return driver
        if self._surroundings is None:
            self._surroundings = Surroundings(self.engine)
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
        draw: Draw,
        make_driver: Callable[[Reply], Driver],
        *,
        logged: bool,
        alive: bool = True,
    ) -> None:
        """Reset a lane to what was drawn, and let somebody drive from its first tick on who plays no scenario.

        In a world that is not `alive` nobody else acts: whoever plays a log applies what happened then.
        """
        self._set(lane, scenario, draw, ())
        self.executor.start(lane, make_driver, draw.start, draw.variation, still_ticks=0, logged=logged)
        if alive:
            self._let_act(lane)
        else:
            self._actors[lane] = None

    def _set(self, lane: int, scenario: Scenario, draw: Draw, faults: tuple[Fault, ...]) -> Mapping[str, Any]:
        """Make everything ready for a scenario; returns its machine's inputs."""
        given = scenario.task.given(scenario.parameters, draw, scenario.stream("perception"))
        actor = scenario.task.actor(scenario.parameters, draw, scenario.stream("world"))
        # What the episode is about from the start, if that is known; more may be turned to.
        meant = scenario.task.target or str(given.get("target", ""))
        context = Context(
            engine=self.engine,
            lane=lane,
            variation=draw.variation,
            random=scenario.stream("faults"),
            target=meant or self.engine.scene.object_names[0],
            bay_of=lambda name: scenario.task.bay_of(scenario.parameters, name),
            actor=actor,
        )
        self._diary.clear(lane)
        if meant:
            self._diary.targeted[lane][meant] = None
        self.questions.begin(lane, scenario.answers)
        self._camera.begin(lane, draw.variation, seed=scenario.seed)
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
        self.executor.tell(lane, answered)
        return answered.answer

    def actor(self, lane: int) -> Actor | None:
        """Who acts in a lane's world, if anybody does."""
        return self._actors[lane]

    def episode(
        self, lane: int, scenario: Scenario, draw: Draw, machine: Machine, how: Finished, track: Track
    ) -> Episode:
        """What has become of a scenario whose lane is done and stays as it ended."""
        engine, diary, sim_time_s = self.engine, self._diary, track.ticks * self.executor.robot.dt_s
        verdict, evidence, retries = _verdict(how, machine, diary.ended[lane])
        log = log_of(track)
        snapshot = snapshot_of(engine, lane, draw, sim_time_s, self.actor(lane), log.events)
        answers = tuple(diary.answered[lane])
        if answers and self.questions.attended:
            # Played again, the scenario gets the same answers at the same times.
            scenario = replace(scenario, answers=tuple(GivenAnswer(text=each.answer, t_s=t_s) for t_s, each in answers))
        return Episode(
            scenario=scenario,
            draw=draw,
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
                    about=each.about,
                )
                for t_s, each in diary.ended[lane]
            ),
            entries=tuple(diary.entered[lane]),
            evidence=evidence,
            truth=truth_of(snapshot),
            goal_by_truth=scenario.task.judge(scenario.parameters, draw, snapshot),
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

    def _show(self, lane: int, time_s: float, happening: Happening) -> None:
        if isinstance(happening, Applied):
            self._camera.apply(lane, happening.event)

    def close(self) -> None:
        self._camera.close()


def let_act(executor: Executor, lane: int, actor: Actor) -> None:
    """Let what acts in a lane's world act now, and again and again while its episode runs."""
    for event in actor.act(World(engine=executor.engine, lane=lane, time_s=executor.time_s(lane))):
        executor.apply(lane, event)
    executor.call(lane, actor.period_s, lambda: let_act(executor, lane, actor))


def run_scenarios(
    scenarios: Sequence[Scenario],
    *,
    lanes: int = 1,
    threads: int = 0,
    record_states: bool = False,
    observers: Sequence[Observer] = (),
    onlookers: Sequence[Onlooker] = (),
    witness: Witness | None = None,
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
    at once all plan at once, again and again; their first starts can be spread over so many ticks. Questions of tasks
    get their default unless the scenario brings answers or `ask` asks a person; no simulated time passes meanwhile.
    Pictures are rendered here, one after the other, unless `open_source` gives what renders them for all lanes at once.
    """
    if not scenarios:
        return
    scene, uses_truth = _shared(scenarios)
    machines = _machines(scenarios)
    faults = {
        each: parse_faults(each.faults, machines[each].paths() if pilot is None else pilot.states)
        for each in scenarios
        if each.faults
    }
    engine = make_engine(scene, min(lanes, len(scenarios)), threads or cores())
    elsewhere, thinking = isinstance(engine, Elsewhere), Thinking()
    source = None if open_source is None else open_source(scene, engine.count)
    studio = Studio(
        engine,
        allow_truth=uses_truth,
        smooth=pilot is None or pilot.smooth,
        observers=observers,
        record_states=record_states,
        ask=ask,
        thinking=thinking if elsewhere else None,
        source=source,
    )
    executor = studio.executor
    waiting, playing, stopped = Draws(scenarios, ahead=engine.count // _LANES_AHEAD), {}, False
    hung: set[int] = set()
    notes: dict[int, list[Any]] = {}

    def tell_onlookers(lane: int, time_s: float, happening: Happening) -> None:
        scenario, draw = playing[lane]
        instant = Instant(
            scenario=scenario, draw=draw, engine=engine, lane=lane, time_s=time_s, actor=studio.actor(lane)
        )
        for onlooker in onlookers:
            onlooker(instant, happening)
        note = witness(instant, happening) if witness is not None else None
        if note is not None:
            notes.setdefault(lane, []).append(note)

    def draw_ahead() -> bool:
        return not stopped and waiting.go_on()

    def think(on_its_way: Callable[[], bool]) -> None:
        # At least a little, or lanes that wait would wait for ever.
        while any([thinking.go_on(), draw_ahead()]) and on_its_way():
            pass

    if onlookers or witness is not None:
        executor.observers.append(tell_onlookers)
    if isinstance(engine, Elsewhere):
        engine.meanwhile = think
    if spread_ticks:
        # Lanes that have not started may be stepped along; in a scene as it is compiled things overlap.
        first = scenarios[0].draw()
        for lane in range(engine.count):
            engine.reset(lane, first.start, first.variation)
    try:
        for tick in itertools.count():
            idle = executor.idle_lanes() if waiting and not stopped and executor.on_beat else []
            idle = [lane for lane in idle if lane * spread_ticks <= tick * engine.count]
            for lane, (scenario, draw) in zip(idle, waiting.take(len(idle), stop), strict=False):
                studio.begin(lane, scenario, draw, pilot or machines[scenario], faults.get(scenario, ()))
                playing[lane] = scenario, draw
            if not executor.busy:
                return
            if not stopped and stop():
                stopped = True
                for lane in playing:
                    executor.preempt(lane)
            if not elsewhere:
                draw_ahead()
            finished = executor.tick()
            if studio.questions.problem is not None:
                raise studio.questions.problem
            for lane in playing if limit_s < float("inf") else ():
                if lane in finished or lane in hung or executor.stands(lane):
                    continue
                if executor.time_s(lane) >= limit_s:
                    hung.add(lane)
                    executor.preempt(lane)
            if after_tick is not None:
                after_tick(engine)
            for lane, (how, track) in finished.items():
                scenario, draw = playing.pop(lane)
                episode = studio.episode(lane, scenario, draw, machines[scenario], how, track)
                if lane in hung:
                    hung.discard(lane)
                    episode = _hung(episode, limit_s) if episode.verdict == INTERRUPTED else episode
                if pilot is not None:
                    episode = _with_failure(episode)
                yield replace(episode, notes=tuple(notes.pop(lane))) if lane in notes else episode
    finally:
        studio.close()
        if source is not None:
            source.close()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def shared_scene(scenarios: Sequence[Scenario]) -> Scene:
    """The scene of scenarios that are played together."""
    return _shared(scenarios)[0]


def _shared(scenarios: Sequence[Scenario]) -> tuple[Scene, bool]:
    """What lanes of one engine have in common: the scene, and whether its truth may be looked at."""
    shared = {(each.task.scene(each.parameters), each.task.uses_truth(each.parameters)) for each in scenarios}
    if len(shared) > 1:
        raise WiringError("scenarios played together must share their scene and their estimator")
    return shared.pop()


def _outputs(how: Finished, scenario: Scenario, machine: Machine) -> Mapping[str, Any]:
    if not isinstance(how.value, Result) or how.value.outcome not in machine.successes:
        return {}
    return scenario.task.outputs(scenario.parameters, how.value.memory)


def _with_failure(episode: Episode) -> Episode:
    """An episode that broke off before its pilot could say how it failed has failed by its verdict."""
    if episode.succeeded or episode.failure is not None or episode.verdict == INTERRUPTED:
        return episode
    return replace(episode, failure=Failure(mode=episode.verdict))


def _hung(episode: Episode, limit_s: float) -> Episode:
    return replace(episode, verdict=HUNG, evidence=(at_most("episode_time", episode.sim_time_s, limit_s, "s"),))


def _verdict(how: Finished, machine: Machine, ended: list[tuple[float, Ended]]) -> tuple[str, Evidence, int]:
    retries = machine.retries_in(each for _, each in ended) if not isinstance(how.value, Ruling) else 0
    if isinstance(how.value, Result):
        return how.value.outcome, how.value.evidence, retries
    if isinstance(how.value, Ruling):
        return how.value.verdict, how.value.evidence, retries
    names = {"preempted": INTERRUPTED, "physics_diverged": "physics_diverged", "crashed": "crashed"}
    return names[how.how], (), retries
