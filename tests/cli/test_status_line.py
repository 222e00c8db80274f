"""The line that says what a command is doing before there is anything to count."""

from __future__ import annotations

import io
import sys

import pytest

from graspline.cli.status_line import working

from .doors import call


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_done_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with working("compiling the scene"):
        assert shown.getvalue() == "\r\x1b[Kcompiling the scene …"
    assert shown.getvalue().endswith("…\r\x1b[K")


def test_the_line_is_erased_before_an_error_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ValueError), working("compiling the scene"):
        raise ValueError
    assert shown.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("term, on_terminal", [("dumb", True), ("xterm", False)])
def test_elsewhere_nothing_is_shown(term: str, on_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal() if on_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", term)
    with working("compiling the scene"):
        pass
    assert shown.getvalue() == ""


def test_files_get_nothing_of_it() -> None:
    answer = call("jaw", "so101")
    assert answer.code == 0
    assert answer.err == ""
    assert "…" not in answer.out
