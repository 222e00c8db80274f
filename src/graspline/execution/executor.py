"""Plays N lanes at once on an engine.

Each control tick it gathers one row of reference per lane, advances physics, evaluates the guards vectorised over lanes
and resumes only the generators whose request has ended. A lane's driver is any generator over the four requests: a
machine, a policy, a person's sliders, or a log.
"""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.engine.layout import Readings
from graspline.engine.protocol import Engine
from graspline.errors import WiringError
from graspline.execution.agenda import Agenda
from graspline.execution.eyesight import Eyesight
from graspline.execution.guard_rows import guard_rows
from graspline.execution.guard_tables import GuardTables
from graspline.execution.happenings import Applied, Finished, Happening, Looked, Observer
from graspline.execution.motion_checks import check_motion
from graspline.execution.reel import NEVER, Reel
from graspline.execution.requests import (
    Announce,
    Ask,
    Driver,
    Look,
    Looks,
    Motion,
    ObjectSeen,
    Preempted,
    Reply,
    Solve,
    Within,
)
from graspline.execution.sights import Sights
from graspline.execution.solving import Crash, solve_all
from graspline.execution.thinking import Thinking
from graspline.execution.track import Track
from graspline.motion.guards import FOLLOW_A_PLACE, FOLLOW_AN_OBJECT, Guard, Unsteady
from graspline.motion.joint_moves import hold
from graspline.motion.path import Command, Path
from graspline.rendering.picture import Picture
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

# After Stop the arm brakes and then stands still this long.
PARTING_HOLD_S = 0.25
# Ticks between two looks at what need not be looked at on every tick.
BEAT = 6
_ENDLESS = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Simulated time that a look, a solve and an ask take; the lane holds meanwhile."""

    look_s: float = 0.0
    solve_s: float = 0.0
    ask_s: float = 0.0


@dataclass(slots=True)
class _Standing:
    """A lane in which no time passes: since when, and the command in force."""

    since: int
    command: Command


@dataclass(slots=True)
class _Lane:
    make_driver: Callable[[Reply], Driver]
    track: Track
    began: int
    # Which of all worlds that were ever reset it is in.
    world: int
    motion: Motion
    driver: Driver | None = None
    until_s: float = _ENDLESS
    # The answer to a look, solve or ask, delivered when the hold now playing ends.
    answer: object = None
    # A question that nobody has answered yet.
    asking: Ask | None = None
    # Set once the driver is gone and the lane is only coming to rest.
    parting: Finished | None = None
    # Whether the track grows.
    logged: bool = True
    # Set while something is computed that it has asked for, if others move meanwhile.
    standing: _Standing | None = None


# A lane, what it asks for, and the command in force there.
_Asking = tuple[int, Solve[Any] | Look | Looks, Command]


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
        at a time. `answer` may return None while nobody has answered: the lane holds and asks again on the next tick.
        `solve`
        computes what lanes ask for in one tick, by default here and now as `solve_all` does. Where it gives `Preempted`
        instead of a value, or `photograph` raises it, the lane that asked is stopped. With `thinking`, which somebody
        else lets go on, it is computed there instead, and lanes that have asked stand still until they are answered.
        """
        self.engine = engine
        self.robot = engine.scene.robot
        self._joints = [engine.scene.joint_address(name) for name in self.robot.joints]
        self.observers = list(observers)
        self._allow_truth = allow_truth
        self._photograph, self._photograph_many = photograph, photograph_many
        self._answer = answer or (lambda lane, ask: ask.default)
        self._solve = solve or solve_all
        self._thinking = thinking
        self._delays = delays or Delays()
        self._record_states = record_states
        self._lanes: dict[int, _Lane] = {}
        # Of lanes that are done: when they began and in which world, and the start of what they played.
        self._left: dict[int, tuple[int, int, Track]] = {}
        self._standing: set[int] = set()
        # Lanes that move in order, and how to take their rows; None until a tick asks for them.
        self._active: tuple[NDArray[np.intp], NDArray[np.intp] | slice] | None = None
        self._reel = Reel(self.robot, engine.count)
        self._next_stop = NEVER
        # Lanes whose request has ended and whose driver has not been asked yet what comes next.
        self._ended: list[int] = []
        self._guards = GuardTables(engine.count, self.robot.control_hz)
        self._eyesight = eyesight or Eyesight(engine)
        # Pictures taken of what is watched on this tick: object and place may be in the same one.
        self._pictures: dict[tuple[int, Look], Picture] = {}
        taken = None if photograph is None else self._photograph_once
        self._sights, self._places = (Sights(engine, self._eyesight, taken) for _ in range(2))
        self._rows = guard_rows(engine, self._sights, self._places)
        columns = engine.layout.truth
        # Everything that can be seen, and where in the truth it stands.
        self._seen = [
            (name, columns[f"{name}.position"], columns[f"{name}.quaternion"], columns[f"{name}.velocity"])
            for name in (*engine.scene.object_names, *engine.scene.place_names)
        ]
        # Sizes of all that in each lane, as long as nothing changes them.
        self._sizes_m: dict[int, dict[str, Array]] = {}
        self._now = 0
        self._agenda, self._worlds = Agenda(), itertools.count()

    # Lanes

    @property
    def busy(self) -> bool:
        return bool(self._lanes)

    @property
    def on_beat(self) -> bool:
        """Whether a lane that starts now looks at things on the same ticks as others that started on a beat.

        Lanes that look together cost less than lanes that look in turn; what each of them sees is the same.
        """
        return self._now % BEAT == 0 or not self._lanes

    def idle_lanes(self) -> list[int]:
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
        """Reset a lane; after so many ticks of standing still `make_driver` gets the first readings and takes over.

        What is not `logged` leaves an empty track, and costs no memory however long it lasts.
        """
        if lane in self._lanes:
            raise WiringError(f"lane {lane} is busy")
        self.engine.reset(lane, start, variation)
        self._sizes_m.pop(lane, None)
        self._eyesight.heal(lane)
        positions = np.empty((still_ticks + 1, len(self._joints)))
        positions[:] = start[self._joints]
        still = Motion("start", Path(positions=positions, velocities=np.zeros(positions.shape), dt_s=self.robot.dt_s))
        track = Track(start=np.array(start), variation=variation)
        self._lanes[lane] = _Lane(
            make_driver=make_driver,
            track=track,
            began=self._now,
            world=next(self._worlds),
            motion=still,
            logged=logged,
        )
        self._put(lane, still)
        if not still_ticks:
            self._ended.append(lane)
        self._active = None

    def take_over(self, lane: int, make_driver: Callable[[Reply], Driver]) -> None:
        """Give a lane that is done a new driver, in the world as it stands and from the command in force; time goes on.

        What is still going to happen in that world happens. Nothing of it is logged, for it has no start of its own.
        """
        left = self._left.get(lane)
        if lane in self._lanes or left is None:
            raise WiringError(f"lane {lane} {'is busy' if lane in self._lanes else 'has played nothing'}")
        if self.engine.diverged[lane]:
            raise WiringError(f"lane {lane} diverged: only a reset helps")
        still = Motion("still", hold(self.robot, self._reel.command(lane, self._now), self.robot.dt_s))
        began, world, track = left
        self._lanes[lane] = _Lane(
            make_driver=make_driver, track=track, began=began, world=world, motion=still, logged=False
        )
        self._put(lane, still)
        self._ended.append(lane)
        self._active = None

    def time_s(self, lane: int) -> float:
        return self._ticks(self._lanes[lane]) * self.robot.dt_s

    def _ticks(self, mine: _Lane) -> int:
        """How many ticks of an episode there have been."""
        return (self._now if mine.standing is None else mine.standing.since) - mine.began

    def stands(self, lane: int) -> bool:
        """Whether no time passes in a lane, for something is computed that it has asked for."""
        return lane in self._standing

    def doing(self, lane: int) -> str:
        """The name of the motion that a lane plays."""
        return self._playing(lane).motion.name

    def command(self, lane: int) -> Command:
        """The command in force in a lane."""
        standing = self._playing(lane).standing
        return self._reel.command(lane, self._now) if standing is None else standing.command

    def events(self, lane: int) -> Sequence[tuple[int, Event]]:
        """What has happened in a lane's episode, with the tick before which it did; grows as it goes on."""
        return self._playing(lane).track.events

    def apply(self, lane: int, event: Event) -> None:
        """Let the world act on a lane before its next tick; logged, so that a replay does the same."""
        mine = self._playing(lane)
        self.engine.apply(lane, event)
        self._sizes_m.pop(lane, None)
        self._eyesight.apply(lane, event)
        if mine.logged:
            mine.track.events.append((self._ticks(mine), event))
        self.tell(lane, Applied(event))

    def schedule(self, lane: int, delay_s: float, event: Event) -> None:
        """Apply an event after a delay, if the episode now in this lane still runs then."""
        self.call(lane, delay_s, lambda: self.apply(lane, event))

    def call(self, lane: int, delay_s: float, action: Callable[[], object]) -> None:
        """Do something before the first tick after a delay, if the episode now in this lane still runs then."""
        ticks = max(0, round(delay_s * self.robot.control_hz))
        self._agenda.put(self._now, ticks, lane, self._playing(lane).world, action)

    def _playing(self, lane: int) -> _Lane:
        if lane not in self._lanes:
            raise WiringError(f"lane {lane} plays nothing; busy lanes: {sorted(self._lanes)}")
        return self._lanes[lane]

    def preempt(self, lane: int) -> None:
        """Stop a lane in whatever state it is: unwind its driver, brake within limits, hold."""
        mine = self._lanes.get(lane)
        if mine is not None and mine.parting is None:
            self._ended = [each for each in self._ended if each != lane]
            command = self._cut(lane) if mine.standing is None else self._move_on(lane)
            self._part(lane, self._unwind(mine), command)

    @staticmethod
    def _unwind(mine: _Lane) -> Finished:
        if mine.driver is None:
            return Finished("preempted")
        try:
            mine.driver.throw(Preempted())
        except (Preempted, StopIteration):
            return Finished("preempted")
        except Exception:
            return Finished("crashed", error=traceback.format_exc())
        return Finished("crashed", error="the driver yielded while it was being stopped")

    # The tick

    def tick(self) -> dict[int, tuple[Finished, Track]]:
        """Advance every busy lane by one control tick; returns the lanes that are done, with what they played."""
        finished = self.resume() if self._ended else {}
        if self._standing:
            self._hear(finished)
            if not self._lanes:
                return finished
        if self.advance():
            finished.update(self.resume())
        return finished

    def advance(self) -> bool:
        """The first half of a tick: events, physics and guards; whether any lane's request has ended.

        Such a lane must be resumed before the next tick. Whoever knows what its driver will say only later, as an
        environment does, uses the halves.
        """
        if self._agenda.due(self._now):
            self._call_due()
        if self._active is None:
            self._active = self._busy_lanes()
        lanes, index = self._active
        diverged = self.engine.step(self._reel.controls(index, self._now), lanes)
        self._now += 1
        if self._eyesight.late:
            self._eyesight.remember(self._standing)
        if self._record_states:
            for lane in lanes:
                mine = self._lanes[int(lane)]
                if mine.logged:
                    mine.track.append_state(self.engine.qpos[lane])
        fired = None
        if self._guards.busy:
            if self._guards.reads_command(self._now):
                self._rows.command[index] = self._reel.references(index, self._now)
            fresh, fresh_places = self._see(self._sights), self._see(self._places)
            self._pictures.clear()
            fired = self._guards.evaluate(self._rows, fresh, self._now, fresh_places)
        if fired is None and not diverged and self._now < self._next_stop:
            return False
        done = self._reel.stop <= self._now
        if fired is not None:
            done |= fired
        if diverged:
            done |= self.engine.diverged
        self._ended = [lane for lane in done.nonzero()[0].tolist() if lane in self._lanes]
        if not self._ended:
            self._next_stop = int(self._reel.stop.min())
        return bool(self._ended)

    def _see(self, sights: Sights) -> NDArray[np.bool_] | None:
        """Look at what is watched, if it is due; a lane that is about to be stopped need not see it."""
        try:
            return sights.see(self._now) if self._now >= sights.next_due else None
        except Preempted:
            return None

    def _photograph_once(self, lane: int, look: Look) -> Picture:
        assert self._photograph is not None
        if (lane, look) not in self._pictures:
            self._pictures[lane, look] = self._photograph(lane, look)
        return self._pictures[lane, look]

    def resume(self) -> dict[int, tuple[Finished, Track]]:
        """The second half: ask drivers whose request has ended what comes next; returns the lanes that are done."""
        ended, self._ended = self._ended, []
        finished = self._resume(ended)
        self._next_stop = int(self._reel.stop.min())
        return finished

    def _call_due(self) -> None:
        while self._agenda.due(self._now):
            lane, world, action = self._agenda.pop()
            mine = self._lanes.get(lane)
            if mine is not None and mine.world == world:
                action()

    # Ended requests

    def _resume(self, lanes: list[int]) -> dict[int, tuple[Finished, Track]]:
        finished: dict[int, tuple[Finished, Track]] = {}
        asking: list[_Asking] = []
        for lane in lanes:
            mine = self._lanes[lane]
            if self.engine.diverged[lane]:
                self._cut(lane)
                self._finish(lane, Finished("physics_diverged"), finished)
                continue
            reply = self._reply_for_motion(lane, mine)
            if mine.parting is not None:
                self._finish(lane, mine.parting, finished)
                continue
            self._advance(lane, reply, asking, finished)
        self._take_up(asking, finished)
        if finished:
            self._active = None
        return finished

    def _take_up(self, asking: list[_Asking], finished: dict[int, tuple[Finished, Track]]) -> None:
        """Take the pictures that lanes ask for, and have computed what they ask: at once, or while they stand still."""
        while asking:
            looking = [
                (lane, request, command) for lane, request, command in asking if isinstance(request, Look | Looks)
            ]
            solves = [(lane, request, command) for lane, request, command in asking if isinstance(request, Solve)]
            asking = []
            if looking:
                # A lane that looks may ask next for something computed from that: solves wait for it, to be one call.
                asking += solves
                self._take_pictures(looking, asking, finished)
            elif self._thinking is not None:
                for lane, solve, command in solves:
                    self._thinking.begin(lane, solve)
                    self._stand(lane, command)
            else:
                for (lane, _, command), value in zip(solves, self._solve([each[1] for each in solves]), strict=True):
                    self._deliver(lane, value, command, asking, finished)

    def _take_pictures(
        self,
        looking: list[tuple[int, Look | Looks, Command]],
        asking: list[_Asking],
        finished: dict[int, tuple[Finished, Track]],
    ) -> None:
        assert self._photograph_many is not None
        taken = iter(self._photograph_many([(lane, look) for lane, request, _ in looking for look in _each(request)]))
        for lane, request, command in looking:
            answer = next(taken) if isinstance(request, Look) else tuple(next(taken) for _ in request.looks)
            if self._delays.look_s > 0:
                self._wait(lane, answer, self._delays.look_s, command)
            else:
                self._advance(lane, self._reply(lane, "completed", (), answer, command), asking, finished)

    def _deliver(
        self,
        lane: int,
        value: object,
        command: Command,
        asking: list[_Asking],
        finished: dict[int, tuple[Finished, Track]],
    ) -> None:
        """Give a lane what was computed for it."""
        if isinstance(value, Preempted):
            self._part(lane, self._unwind(self._lanes[lane]), command)
        elif isinstance(value, Crash):
            self._part(lane, Finished("crashed", error=value.error), command)
        elif self._delays.solve_s > 0:
            self._wait(lane, value, self._delays.solve_s, command)
        else:
            self._advance(lane, self._reply(lane, "completed", (), value, command), asking, finished)

    # Lanes that stand still

    def _stand(self, lane: int, command: Command) -> None:
        """Let no time pass in a lane."""
        mine = self._lanes[lane]
        mine.standing = _Standing(since=self._now, command=command)
        self._agenda.pause(mine.world, self._now)
        self._watch_nothing(lane, mine)
        self._reel.clear(lane)
        self._standing.add(lane)
        self._active = None

    def _move_on(self, lane: int) -> Command:
        """Let time pass again in a lane, as if it had never stood still; returns the command in force."""
        mine = self._lanes[lane]
        assert mine.standing is not None
        assert self._thinking is not None
        standing, mine.standing = mine.standing, None
        mine.began += self._now - standing.since
        self._agenda.go_on(mine.world, self._now)
        self._thinking.drop(lane)
        self._standing.discard(lane)
        self._active = None
        return standing.command

    def _hear(self, finished: dict[int, tuple[Finished, Track]]) -> None:
        """Let lanes move on whose answers there are; if all stand still, wait for the first answer."""
        assert self._thinking is not None
        while self._standing:
            asking: list[_Asking] = []
            for lane, value in (found := self._thinking.take()).items():
                self._deliver(lane, value, self._move_on(lane), asking, finished)
            self._take_up(asking, finished)
            if len(self._standing) < len(self._lanes):
                return
            if not found:
                self._thinking.go_on()

    def _advance(
        self,
        lane: int,
        reply: Reply,
        asking: list[_Asking],
        finished: dict[int, tuple[Finished, Track]],
    ) -> None:
        """Give the driver its reply and take up what it asks for next, until that takes time."""
        mine = self._lanes[lane]
        try:
            while True:
                request = self._next_request(lane, mine, reply)
                match request:
                    case Motion():
                        check_motion(request, self.robot, reply.command, allow_truth=self._allow_truth)
                        self._put(lane, request)
                        return
                    case Solve():
                        asking.append((lane, request, reply.command))
                        return
                    case Look() | Looks() if self._photograph_many is not None and _by_camera(request):
                        for look in _each(request):
                            self.tell(lane, Looked(look.camera))
                        asking.append((lane, request, reply.command))
                        return
                    case Look():
                        answer, delay_s = self._look(lane, request), self._delays.look_s
                    case Looks():
                        answer = tuple(self._look(lane, each) for each in request.looks)
                        delay_s = self._delays.look_s
                    case Ask():
                        answer, delay_s = self._ask(lane, request), self._delays.ask_s
                        if answer is None:
                            mine.asking = request
                            self._put(lane, Motion("ask", hold(self.robot, reply.command, self.robot.dt_s)))
                            return
                    case _:
                        raise WiringError(f"a driver asked for {request!r}; expected Motion, Look, Looks, Solve or Ask")
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
            self._part(lane, self._unwind(mine), reply.command)
        except Exception:
            self._part(lane, Finished("crashed", error=traceback.format_exc()), reply.command)

    def _next_request(self, lane: int, mine: _Lane, reply: Reply) -> object:
        asking, mine.asking = mine.asking, None
        if asking is not None:
            if reply.time_s < mine.until_s - 1e-9:
                return asking
            reply = replace(reply, by="timed_out")
        if mine.driver is None:
            mine.driver = mine.make_driver(reply)
            request = next(mine.driver)
        else:
            request = mine.driver.send(reply)
        while isinstance(request, Announce):
            self.tell(lane, request.happening)
            request = mine.driver.send(None)
        mine.until_s = _ENDLESS
        if isinstance(request, Within):
            mine.until_s, request = request.until_s, request.request
        return request

    def _wait(self, lane: int, answer: object, delay_s: float, command: Command) -> None:
        """Hold for as long as an answer takes; it is delivered then."""
        self._lanes[lane].answer = answer
        self._put(lane, Motion("wait", hold(self.robot, command, delay_s)))

    def _ask(self, lane: int, ask: Ask) -> str | None:
        answer = self._answer(lane, ask)
        if answer is not None and answer not in ask.options:
            raise WiringError(f"{ask.question!r} was answered {answer!r}; the options are {', '.join(ask.options)}")
        return answer

    def _reply_for_motion(self, lane: int, mine: _Lane) -> Reply:
        completed = self._reel.played(lane, self._now) == mine.motion.path.ticks
        guard: Guard | None = self._guards.fired(lane)
        evidence = self._guards.evidence(lane)
        command = self._cut(lane)
        value, mine.answer = mine.answer, None
        by = guard if guard is not None else "completed" if completed else "timed_out"
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

    def _look(self, lane: int, look: Look) -> object:
        self.tell(lane, Looked(look.camera))
        if look.camera is not None:
            if self._photograph is None:
                raise WiringError(f"a look through camera {look.camera!r}, but nothing here can take pictures")
            return self._photograph(lane, look)
        if not self._allow_truth:
            raise WiringError("this scenario does not name the truth estimator, so no state may look at truth")
        truth = self._eyesight.truth(lane)
        if truth is None:
            return {}
        truth, sizes_m = truth.copy(), self._sizes_of(lane)
        return {
            name: ObjectSeen(
                position_m=truth[position],
                quaternion=truth[quaternion],
                velocity_m_s=truth[velocity],
                half_extents_m=sizes_m[name],
            )
            for name, position, quaternion, velocity in self._seen
        }

    def _sizes_of(self, lane: int) -> dict[str, Array]:
        """Half extents of everything that can be seen, which those who see it share and cannot write to."""
        if lane not in self._sizes_m:
            found = {name: self.engine.half_extents_m(lane, name) for name, *_ in self._seen}
            for half_extents_m in found.values():
                half_extents_m.flags.writeable = False
            self._sizes_m[lane] = found
        return self._sizes_m[lane]

    # Motions

    def _put(self, lane: int, motion: Motion) -> None:
        """Make this the motion the lane plays from its next tick on."""
        mine, ticks = self._lanes[lane], motion.path.ticks
        mine.motion = motion
        if mine.until_s != _ENDLESS:
            left = math.ceil((mine.until_s - self.time_s(lane)) * self.robot.control_hz - 1e-9)
            ticks = min(ticks, max(1, left))
        self._reel.put(lane, motion.path, self._now, ticks)
        self._next_stop = min(self._next_stop, self._now + ticks)
        # Nothing is looked at, and no noise drawn, for guards that do not ask.
        watch = motion.watch
        follows = watch is not None and any(isinstance(guard, FOLLOW_AN_OBJECT) for guard in motion.guards)
        steadiness = follows and any(isinstance(guard, Unsteady) for guard in motion.guards)
        self._sights.aim(lane, watch if follows else None, self._now, mine.began, steadiness=steadiness)
        place = motion.place if any(isinstance(guard, FOLLOW_A_PLACE) for guard in motion.guards) else None
        self._places.aim(lane, place, self._now, mine.began)
        object_hz, place_hz = (0.0 if each is None else each.rate_hz for each in (watch, place))
        self._guards.load(lane, motion.guards, object_hz, mine.began, place_hz)

    def _watch_nothing(self, lane: int, mine: _Lane) -> None:
        self._guards.load(lane, (), 0.0, mine.began)
        self._sights.aim(lane, None, self._now, mine.began)
        self._places.aim(lane, None, self._now, mine.began)

    def _cut(self, lane: int) -> Command:
        """End the motion here: log what was played and say where the reference stands."""
        mine = self._lanes[lane]
        if mine.logged:
            mine.track.append(mine.motion.path, self._reel.played(lane, self._now), mine.motion.disturbed)
        return self._reel.command(lane, self._now)

    def _part(self, lane: int, finished: Finished, command: Command) -> None:
        """The driver is gone: brake, hold, and report then."""
        mine = self._lanes[lane]
        mine.parting, mine.until_s = finished, _ENDLESS
        self._put(lane, Motion("brake", hold(self.robot, command, PARTING_HOLD_S)))

    def _finish(self, lane: int, how: Finished, finished: dict[int, tuple[Finished, Track]]) -> None:
        mine = self._lanes[lane]
        if how.how == "returned" and not np.isfinite(self.engine.qpos[lane]).all():
            how = Finished("physics_diverged")
        if mine.driver is not None:
            try:
                mine.driver.close()
            except Exception:
                how = Finished("crashed", error=how.error + traceback.format_exc())
        self._watch_nothing(lane, mine)
        self._reel.clear(lane)
        self.tell(lane, how)
        del self._lanes[lane]
        self._left[lane] = mine.began, mine.world, Track(start=mine.track.start, variation=mine.track.variation)
        finished[lane] = how, mine.track

    def _busy_lanes(self) -> tuple[NDArray[np.intp], NDArray[np.intp] | slice]:
        lanes = np.array(sorted(self._lanes.keys() - self._standing), np.intp)
        # Taking all rows by a slice is cheaper than by an index.
        return lanes, slice(None) if len(lanes) == self.engine.count else lanes

    def tell(self, lane: int, happening: Happening) -> None:
        """Let the observers know."""
        if self.observers:
            time_s = self.time_s(lane)
            for observer in self.observers:
                observer(lane, time_s, happening)


def _each(request: Look | Looks) -> tuple[Look, ...]:
    return (request,) if isinstance(request, Look) else request.looks


def _by_camera(request: Look | Looks) -> bool:
    return all(each.camera is not None for each in _each(request))
