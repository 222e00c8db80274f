"""Questions of tasks at the terminal that started a command: shown on standard error, answered on standard input."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from graspline.choices import ASK_S
from graspline.cli.outputs import wrapped
from graspline.execution.notifications import Answered
from graspline.execution.requests import Ask, Preempted

# How often a wait for an answer looks for Ctrl-C.
_GLANCE_S = 0.1


def at_terminal() -> bool:
    """Whether a person can be asked: they read standard error and type on standard input."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class Keyboard:
    """Lines that are typed at the terminal, without waiting for ever for one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._typed = descriptor, b""
        # Whether nothing more can be typed: Ctrl-D, or the terminal is gone.
        self.ended = False

    def line(self, timeout_s: float) -> str | None:
        """The next line, or None if there is none yet."""
        if self.ended or not self._in_front():
            time.sleep(timeout_s)
            return None
        if select.select([self._descriptor], [], [], timeout_s)[0]:
            try:
                typed = os.read(self._descriptor, 4096)
            except OSError:
                typed = b""
            self.ended = not typed
            self._typed += typed
        line, end, rest = self._typed.partition(b"\n")
        if not end:
            return None
        self._typed = rest
        return line.decode(errors="replace").strip()

    def _in_front(self) -> bool:
        """A process in the background that reads from its terminal is stopped by it."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            # It is not the terminal that controls this process.
            return True


def options_text(question: str, options: Sequence[str], default: str, how: str) -> str:
    """A question with its options, one a line, numbered from 1, and how to answer it."""
    shown = [
        f"  {number}  {each}" + (" (default)" if each == default else "")
        for number, each in enumerate(options, start=1)
    ]
    return "\n".join([question, *shown, how])


def chosen(typed: str, options: Sequence[str], default: str) -> str | None:
    """The option that was typed, by its name or its number; Enter is the default; None for anything else."""
    if not typed:
        return default
    if typed in options:
        return typed
    return options[int(typed) - 1] if typed.isdecimal() and 1 <= int(typed) <= len(options) else None


class TerminalQuestions:
    """Asks a person while an episode is played; no simulated time passes meanwhile."""

    def __init__(
        self,
        keyboard: Keyboard,
        *,
        stop: Callable[[], bool],
        quiet: Callable[[], AbstractContextManager[None]],
        timeout_s: float = ASK_S,
    ) -> None:
        """`quiet` keeps the terminal free of a progress bar while a question stands there."""
        self._keyboard, self._stop, self._quiet, self._timeout_s = keyboard, stop, quiet, timeout_s

    def __call__(self, lane: int, ask: Ask) -> Answered:
        """Ask at the terminal and return the answer."""
        with self._quiet():
            how = f"type a number or a name, or Enter for {ask.default} (chosen after {self._timeout_s:g} s)"
            say(options_text(ask.question, ask.options, ask.default, how))
            typed = self._typed(ask)
        if typed is None:
            say(f"no answer in time, using {ask.default}")
            return Answered(question=ask.question, answer=ask.default, by="timeout")
        return Answered(question=ask.question, answer=typed, by="person")

    def _typed(self, ask: Ask) -> str | None:
        """What a person chose; None if there was no answer in time."""
        until = time.monotonic() + self._timeout_s
        while (left_s := until - time.monotonic()) > 0 and not self._keyboard.ended:
            if self._stop():
                raise Preempted
            line = self._keyboard.line(min(left_s, _GLANCE_S))
            found = None if line is None else chosen(line, ask.options, ask.default)
            if found is not None:
                return found
            if line is not None:
                say(f"{line!r} is not an option; expected 1 to {len(ask.options)}, a name, or Enter")
        return None


def keyboard() -> Keyboard | None:
    """The terminal's keyboard, if there is a terminal."""
    return Keyboard(sys.stdin.fileno()) if at_terminal() else None


class UnaskedQuestions:
    """Remembers the first question that got its default, and whether any question was asked, so that a command says it
    once.
    """

    def __init__(self) -> None:
        self._first: Answered | None = None
        # Whether an episode was given answers, and whether one asked anything.
        self._given = self._asked = False

    def note(self, answered: Answered | None) -> None:
        """Note the first answer that was a default."""
        self._first = self._first or answered

    def note_answers(self, *, given: bool, asked: bool) -> None:
        """Note whether answers were given, and whether the task asked."""
        self._given, self._asked = self._given or given, self._asked or asked

    def report(self) -> None:
        """Say that answers had no effect, or that defaults were used."""
        if self._given and not self._asked:
            say("--answer has no effect: no question was asked")
        if self._first is not None:
            message = (
                f"{self._first.question} Answered with the default, {self._first.answer}. `graspline run` asks at a "
                "terminal if it runs one episode; --answer answers in advance"
            )
            say("\n".join(wrapped(message)))


def say(text: str) -> None:
    """To the terminal, whatever standard output is for."""
    print(text, file=sys.stderr, flush=True)
