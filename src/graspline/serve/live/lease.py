"""One operator at a time; all other clients watch."""

from __future__ import annotations

import threading
from collections.abc import Callable

# A closed browser no longer renews; this long after its last message another client may take over.
EXPIRY_S = 10.0


class Lease:
    """The right to give commands. It expires unless it is renewed; taking it again renews it, too."""

    def __init__(self, clock: Callable[[], float], expiry_s: float = EXPIRY_S) -> None:
        self._clock, self._expiry_s = clock, expiry_s
        self._lock = threading.Lock()
        self._holder, self._until_s = "", 0.0

    @property
    def holder(self) -> str:
        """The client that holds it; empty if none does."""
        with self._lock:
            return self._current()

    @property
    def left_s(self) -> float:
        """How long it lasts without being renewed."""
        with self._lock:
            return max(0.0, self._until_s - self._clock()) if self._current() else 0.0

    def take(self, client_id: str) -> bool:
        """Take it if it is free or already this client's; whether this client holds it now."""
        if not client_id:
            raise ValueError("a client that takes the lease needs an id")
        with self._lock:
            if self._current() not in ("", client_id):
                return False
            self._holder, self._until_s = client_id, self._clock() + self._expiry_s
            return True

    def renew(self, client_id: str) -> bool:
        """Keep it; false if this client does not hold it (any more)."""
        with self._lock:
            if not client_id or self._current() != client_id:
                return False
            self._until_s = self._clock() + self._expiry_s
            return True

    def release(self, client_id: str) -> bool:
        """Give it back; false if this client does not hold it."""
        with self._lock:
            if not client_id or self._current() != client_id:
                return False
            self._holder = ""
            return True

    def _current(self) -> str:
        if self._holder and self._clock() >= self._until_s:
            self._holder = ""
        return self._holder
