"""One engine, many processes: each plays some of its lanes as if they were an engine of their own.

A hub owns the engine. Each tick every process says what happened to its lanes and which of them move, and waits; the
hub steps all of them at once. Controls, sensors and configurations are in memory that all of them share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Change, Event
from graspline.engine.lane_edits import LaneEdits, felt
from graspline.engine.layout import Layout, layout_of
from graspline.engine.protocol import Engine, EngineKind, Saved
from graspline.errors import WiringError
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What happens to a lane before the next tick: a reset or an event."""

    lane: int
    event: Event | None = None
    start: Array | None = None
    variation: Variation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one process asks of the next tick."""

    calls: tuple[Call, ...]
    lanes: NDArray[np.intp]
    # What it has finished since the last one; anything that can be sent.
    finished: tuple[Any, ...] = ()


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
        self.kind, self.scene, self.count, self.layout = board.kind, scene, count, layout_of(scene.model)
        self._connection, self._first = connection, first
        self._memory = SharedMemory(board.memory, track=False) if _TRACKS else SharedMemory(board.memory)
        mine = slice(first, first + count)
        self._controls, self.qpos, sensors, self.diverged = (each[mine] for each in board.arrays(self._memory))
        self.readings = sensors[:, : self.layout.readings_size]
        self.truth = sensors[:, self.layout.readings_size :]
        self._edits = LaneEdits(scene, count)
        self._calls: list[Call] = []
        self.finished: list[Any] = []

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        self._change(lane, felt(variation.edits))
        self._calls.append(Call(lane=lane, start=np.array(start), variation=variation))
        self.qpos[lane] = start
        self.diverged[lane] = False

    def apply(self, lane: int, event: Event) -> None:
        if isinstance(event, Change):
            self._change(lane, {**self._edits.of(lane), **felt(event.edits)})
        self._calls.append(Call(lane=lane, event=event))

    def _change(self, lane: int, edits: dict[tuple[str, str], Any]) -> None:
        for _ in self._edits.change(lane, edits):
            pass

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        self._controls[lanes] = controls
        self._connection.send(Turn(calls=tuple(self._calls), lanes=lanes, finished=tuple(self.finished)))
        self._calls, self.finished = [], []
        return bool(self._connection.recv())

    def half_extents_m(self, lane: int, name: str) -> Array:
        return self._edits.half_extents_m(lane, name)

    def number(self, lane: int, field: str, element: str) -> Array:
        return self._edits.number(lane, field, element)

    def state(self, lane: int) -> Array:
        """Where the lane's bodies are; how fast they move stays with the engine."""
        return self.qpos[lane].copy()

    def save(self, lane: int) -> Saved:
        raise WiringError("a lane of an engine in another process cannot be saved")

    def restore(self, lane: int, saved: Saved) -> None:
        raise WiringError("a lane of an engine in another process cannot be restored")

    def close(self) -> None:
        """Say what was finished last, and that there are no more ticks."""
        self._connection.send(Turn(calls=(), lanes=np.zeros(0, np.intp), finished=tuple(self.finished)))
        self._connection.send(None)
        self._memory.close()


class Peer(Protocol):
    """A process at the hub's other end."""

    @property
    def connection(self) -> Connection: ...

    @property
    def first(self) -> int: ...


class Hub:
    """Steps an engine for processes that share its lanes, as long as any of them has lanes to step."""

    def __init__(self, engine: Engine) -> None:
        model, count = engine.scene.model, engine.count
        self.engine = engine
        unnamed = Board(kind=engine.kind, memory="", lanes=count, nu=model.nu, nq=model.nq, sensors=model.nsensordata)
        self._memory = SharedMemory(create=True, size=unnamed.size)
        self.board = replace(unnamed, memory=self._memory.name)
        self._controls, self._qpos, self._sensors, self._diverged = self.board.arrays(self._memory)
        self._layout: Layout = engine.layout
        # Wall-clock time spent in the engine.
        self.stepping_s = 0.0

    def tick(self, peers: Sequence[Peer], finished: Callable[[Any], None]) -> list[Peer]:
        """Hear every process, step, and answer; returns those that have not ended. What they finished is handed on."""
        turns = [(peer, peer.connection.recv()) for peer in peers]
        left = [(peer, turn) for peer, turn in turns if turn is not None]
        for peer, turn in left:
            for result in turn.finished:
                finished(result)
            for call in turn.calls:
                self._do(peer.first + call.lane, call)
        lanes = np.concatenate([peer.first + turn.lanes for peer, turn in left]) if left else np.zeros(0, np.intp)
        began = time.perf_counter()
        diverged = bool(len(lanes)) and self.engine.step(self._controls[lanes], lanes)
        self.stepping_s += time.perf_counter() - began
        size = self._layout.readings_size
        self._sensors[:, :size], self._sensors[:, size:] = self.engine.readings, self.engine.truth
        self._qpos[:], self._diverged[:] = self.engine.qpos, self.engine.diverged
        for peer, turn in left:
            if len(turn.lanes):
                peer.connection.send(diverged)
        return [peer for peer, _ in left]

    def _do(self, lane: int, call: Call) -> None:
        if call.event is not None:
            self.engine.apply(lane, call.event)
        elif call.start is not None and call.variation is not None:
            self.engine.reset(lane, call.start, call.variation)

    def close(self) -> None:
        self._memory.close()
        self._memory.unlink()


# Python 3.13 can be told that somebody else cleans up.
_TRACKS = "track" in SharedMemory.__init__.__code__.co_varnames
