"""Commands from calls: the operator's lease first, then the session, then its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import Header, Query
from fastapi.responses import JSONResponse

from graspline.serve.http.response_models import answer, under_way
from graspline.serve.live.commands import Command, Ticket
from graspline.serve.live.lease import EXPIRY_S
from graspline.serve.live.server_context import Bench
from graspline.tasks.console import Refused, Result

# Clients without a name; all of them are one operator.
NO_OPERATOR = "http"
LONGEST_S = 600.0

Operator = Annotated[
    str,
    Header(
        alias="X-Operator",
        pattern=r"^[A-Za-z0-9._-]{1,64}$",
        description="The client; one of them at a time is the operator.",
    ),
]
Wait = Annotated[
    float, Query(ge=0.0, le=LONGEST_S, allow_inf_nan=False, description="How long to wait for the end, in seconds.")
]


class Orders:
    """Gives commands on behalf of clients."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    async def give(self, command: Command, operator: str, wait_s: float) -> JSONResponse:
        """Submit a command if this client is, or may become, the operator."""
        return await self.let(operator, lambda: self.submit(command), wait_s)

    def submit(self, command: Command) -> Ticket:
        """Give a command to the session."""
        return self.bench.session().submit(command)

    async def let(self, operator: str, act: Callable[[], Ticket | Result], wait_s: float = 0.0) -> JSONResponse:
        """Act if this client is, or may become, the operator, and wait; the lease is kept as long as that takes."""
        lease = self.bench.session().lease
        if not lease.take(operator):
            return held(lease.holder)
        acted = act()
        if not isinstance(acted, Ticket):
            return answered(acted)
        return await self._settled(acted, wait_s, lambda: lease.renew(operator))

    async def stop(self, wait_s: float) -> JSONResponse:
        """Any client may stop the arm."""
        return await self._settled(self.bench.session().stop(), wait_s, lambda: True)

    async def _settled(self, ticket: Ticket, wait_s: float, keep: Callable[[], bool]) -> JSONResponse:
        ended = _ending(ticket)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_s
        while not ended.done():
            left_s = until_s - loop.time()
            if left_s <= 0.0:
                doing = self.bench.session().snapshot.doing or "it"
                return JSONResponse(under_way(f"{doing} is under way"), HTTPStatus.ACCEPTED)
            await asyncio.wait([ended], timeout=min(left_s, EXPIRY_S / 3))
            keep()
        return answered(ended.result())


def read_value(name: str, value: object) -> JSONResponse:
    """A parameter or variable as it is; null where it was never set."""
    message = f"{name} was never set" if value is None else f"{name} is {value}"
    return JSONResponse({"success": True, "message": message, "ended": True, "name": name, "value": value})


def held(holder: str) -> JSONResponse:
    """The response to a client that does not hold the lease."""
    message = f"{holder} is the operator; others watch until it leaves or releases the lease"
    return JSONResponse({"success": False, "message": message, "holder": holder}, HTTPStatus.CONFLICT)


def answered(result: Result) -> JSONResponse:
    """How a command went; what could never be done is the caller's mistake."""
    mistaken = isinstance(result, Refused) and result.mistaken
    return JSONResponse(answer(result), HTTPStatus.UNPROCESSABLE_ENTITY if mistaken else HTTPStatus.OK)


def _ending(ticket: Ticket) -> asyncio.Future[Result]:
    """The ticket's end as this loop's future."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result) -> None:
        if not ended.done():
            ended.set_result(result)

    def report(result: Result) -> None:
        # The session may outlive the server; then nothing waits any more.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result)

    ticket.then(report)
    return ended
