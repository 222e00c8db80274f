"""Starting and ending: a free port, a taken one, a way out that nobody can hold up."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import httpx
import pytest
from websockets.sync.client import connect

from graspline.errors import EnvironmentProblem
from graspline.live.commands import Refused
from graspline.service.app import guarded_app
from graspline.service.door import Door
from graspline.service.server import bind, serve

from .stand_in import PATIENCE_S, StandIn, bench_of, settle


def test_a_port_that_is_taken_is_a_problem_of_this_machine_with_exit_code_3(session: StandIn) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentProblem, match=rf"127\.0\.0\.1:{port}.*in use") as raised:
            serve(guarded_app(bench_of(session), Door()), "127.0.0.1", port)
    assert raised.value.exit_code == 3


def test_an_address_that_is_not_ours_is_a_problem_of_this_machine(session: StandIn) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot listen"):
        serve(guarded_app(bench_of(session), Door()), "192.0.2.1", 0)


def test_answers_are_sent_at_once() -> None:
    """asyncio turns Nagle's delay off only where it sees that a socket is TCP's: 4 ms for a call, not 44."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_closed_server_is_gone_with_its_threads_and_its_port(session: StandIn) -> None:
    door = Door()
    before = {each.name for each in threading.enumerate()}
    served = serve(guarded_app(bench_of(session), door))
    headers = {"Authorization": f"Bearer {door.token}"}
    assert httpx.get(f"{served.address}/state", headers=headers).status_code == 200
    session.slow = True
    # Somebody watches and somebody waits for a command that never ends; neither keeps the server from closing.
    watcher = connect(f"ws://127.0.0.1:{served.port}/ws/state", additional_headers=headers)
    waiting = threading.Thread(target=_wait_for_ever, args=(served.address, headers))
    waiting.start()
    while not session.open:
        time.sleep(0.01)
    served.close()
    # It did not wait for the command, which never ends: the one who waited for it is sent away.
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    watcher.close()
    for ticket in session.open:
        settle(ticket, Refused(reason="closed"))
    left = {each.name for each in threading.enumerate()} - before
    assert not {"service", "watch"} & left
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", served.port))


def _wait_for_ever(address: str, headers: dict[str, str]) -> None:
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{address}/home?wait_s=600", headers=headers, timeout=PATIENCE_S)
