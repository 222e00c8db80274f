"""viser behind our guard: it listens on a private Unix socket, and only our own port leads there.

viser answers any Host and any Origin, so a page on the internet could drive the arm through its port. It has no setting
for that, nor for a Unix socket; but it opens its listener with `websockets.asyncio.server.serve`, once, while a
`ViserServer` is made. Behind `private_listener` that call gets a path in a directory that only this user may enter. No
TCP port of viser's exists then, so there is nothing for a page to find.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import mimetypes
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rich
import viser
import websockets.asyncio.server
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect
from viser import _messages
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from graspline.errors import EnvironmentProblem

# One page at a time is patched in; two servers made at once must not get each other's path.
_MAKING = threading.Lock()
# The first message holds every mesh of the scene.
LARGEST_BYTES = 256 * 2**20
SEND_S = 5.0


@dataclass(frozen=True, slots=True)
class ViserFront:
    """A viser server that is reached only through `page` and `relay`."""

    server: viser.ViserServer
    directory: Path
    # What viser's page is made of, by path; all of it is read before the first request.
    files: dict[str, bytes]

    def page(self, path: str, host: str) -> Response | None:
        """The file of viser's page at this path, or None."""
        body = self.files.get(path)
        if body is None:
            return None
        kind = "text/html" if path == "/" else mimetypes.guess_type(path)[0] or "application/octet-stream"
        return Response(body, media_type=kind, headers={"content-security-policy": page_policy(host)})

    async def relay(self, socket: WebSocket) -> None:
        """Carry messages between a browser and viser until one of them leaves, or the browser reads no more."""
        wanted = [Subprotocol(each) for each in socket.scope["subprotocols"]]
        try:
            async with unix_connect(
                str(socket_path(self.directory)),
                uri="ws://viser/",
                subprotocols=wanted or None,
                compression=None,
                max_size=LARGEST_BYTES,
                proxy=None,
            ) as inner:
                await socket.accept(subprotocol=inner.subprotocol)
                await _carry(socket, inner)
        except (OSError, ConnectionClosed, WebSocketDisconnect, TimeoutError):
            # The client that is left sees the other end close.
            pass

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        console = rich.get_console()
        quiet, console.quiet = console.quiet, True
        self.server.stop()
        console.quiet = quiet
        shutil.rmtree(self.directory, ignore_errors=True)


def page_policy(host: str) -> str:
    """What viser's page may do: talk to this server and to no other.

    Its address may name another server to take orders from (`?websocket=`), and orders may be scripts; with this policy
    a browser refuses to connect there.
    """
    return (
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; "
        f"connect-src 'self' ws://{host} wss://{host} data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def open_viser(label: str = "graspline") -> ViserFront:
    """A new viser server that listens on no port."""
    with private_listener() as directory:
        server = viser.ViserServer(host="", port=0, label=label, verbose=False)
    return front_of(server, directory)


def front_of(server: viser.ViserServer, directory: Path) -> ViserFront:
    """The front of a server that was made inside `private_listener`."""
    if not socket_path(directory).is_socket():
        server.stop()
        raise EnvironmentProblem(f"viser {viser.__version__} opened its port in a way that cannot be protected")
    # A client that sends one of these makes viser open a tunnel from the internet to this scene.
    for request in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)
    built = Path(viser.__file__).parent / "client" / "build"
    files = {f"/{each.relative_to(built).as_posix()}": each.read_bytes() for each in built.rglob("*") if each.is_file()}
    return ViserFront(server, directory, {**files, "/": files["/index.html"]})


@contextlib.contextmanager
def private_listener() -> Iterator[Path]:
    """Servers that viser makes in here listen on a socket in this directory, which only we may enter."""
    directory = Path(tempfile.mkdtemp(prefix="graspline-"))
    real = websockets.asyncio.server.serve

    @functools.wraps(real)
    def serve(handler: Any, host: Any, port: Any, **settings: Any) -> Any:
        return real(handler, unix=True, path=str(socket_path(directory)), **settings)

    # viser prints the address of its listener, which is none.
    with _MAKING, rich.get_console().capture():
        websockets.asyncio.server.serve = serve  # type: ignore[assignment]
        try:
            yield directory
        finally:
            websockets.asyncio.server.serve = real


def socket_path(directory: Path) -> Path:
    """The socket that the panel's server listens on."""
    return directory / "viser"


async def _carry(outer: WebSocket, inner: ClientConnection) -> None:
    async def inward() -> None:
        while True:
            message = await outer.receive()
            if message["type"] == "websocket.disconnect":
                return
            await inner.send(message.get("bytes") or message.get("text") or b"")

    async def outward() -> None:
        async for message in inner:
            async with asyncio.timeout(SEND_S):
                await (outer.send_text(message) if isinstance(message, str) else outer.send_bytes(message))

    ways = [asyncio.create_task(inward()), asyncio.create_task(outward())]
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in done:
            way.result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
