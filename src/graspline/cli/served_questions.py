"""Questions of a served task, at the terminal that started the server."""

from __future__ import annotations

from graspline.choices import ASK_S
from graspline.cli.questions import Keyboard, chosen, options_text, say
from graspline.serve.live.commands import Answer
from graspline.serve.live.session import Session


class ServedQuestions:
    """Tells the terminal of a server what its task asks, and takes an answer that is typed there."""

    def __init__(self, keyboard: Keyboard | None) -> None:
        self._keyboard, self._shown = keyboard, ""

    def glance(self, session: Session) -> None:
        """Look once for a new question and for an answer."""
        snapshot = session.snapshot
        if snapshot.question != self._shown:
            if self._shown:
                say(snapshot.message if snapshot.message.startswith("answered") else "no longer asked")
            self._shown = snapshot.question
            if snapshot.question:
                where = "on the page or by POST /answer"
                where = where if self._keyboard is None else f"here (number, name, or Enter), {where}"
                how = f"answer {where}; {snapshot.default} after {ASK_S:g} s"
                say(options_text(snapshot.question, snapshot.options, snapshot.default, how))
        line = None if self._keyboard is None else self._keyboard.line(0.0)
        if line is None or (not line and not snapshot.question):
            return
        found = chosen(line, snapshot.options, snapshot.default) if snapshot.question else None
        if found is not None:
            session.submit(Answer(found))
        else:
            say(f"{line!r} is not an option" if snapshot.question else "no question is open")
