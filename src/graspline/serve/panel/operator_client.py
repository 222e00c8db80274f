"""One browser's hand on the session: it drives if it is the operator, and watches if another client is."""

from __future__ import annotations

from graspline.serve.live.commands import Command, Ticket, refused
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session


class Helm:
    """Commands of one client. The lease is taken with the first of them, and kept while the page is open."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self.name = bench, name
        # Why the last command of this client was not even given; for its own page only.
        self.note = ""

    @property
    def session(self) -> Session:
        """The running session."""
        return self._bench.session()

    @property
    def holder(self) -> str:
        """The client that holds the lease."""
        return self.session.lease.holder

    @property
    def may_drive(self) -> bool:
        """Whether this client may send commands."""
        return self.holder in ("", self.name)

    @property
    def drives(self) -> bool:
        """Whether this client holds the lease."""
        return self.holder == self.name

    def give(self, command: Command) -> Ticket:
        """Send a command to the session."""
        session = self.session
        if not session.lease.take(self.name):
            self.note = f"{session.lease.holder} is in control; this page only watches."
            return refused(Ticket(), self.note)
        self.note = ""
        return session.submit(command)

    def take(self) -> bool:
        """Take the lease; whether it was free."""
        taken = self.session.lease.take(self.name)
        self.note = "" if taken else f"{self.holder} is in control and has to release it first."
        return taken

    def renew(self) -> None:
        """Renew the lease."""
        self.session.lease.renew(self.name)

    def release(self) -> None:
        """Release the lease."""
        self.session.lease.release(self.name)

    def leave(self) -> None:
        """The page is gone: an arm that it set in motion stops and holds, and another client may drive."""
        session = self.session
        if session.lease.holder != self.name:
            return
        if session.snapshot.mode != "idle":
            session.stop()
        session.lease.release(self.name)
