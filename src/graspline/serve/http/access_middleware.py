"""What stands in front of everything we serve: pages, calls, sockets and their description alike."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from graspline.serve.http.access import Door, Scope, Turned, header

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# Nothing may hold up a Stop: it needs the token, but neither the lease nor a share of the rate.
STOP = "/stop"
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# A redirect would still count as asked for by the page whose link was followed, and go without the cookie.
ENTRANCE = b"<!doctype html><meta charset=utf-8><title>graspline</title><meta http-equiv=refresh content='0;url=/'>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client, and all of them together, may ask for."""

    body_bytes: int = 65_536
    body_s: float = 10.0
    # Of one client address, in any second and at once.
    requests_per_s: float = 300.0
    burst: int = 600
    sockets: int = 100


class Bucket:
    """Tokens that refill at a rate; a request takes one."""

    def __init__(self, rate_per_s: float, burst: int) -> None:
        self._rate_per_s, self._burst = rate_per_s, burst
        self._left, self._at_s = float(burst), 0.0

    def take(self, now_s: float) -> bool:
        """Whether another request is allowed now."""
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._rate_per_s)
        self._at_s = now_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Guard:
    """An ASGI application that lets in what the door lets in, within limits, and marks every answer."""

    def __init__(self, app: Application, door: Door, limits: Limits | None = None) -> None:
        self.door, self.limits = door, limits or Limits()
        self._app = app
        self._buckets: dict[str, Bucket] = {}
        self._sockets = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        send = _marked(send)
        turned = self.door.turns_away(scope) or self._over_rate(scope)
        if turned is not None:
            await _answer(scope, send, turned)
        elif scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        elif self.door.opens_page(scope):
            headers = {"content-type": "text/html", "set-cookie": self.door.cookie(scope)}
            await _respond(send, HTTPStatus.OK, headers, ENTRANCE)
        else:
            await self._serve_call(scope, receive, send)

    def _over_rate(self, scope: Scope) -> Turned | None:
        if scope["path"] == STOP:
            return None
        client = scope["client"][0] if scope.get("client") else ""
        if client not in self._buckets and len(self._buckets) >= 1024:
            self._buckets.clear()
        bucket = self._buckets.setdefault(client, Bucket(self.limits.requests_per_s, self.limits.burst))
        if bucket.take(asyncio.get_running_loop().time()):
            return None
        return Turned(
            HTTPStatus.TOO_MANY_REQUESTS, f"more than {self.limits.requests_per_s:g} requests a second from one client"
        )

    async def _serve_socket(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if self._sockets >= self.limits.sockets:
            reason = f"{self._sockets} sockets are open, which is all there may be"
            await _answer(scope, send, Turned(HTTPStatus.TOO_MANY_REQUESTS, reason))
            return
        self._sockets += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._sockets -= 1

    async def _serve_call(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body = await self._body(scope, receive)
        if isinstance(body, Turned):
            await _answer(scope, send, body)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | Turned:
        """The whole body, read before the application sees the request; or why it is not taken."""
        largest = self.limits.body_bytes
        too_large = Turned(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of more than {largest} bytes")
        if any(not each.isdecimal() or int(each) > largest for each in header(scope, "content-length")):
            return too_large
        body, more = b"", True
        try:
            async with asyncio.timeout(self.limits.body_s):
                while more:
                    message = await receive()
                    body += message.get("body", b"")
                    more = message["type"] == "http.request" and message.get("more_body", False)
                    if len(body) > largest:
                        return too_large
        except TimeoutError:
            return Turned(HTTPStatus.REQUEST_TIMEOUT, f"a body that took more than {self.limits.body_s:g} s")
        return body


def _marked(send: Send) -> Send:
    """`send`, with our headers on every answer that does not bring its own."""

    async def marked(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            ours = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            message = {**message, "headers": given + ours}
        await send(message)

    return marked


async def _answer(scope: Scope, send: Send, turned: Turned) -> None:
    headers = {"content-type": "application/json"}
    if turned.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["retry-after"] = "1"
    if turned.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if scope["type"] == "http":
        # Part of a body may be unread; the connection is of no further use.
        headers["connection"] = "close"
    body = json.dumps({"success": False, "message": turned.reason}).encode()
    await _respond(send, turned.status, headers, body, "websocket." if scope["type"] == "websocket" else "")


async def _respond(send: Send, status: HTTPStatus, headers: dict[str, str], body: bytes, kind: str = "") -> None:
    headers = {**headers, "content-length": str(len(body))}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}http.response.start", "status": status.value, "headers": encoded})
    await send({"type": f"{kind}http.response.body", "body": body})
