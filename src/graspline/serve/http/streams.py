"""Streams of what happens: encoded once, sent to each client as fast as it takes it, never faster."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect

from graspline.serve.live.server_context import Bench
from graspline.serve.live.snapshot import HistoryEntry, SessionSnapshot
from graspline.tasks.console import plain

STATES_HZ = 30.0
# A client that takes longer to take one message is gone.
SEND_S = 2.0
# Transitions that wait for one client; one that falls behind further is gone, for it would miss some.
BACKLOG = 500

# How it shows that a client has left or reads no more; starlette has a RuntimeError for sending after a close.
GONE = (TimeoutError, WebSocketDisconnect, RuntimeError)

T = TypeVar("T", str, bytes)


class Stream(Generic[T]):
    """Subscribers, each with a mailbox of its own. Everything here happens in the server's loop."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._boxes: set[asyncio.Queue[T | None]] = set()

    @property
    def watched(self) -> bool:
        """Whether any client receives the stream."""
        return bool(self._boxes)

    def publish(self, item: T) -> None:
        """Give an item to every client. A full queue of one keeps the newest; a longer one that is full is closed."""
        for box in self._boxes:
            if box.full():
                while not box.empty():
                    box.get_nowait()
                box.put_nowait(item if self._depth == 1 else None)
            else:
                box.put_nowait(item)

    def end(self) -> None:
        """Disconnect every client."""
        for box in self._boxes:
            while not box.empty():
                box.get_nowait()
            box.put_nowait(None)

    @contextlib.contextmanager
    def mailbox(self) -> Iterator[asyncio.Queue[T | None]]:
        """A queue of the stream's items, for one client."""
        box: asyncio.Queue[T | None] = asyncio.Queue(self._depth)
        self._boxes.add(box)
        try:
            yield box
        finally:
            self._boxes.discard(box)

    async def show(self, socket: WebSocket) -> None:
        """Send the stream to a client until it leaves."""
        with self.mailbox() as box:
            await empty_into(socket, box)


async def empty_into(socket: WebSocket, box: asyncio.Queue[T | None]) -> None:
    """Send what comes into a mailbox to a client until it leaves, reads no more, or says anything."""
    await socket.accept()
    listening = asyncio.create_task(_left(socket))
    sending = asyncio.create_task(_pour(socket, box))
    try:
        await asyncio.wait((listening, sending), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (listening, sending):
            task.cancel()
        for error in await asyncio.gather(listening, sending, return_exceptions=True):
            if isinstance(error, Exception) and not isinstance(error, GONE):
                raise error


async def _pour(socket: WebSocket, box: asyncio.Queue[Any]) -> None:
    while (item := await box.get()) is not None:
        await _send(socket, item)


async def _send(socket: WebSocket, item: str | bytes) -> None:
    async with asyncio.timeout(SEND_S):
        await (socket.send_text(item) if isinstance(item, str) else socket.send_bytes(item))


async def _left(socket: WebSocket) -> None:
    """Returns when the client has left; one that speaks is shown out, for these sockets only show."""
    message = await socket.receive()
    if message["type"] == "websocket.receive":
        await socket.close(1008, "this socket takes no messages")


class SnapshotPublisher:
    """A thread that waits for snapshots and publishes them, and the transitions in them, to the server's loop."""

    def __init__(self, bench: Bench) -> None:
        self.states: Stream[str] = Stream(1)
        self.transitions: Stream[str] = Stream(BACKLOG)
        self._bench = bench
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """To be called in the server's loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._over.set()
        self._thread.join(2.0)

    def _run(self) -> None:
        session = self._bench.session()
        seen = session.snapshot
        while not self._over.is_set():
            if self._bench.session() is not session:
                # Another task, another count of snapshots.
                session = self._bench.session()
                seen = session.snapshot
            newest = session.wait(seen.number, 0.5)
            if newest.number == seen.number:
                # A session that has ended answers at once, and for ever.
                self._over.wait(0.1)
                continue
            for entry in transitions(seen, newest):
                evidence = [plain(each.as_dict()) for each in entry.evidence]
                self._publish(self.transitions, json.dumps({**entry.as_dict(), "evidence": evidence}))
            if self.states.watched:
                self._publish(self.states, json.dumps(newest.as_dict()))
            seen = newest
            # Snapshots come at the control rate; half of them are enough for eyes.
            self._over.wait(1.0 / STATES_HZ)

    def _publish(self, stream: Stream[str], item: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(stream.publish, item)


def transitions(seen: SessionSnapshot, newest: SessionSnapshot) -> tuple[HistoryEntry, ...]:
    """States that have ended in between."""
    fresh = newest.history
    if seen.history and seen.history[-1] in newest.history:
        last = len(fresh) - 1 - fresh[::-1].index(seen.history[-1])
        fresh = fresh[last + 1 :]
    return fresh
