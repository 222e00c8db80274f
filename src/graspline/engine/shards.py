"""One engine, many processes: each plays some of its lanes as if they were an engine of their own.

A hub owns the engine. Each tick every process says what happened to its lanes and which of them move, and waits; the
hub steps all of them at once. Controls, sensors and configurations are in memory that all of them share. Several hubs
can take turns: while the processes of one plan, the engine of another has the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Change, CorruptControl, Event, Place, Push
from graspline.engine.lane_edits import felt
from graspline.engine.lane_models import LaneModels, Singles
from graspline.engine.layout import layout_of
from graspline.engine.protocol import Engine, EngineKind, Saved
from graspline.engine.wires import Wires
from graspline.errors import EnvironmentProblem, WiringError
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

# How long to listen before looking whether the device is done, and before looking whether to stop.
_GLANCE_S, _PAUSE_S = 0.0002, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What happens to a lane before the next tick: an event, or a reset to a start with rows of its model."""

    lane: int
    event: Event | None = None
    start: Array | None = None
    model_rows: dict[str, Singles] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one process asks of the next tick."""

    calls: tuple[Call, ...]
    lanes: NDArray[np.intp]
    # What it has finished since the last one; anything that can be sent.
    finished: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a process is told after a tick."""

    diverged: bool
    # Whether it should come to an end.
    stop: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Where the shared arrays are: the memory's name, how many lanes and numbers, and whose they are."""

    kind: EngineKind
    memory: str
    lanes: int
    nu: int
    nq: int
    sensors: int

    @property
    def size(self) -> int:
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

    def __init__(self, scene: Scene, connection: Connection, board: Board, first: int, count: int) -> None:
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
        self._calls: list[Call] = []
        self.finished: list[Any] = []
        # Whether it has been told to come to an end.
        self.stopped = False

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        rows = self._models.set(lane, felt(variation.edits))
        self._calls.append(Call(lane=lane, start=np.array(start), model_rows=rows))
        self._controls[lane, self._actuators] = start[self._joints]
        self._wires.connect(lane, [self._controls[lane].copy()] * variation.latency_ticks)
        self.qpos[lane] = start
        self.diverged[lane] = False
        self._ticks[lane] = 0

    def apply(self, lane: int, event: Event) -> None:
        match event:
            case Change():
                rows = self._models.set(lane, {**self._models.of(lane), **felt(event.edits)})
                self._calls.append(Call(lane=lane, model_rows=rows))
            case CorruptControl():
                self._wires.spoil(lane, self.scene.model.actuator(event.joint).id)
            case Push() | Place():
                self._calls.append(Call(lane=lane, event=event))
            case _:
                # Bodies do not notice; those who look do.
                pass

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        self._controls[lanes] = controls
        self._wires.pass_on(self._controls, lanes)
        self._ticks[lanes] += 1
        self._connection.send(Turn(calls=tuple(self._calls), lanes=lanes, finished=tuple(self.finished)))
        self._calls, self.finished = [], []
        answer: Answer = self._connection.recv()
        self.stopped |= answer.stop
        return answer.diverged

    def half_extents_m(self, lane: int, name: str) -> Array:
        return self._models.half_extents_m(lane, name)

    def number(self, lane: int, field: str, element: str) -> Array:
        return self._models.number(lane, field, element)

    def state(self, lane: int) -> Array:
        """Its time, and where the lane's bodies are; how fast they move stays with the engine."""
        return np.concatenate([[self._ticks[lane] * self.scene.robot.dt_s], self.qpos[lane]])

    def save(self, lane: int) -> Saved:
        raise WiringError("a lane of an engine in another process cannot be saved")

    def restore(self, lane: int, saved: Saved) -> None:
        raise WiringError("a lane of an engine in another process cannot be restored")

    def close(self) -> None:
        """Say what was finished last, and that there are no more ticks."""
        self._connection.send(Turn(calls=(), lanes=np.zeros(0, np.intp), finished=tuple(self.finished)))
        self._connection.send(None)
        self._memory.close()


@dataclass(slots=True)
class Spent:
    """Where the time of hubs went, in seconds of wall clock: while an engine stepped, and while all of them waited for
    processes; and for how many ticks of lanes."""

    stepping_s: float = 0.0
    waiting_s: float = 0.0
    lane_ticks: int = 0

    def add(self, seconds: float, *, stepping: bool) -> None:
        if stepping:
            self.stepping_s += seconds
        else:
            self.waiting_s += seconds

    @property
    def all_s(self) -> float:
        return self.stepping_s + self.waiting_s


class Peer(Protocol):
    """A process at the hub's other end."""

    @property
    def connection(self) -> Connection: ...

    @property
    def first(self) -> int: ...


class SharedEngine(Engine, Protocol):
    """An engine that leaves what it computes in given arrays, whose lanes' models others work out, and whose ticks are
    begun and ended apart."""

    def share(self, qpos: Array, sensors: Array, diverged: NDArray[np.bool_]) -> None: ...

    def begin(self, lane: int, start: Array, model_rows: Mapping[str, Singles]) -> None: ...

    def change(self, lane: int, model_rows: Mapping[str, Singles]) -> None: ...

    def begin_step(self, controls: Array, lanes: NDArray[np.intp]) -> None: ...

    @property
    def stepped(self) -> bool: ...

    def end_step(self) -> bool: ...


class Hub:
    """Steps an engine for processes that share its lanes, as long as any of them has lanes to step."""

    def __init__(self, engine: SharedEngine) -> None:
        model, count = engine.scene.model, engine.count
        self.engine = engine
        unnamed = Board(kind=engine.kind, memory="", lanes=count, nu=model.nu, nq=model.nq, sensors=model.nsensordata)
        self._memory = SharedMemory(create=True, size=unnamed.size)
        self.board = replace(unnamed, memory=self._memory.name)
        self._controls, qpos, sensors, diverged = self.board.arrays(self._memory)
        engine.share(qpos, sensors, diverged)
        # Processes that have not said yet what they ask of the next tick, and those that have.
        self.silent: dict[Connection, Peer] = {}
        self._turns: list[tuple[Peer, Turn]] = []
        self.stepping = False

    def seat(self, peer: Peer) -> None:
        """Step this process's lanes from now on."""
        self.silent[peer.connection] = peer

    @property
    def busy(self) -> bool:
        return self.stepping or bool(self.silent)

    def hear(self, connection: Connection) -> tuple[Any, ...]:
        """What a process has finished; what it asks for is kept until all have been heard."""
        peer = self.silent.pop(connection)
        try:
            turn: Turn | None = connection.recv()
        except (EOFError, OSError):
            raise EnvironmentProblem("a process that played episodes died; is there enough memory?") from None
        if turn is None:
            return ()
        for call in turn.calls:
            self._do(peer.first + call.lane, call)
        if len(turn.lanes):
            self._turns.append((peer, turn))
        else:
            # It only has to say that it ends.
            self.silent[connection] = peer
        return turn.finished

    def go_on(self, *, stop: bool) -> int:
        """Begin a tick when all have been heard, answer them when it has ended; of how many lanes one was begun."""
        if self.stepping:
            if self.engine.stepped:
                self._answer(stop=stop)
            return 0
        if self.silent or not self._turns:
            return 0
        self._turns.sort(key=lambda heard: heard[0].first)
        lanes = np.concatenate([peer.first + turn.lanes for peer, turn in self._turns])
        self.engine.begin_step(self._controls[lanes], lanes)
        self.stepping = True
        return len(lanes)

    def _answer(self, *, stop: bool) -> None:
        answer = Answer(diverged=self.engine.end_step(), stop=stop)
        for peer, _ in self._turns:
            peer.connection.send(answer)
            self.silent[peer.connection] = peer
        self._turns, self.stepping = [], False

    def _do(self, lane: int, call: Call) -> None:
        if call.event is not None:
            self.engine.apply(lane, call.event)
        elif call.start is not None:
            self.engine.begin(lane, call.start, call.model_rows or {})
        else:
            self.engine.change(lane, call.model_rows or {})

    def close(self) -> None:
        self._memory.close()
        self._memory.unlink()


def conduct(
    hubs: Sequence[Hub],
    *,
    stop: Callable[[], bool] = lambda: False,
    spent: Spent | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterator[Any]:
    """Let hubs step until all their processes have ended; yields what those finish. By a clock it is told where the
    time went."""
    spent, then = spent or Spent(), clock()
    while any(hub.busy for hub in hubs):
        stepping, stopped = any(hub.stepping for hub in hubs), stop()
        owners = {connection: hub for hub in hubs for connection in hub.silent}
        for connection in wait(list(owners), _GLANCE_S if stepping else _PAUSE_S):
            assert isinstance(connection, Connection)
            yield from owners[connection].hear(connection)
        for hub in hubs:
            spent.lane_ticks += hub.go_on(stop=stopped)
        now = clock()
        spent.add(now - then, stepping=stepping)
        then = now
