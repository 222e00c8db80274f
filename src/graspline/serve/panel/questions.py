"""A question of the task: large, in words, with the time that is left to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from graspline.serve.live.commands import Answer
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel.controls import Button, Controls, Text


def answer_words(option: str, words: Mapping[str, str]) -> str:
    """An answer as the task words it; without words it is shown as it is, without underscores."""
    return words.get(option) or option.replace("_", " ").capitalize()


class QuestionCard:
    """One client's card: nothing while nothing is asked."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._card = Text(controls.gui)
        self._folder = controls.gui.add_folder(None)
        self._asked, self._buttons = "", list[Any]()
        # The time there was when the question was first seen.
        self._whole_s = 0.0

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show the task's question, if there is one."""
        if snapshot.question != self._asked:
            self._asked, self._whole_s = snapshot.question, snapshot.answer_within_s
            self._offer(snapshot)
        self._card.show(self._words(snapshot) if snapshot.question else "")

    def _offer(self, snapshot: SessionSnapshot) -> None:
        for button in self._buttons:
            self._controls.drop(button)
        with self._folder:
            self._buttons = self._controls.row(
                *(
                    Button(
                        answer_words(each, snapshot.option_words),
                        self._answer(each),
                        "primary" if each == snapshot.default else "normal",
                    )
                    for each in snapshot.options
                ),
                size="large",
            )

    def _answer(self, option: str) -> Any:
        return lambda: self._controls.give(Answer(option))

    def _words(self, snapshot: SessionSnapshot) -> str:
        # The page counts whole seconds, so that it is sent no more often than that.
        left = round(snapshot.answer_within_s)
        share = 100 * left / max(self._whole_s, 1.0)
        default = answer_words(snapshot.default, snapshot.option_words)
        return (
            f"<div class='gl-question' data-question><h2>{escape(snapshot.question)}</h2>"
            f"<p>Default in <b data-countdown>{left} s</b>: <b>{escape(default)}</b></p>"
            f"<div class='gl-bar'><i style='width:{min(share, 100):.0f}%'></i></div></div>"
        )
