"""An input of the page between a person who changes it and a session that answers late."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from graspline.serve.panel.controls import Controls, Synced
from graspline.tasks.console import Done, Refused, Result


class Handle:
    """An input as viser has it: a person's change is noted where messages arrive, and given on by some thread later."""

    def __init__(self, value: object) -> None:
        self.value, self.later = value, list[Any]()
        self._callbacks: list[Any] = []

    def on_update(self, callback: Any) -> None:
        self._callbacks.append(callback)

    def change(self, value: object) -> None:
        self.value = value
        event = type("Event", (), {"client": "somebody"})()
        for callback in self._callbacks:
            if asyncio.iscoroutinefunction(callback):
                asyncio.run(callback(event))
            else:
                self.later.append(lambda callback=callback: callback(event))


class Ticket:
    def then(self, callback: Any) -> None:
        self.answer = callback


class Page:
    """One tick box, what the session was told, and its tickets."""

    def __init__(self) -> None:
        self.handle, self.told, self.tickets = Handle(False), list[object](), list[Ticket]()
        controls = cast(Controls, type("Held", (), {"hold": lambda self, control: control})())
        self.box = Synced(controls, self.handle, cast(Any, self._give))

    def _give(self, value: object) -> Ticket:
        self.told.append(value)
        self.tickets.append(Ticket())
        return self.tickets[-1]

    def run(self) -> None:
        """Let the threads do what waits for them."""
        waiting, self.handle.later = self.handle.later, []
        for each in waiting:
            each()

    def answer(self, result: Result) -> None:
        self.tickets.pop(0).answer(result)


@pytest.fixture
def page() -> Page:
    return Page()


DONE = Done()


def test_what_the_session_says_late_does_not_undo_a_second_change(page: Page) -> None:
    page.handle.change(True)
    page.run()
    page.answer(DONE)
    page.handle.change(False)
    # Only now the page hears that the first one has come to pass.
    page.box.show(True)
    assert page.box.value is False
    page.run()
    assert page.told == [True, False]
    page.answer(DONE)
    page.box.show(False)
    assert (page.box.value, page.handle.value) == (False, False)


def test_a_change_that_is_refused_is_taken_back(page: Page) -> None:
    page.handle.change(True)
    page.run()
    page.answer(Refused(reason="no"))
    assert page.handle.value is False


def test_what_changes_in_the_session_is_shown(page: Page) -> None:
    page.box.show(True)
    assert page.handle.value is True
    assert page.told == []
