"""`graspline bench`: named figures, with and without the peer it is compared with."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import graspline.cli.bench
from graspline.episodes import benchmarks
from graspline.episodes.benchmarks import Figure

from .doors import Answer, call

FIGURES = [
    Figure(name="ik_us_alone", value=12.34567, unit="µs", meaning="closed form"),
    Figure(name="mink_us", value=None, unit="µs", meaning="mink on the same targets"),
]


def figures(answer: Answer) -> dict[str, float | None]:
    (figures,) = answer.lines
    return figures


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is measured as ever, but on a few episodes and once."""
    thoroughly = benchmarks._episode_cost

    def once(name: str, sizes: Any, say: Any, rounds: int = 1) -> list[Figure]:
        return thoroughly(name, [(lanes, min(count, 2)) for lanes, count in sizes], say, rounds=1)

    monkeypatch.setattr(benchmarks, "_episode_cost", once)
    monkeypatch.setattr(benchmarks, "ROUNDS", 1)
    monkeypatch.setattr(graspline.cli.bench, "measure_datasets", lambda say: [])


@pytest.mark.slow
@pytest.mark.usefixtures("briefly")
def test_without_mink_its_figures_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mink", None)
    answer = call("bench", "--json", "--episodes", "4")
    assert answer.code == 0
    named = figures(answer)
    for peer in ("mink_us", "mink_share_solved", "ur5e_mink_us", "ur5e_mink_share_solved"):
        assert named.pop(peer) is None
    assert all(isinstance(value, float) for value in named.values())
    assert named["ik_share_solved"] == named["ur5e_ik_share_solved"] == 1.0
    assert {"lift_cube_64_lanes_cpu_over_raw", "oranges_32_lanes_cpu_over_raw"} <= set(named)
    assert "mink is not installed" in answer.err


@pytest.mark.slow
@pytest.mark.usefixtures("briefly")
def test_with_mink_it_is_measured_on_the_same_targets() -> None:
    pytest.importorskip("mink")
    answer = call("bench", "--json", "--episodes", "4")
    assert answer.code == 0, answer.err
    named = figures(answer)
    assert all(isinstance(value, float) for value in named.values())


def test_figures_are_a_table_for_people_and_an_object_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.cli.bench, "measure", lambda episodes, say: FIGURES[:1])
    monkeypatch.setattr(graspline.cli.bench, "measure_datasets", lambda say: FIGURES[1:])
    table = call("bench")
    assert table.code == 0
    assert [line.split() for line in table.out.splitlines()] == [
        ["ik_us_alone", "12.35", "µs", "closed", "form"],
        ["mink_us", "not", "measured", "µs", "mink", "on", "the", "same", "targets"],
    ]
    assert json.loads(call("bench", "--json").out) == {"ik_us_alone": 12.34567, "mink_us": None}
