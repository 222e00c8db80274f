"""An ASGI application on a socket, in a thread of its own, until it is closed."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from graspline.errors import EnvironmentProblem
from graspline.serve.http.access import address
from graspline.serve.http.access_middleware import Application

START_S = 10.0
# How long answers that are under way may take once the server closes; the arm has been stopped before, so that
# nothing waits for it any more but clients that do not read.
LEAVE_S = 1
MESSAGE_BYTES = 65_536
CONNECTIONS = 400
# Within this time of its first byte, or of its connection, a request's head must be here.
HEAD_S = 5.0
# Connections that have not said yet what they want; for one more the oldest of them is closed.
SILENT_CONNECTIONS = 64


class Sockets(WebSocketsSansIOProtocol):
    """WebSockets that can be given up: uvicorn would wait for a client that reads no more to take what it was sent."""

    async def run_asgi(self) -> None:
        """Run the application; end the connection if the client has stopped reading."""
        await super().run_asgi()
        if not self.writable.is_set():
            self.transport.abort()


class Requests(H11Protocol):
    """HTTP that does not wait for ever for the head of a request, which uvicorn does.

    A connection is silent until the head of its first request is complete: no token can have been shown before. A
    client that means it needs a moment for that, so when there are too many, the one that was silent longest goes.
    """

    _deadline: asyncio.TimerHandle | None = None
    _is_silent = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A client has connected: its time for a request begins."""
        super().connection_made(transport)
        silent = [each for each in self.connections if isinstance(each, Requests) and each._is_silent]
        if len(silent) > SILENT_CONNECTIONS:
            # Those with the nearest deadline have been here longest.
            oldest = min((each for each in silent if each._deadline is not None), key=_due, default=self)
            oldest._give_up()
        self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Data has come from the client."""
        super().data_received(data)
        waiting = self.conn.their_state is h11.IDLE
        if not waiting:
            self._is_silent = False
            self._forget_deadline()
        elif self._deadline is None and self.conn.trailing_data[0]:
            self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: its time limit ends."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._forget_deadline()
        # Of one that has become a WebSocket the transport is another protocol's.
        if self.transport.get_protocol() is self:
            self.transport.abort()


def _due(connection: Requests) -> float:
    return 0.0 if connection._deadline is None else connection._deadline.when()


@dataclass(slots=True)
class Served:
    """A running server; `close` ends it, and so does leaving its `with` block."""

    host: str
    port: int
    _server: uvicorn.Server
    _thread: threading.Thread

    @property
    def address(self) -> str:
        """The address of the server."""
        return address(self.host, self.port)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._server.should_exit = True
        self._thread.join(LEAVE_S + 1.0)
        self._server.force_exit = True
        self._thread.join(LEAVE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def serve(app: Application, host: str = "127.0.0.1", port: int = 0) -> Served:
    """Serve until closed; port 0 is any free one. Answers as soon as requests are taken."""
    listener = bind(host, port)
    config = uvicorn.Config(
        app,
        http=Requests,
        ws=Sockets,
        ws_max_size=MESSAGE_BYTES,
        # Snapshots change every time; deflating each for each of fifty sockets would cost more than it saves here.
        ws_per_message_deflate=False,
        # Addresses of sockets, tokens included, would be logged as information.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # A header may not identify a client: rates are counted by address.
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=LEAVE_S,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="service", daemon=True)
    served = Served(host, listener.getsockname()[1], server, thread)
    thread.start()
    _wait_until_started(served)
    return served


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; a port that is taken, or a host that is not ours, is a problem of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once only where the protocol is spelled out; else answers wait 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        advice = "another port may be free" if taken else "--host takes a name or an address of this machine"
        raise EnvironmentProblem(f"cannot listen on {address(host, port)}: {error.strerror}; {advice}") from None
    return listener


def _wait_until_started(served: Served) -> None:
    # uvicorn does not notify when it has started; it sets a flag.
    waited = threading.Event()
    for _ in range(int(START_S / 0.01)):
        if served._server.started or not served._thread.is_alive():
            break
        waited.wait(0.01)
    if not served._server.started:
        served.close()
        raise EnvironmentProblem(f"the server on {served.address} did not start within {START_S:g} s")
