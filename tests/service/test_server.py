"""Starting and ending: a free port, a taken one, a way out that nobody can hold up."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import httpx
import pytest
from websockets.sync.client import connect

import graspline.service.server
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


def test_connections_whose_head_never_comes_are_closed_before_any_token(
    session: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.service.server, "HEAD_S", 0.3)
    door = Door()
    with serve(guarded_app(bench_of(session), door)) as served:
        for said in (b"", b"GET /state HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=10) as slow:
                slow.sendall(said)
                assert _is_closed(slow)
        headers = {"Authorization": f"Bearer {door.token}"}
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as known:
            # The head of a second request has to come as well.
            lines = [f"Host: 127.0.0.1:{served.port}", *(f"{key}: {value}" for key, value in headers.items()), "", ""]
            known.sendall(("GET /state HTTP/1.1\r\n" + "\r\n".join(lines)).encode())
            assert known.recv(65_536).startswith(b"HTTP/1.1 200")
            known.sendall(b"G")
            assert _is_closed(known)
        # Those that do ask, or watch, are not given up.
        with connect(f"ws://127.0.0.1:{served.port}/ws/state", additional_headers=headers) as watcher:
            began = time.monotonic()
            while time.monotonic() - began < 0.8:
                watcher.recv(timeout=5)


def test_there_are_only_so_many_connections_that_have_said_nothing_and_the_oldest_make_way(
    session: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.service.server, "SILENT_CONNECTIONS", 3)
    door = Door()
    with serve(guarded_app(bench_of(session), door)) as served, contextlib.ExitStack() as stack:

        def opened() -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", served.port), timeout=10)
            stack.callback(connection.close)
            return connection

        silent = [opened() for _ in range(5)]
        assert [_is_closed(each) for each in silent[:2]] == [True, True]
        headers = {"Authorization": f"Bearer {door.token}"}
        assert httpx.get(f"{served.address}/state", headers=headers).status_code == 200
        silent[-1].sendall(b"nothing\r\n\r\n")
        assert silent[-1].recv(1000).startswith(b"HTTP/1.1 400")


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
