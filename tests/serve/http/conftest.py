"""The real server on a free port of this machine, with a session that simulates nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import httpx
import pytest

from graspline.serve.http.access import Door, address
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import Served, serve
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session

from .stand_in import PATIENCE_S, StandIn, bench_of


@dataclass(frozen=True, slots=True)
class Place:
    """A server to call, and the session behind it."""

    http: httpx.Client
    session: StandIn
    door: Door
    port: int

    @property
    def address(self) -> str:
        return address("127.0.0.1", self.port)

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.door.token}"}

    def ws(self, path: str) -> str:
        return f"{address('127.0.0.1', self.port, 'ws')}{path}"


class Swapped:
    """The session of the test that runs, for a server that outlives it."""

    now: StandIn

    def bench(self) -> Bench:
        tasks, faults = {"grab": "", "lift-cube": ""}, {"drop": "lets go"}
        session = lambda: cast(Session, self.now)  # noqa: E731
        return Bench(session=session, tasks=tasks, faults=faults, recording="today")


@pytest.fixture
def session() -> Iterator[StandIn]:
    session = StandIn()
    session.start()
    yield session
    session.close()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Swapped, Door, Served]]:
    swapped, door = Swapped(), Door()
    swapped.now = first = StandIn()
    first.start()
    with serve(guarded_app(swapped.bench(), door)) as served:
        yield swapped, door, served
    first.close()


@pytest.fixture
def place(session: StandIn, server: tuple[Swapped, Door, Served]) -> Iterator[Place]:
    swapped, door, served = server
    swapped.now = session
    headers = {"Authorization": f"Bearer {door.token}"}
    with httpx.Client(base_url=served.address, headers=headers, timeout=PATIENCE_S) as http:
        yield Place(http, session, door, served.port)


@pytest.fixture
def new_place(session: StandIn) -> Iterator[Place]:
    """A server of its own, on which no parameter was ever set."""
    door = Door()
    headers = {"Authorization": f"Bearer {door.token}"}
    with (
        serve(guarded_app(bench_of(session), door)) as served,
        httpx.Client(base_url=served.address, headers=headers, timeout=PATIENCE_S) as http,
    ):
        yield Place(http, session, door, served.port)
