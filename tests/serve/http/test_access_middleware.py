"""Who is refused, on HTTP and on WebSockets, before anything of ours sees the request."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from graspline.serve.http.access import Door
from graspline.serve.http.access_middleware import Bucket, Limits
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import serve

from .conftest import Place
from .stand_in import PATIENCE_S, StandIn, bench_of

CALLS = [("GET", "/state"), ("POST", "/stop"), ("GET", "/openapi.json"), ("GET", "/"), ("GET", "/camera/front.jpg")]
SOCKETS = ["/ws/state", "/ws/evidence", "/ws/camera/front"]
# What is wrong, and the status that says so.
WRONG: dict[str, tuple[dict[str, str], int]] = {
    "a foreign host": ({"Host": "evil.example:{port}"}, 403),
    "a host without our port": ({"Host": "127.0.0.1"}, 403),
    "a host with another port": ({"Host": "127.0.0.1:1"}, 403),
    "a host that begins like ours": ({"Host": "127.0.0.1.evil.example:{port}"}, 403),
    "a foreign origin": ({"Origin": "http://evil.example"}, 403),
    "an origin of another port": ({"Origin": "http://127.0.0.1:1"}, 403),
    "an origin that hides": ({"Origin": "null"}, 403),
    "a page of another site": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "a page of another port": ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
    "no token": ({"Authorization": ""}, 401),
    "a wrong token": ({"Authorization": "Bearer wrong"}, 401),
    "a token of another kind": ({"Authorization": "Basic {token}"}, 401),
    "a cookie of another server": ({"Authorization": "", "Cookie": "graspline_1={token}"}, 401),
}


def headers_of(place: Place, wrong: str) -> dict[str, str]:
    given = {key: value.format(port=place.port, token=place.door.token) for key, value in WRONG[wrong][0].items()}
    return {key: value for key, value in {**place.bearer, **given}.items() if value}


def status_of_socket(place: Place, path: str, headers: dict[str, str]) -> int:
    async def opened() -> int:
        # `Host` comes from the address; what is given besides must replace it, so the request is written by hand.
        reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
        told = {
            "Host": f"127.0.0.1:{place.port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
            **headers,
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{key}: {value}" for key, value in told.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        status = (await reader.readline()).split()[1]
        writer.close()
        return int(status)

    return asyncio.run(opened())


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_call_is_refused_for(place: Place, method: str, path: str, wrong: str) -> None:
    # A client without headers of its own.
    response = httpx.request(method, f"{place.address}{path}", headers=headers_of(place, wrong), timeout=PATIENCE_S)
    assert response.status_code == WRONG[wrong][1]
    assert response.json()["success"] is False
    assert place.session.commands == []


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_is_refused_for(place: Place, path: str, wrong: str) -> None:
    assert status_of_socket(place, path, headers_of(place, wrong)) == WRONG[wrong][1]


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_with_our_own_host_origin_and_token_is_opened(place: Place, path: str) -> None:
    own = {"Origin": f"http://127.0.0.1:{place.port}"}
    assert status_of_socket(place, path, {**place.bearer, **own}) == 101
    assert status_of_socket(place, f"{path}?token={place.door.token}", own) == 101
    assert status_of_socket(place, path, {"Cookie": f"graspline_{place.port}={place.door.token}"}) == 101


def test_opening_the_page_with_the_token_leaves_a_cookie_and_takes_the_token_out_of_the_address(place: Place) -> None:
    with httpx.Client(base_url=place.address, timeout=PATIENCE_S) as browser:
        followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        opened = browser.get("/", params={"token": place.door.token}, headers=followed)
        assert opened.status_code == 200
        assert place.door.token not in opened.text
        cookie = opened.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/", f"graspline_{place.port}="))
        assert browser.get("/state").status_code == 200
        assert browser.get("/", params={"token": "wrong"}, headers=followed).status_code == 403


def test_every_answer_is_kept_by_nobody_and_framed_by_nobody(place: Place) -> None:
    for response in (
        place.http.get("/state"),
        httpx.get(place.address, timeout=PATIENCE_S),
        place.http.get("/nowhere"),
    ):
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "server" not in response.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../etc/passwd",
        "/camera/../../etc/passwd",
        "/camera/..%2f..%2fetc%2fpasswd.jpg",
        "/camera/%2e%2e/%2e%2e/etc/passwd.jpg",
        "/camera/..\\..\\etc.jpg",
        "/camera/..%5cetc.jpg",
        "/camera/front%00.jpg",
        "/camera/front%0d%0a.jpg",
        "//evil.example/state",
        "/ws/camera/..%2ffront",
    ],
)
def test_a_path_that_turns_is_refused(place: Place, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nAuthorization: Bearer {place.door.token}\r\n\r\n"
    assert raw(place, request.encode()).startswith(b"HTTP/1.1 400")
    assert status_of_socket(place, path, place.bearer) == 400


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "PROPFIND"])
def test_odd_methods_are_refused(place: Place, method: str) -> None:
    target = f"127.0.0.1:{place.port}" if method == "CONNECT" else "/state"
    bearer = f"Authorization: Bearer {place.door.token}"
    request = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\n{bearer}\r\n\r\n"
    assert raw(place, request.encode()).split()[1] in (b"405", b"400")


def test_a_host_given_twice_is_refused(place: Place) -> None:
    host = f"Host: 127.0.0.1:{place.port}\r\n"
    request = f"GET /state HTTP/1.1\r\n{host}{host}Authorization: Bearer {place.door.token}\r\n\r\n"
    assert raw(place, request.encode()).split()[1] in (b"403", b"400")


def test_what_is_no_http_is_refused(place: Place) -> None:
    for nonsense in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 2000 + b"\r\n\r\n"):
        assert raw(place, nonsense).startswith(b"HTTP/1.1 400")
    assert place.http.get("/state").status_code == 200


def raw(place: Place, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        return connection.recv(65_536)


def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(place: Place) -> None:
    large = b"x" * 70_000
    assert place.http.post("/jog", content=large).status_code == 413
    assert place.http.post("/jog", content=iter([large[:40_000], large[40_000:]])).status_code == 413
    assert place.http.post("/stop", content=large).status_code == 413


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"joints_rad": NaN}', b'{"joints_rad": [NaN]}', b"\xff\xfe", b"[" * 50_000, b'"x"'],
)
def test_a_malformed_body_is_refused_with_a_reason(place: Place, body: bytes) -> None:
    response = place.http.post("/jog", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["message"]
    assert place.session.commands == []


def on_socket(place: Place, path: str, act: Callable[[ClientConnection], Awaitable[None]]) -> int:
    """Open a socket, act, and give the code it is closed with."""

    async def opened() -> int:
        async with connect(place.ws(path), additional_headers=place.bearer, compression=None) as client:
            await act(client)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while True:
                        await client.recv()
            except ConnectionClosed:
                return client.close_code or 0

    return asyncio.run(opened())


@pytest.mark.parametrize("path", SOCKETS)
def test_messages_to_sockets_that_only_show_are_refused(place: Place, path: str) -> None:
    async def text(client: ClientConnection) -> None:
        await client.send("{}")

    async def binary(client: ClientConnection) -> None:
        await client.send(b"\x00\x01")

    async def oversized(client: ClientConnection) -> None:
        await client.send("x" * 100_000)

    async def malformed(client: ClientConnection) -> None:
        # A frame with a reserved opcode; masks and the rest as they should be.
        client.transport.write(b"\x83\x80\x00\x00\x00\x00")

    async def not_text(client: ClientConnection) -> None:
        client.transport.write(b"\x81\x82\x00\x00\x00\x00\xff\xff")

    codes = [on_socket(place, path, act) for act in (text, binary, oversized, malformed, not_text)]
    assert codes == [1008, 1008, 1009, 1002, 1007]


def test_more_requests_than_the_rate_are_refused_but_never_a_stop(session: StandIn) -> None:
    door = Door()
    with serve(guarded_app(bench_of(session), door, limits=Limits(requests_per_s=1e-6, burst=5))) as served:
        headers = {"Authorization": f"Bearer {door.token}"}
        with httpx.Client(base_url=served.address, headers=headers, timeout=PATIENCE_S) as http:
            statuses = [http.get("/state").status_code for _ in range(8)]
            assert statuses[:5] == [200] * 5
            assert statuses[5:] == [429] * 3
            assert http.post("/stop").status_code == 200
        # What is refused for other reasons takes nothing of anybody's share.
        assert httpx.get(f"{served.address}/state", timeout=PATIENCE_S).status_code == 401


def test_there_are_only_so_many_sockets(session: StandIn) -> None:
    door = Door()

    async def opened(port: int) -> list[int]:
        headers = {"Authorization": f"Bearer {door.token}"}
        url = f"ws://127.0.0.1:{port}/ws/state"
        async with connect(url, additional_headers=headers), connect(url, additional_headers=headers):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers=headers)
            statuses = [refused.value.response.status_code]
        # The server hears soon, but not at once, that they have gone.
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    async with connect(url, additional_headers=headers) as again:
                        json.loads(await again.recv())
                        return statuses
                except InvalidStatus:
                    await asyncio.sleep(0.05)

    with serve(guarded_app(bench_of(session), door, limits=Limits(sockets=2))) as served:
        assert asyncio.run(opened(served.port)) == [429]


def test_a_body_that_never_comes_is_given_up(session: StandIn) -> None:
    door = Door()
    with serve(guarded_app(bench_of(session), door, limits=Limits(body_s=0.3))) as served:
        head = f"POST /jog HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {door.token}\r\n"
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as connection:
            connection.sendall(head.encode() + b"Content-Length: 10\r\n\r\n123")
            assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_an_address_told_on_the_command_line_is_ours_too(session: StandIn) -> None:
    door = Door(addresses=frozenset({"arm.example:9000"}))
    with serve(guarded_app(bench_of(session), door)) as served:
        headers = {"Authorization": f"Bearer {door.token}", "Host": "arm.example:9000"}
        own = {"Origin": "http://arm.example:9000"}
        for added, status in ((own, 200), ({"Host": "arm.example"}, 403)):
            url = f"{served.address}/state"
            assert httpx.get(url, headers={**headers, **added}, timeout=PATIENCE_S).status_code == status


def test_a_bucket_refills_at_its_rate() -> None:
    bucket = Bucket(2.0, 2)
    assert [bucket.take(now_s) for now_s in (10.0, 10.0, 10.0, 10.5, 10.5, 99.0, 99.0, 99.0)] == [
        True, True, False, True, False, True, True, False,
    ]  # fmt: skip


def test_tokens_are_long_and_never_the_same_and_never_shown() -> None:
    first, second = Door(), Door()
    assert first.token != second.token
    assert len(first.token) >= 43
    assert first.token not in repr(first)
