"""One engine, many processes: each plays some of its lanes as if they were an engine of their own.

A hub owns the engine. Each tick every process says what happened to its lanes and which of them move, and waits; the
hub steps all of them at once. Controls, sensors and configurations are in memory that all of them share. Several hubs
can take turns: while the processes of one plan, the engine of another has the device.
"""

from __future__ import annotations

import contextlib
import pickle
import select
import selectors
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.engine.control_delay import Wires
from graspline.engine.events import Change, CorruptControl, Event, Place, Push
from graspline.engine.lane_edits import Edits, felt
from graspline.engine.layout import layout_of
from graspline.engine.protocol import Engine, EngineKind, Saved
from graspline.errors import EnvironmentProblem, WiringError
from graspline.gpu.lane_models import LaneModels, Singles
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

# How long to listen before looking whether the device is done, and before looking whether to stop.
_GLANCE_S, _PAUSE_S = 0.0002, 0.1
# How many of those things that processes have finished may wait until they are taken.
_MOST_PACKED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one process asks of the next tick; lanes are counted from its first."""

    # Those that move.
    lanes: NDArray[np.intp]
    # Those that begin anew, where their configurations in the shared memory are.
    fresh: tuple[int, ...]
    # Those with other models, and these, (n, width).
    changed: tuple[int, ...]
    models: Singles
    # What happens in lanes after all that.
    events: tuple[tuple[int, Event], ...]
    # What it has finished since the last one, each by itself, packed: there is time to look at it later.
    finished: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReply:
    """What a process gets after a tick."""

    diverged: bool
    # Whether it should come to an end.
    stop: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBuffers:
    """Where the shared arrays are: the memory's name, how many lanes and numbers, and whose they are."""

    kind: EngineKind
    memory: str
    lanes: int
    nu: int
    nq: int
    sensors: int

    @property
    def size(self) -> int:
        """The size of the shared memory in bytes."""
        return 8 * self.lanes * (self.nu + self.nq + self.sensors) + self.lanes

    def arrays(self, memory: SharedMemory) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Controls, configurations, sensors, and which lanes have diverged."""
        found, at = list[Array](), 0
        for width in (self.nu, self.nq, self.sensors):
            found.append(np.ndarray((self.lanes, width), float, memory.buf, at))
            at += 8 * self.lanes * width
        return found[0], found[1], found[2], np.ndarray((self.lanes,), bool, memory.buf, at)


class Shard:
    """Some lanes of an engine in another process; the first of them is `first` there."""

    def __init__(self, scene: Scene, connection: Connection, board: SharedBuffers, first: int, count: int) -> None:
        self.kind: EngineKind = board.kind
        self.scene, self.count, self.layout = scene, count, layout_of(scene.model)
        self._connection, self._first = connection, first
        self._memory = SharedMemory(board.memory)
        mine, size = slice(first, first + count), self.layout.readings_size
        controls, qpos, sensors, diverged = board.arrays(self._memory)
        self._controls, self.qpos, self.diverged = controls[mine], qpos[mine], diverged[mine]
        self.readings, self.truth = sensors[mine, :size], sensors[mine, size:]
        self._models, self._wires = LaneModels(scene, count), Wires()
        self._actuators = [scene.model.actuator(name).id for name in scene.robot.joints]
        self._joints = [scene.joint_address(name) for name in scene.robot.joints]
        # Ticks of each lane since its start.
        self._ticks = np.zeros(count, np.int64)
        # For the next turn.
        self._fresh, self._changed = set[int](), set[int]()
        self._events: list[tuple[int, Event]] = []
        self._finished: list[bytes] = []
        # Whether it has been asked to end.
        self.stopped = False
        # Done in every tick before its end is waited for; it is given a function that says whether that has not come
        # yet.
        self.meanwhile: Callable[[Callable[[], bool]], object] = lambda on_its_way: None

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        """Start a lane from a state and a variation."""
        self._edit(lane, felt(variation.edits))
        self._fresh.add(lane)
        # It begins anew, whatever was to happen.
        self._events = [each for each in self._events if each[0] != lane]
        self._controls[lane, self._actuators] = start[self._joints]
        self._wires.connect(lane, [self._controls[lane].copy()] * variation.latency_ticks)
        self.qpos[lane] = start
        self.diverged[lane] = False
        self._ticks[lane] = 0

    def apply(self, lane: int, event: Event) -> None:
        """Apply an event to a lane."""
        match event:
            case Change():
                self._edit(lane, {**self._models.of(lane), **felt(event.edits)})
            case CorruptControl():
                self._wires.spoil(lane, self.scene.model.actuator(event.joint).id)
            case Push() | Place():
                self._events.append((lane, event))
            case _:
                # Bodies do not notice; cameras and estimators do.
                pass

    def _edit(self, lane: int, edits: Edits) -> None:
        if self._models.set(lane, edits):
            self._changed.add(lane)

    def finish(self, result: object) -> None:
        """Have something sent with the next turn; anything that can be."""
        self._finished.append(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        """Send the controls of one step to the engine and wait; whether any lane diverged."""
        self._controls[lanes] = controls
        self._wires.pass_on(self._controls, lanes)
        self._ticks[lanes] += 1
        self._connection.send(self._turn(lanes))
        self.meanwhile(self._on_its_way)
        answer: TickReply = self._connection.recv()
        self.stopped |= answer.stop
        return answer.diverged

    def _on_its_way(self) -> bool:
        """Whether the answer to the last turn has not come yet."""
        # By itself: `poll` of a connection takes ten times as long.
        return not select.select((self._connection,), (), (), 0)[0]

    def _turn(self, lanes: NDArray[np.intp]) -> Turn:
        changed = tuple(self._changed)
        # Where a lane stands still nothing happens.
        moving = set(lanes.tolist()) if self._events else set[int]()
        turn = Turn(
            lanes=lanes,
            fresh=tuple(self._fresh),
            changed=changed,
            models=self._models.rows[list(changed)],
            events=tuple(each for each in self._events if each[0] in moving),
            finished=tuple(self._finished),
        )
        self._events = [each for each in self._events if each[0] not in moving]
        self._fresh, self._changed, self._finished = set(), set(), []
        return turn

    def half_extents_m(self, lane: int, name: str) -> Array:
        """Half the sizes along the object's own axes."""
        return self._models.half_extents_m(lane, name)

    def number(self, lane: int, field: str, element: str) -> Array:
        """A number of the model as this lane has it."""
        return self._models.number(lane, field, element)

    def state(self, lane: int) -> Array:
        """Its time, and where the lane's bodies are; how fast they move stays with the engine."""
        return np.concatenate([[self._ticks[lane] * self.scene.robot.dt_s], self.qpos[lane]])

    def save(self, lane: int) -> Saved:
        """The state of a lane, to be restored later."""
        raise WiringError("a lane of an engine in another process cannot be saved")

    def restore(self, lane: int, saved: Saved) -> None:
        """Put a lane back to a saved state."""
        raise WiringError("a lane of an engine in another process cannot be restored")

    def close(self) -> None:
        """Say what was finished last, and that there are no more ticks."""
        self._connection.send(self._turn(np.zeros(0, np.intp)))
        self._connection.send(None)
        self._memory.close()


@dataclass(slots=True)
class Spent:
    """What time hubs took, in seconds of wall clock; when the device was at work, in its own; and for how many ticks of
    lanes."""

    all_s: float = 0.0
    worked_s: list[tuple[float, float]] = field(default_factory=list)
    lane_ticks: int = 0

    @property
    def device_s(self) -> float:
        """How long the device was at work, for one engine or for several at once."""
        total_s = until_s = 0.0
        for begin_s, end_s in sorted(self.worked_s):
            total_s += max(0.0, end_s - max(begin_s, until_s))
            until_s = max(until_s, end_s)
        return total_s


class Peer(Protocol):
    """A process at the hub's other end."""

    @property
    def connection(self) -> Connection:
        """The pipe to the process."""
        ...

    @property
    def first(self) -> int:
        """The first of its lanes."""
        ...


class SharedEngine(Engine, Protocol):
    """An engine that leaves what it computes in given arrays, whose lanes' models others work out, and whose ticks are
    begun and ended apart."""

    def share(self, qpos: Array, sensors: Array, diverged: NDArray[np.bool_]) -> None:
        """Write states and sensors into this memory after every step."""
        ...

    def begin(self, lanes: NDArray[np.intp], starts: Array) -> None:
        """Start these lanes from these states."""
        ...

    def change(self, lanes: NDArray[np.intp], models: Singles) -> None:
        """Change the models of these lanes."""
        ...

    def begin_step(self, controls: Array, lanes: NDArray[np.intp]) -> None:
        """Begin a step of these lanes without waiting."""
        ...

    @property
    def stepped(self) -> bool:
        """Whether the step has ended."""
        ...

    def end_step(self) -> bool:
        """Wait for the step; whether a lane diverged."""
        ...

    @property
    def worked_s(self) -> tuple[float, float]:
        """The time spent on stepping and on all the rest."""
        ...


class Hub:
    """Steps an engine for processes that share its lanes, as long as any of them has lanes to step."""

    def __init__(self, engine: SharedEngine) -> None:
        model, count = engine.scene.model, engine.count
        self.engine = engine
        unnamed = SharedBuffers(
            kind=engine.kind, memory="", lanes=count, nu=model.nu, nq=model.nq, sensors=model.nsensordata
        )
        self._memory = SharedMemory(create=True, size=unnamed.size)
        self.board = replace(unnamed, memory=self._memory.name)
        self._controls, self._qpos, sensors, diverged = self.board.arrays(self._memory)
        engine.share(self._qpos, sensors, diverged)
        # Processes that have not said yet what they ask of the next tick, and those that have.
        self.silent: dict[Connection, Peer] = {}
        self._turns: list[tuple[Peer, Turn]] = []
        self.stepping = False

    def seat(self, peer: Peer) -> None:
        """Step this process's lanes from now on."""
        self.silent[peer.connection] = peer

    @property
    def busy(self) -> bool:
        """Whether a step is under way or a process has not answered."""
        return self.stepping or bool(self.silent)

    def knows(self, connection: Connection) -> bool:
        """Whether the process at its other end has not ended."""
        return connection in self.silent or any(peer.connection is connection for peer, _ in self._turns)

    def hear(self, connection: Connection) -> tuple[bytes, ...]:
        """What a process has finished, still packed; what it asks for is kept until all have been heard."""
        peer = self.silent.pop(connection)
        try:
            turn: Turn | None = connection.recv()
        except (EOFError, OSError):
            raise EnvironmentProblem("a process that ran episodes died; is there enough memory?") from None
        if turn is None:
            return ()
        if len(turn.lanes):
            self._turns.append((peer, turn))
        else:
            # It only has to say that it ends.
            self.silent[connection] = peer
        return turn.finished

    def go_on(self, spent: Spent, *, stop: bool) -> None:
        """Begin a tick when all have been heard; answer them when it has ended."""
        if self.stepping:
            if self.engine.stepped:
                self._answer(spent, stop=stop)
        elif self._turns and not self.silent:
            self._turns.sort(key=lambda heard: heard[0].first)
            self._prepare()
            lanes = np.concatenate([peer.first + turn.lanes for peer, turn in self._turns])
            self.engine.begin_step(self._controls if len(lanes) == self.engine.count else self._controls[lanes], lanes)
            self.stepping = True
            spent.lane_ticks += len(lanes)

    def _answer(self, spent: Spent, *, stop: bool) -> None:
        answer = TickReply(diverged=self.engine.end_step(), stop=stop)
        spent.worked_s.append(self.engine.worked_s)
        packed = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        for peer, _ in self._turns:
            # One that has ended meanwhile may have said why.
            with contextlib.suppress(OSError):
                peer.connection.send_bytes(packed)
            self.silent[peer.connection] = peer
        self._turns, self.stepping = [], False

    def _prepare(self) -> None:
        """Do to lanes what is asked for before they move; for all of them at once, which takes as long as for one."""
        changed = np.array([peer.first + lane for peer, turn in self._turns for lane in turn.changed], np.intp)
        if len(changed):
            self.engine.change(changed, np.concatenate([turn.models for _, turn in self._turns if turn.changed]))
        fresh = np.array([peer.first + lane for peer, turn in self._turns for lane in turn.fresh], np.intp)
        if len(fresh):
            self.engine.begin(fresh, self._qpos[fresh])
        for peer, turn in self._turns:
            for lane, event in turn.events:
                self.engine.apply(peer.first + lane, event)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._memory.close()
        self._memory.unlink()


def conduct(
    hubs: Sequence[Hub],
    *,
    stop: Callable[[], bool] = lambda: False,
    spent: Spent | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterator[Any]:
    """Let hubs step until all their processes have ended; yields what those finish. By a clock it reports how long it
    took."""
    began, spent_so_far = clock(), spent or Spent()
    # What has been finished and not been looked at yet.
    packed = deque[bytes]()
    # Others have no time-outs of less than a millisecond.
    with selectors.SelectSelector() as selector:
        for hub in hubs:
            for connection in hub.silent:
                selector.register(connection, selectors.EVENT_READ, hub)
        try:
            while any(hub.busy for hub in hubs):
                stepping, stopped = any(hub.stepping for hub in hubs), stop()
                pause_s = 0.0 if packed else _GLANCE_S if stepping else _PAUSE_S
                for key, _ in selector.select(pause_s):
                    connection, hub = key.fileobj, key.data
                    assert isinstance(connection, Connection)
                    if connection not in hub.silent:
                        # It died while its lanes are stepped, which is heard afterwards.
                        continue
                    packed.extend(hub.hear(connection))
                    if not hub.knows(connection):
                        selector.unregister(connection)
                for hub in hubs:
                    hub.go_on(spent_so_far, stop=stopped)
                if spent is None:
                    spent_so_far.worked_s.clear()
                else:
                    spent.all_s = clock() - began
                # The caller that takes them may be slow: between two of them all hubs go on, unless too many wait.
                for _ in range(max(min(1, len(packed)), len(packed) - _MOST_PACKED)):
                    yield pickle.loads(packed.popleft())
        except Exception:
            yield from map(pickle.loads, packed)
            raise
    yield from map(pickle.loads, packed)
