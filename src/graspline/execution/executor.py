"""Plays N lanes at once on an engine.

Each control tick it gathers one row of reference per lane, advances physics, evaluates the guards vectorised over lanes
and resumes only the generators whose request has ended. A lane's driver is any generator over the four requests: a
machine, a policy, a person's sliders, or a log.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.engine.layout import Readings
from graspline.engine.protocol import Engine
from graspline.errors import WiringError
from graspline.execution.answers import Answers, Delays, LaneAnswer, LaneRequest, at_once, looks_of
from graspline.execution.batched_solves import Crash, solve_all
from graspline.execution.deferred_solves import Thinking
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.lanes import ENDLESS, LaneTable
from graspline.execution.motion_checks import check_motion
from graspline.execution.motions import MotionPlayer
from graspline.execution.notifications import Applied, Finished, Happening, Looked, Observer
from graspline.execution.paused_lanes import PausedLanes
from graspline.execution.requests import Ask, Driver, Look, Motion, Preempted, Reply, Solve
from graspline.execution.scheduler import Agenda
from graspline.execution.sensor_faults import Eyesight
from graspline.motion.joint_moves import hold
from graspline.motion.path import Command, Path
from graspline.rendering.picture import Picture
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]
# Lanes that are done, with what they played.
Done = dict[int, tuple[Finished, LaneRecording]]

# After Stop the arm brakes and then stands still this long.
PARTING_HOLD_S = 0.25
# Ticks between two looks at what need not be looked at on every tick.
BEAT = 6


class Executor:
    """N lanes on an engine; `tick()` is public: run, panel and environments are loops around it."""

    def __init__(
        self,
        engine: Engine,
        *,
        allow_truth: bool = False,
        photograph: Callable[[int, Look], Picture] | None = None,
        photograph_many: Callable[[list[tuple[int, Look]]], list[Picture]] | None = None,
        answer: Callable[[int, Ask], str | None] | None = None,
        solve: Callable[[list[Solve[Any]]], list[Any]] | None = None,
        thinking: Thinking | None = None,
        delays: Delays | None = None,
        eyesight: Eyesight | None = None,
        observers: Sequence[Observer] = (),
        record_states: bool = False,
    ) -> None:
        """Lanes without drivers yet.

        With `photograph_many` the pictures that lanes look at in one tick are taken together, one camera of each lane
        at a time. `answer` may return None while there is no answer: the lane holds and asks again on the next tick.
        `solve` computes what lanes ask for in one tick, by default `solve_all`. Where it gives `Preempted` instead of a
        value, or `photograph` raises it, the lane that asked is stopped. With `thinking`, whose `go_on` the caller
        calls, it is computed there instead, and lanes that have asked are paused until they are answered.
        """
        self.engine = engine
        self.robot = engine.scene.robot
        self._joints = [engine.scene.joint_address(name) for name in self.robot.joints]
        self.observers = list(observers)
        self._allow_truth, self._delays, self._record_states = allow_truth, delays or Delays(), record_states
        self._eyesight, self._scheduler = eyesight or Eyesight(engine), Agenda()
        self._lanes = LaneTable(engine.count, self.robot.dt_s)
        # Lanes whose request has ended and whose driver has not been asked yet what comes next.
        self._ended: list[int] = []
        self._motions = MotionPlayer(engine, self._lanes, self._eyesight, photograph)
        self._paused = PausedLanes(self._lanes, self._motions, self._scheduler, thinking or Thinking())
        self._answers = Answers(
            engine,
            self._eyesight,
            at_once(solve or solve_all) if thinking is None else self._paused.pause,
            allow_truth=allow_truth,
            photograph=photograph,
            photograph_many=photograph_many,
            answer=answer,
        )

    # Lanes

    @property
    def busy(self) -> bool:
        """Whether any lane has a driver."""
        return len(self._lanes) > 0

    @property
    def on_beat(self) -> bool:
        """Whether a lane that starts now looks at things on the same ticks as others that started on a beat.

        Lanes that look together cost less than lanes that look in turn; what each of them sees is the same.
        """
        return self._lanes.now % BEAT == 0 or not self._lanes

    def idle_lanes(self) -> list[int]:
        """The lanes without a driver."""
        return [lane for lane in range(self.engine.count) if lane not in self._lanes]

    def start(
        self,
        lane: int,
        make_driver: Callable[[Reply], Driver],
        start: Array,
        variation: Variation,
        *,
        still_ticks: int = 1,
        logged: bool = True,
    ) -> None:
        """Reset a lane; after `still_ticks` ticks of standing still `make_driver` gets the first readings.

        What is not `logged` leaves an empty track, and costs no memory however long it lasts.
        """
        if lane in self._lanes:
            raise WiringError(f"lane {lane} is busy")
        self.engine.reset(lane, start, variation)
        self._answers.forget_sizes(lane)
        self._eyesight.heal(lane)
        positions = np.empty((still_ticks + 1, len(self._joints)))
        positions[:] = start[self._joints]
        still = Motion("start", Path(positions=positions, velocities=np.zeros(positions.shape), dt_s=self.robot.dt_s))
        track = LaneRecording(start=np.array(start), variation=variation)
        self._lanes.enter(lane, make_driver, track, logged=logged)
        self._motions.put(lane, still)
        if not still_ticks:
            self._ended.append(lane)

    def take_over(self, lane: int, make_driver: Callable[[Reply], Driver]) -> None:
        """Give a lane that is done a new driver, in its present world and from the command in force; time goes on.

        What is still going to happen in that world happens. Nothing of it is logged, for it has no start of its own.
        """
        if self.engine.diverged[lane]:
            raise WiringError(f"lane {lane} diverged: only a reset helps")
        self._lanes.continue_with(lane, make_driver)
        self._motions.put(lane, self._hold("still", self._motions.command(lane), self.robot.dt_s))
        self._ended.append(lane)

    def time_s(self, lane: int) -> float:
        """The simulated time of a lane."""
        return self._lanes.time_s(lane)

    def paused(self, lane: int) -> bool:
        """Whether no time passes in a lane, because what it requested is being computed."""
        return lane in self._paused

    def doing(self, lane: int) -> str:
        """The name of the motion that a lane plays."""
        return self._lanes[lane].motion.name

    def command(self, lane: int) -> Command:
        """The command in force in a lane."""
        paused = self._lanes[lane].paused
        return self._motions.command(lane) if paused is None else paused.command

    def events(self, lane: int) -> Sequence[tuple[int, Event]]:
        """What has happened in a lane's episode, with the tick before which it did; grows as it goes on."""
        return self._lanes[lane].track.events

    def apply(self, lane: int, event: Event) -> None:
        """Let the world act on a lane before its next tick; logged, so that a replay does the same."""
        mine = self._lanes[lane]
        self.engine.apply(lane, event)
        self._answers.forget_sizes(lane)
        self._eyesight.apply(lane, event)
        if mine.logged:
            mine.track.events.append((self._lanes.ticks(lane), event))
        self.notify(lane, Applied(event))

    def schedule(self, lane: int, delay_s: float, event: Event) -> None:
        """Apply an event after a delay, if the episode now in this lane still runs then."""
        self.call(lane, delay_s, lambda: self.apply(lane, event))

    def call(self, lane: int, delay_s: float, action: Callable[[], object]) -> None:
        """Do something before the first tick after a delay, if the episode now in this lane still runs then."""
        ticks = max(0, round(delay_s * self.robot.control_hz))
        self._scheduler.put(self._lanes.now, ticks, lane, self._lanes[lane].world, action)

    def preempt(self, lane: int) -> None:
        """Stop a lane in whatever state it is: unwind its driver, brake within limits, hold."""
        mine = self._lanes.get(lane)
        if mine is not None and mine.parting is None:
            self._ended = [each for each in self._ended if each != lane]
            command = self._paused.end(lane) if lane in self._paused else self._motions.cut(lane)
            self._part(lane, mine.unwind(), command)

    def notify(self, lane: int, notification: Happening) -> None:
        """Let the observers know."""
        if self.observers:
            time_s = self.time_s(lane)
            for observer in self.observers:
                observer(lane, time_s, notification)

    # The tick

    def tick(self) -> Done:
        """Advance every busy lane by one control tick; returns the lanes that are done, with what they played."""
        finished = self.resume() if self._ended else {}
        if self._paused:
            self._paused.deliver(lambda answers: self._exchange(answers, [], finished))
            if not self._lanes:
                return finished
        if self.advance():
            finished.update(self.resume())
        return finished

    def advance(self) -> bool:
        """The first half of a tick: events, physics and guards; whether any lane's request has ended.

        Such a lane must be resumed before the next tick. An environment, which knows only later what its driver will
        say, uses the halves.
        """
        if self._scheduler.due(self._lanes.now):
            self._call_due()
        lanes, rows = self._lanes.moving()
        diverged = self.engine.step(self._motions.controls(rows), lanes)
        self._lanes.now += 1
        if self._eyesight.late:
            self._eyesight.remember(lanes)
        if self._record_states:
            for lane in lanes:
                mine = self._lanes[int(lane)]
                if mine.logged:
                    mine.track.append_state(self.engine.qpos[lane])
        self._ended = self._motions.ended(rows, diverged=diverged)
        return bool(self._ended)

    def _call_due(self) -> None:
        while self._scheduler.due(self._lanes.now):
            lane, world, action = self._scheduler.pop()
            mine = self._lanes.get(lane)
            if mine is not None and mine.world == world:
                action()

    def resume(self) -> Done:
        """The second half: ask drivers whose request has ended what comes next; returns the lanes that are done."""
        ended, self._ended = self._ended, []
        finished: Done = {}
        asked: list[LaneRequest] = []
        for lane in ended:
            if self.engine.diverged[lane]:
                self._motions.cut(lane)
                self._finish(lane, Finished("physics_diverged"), finished)
                continue
            reply, parting = self._reply_for_motion(lane), self._lanes[lane].parting
            if parting is not None:
                self._finish(lane, parting, finished)
                continue
            self._drive(lane, reply, asked, finished)
        self._exchange([], asked, finished)
        self._motions.find_next_stop()
        return finished

    # Requests and replies

    def _exchange(self, answers: list[LaneAnswer], asked: list[LaneRequest], finished: Done) -> None:
        """Give lanes their answers and answer what they request next, until each of them plays or is paused."""
        while answers or asked:
            for each in answers:
                self._give(each, asked, finished)
            answers, asked = self._answers.batch(asked)

    def _give(self, answer: LaneAnswer, asked: list[LaneRequest], finished: Done) -> None:
        lane, command, value = answer.asked.lane, answer.asked.command, answer.value
        delay_s = self._delays.of(answer.asked.request)
        if isinstance(value, Preempted):
            self._part(lane, self._lanes[lane].unwind(), command)
        elif isinstance(value, Crash):
            self._part(lane, Finished("crashed", error=value.error), command)
        elif delay_s > 0:
            self._wait(lane, value, delay_s, command)
        else:
            self._drive(lane, self._reply(lane, "completed", (), value, command), asked, finished)

    def _drive(self, lane: int, reply: Reply, asked: list[LaneRequest], finished: Done) -> None:
        """Give the driver its reply and take up what it requests next, until that takes time or joins a batch."""
        mine, announce = self._lanes[lane], functools.partial(self.notify, lane)
        try:
            while True:
                request = mine.next_request(reply, announce)
                if isinstance(request, Motion):
                    check_motion(request, self.robot, reply.command, allow_truth=self._allow_truth)
                    self._motions.put(lane, request)
                    return
                for look in looks_of(request):
                    self.notify(lane, Looked(look.camera))
                if self._answers.batched(request):
                    asked.append(LaneRequest(lane, request, reply.command))
                    return
                answer, delay_s = self._answers.single(lane, request), self._delays.of(request)
                if answer is None and isinstance(request, Ask):
                    mine.asking = request
                    self._motions.put(lane, self._hold("ask", reply.command, self.robot.dt_s))
                    return
                if delay_s > 0:
                    self._wait(lane, answer, delay_s, reply.command)
                    return
                reply = self._reply(lane, "completed", (), answer, reply.command)
        except StopIteration as stop:
            if reply.command.moving:
                self._part(lane, Finished("returned", value=stop.value), reply.command)
            else:
                self._finish(lane, Finished("returned", value=stop.value), finished)
        except Preempted:
            self._part(lane, mine.unwind(), reply.command)
        except Exception:
            self._part(lane, Finished("crashed", error=traceback.format_exc()), reply.command)

    def _wait(self, lane: int, answer: object, delay_s: float, command: Command) -> None:
        """Hold for as long as an answer takes; it is delivered then."""
        self._lanes[lane].answer = answer
        self._motions.put(lane, self._hold("wait", command, delay_s))

    def _hold(self, name: str, command: Command, duration_s: float) -> Motion:
        return Motion(name, hold(self.robot, command, duration_s))

    def _reply_for_motion(self, lane: int) -> Reply:
        by, evidence = self._motions.ended_by(lane)
        command, mine = self._motions.cut(lane), self._lanes[lane]
        value, mine.answer = mine.answer, None
        return self._reply(lane, by, evidence, value, command)

    def _reply(self, lane: int, by: Any, evidence: Any, value: object, command: Command) -> Reply:
        readings = Readings(self.engine.readings[lane].copy(), self.engine.layout)
        return Reply(
            by=by,
            evidence=evidence,
            value=value,
            readings=readings,
            command=command,
            time_s=self.time_s(lane),
        )

    # Ends

    def _part(self, lane: int, finished: Finished, command: Command) -> None:
        """The driver is gone: brake, hold, and report then."""
        mine = self._lanes[lane]
        mine.parting, mine.until_s = finished, ENDLESS
        self._motions.put(lane, self._hold("brake", command, PARTING_HOLD_S))

    def _finish(self, lane: int, how: Finished, finished: Done) -> None:
        driver = self._lanes[lane].driver
        if how.how == "returned" and not np.isfinite(self.engine.qpos[lane]).all():
            how = Finished("physics_diverged")
        if driver is not None:
            try:
                driver.close()
            except Exception:
                how = Finished("crashed", error=how.error + traceback.format_exc())
        self._motions.clear(lane)
        self.notify(lane, how)
        finished[lane] = how, self._lanes.leave(lane)
