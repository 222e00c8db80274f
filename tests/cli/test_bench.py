"""`graspline bench`: named figures, with and without the peer it is compared with."""

from __future__ import annotations

import json
import sys

import pytest

import graspline.cli.bench
from graspline.episodes.benchmarks import Figure

from .doors import Answer, call

FIGURES = [
    Figure(name="ik_us_alone", value=12.34567, unit="µs", meaning="closed form"),
    Figure(name="mink_us", value=None, unit="µs", meaning="mink on the same targets"),
]


def figures(answer: Answer) -> dict[str, float | None]:
    (figures,) = answer.lines
    return figures


@pytest.mark.slow
def test_without_mink_its_figures_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mink", None)
    answer = call("bench", "--json", "--episodes", "4")
    assert answer.code == 0
    named = figures(answer)
    assert named.pop("mink_us") is None
    assert named.pop("mink_share_solved") is None
    assert all(isinstance(value, float) for value in named.values())
    assert named["ik_share_solved"] == 1.0
    assert "mink is not installed" in answer.err


@pytest.mark.slow
def test_with_mink_it_is_measured_on_the_same_targets() -> None:
    pytest.importorskip("mink")
    answer = call("bench", "--json", "--episodes", "4")
    assert answer.code == 0, answer.err
    named = figures(answer)
    assert all(isinstance(value, float) for value in named.values())


def test_figures_are_a_table_for_people_and_an_object_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.cli.bench, "measure", lambda episodes, say: FIGURES)
    table = call("bench")
    assert table.code == 0
    assert [line.split() for line in table.out.splitlines()] == [
        ["ik_us_alone", "12.35", "µs", "closed", "form"],
        ["mink_us", "not", "measured", "µs", "mink", "on", "the", "same", "targets"],
    ]
    assert json.loads(call("bench", "--json").out) == {"ik_us_alone": 12.34567, "mink_us": None}
