"""Starting and ending: a free port, a taken one, a way out that nobody can hold up."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

import graspline.serve.http.server
from graspline.errors import EnvironmentProblem
from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import bind, serve
from graspline.tasks.console import Refused

from .stand_in import PATIENCE_S, StandIn, bench_of, settle

# How long a connection may be silent here; its end is waited for, so the shorter the better.
HEAD_S = 0.3


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
    assert httpx.get(f"{served.address}/state", headers=headers, timeout=PATIENCE_S).status_code == 200
    session.slow = True
    # Somebody watches and somebody waits for a command that never ends; neither keeps the server from closing.
    watcher = connect(f"ws://127.0.0.1:{served.port}/ws/state", additional_headers=headers)
    waiting = threading.Thread(target=_wait_for_ever, args=(served.address, headers))
    waiting.start()
    _wait_until(lambda: bool(session.open))
    served.close()
    # It did not wait for the command, which never ends: the one who waited for it is sent away.
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    watcher.close()
    for ticket in session.open:
        settle(ticket, Refused(reason="closed"))
    # `close` waits for a few seconds, in which a busy machine may not get round to ending them.
    _wait_until(lambda: not {"service", "watch"} & ({each.name for each in threading.enumerate()} - before))
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", served.port))


def test_connections_whose_head_never_comes_are_closed_before_any_token(
    session: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.serve.http.server, "HEAD_S", HEAD_S)
    door = Door()
    with serve(guarded_app(bench_of(session), door)) as served:
        for said in (b"", b"GET /state HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as slow:
                slow.sendall(said)
                assert _is_closed(slow)
        # The head of a second request has to come as well; the first has all the time it needs.
        monkeypatch.setattr(graspline.serve.http.server, "HEAD_S", PATIENCE_S)
        headers = {"Authorization": f"Bearer {door.token}"}
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as known:
            lines = [f"Host: 127.0.0.1:{served.port}", *(f"{key}: {value}" for key, value in headers.items()), "", ""]
            known.sendall(("GET /state HTTP/1.1\r\n" + "\r\n".join(lines)).encode())
            assert known.recv(65_536).startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(graspline.serve.http.server, "HEAD_S", HEAD_S)
            known.sendall(b"G")
            assert _is_closed(known)


def test_a_connection_that_watches_is_not_closed_when_the_time_for_its_head_is_over(
    session: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.serve.http.server, "HEAD_S", HEAD_S)
    door = Door()
    headers = {"Authorization": f"Bearer {door.token}"}
    with serve(guarded_app(bench_of(session), door)) as served, contextlib.ExitStack() as stack:

        def connected() -> bool:
            # On a busy machine the head may come too late; then another connection is made.
            with contextlib.suppress(OSError, EOFError, WebSocketException):
                url = f"ws://127.0.0.1:{served.port}/ws/state"
                watchers.append(stack.enter_context(connect(url, additional_headers=headers, open_timeout=PATIENCE_S)))
            return bool(watchers)

        watchers: list[Any] = []
        _wait_until(connected)
        # A silent connection that was opened later is closed: the watcher's time is over as well.
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as later:
            assert _is_closed(later)
        number = session.snapshot.number
        _wait_until(lambda: json.loads(watchers[0].recv(timeout=PATIENCE_S))["number"] > number)


def test_there_are_only_so_many_connections_that_have_said_nothing_and_the_oldest_make_way(
    session: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.serve.http.server, "SILENT_CONNECTIONS", 3)
    monkeypatch.setattr(graspline.serve.http.server, "HEAD_S", PATIENCE_S)
    door = Door()
    with serve(guarded_app(bench_of(session), door)) as served, contextlib.ExitStack() as stack:

        def opened() -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S)
            stack.callback(connection.close)
            return connection

        silent = [opened() for _ in range(5)]
        assert [_is_closed(each) for each in silent[:2]] == [True, True]
        headers = {"Authorization": f"Bearer {door.token}"}
        assert httpx.get(f"{served.address}/state", headers=headers, timeout=PATIENCE_S).status_code == 200
        silent[-1].sendall(b"nothing\r\n\r\n")
        assert silent[-1].recv(1000).startswith(b"HTTP/1.1 400")


def _wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_closed(connection: socket.socket) -> bool:
    try:
        # What is said before goodbye, if anything is.
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def _wait_for_ever(address: str, headers: dict[str, str]) -> None:
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{address}/home?wait_s=600", headers=headers, timeout=PATIENCE_S)
