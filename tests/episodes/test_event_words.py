"""Events as a log tells them: in words, and for how long."""

from __future__ import annotations

import typing

import pytest

from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.episodes.event_words import effect_of, words_of
from graspline.scenes.variation import Edit, friction_of, held_at

STILL = (0.0, 0.0, 0.0)
WORDS: list[tuple[Event, str]] = [
    (Push(body="cube", force_n=(3.0, 4.0, 0.0)), "cube pushed with 5 N"),
    (Push(body="cube", force_n=STILL), "cube no longer pushed"),
    (Change(edits=friction_of(("a", "b", "c"), (0.01, 0.1, 0.1))), "friction of a, b and 1 more 0.01"),
    (Change(edits=(held_at("slip_x", 0.0025),)), "offset of slip_x 0.0025"),
    (Change(edits=(Edit(field="geom_surfacevel", element="belt", values=(0.0, -0.2, 0.0)),)),
     "surface velocity of belt (0, -0.2, 0)"),
    (Place(body="cube", position_m=(3.0, 3.3, 0.015)), "cube put at (3, 3.3, 0.015) m"),
    (CorruptControl(joint="elbow_flex"), "control of elbow_flex is NaN for one tick"),
    (Blind(kind="black"), "all sight black"),
    (Blind(kind="frozen", camera="wrist"), "camera wrist frozen"),
    (Misjudge(sigma_m=0.005, seed=3), "positions seen with a noise of 5 mm"),
    (Misjudge(delay_s=0.2), "everything seen 0.2 s late"),
    (Roughen(sigma_factor=4.0), "depth 4 times as noisy"),
    (Roughen(hole_share=0.4), "40 % of pixels more without depth"),
    (See(), "sight as usual again"),
]  # fmt: skip


def test_there_are_words_for_every_event() -> None:
    assert {type(event) for event, _ in WORDS} == set(typing.get_args(Event))


@pytest.mark.parametrize("event, words", WORDS)
def test_an_event_is_told_in_words(event: Event, words: str) -> None:
    assert words_of(event) == words


def test_an_effect_is_told_with_its_time_and_what_takes_it_back_is_not() -> None:
    oiled, dry = (Change(edits=friction_of(("pad",), (friction, 0.0, 0.0))) for friction in (0.01, 0.9))
    timed = [
        (0.0, oiled),
        (0.0, Push(body="cube", force_n=(0.0, 0.0, -2.0))),
        (0.3, Push(body="cube", force_n=STILL)),
        (0.3, dry),
        (0.0, Push(body="other", force_n=STILL)),
    ]
    assert effect_of(timed, "") == "friction of pad 0.01 for 0.3 s; cube pushed with 2 N for 0.3 s"
    assert effect_of([(0.0, Blind(kind="black")), (1.0, See())], "") == "all sight black for 1 s"
    assert effect_of([(0.0, oiled)], "") == "friction of pad 0.01"


def test_where_no_event_says_it_the_fault_is_told_as_it_is_described() -> None:
    assert effect_of([], "Whoever takes things has gone") == "Whoever takes things has gone"
    assert effect_of([(0.0, lambda context: See())], "Somebody slides the plate") == "Somebody slides the plate"
