"""Decides what drives a session's lane: a person, a task's machine, or a log. It knows no wall clock and no threads.

It is long because it is one switch: every command, every driver and every end of one meets the same few fields here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.choices import ASK_S
from graspline.engine.cpu import CpuEngine
from graspline.engine.layout import Readings
from graspline.episodes.episode import Episode
from graspline.episodes.fault_injection import Fault, faults_in
from graspline.episodes.log import EpisodeLog, log_of, state_hash
from graspline.episodes.runner import EpisodeRunner
from graspline.episodes.scenario import Scenario
from graspline.errors import GrasplineError, nearest
from graspline.execution.batched_solves import solve_all
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Answered, Finished, Targeted
from graspline.execution.requests import Ask, Motion, Preempted, Reply, Solve
from graspline.faults.catalogue import fault_names
from graspline.motion.path import Path
from graspline.parameters import Parameters
from graspline.rendering.picture import Picture
from graspline.serve.live.commands import (
    Answer,
    BeginTeleop,
    Command,
    Drive,
    EndTeleop,
    GraspClose,
    GraspOpen,
    MoveToGrab,
    Pick,
    Record,
    ReplayEpisode,
    ResetScene,
    RunTask,
    SceneCommand,
    Select,
    SetVariables,
    StrikeFault,
    Ticket,
    WithdrawObject,
)
from graspline.serve.live.operator import NO_CONSOLE, Operator, Order
from graspline.serve.live.session_history import SessionHistory
from graspline.serve.live.snapshot import Instruments, Mode, SessionSnapshot
from graspline.serve.live.teleop import LONGEST_S, RecordingPlace, TeleopPilot
from graspline.tasks.console import Console, Done, PostObject, Refused, Result
from graspline.tasks.task import Draw, Task

Array = NDArray[np.float64]

_LOG = logging.getLogger(__name__)
# There is one lane.
_LANE = 0
# Verdicts after which nothing but a reset helps.
_HOPELESS = ("reset_required", "physics_diverged", "crashed")
STOPPED = Refused(reason="stopped")
# Commands by which the arm would not be driven by hand.
_BY_ITSELF = (MoveToGrab, Pick, GraspOpen, GraspClose)
# Seeds that are looked at for one of which nothing is recorded yet.
_MOST_SEEDS = 100_000


class Labour(Protocol):
    """A thread that computes, one thing after the other, while the lane goes on or waits."""

    def begin(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Start computing."""
        ...

    def wait(self, work: Future[Any]) -> bool:
        """Wait for it; false if the lane is to stop, and the result will not be wanted."""
        ...


@dataclass(frozen=True, slots=True)
class _Change:
    """A scene that is about to replace this one, once it is sampled."""

    order: Order
    scenario: Scenario
    sampled: Future[Draw]


@dataclass(slots=True)
class _Question:
    ask: Ask
    since_s: float
    answer: str | None = None


class Conductor:
    """One lane of one task's scene: gives it drivers, and turns commands into orders for them."""

    def __init__(
        self,
        task: Task[Any],
        parameters: Parameters,
        seed: int,
        *,
        background: Labour,
        console: Console | None = None,
        hand_over: Callable[[Episode], None] | None = None,
        place: RecordingPlace | None = None,
        ask_timeout_s: float = ASK_S,
        recording: str = "",
    ) -> None:
        self._task, self._parameters, self._console = task, parameters, console
        self._background, self._hand_over, self._ask_timeout_s = background, hand_over, ask_timeout_s
        self._place = place or RecordingPlace()
        self.scene = task.scene(parameters)
        self._machine = task.machine(parameters)
        self._engine = CpuEngine(self.scene, 1, 1)
        self._instruments = Instruments(self.scene)
        self._history = SessionHistory(self._machine, lambda: self._engine.qpos[_LANE].copy())
        uses_truth = task.uses_truth(parameters)
        self._runner = EpisodeRunner(
            self._engine,
            allow_truth=uses_truth,
            observers=[self._history],
            record_states=True,
            ask=self._answer,
            solve=self._solve,
            take=self._take_picture,
        )
        self._executor = self._runner.executor
        self._operator = Operator(self.scene, console=console, sees_truth=uses_truth)
        self._scenario = Scenario(task=task, parameters=parameters, seed=seed)
        self._sampled = self._scenario.sample()
        self._play: Literal["operator", "task", "replay", "teleop"] = "operator"
        self._teleop: TeleopPilot | None = None
        # What ends the episode that is driven, as soon as something does; and seeds of those that were kept.
        self._ending: Order | None = None
        self._kept_seeds: set[int] = set()
        self._change: _Change | None = None
        # The command whose machine or log is being played.
        self._running: Order | None = None
        self._stops: list[Ticket] = []
        self.stopping = False
        self._question: _Question | None = None
        self._planning = False
        self._message, self._verdict, self._recording = "", "", recording
        self._reset_required = False
        self._episodes = 0
        self._qpos = self._sampled.start
        self._command_rad, self._time_s = self._executor.robot.home, 0.0
        self._clear()
        self._runner.enter(_LANE, self._scenario, self._sampled, self._operator.drive, logged=False)

    @property
    def dt_s(self) -> float:
        """The length of a control step."""
        return self._executor.robot.dt_s

    @property
    def mode(self) -> Mode:
        """What the session is doing."""
        if self.stopping:
            return "stopping"
        if self._play in ("operator", "teleop"):
            return self._operator.activity
        return "task" if self._play == "task" else "replaying"

    def tick(self) -> None:
        """One control tick."""
        if self._change is not None and self._change.sampled.done():
            self._make_way(self._change)
        if self._executor.busy:
            if self._console is not None:
                self._console.age(self._executor.time_s(_LANE))
            for how, track in self._executor.tick().values():
                self._ended(how, track)
            self._watch_teleop()
        if self._question is not None and not (self._executor.busy and self._executor.doing(_LANE) == "ask"):
            self._question = None
        self._settle_stops()

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        # Graphics contexts end in the thread in which they began.
        self._background.begin(self._runner.close).result()

    def say(self, message: str) -> None:
        """Tell people something."""
        self._message = message

    # Stop

    def stop(self, tickets: list[Ticket]) -> None:
        """Brake and hold, whatever drives; what was going to happen does not."""
        self._stops += tickets
        if self._change is not None:
            self._change.order.ticket.settle(STOPPED)
            self._change = None
        if self._executor.busy and not (self.mode == "idle" and self._at_rest):
            self._executor.preempt(_LANE)
            self.stopping = True

    @property
    def _at_rest(self) -> bool:
        return not (self._executor.busy and self._executor.command(_LANE).moving)

    def _settle_stops(self) -> None:
        if self._stops and self._at_rest:
            for ticket in self._stops:
                ticket.settle(Done(text="the arm holds", data={"time_s": self._time_s}))
            self._stops = []

    # Orders

    def order(self, order: Order) -> None:
        """Take up a command, or refuse it."""
        order.ticket.note(lambda result: self._note(order, result))
        try:
            result = self._take(order)
            if result is not None:
                order.ticket.settle(result)
            elif order.ticket.settled is None and not isinstance(order.command, Drive):
                # Something new begins: what was said and measured before is of no interest any more.
                self._message, self._history.evidence = "", ()
        except Exception as error:
            _LOG.exception("%s failed", order.name)
            order.ticket.settle(Refused(reason=f"{order.name} failed: {type(error).__name__}: {error}"))

    def _take(self, order: Order) -> Result | None:
        """The answer to a command; None where it is given later."""
        command: Command = order.command
        match command:
            case StrikeFault():
                return self._strike(command.name)
            case Record():
                return self._record(command)
            case EndTeleop():
                return self._end_teleop(order)
            case Answer():
                return self._take_answer(command.text)
            case Select() | PostObject() | WithdrawObject() | SetVariables():
                return self._command_console(command)
            case _ if (busy := self._busy()) is not None:
                return busy
            case RunTask() | ResetScene() | ReplayEpisode() | BeginTeleop():
                if self._teleop is not None:
                    return Refused(reason="an episode is being driven; finish or discard it first")
                return self._begin_change(order, command)
            case _ if self._teleop is not None and isinstance(command, _BY_ITSELF):
                return Refused(reason="not possible while an episode driven by hand is being recorded")
            case _ if not self._executor.busy:
                return Refused(reason="physics diverged; reset the scene first")
            case _:
                return self._operator.take(order)

    def _command_console(self, command: Select | PostObject | WithdrawObject | SetVariables) -> Result:
        console = self._console
        if console is None:
            return Refused(reason=NO_CONSOLE)
        match command:
            case Select():
                return console.select(command.name)
            case PostObject():
                return console.post(command)
            case WithdrawObject():
                return console.withdraw(command.name)
            case SetVariables():
                return console.set_variables(command.values)

    def _busy(self) -> Refused | None:
        """Why nothing new can begin."""
        if self._change is not None:
            return Refused(reason="the scene is being reset; try again in a moment")
        if self._ending is not None:
            return Refused(reason="the episode is ending; try again in a moment")
        if self._running is not None:
            return Refused(reason=f"busy: {self._running.name}; stop it first")
        return None

    def _note(self, order: Order, result: Result) -> None:
        """Keep the last thing that people should read."""
        if isinstance(result, Refused):
            self._message = f"{order.name}: {result.reason}"
            self._history.evidence = result.evidence
        elif result.text:
            self._message = result.text
        elif isinstance(order.command, Drive) and not order.command.still and self._message.startswith("drive: "):
            # The arm goes on: what stopped it is no longer so.
            self._message = ""

    def _record(self, command: Record) -> Result:
        if self._hand_over is None:
            return Refused(reason="this session does not record episodes")
        self._recording = command.into if command.on else ""
        return Done(text=f"recording into {command.into}" if command.on else "recording ended")

    # Scenes

    def _begin_change(self, order: Order, command: SceneCommand) -> Refused | None:
        if self._operator.activity == "moving":
            return Refused(reason="busy: the arm is moving; stop it first")
        if isinstance(command, ReplayEpisode):
            refused = self._misfit(command.log)
            if refused is None:
                sampled: Future[Draw] = Future()
                sampled.set_result(Draw(start=command.log.start, variation=command.log.variation, refused=0))
                self._change = _Change(order, self._scenario, sampled)
            return refused
        seed = self._scenario.seed if command.seed is None else command.seed
        if isinstance(command, BeginTeleop):
            found = self._free_seed(command)
            if isinstance(found, Refused):
                return found
            seed = found
        if seed < 0:
            return Refused(reason=f"a seed is a whole number from 0, got {seed}")
        scenario = Scenario(task=self._task, parameters=self._parameters, seed=seed)
        self._change = _Change(order, scenario, self._background.begin(scenario.sample))
        return None

    def _misfit(self, log: EpisodeLog) -> Refused | None:
        joints, coordinates = len(self._executor.robot.joints), self.scene.model.nq
        if log.start.shape != (coordinates,) or log.positions.shape[1:] != (joints,) or log.ticks < 1:
            return Refused(
                reason=f"this log is of another scene: it starts with {log.start.shape} coordinates and moves "
                f"{log.positions.shape[1:]} joints, here are ({coordinates},) and ({joints},)"
            )
        return None

    def _make_way(self, change: _Change) -> None:
        """The new scene is sampled: have the person's driver leave, then enter it."""
        error = change.sampled.exception()
        if error is not None:
            self._change = None
            words = str(error) if isinstance(error, GrasplineError) else f"{type(error).__name__}: {error}"
            change.order.ticket.settle(Refused(reason=words))
        elif self._executor.busy:
            self._operator.leave()
        else:
            self._enter(change)

    def _enter(self, change: _Change) -> None:
        self._change, self._scenario, self._sampled = None, change.scenario, change.sampled.result()
        self._clear()
        order = change.order
        match order.command:
            case RunTask():
                self._play, self._running = "task", order
                self._runner.begin(_LANE, self._scenario, self._sampled, self._machine)
                self._history.begin()
                self._message = f"{self._task.name} with seed {self._scenario.seed}"
            case ReplayEpisode(log=log, name=name):
                self._play, self._running = "replay", order
                drive = _replaying(log, self.dt_s)
                self._runner.enter(_LANE, self._scenario, self._sampled, drive, logged=True, alive=False)
                for tick, event in log.events:
                    self._executor.schedule(_LANE, tick * self.dt_s, event)
                self._message = f"replaying {name}"
            case BeginTeleop():
                self._play, self._teleop = "teleop", TeleopPilot(self._executor.robot, self._operator.drive)
                self._runner.begin(_LANE, self._scenario, self._sampled, self._teleop)
                seed = self._scenario.seed
                order.ticket.settle(Done(text=f"recording what you drive, seed {seed}", data={"seed": seed}))
            case _:
                self._runner.enter(_LANE, self._scenario, self._sampled, self._operator.drive, logged=False)
                order.ticket.settle(Done(text=f"scene of seed {self._scenario.seed}"))

    def _clear(self) -> None:
        """Nothing has happened in this scene yet."""
        self._history.clear()
        self._operator.forget()
        self._verdict, self._reset_required = "", False

    # Ends

    def _ended(self, how: Finished, track: LaneRecording) -> None:
        """A driver is done: say how, and let a person take over, unless a new scene waits."""
        play, order, stopped = self._play, self._running, self.stopping
        self._play, self._running, self.stopping = "operator", None, False
        if play == "task" and order is not None:
            self._task_ended(order, how, track)
        elif play == "replay" and order is not None:
            self._replay_ended(order, how, track)
        elif play == "teleop":
            self._teleop_ended(how, track)
        why = STOPPED if stopped else _why(how)
        self._operator.drop(why)
        if how.how in ("crashed", "physics_diverged"):
            self._reset_required = True
            self._message = f"{why.reason}; the scene can be reset"
            _LOG.error("%s %s", why.reason, how.error)
        if self._change is not None and self._change.sampled.done():
            self._enter(self._change)
        elif how.how != "physics_diverged":
            self._executor.take_over(_LANE, self._operator.drive)

    def _task_ended(self, order: Order, how: Finished, track: LaneRecording) -> None:
        episode = self._runner.episode(_LANE, self._scenario, self._sampled, self._machine, how, track)
        self._episodes += 1
        self._verdict = episode.verdict
        self._reset_required = episode.verdict in _HOPELESS
        if self._recording and self._hand_over is not None:
            self._hand_over(episode)
        data = episode.as_dict()
        if how.how == "returned":
            order.ticket.settle(Done(text=f"{self._task.name}: {episode.verdict}", data=data))
            self._history.evidence = episode.evidence
        else:
            order.ticket.settle(Refused(reason=_why(how).reason, data=data))

    def _replay_ended(self, order: Order, how: Finished, track: LaneRecording) -> None:
        command = order.command
        found = state_hash(log_of(track), self._engine.state(_LANE))
        data = {"state_hash": found}
        if how.how != "returned":
            order.ticket.settle(Refused(reason=_why(how).reason, data=data))
        elif command.state_hash and command.state_hash != found:
            reason = f"{command.name} played with other bits: {found}, recorded {command.state_hash}"
            order.ticket.settle(Refused(reason=reason, data=data))
        else:
            same = ", the same bits as recorded" if command.state_hash else ""
            order.ticket.settle(Done(text=f"{command.name} replayed{same}", data=data))

    # Episodes that a person drives

    def _free_seed(self, command: BeginTeleop) -> int | Refused:
        """The seed of the next one; where none is named, the first of which there is no episode."""
        if self._hand_over is None or self._place.problem:
            return Refused(reason=self._place.problem or "this session does not record episodes")
        first = self._scenario.seed if command.seed is None else command.seed
        seeds = range(first, first + _MOST_SEEDS)
        free = next((each for each in seeds if each not in self._kept_seeds and not self._place.has(each)), -1)
        if free < 0 or command.seed not in (None, free):
            return Refused(reason=f"seed {first} already has an episode; use another, such as {free}")
        return free

    def _end_teleop(self, order: Order) -> Refused | None:
        if self._teleop is None:
            return Refused(reason="no episode is being driven")
        if self._ending is not None:
            return Refused(reason="the episode is already ending")
        self._ending = order
        self._operator.leave()
        return None

    def _watch_teleop(self) -> None:
        pilot = self._teleop
        if pilot is None:
            return
        if self._ending is not None:
            # Its driver may have begun after it was asked to leave.
            self._operator.leave()
        now_s, before = self._executor.time_s(_LANE), pilot.nearest
        pilot.watch(now_s)
        if pilot.nearest != before:
            self._executor.notify(_LANE, Targeted(pilot.nearest))
        if now_s >= LONGEST_S and self._ending is None:
            self.order(Order(EndTeleop()))

    def _teleop_ended(self, how: Finished, track: LaneRecording) -> None:
        ending, self._ending, self._teleop = self._ending, None, None
        ticket = Ticket() if ending is None else ending.ticket
        if how.how != "returned":
            self._message = f"{_why(how).reason}; the episode that was driven is discarded"
            ticket.settle(Refused(reason=_why(how).reason))
            return
        assert ending is not None
        episode = self._runner.episode(_LANE, self._scenario, self._sampled, self._machine, how, track)
        self._verdict, self._history.evidence = episode.verdict, episode.evidence
        data = episode.as_dict()
        if not ending.command.keep:
            ticket.settle(Done(text="the episode that was driven is discarded", data={**data, "kept": False}))
            return
        self._episodes += 1
        self._kept_seeds.add(self._scenario.seed)
        if self._hand_over is not None:
            self._hand_over(episode)
        why = "" if episode.failure is None else f" ({episode.failure.mode.replace('_', ' ')})"
        text = f"driven by hand: {episode.verdict.replace('_', ' ')}{why}"
        ticket.settle(Done(text=text, data={**data, "kept": True}))

    # Faults, questions, planning

    def _strike(self, name: str) -> Result:
        # No `module:NAME` here: a client of the server decides nothing about what is imported.
        if name not in fault_names():
            return Refused(reason=f"unknown fault {name!r}; {nearest(name, faults_in(self.scene))}")
        if not self._executor.busy:
            return Refused(reason="physics diverged; reset the scene first")
        since_s = self._executor.time_s(_LANE) - self._history.since_s
        fault = Fault(name=name, state=self._history.state or self.mode, delay_s=round(since_s, 3))
        strike = self._runner.faults.strike(_LANE, fault)
        if strike.missed:
            return Refused(reason=strike.missed)
        return Done(text=f"{name} struck", data={"fault": strike.fault, "target": strike.target, "t_s": strike.t_s})

    def _answer(self, lane: int, ask: Ask) -> Answered | None:
        """What the executor gets when a state asks: an answer, the default after a while, or nothing yet."""
        now_s = self._executor.time_s(lane)
        if self._question is None or self._question.ask is not ask:
            self._question = _Question(ask=ask, since_s=now_s)
        if self._question.answer is None and now_s - self._question.since_s < self._ask_timeout_s - 1e-9:
            return None
        text = self._question.answer
        self._question = None
        if text is None:
            return Answered(question=ask.question, answer=ask.default, by="timeout")
        return Answered(question=ask.question, answer=text, by="person")

    def _left_s(self, question: _Question) -> float:
        return max(0.0, question.since_s + self._ask_timeout_s - self._time_s)

    def _take_answer(self, text: str) -> Result:
        question = self._question
        if question is None:
            return Refused(reason="no question is open")
        if text not in question.ask.options:
            options = ", ".join(question.ask.options)
            return Refused(reason=f"{question.ask.question!r} cannot be answered {text!r}; the options are {options}")
        question.answer = text
        return Done(text=f"answered {text}")

    def _solve(self, solves: list[Solve[Any]]) -> list[Any]:
        """What the executor gets when drivers want something computed: the lane's clock waits for it."""
        self._planning = True
        try:
            work = self._background.begin(solve_all, solves)
            return work.result() if self._background.wait(work) else [Preempted()] * len(solves)
        finally:
            self._planning = False

    def _take_picture(self, render: Callable[[], Picture]) -> Picture:
        """What the executor gets when a state looks through a camera; opening one may take as long as a plan."""
        work = self._background.begin(render)
        if not self._background.wait(work):
            raise Preempted
        return work.result()

    # What is shown

    def snapshot(self, number: int, behind_s: float, operator: str) -> SessionSnapshot:
        """How things are now."""
        executor, engine, history = self._executor, self._engine, self._history
        if executor.busy:
            self._time_s = executor.time_s(_LANE)
            self._command_rad = executor.command(_LANE).position
        if np.isfinite(engine.qpos[_LANE]).all():
            self._qpos = engine.qpos[_LANE].copy()
        console, question = self._console, self._question
        readout = self._instruments.read(Readings(engine.readings[_LANE].copy(), engine.layout), self._operator.tcp)
        return SessionSnapshot(
            number=number,
            task=self._task.name,
            seed=self._scenario.seed,
            robot=executor.robot.name,
            tool_at=executor.robot.tool_at,
            time_s=self._time_s,
            behind_s=behind_s,
            mode=self.mode,
            doing=self._doing(),
            state=history.state,
            command_rad=self._command_rad,
            **readout,
            qpos=self._qpos,
            variation=self._runner.variation(_LANE),
            blind=history.blind,
            targets=self._runner.targets(_LANE),
            evidence=history.evidence,
            history=history.history,
            retries=history.retries,
            verdict=self._verdict,
            reset_required=self._reset_required,
            message=self._message,
            question="" if question is None else question.ask.question,
            options=() if question is None else question.ask.options,
            option_words={} if question is None else question.ask.words,
            default="" if question is None else question.ask.default,
            answer_within_s=0.0 if question is None else self._left_s(question),
            selected="" if console is None else console.selected,
            objects=self._operator.objects,
            variables={} if console is None else console.variables,
            operator=operator,
            recording=self._recording,
            teleop="" if self._teleop is None else "recording" if self._ending is None else "ending",
            goal_met=self._teleop is not None and self._teleop.goal_met,
            episodes=self._episodes,
        )

    def _doing(self) -> str:
        if self._planning:
            return "planning"
        if self._change is not None:
            return "resetting the scene"
        return self._executor.doing(_LANE) if self._executor.busy and self.mode != "idle" else ""


def _why(how: Finished) -> Refused:
    """Why a driver is gone, for the caller that waits for what it was doing."""
    match how.how:
        case "crashed":
            return Refused(reason=f"crashed: {how.error.strip().splitlines()[-1]}")
        case "physics_diverged":
            return Refused(reason="physics diverged")
        case _:
            return STOPPED


def _replaying(log: EpisodeLog, dt_s: float) -> Callable[[Reply], Generator[Any, Any, None]]:
    """A driver that plays a log from its first row on, corners and all: a policy's log has them."""

    def drive(first: Reply) -> Generator[Any, Any, None]:
        yield Motion("replay", Path(positions=log.positions, velocities=log.velocities, dt_s=dt_s), corners=True)

    return drive
