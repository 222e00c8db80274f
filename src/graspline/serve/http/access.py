"""Access control: decided from a request's head alone, before the application sees the request."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qsl

# What ASGI servers hand over for each request; its keys are ASGI's.
Scope = Mapping[str, Any]

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
# Encoded slashes and backslashes decode into other paths than the ones that were checked.
ODD_IN_PATHS = ("%2f", "%5c", "%00", "//")


@dataclass(frozen=True, slots=True)
class Turned:
    """A request that is turned away, as the status and the reason it is answered with."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The token, and the addresses besides loopback under which this server may be called.

    `addresses` are `name:port`, as they stand in a browser: where a user forwards a port, or where the server
    was set to listen on a network.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    addresses: frozenset[str] = frozenset()

    def turns_away(self, scope: Scope) -> Turned | None:
        """Why this request may not come in, or None."""
        return self._wrong_host(scope) or self._wrong_origin(scope) or _wrong_path(scope) or self._wrong_token(scope)

    def opens_page(self, scope: Scope) -> bool:
        """Whether this opens the page with the token in its address, as printed on the terminal."""
        return (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and scope["path"] == "/"
            and self._is_token(_query(scope).get("token", ""))
        )

    def cookie(self, scope: Scope) -> str:
        """The cookie that keeps the token."""
        # Cookies know no ports: without ours in the name, two servers on one machine would overwrite each other's.
        return f"{_cookie_name(scope)}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _wrong_host(self, scope: Scope) -> Turned | None:
        hosts = header(scope, "host")
        if len(hosts) == 1:
            host = hosts[0].lower()
            name, _, port = host.rpartition(":")
            if host in self.addresses or (name in LOOPBACK_NAMES and port == str(scope["server"][1])):
                return None
        # A page elsewhere may have its own name point here; it cannot make a browser send ours.
        return Turned(HTTPStatus.FORBIDDEN, "Host is not an address of this server")

    def _wrong_origin(self, scope: Scope) -> Turned | None:
        origins = header(scope, "origin")
        host = header(scope, "host")[0].lower()
        if origins and [each.lower() for each in origins] not in ([f"http://{host}"], [f"https://{host}"]):
            return Turned(HTTPStatus.FORBIDDEN, "Origin is not this server's own")
        # Pictures and links carry no Origin. Following the printed address from another page is all they may do.
        sites = header(scope, "sec-fetch-site")
        if all(site in ("same-origin", "none") for site in sites):
            return None
        if self.opens_page(scope) and header(scope, "sec-fetch-mode") == ["navigate"]:
            return None
        return Turned(HTTPStatus.FORBIDDEN, "asked for by a page that is not this server's own")

    def _wrong_token(self, scope: Scope) -> Turned | None:
        given = [_query(scope).get("token", ""), _cookie(scope)]
        for each in header(scope, "authorization"):
            kind, _, value = each.partition(" ")
            given.append(value.strip() if kind.lower() == "bearer" else "")
        if any(self._is_token(each) for each in given):
            return None
        return Turned(HTTPStatus.UNAUTHORIZED, "the token of the printed address is missing or wrong")


def header(scope: Scope, name: str) -> list[str]:
    """All values of a header, in the order they came."""
    wanted = name.encode()
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]


def address(host: str, port: int, scheme: Literal["http", "ws"] = "http") -> str:
    """An address as it stands in a browser and in Host."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _wrong_path(scope: Scope) -> Turned | None:
    raw = (scope.get("raw_path") or b"").decode("latin-1").partition("?")[0].lower()
    path = scope["path"]
    if (
        not path.startswith("/")
        or any(odd in raw for odd in ODD_IN_PATHS)
        or "\\" in path
        or not path.isprintable()
        or any(segment in (".", "..") for segment in path.split("/"))
    ):
        return Turned(HTTPStatus.BAD_REQUEST, "a path with turns, backslashes or control characters")
    return None


def _query(scope: Scope) -> dict[str, str]:
    try:
        return dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=32))
    except ValueError:
        return {}


def _cookie_name(scope: Scope) -> str:
    return f"graspline_{scope['server'][1]}"


def _cookie(scope: Scope) -> str:
    for cookie in ";".join(header(scope, "cookie")).split(";"):
        key, _, value = cookie.strip().partition("=")
        if key == _cookie_name(scope):
            return value
    return ""
