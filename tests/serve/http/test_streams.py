"""Sockets that show: the newest state, every transition, pictures; and clients that do not read."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from graspline.serve.http.response_models import State
from graspline.serve.http.streams import STATES_HZ, Stream, transitions
from graspline.serve.live.snapshot import HistoryEntry

from .conftest import Place
from .stand_in import JPEG, PATIENCE_S, first_snapshot
from .test_access_middleware import status_of_socket


def test_states_come_thirty_times_a_second_and_are_whole(place: Place) -> None:
    async def watched() -> list[dict[str, object]]:
        async with connect(place.ws("/ws/state"), additional_headers=place.bearer) as client:
            return [json.loads(await client.recv()) for _ in range(31)]

    states = asyncio.run(watched())
    State.model_validate(states[0])
    numbers = [int(str(each["number"])) for each in states]
    assert numbers == sorted(set(numbers))
    # Snapshots come at 60 Hz here; of two, one is sent. A busy machine sends fewer, never more.
    assert STATES_HZ == 30.0
    assert (numbers[-1] - numbers[0]) / 30 >= 1.5


def test_every_transition_is_sent_with_its_evidence(place: Place) -> None:
    async def watched() -> list[dict[str, Any]]:
        async with connect(place.ws("/ws/evidence"), additional_headers=place.bearer) as client:
            # States end until the first is received: from then on this client watches.
            ending = asyncio.create_task(end_states())
            await client.recv()
            ending.cancel()
            for name in ("approach", "close", "lift"):
                place.session.end_state(name, "reached", "next")
                await asyncio.sleep(0.1)
            sent = list[dict[str, Any]]()
            while not sent or sent[-1]["state"] != "lift":
                sent.append(json.loads(await client.recv()))
            return sent

    async def end_states() -> None:
        while True:
            place.session.end_state("before", "reached", "next")
            await asyncio.sleep(0.1)

    sent = [each for each in asyncio.run(watched()) if each["state"] != "before"]
    assert [each["state"] for each in sent] == ["approach", "close", "lift"]
    assert all(each["evidence"][0]["name"] == "gap" for each in sent)


def test_transitions_between_two_snapshots_are_all_found() -> None:
    entries = [HistoryEntry(t_s=float(t), state="s", outcome="o", then="n") for t in range(6)]
    none = first_snapshot()
    some = dataclasses.replace(none, history=tuple(entries[:3]))
    more = dataclasses.replace(none, history=tuple(entries[2:6]))
    anew = dataclasses.replace(none, history=tuple(entries[5:]))
    assert transitions(none, some) == tuple(entries[:3])
    assert transitions(some, more) == tuple(entries[3:6])
    assert transitions(more, more) == ()
    assert transitions(some, anew) == tuple(entries[5:])


def test_pictures_are_drawn_once_for_all_who_watch(place: Place) -> None:
    async def receive(client: ClientConnection, count: int) -> None:
        for _ in range(count):
            assert await client.recv() == JPEG

    async def watched() -> list[int]:
        async with contextlib.AsyncExitStack() as stack:
            sockets = [connect(place.ws("/ws/camera/front"), additional_headers=place.bearer) for _ in range(4)]
            clients = [await stack.enter_async_context(each) for each in sockets]
            await asyncio.gather(*(receive(each, 1) for each in clients))
            begin = len(place.session.drawn)
            await asyncio.gather(*(receive(each, 10) for each in clients))
            return place.session.drawn[begin:]

    numbers = asyncio.run(watched())
    assert len(numbers) >= 9
    assert len(set(numbers)) == len(numbers), "no snapshot is drawn twice"


def test_an_unknown_camera_is_refused_before_the_socket_opens(place: Place) -> None:
    assert status_of_socket(place, "/ws/camera/back", place.bearer) == 404
    assert status_of_socket(place, "/ws/nothing", place.bearer) in (403, 404)


def test_a_client_that_does_not_read_is_dropped_and_slows_nobody(place: Place) -> None:
    # A state large enough to fill the buffers of both ends soon.
    place.session.padding = "x" * 400_000
    request = (
        f"GET /ws/state HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nAuthorization: Bearer {place.door.token}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.socket() as idle:
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.connect(("127.0.0.1", place.port))
        idle.sendall(request.encode())

        async def watched() -> None:
            async with connect(place.ws("/ws/state"), additional_headers=place.bearer, max_size=None) as client:
                async with asyncio.timeout(PATIENCE_S):
                    for _ in range(90):
                        await client.recv()

        asyncio.run(watched())
        place.session.padding = ""
        # The server has given it up: once what lies in the buffers is read, the connection is reset.
        idle.settimeout(PATIENCE_S)
        assert _is_ended(idle)


def _is_ended(connection: socket.socket) -> bool:
    try:
        while connection.recv(1_000_000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_mailbox_keeps_the_newest_or_is_given_up() -> None:
    async def boxes() -> tuple[object, object]:
        newest: Stream[str] = Stream(1)
        every: Stream[str] = Stream(3)
        with newest.mailbox() as one, every.mailbox() as three:
            for number in range(5):
                newest.publish(str(number))
                every.publish(str(number))
            return one.get_nowait(), three.get_nowait()

    assert asyncio.run(boxes()) == ("4", None)
