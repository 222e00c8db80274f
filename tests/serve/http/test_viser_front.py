"""viser through our port, and through no other."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import viser
import websockets.sync.server
from viser import _messages
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import serve
from graspline.serve.http.viser_front import ViserFront, open_viser

from .conftest import Place
from .stand_in import PATIENCE_S, StandIn, bench_of
from .test_access_middleware import WRONG, headers_of, status_of_socket

SPOKEN = Subprotocol(f"viser-v{viser.__version__}")


@dataclass(frozen=True, slots=True)
class Shown:
    place: Place
    front: ViserFront


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    session, door, front = StandIn(), Door(), open_viser("test")
    session.start()
    front.server.scene.add_box("/box", color=(255, 0, 0), dimensions=(0.1, 0.1, 0.1))
    headers = {"Authorization": f"Bearer {door.token}"}
    with (
        serve(guarded_app(bench_of(session), door, front=front)) as served,
        httpx.Client(base_url=served.address, headers=headers, timeout=PATIENCE_S) as http,
    ):
        yield Shown(Place(http, session, door, served.port), front)
    front.close()
    session.close()


async def read_on(connection: ClientConnection) -> None:
    while True:
        await connection.recv()


def own_listeners() -> set[int]:
    """TCP ports on which this process listens."""
    sockets = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            sockets |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(descriptor)))
        except FileNotFoundError:
            continue
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def test_the_page_is_served_and_may_talk_to_nobody_else(shown: Shown) -> None:
    page = shown.place.http.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert f"connect-src 'self' ws://127.0.0.1:{shown.place.port}" in policy
    assert "frame-ancestors 'none'" in policy
    assert shown.place.http.get("/state").json()["task"] == "grab"
    assert shown.place.http.get("/nothing.js").status_code == 404
    # The page is asked for at any path; a service has its own methods all the same, and what is nowhere is nowhere.
    for path, status in (("/home", 405), ("/so_arm101_control_gui/grasp_move", 405), ("/grasp_move", 404)):
        assert shown.place.http.get(path).status_code == status
    assert shown.place.http.get("/home").headers["allow"] == "POST"
    for path in ("/so_arm101_control_gui/grasp_mov", "/nothing.js"):
        assert shown.place.http.post(path).status_code == 404
    assert shown.place.http.post("/state").status_code == 405
    assert shown.place.http.post("/").status_code == 405


def test_a_scene_comes_through_our_port(shown: Shown) -> None:
    async def first() -> bytes | str:
        headers = shown.place.bearer
        async with connect(shown.place.ws("/"), additional_headers=headers, subprotocols=[SPOKEN], max_size=None) as it:
            assert it.subprotocol == SPOKEN
            return await it.recv()

    assert len(asyncio.run(first())) > 100


def test_viser_itself_listens_on_no_port(shown: Shown) -> None:
    before = own_listeners()
    assert shown.place.port in before
    front = open_viser("another")
    assert own_listeners() == before
    assert stat.S_IMODE(front.directory.stat().st_mode) == 0o700
    front.close()
    assert not front.directory.exists()


def test_an_ordinary_viser_server_would_listen_on_one() -> None:
    """What the test above looks for can be seen at all, and our way of opening viser leaves other servers alone."""
    before = own_listeners()
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    assert own_listeners() - before == {server.get_port()}
    server.stop()


@pytest.mark.parametrize("wrong", WRONG)
def test_the_panel_is_refused_for(shown: Shown, wrong: str) -> None:
    place = shown.place
    headers = headers_of(place, wrong)
    assert httpx.get(f"{place.address}/", headers=headers, timeout=PATIENCE_S).status_code == WRONG[wrong][1]
    assert status_of_socket(place, "/", {**headers, "Sec-WebSocket-Protocol": str(SPOKEN)}) == WRONG[wrong][1]


@pytest.mark.parametrize("message", [b"\x00 not msgpack", b"x" * 100_000, "text"])
def test_what_viser_does_not_understand_ends_that_socket_only(shown: Shown, message: bytes | str) -> None:
    async def refused() -> None:
        headers = shown.place.bearer
        async with connect(shown.place.ws("/"), additional_headers=headers, subprotocols=[SPOKEN], max_size=None) as it:
            await it.send(message)
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(read_on(it), 5)

    asyncio.run(refused())
    test_a_scene_comes_through_our_port(shown)


def test_nobody_can_have_viser_open_a_tunnel_to_the_internet(shown: Shown) -> None:
    handlers = shown.front.server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers


@pytest.mark.slow
def test_a_browser_shows_the_page_and_talks_to_no_other_server(shown: Shown) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium here")
    pressed = threading.Event()
    # Light from all around would take the page its first ten seconds without a graphics card.
    shown.front.server.scene.configure_environment_map(None)
    shown.front.server.gui.add_button("Press me").on_click(lambda _: pressed.set())
    visits: list[object] = []
    address = shown.place.address
    with (
        websockets.sync.server.serve(visits.append, "127.0.0.1", 0) as elsewhere,
        sync_api.sync_playwright() as play,
    ):
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        browser = play.chromium.launch(executable_path=chromium, args=["--use-angle=swiftshader"])
        page = browser.new_page()
        policies: list[str] = []
        page.on("console", lambda message: policies.append(message.text))
        page.goto(f"{address}/?token={shown.place.door.token}")
        page.get_by_text("Press me").click(timeout=300_000)
        assert pressed.wait(300)
        assert page.url == f"{address}/"
        # The page would take orders, scripts among them, from whatever server its address names.
        port = elsewhere.socket.getsockname()[1]
        page.goto(f"{address}/?websocket=ws://127.0.0.1:{port}")
        page.wait_for_timeout(3_000)
        browser.close()
        elsewhere.shutdown()
    assert any("Connecting to" in each and str(port) in each for each in policies)
    assert visits == []


def test_the_cookie_of_the_page_opens_its_socket(shown: Shown) -> None:
    place = shown.place
    cookie = {"Cookie": f"graspline_{place.port}={place.door.token}", "Origin": place.address}
    assert status_of_socket(place, "/", {**cookie, "Sec-WebSocket-Protocol": str(SPOKEN)}) == 101
