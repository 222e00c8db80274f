"""`benchmarks/bench.py`: named figures, with and without the peer it is compared with."""

from __future__ import annotations

import json
import sys

import bench
import pytest
from measured import episodes as benchmarks
from measured.datasets import dataset_parts
from measured.episodes import Figure, Part, Say, parts

from cli import doors
from cli.doors import Answer

FIGURES = [
    Figure(name="ik_us_alone", value=12.34567, unit="µs", meaning="closed form"),
    Figure(name="mink_us", value=None, unit="µs", meaning="mink on the same targets"),
]


def call(*words: str) -> Answer:
    return doors.call(*words, start=bench.run)


def figures(answer: Answer) -> dict[str, float | None]:
    (figures,) = answer.lines
    return figures


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but datasets is measured as ever, but on a few episodes and once."""
    thoroughly = benchmarks._episode_cost

    def once(name: str, lanes: int, count: int, rounds: int, say: Say) -> list[Figure]:
        return thoroughly(name, lanes, min(count, 2), 1, say)

    monkeypatch.setattr(benchmarks, "_episode_cost", once)
    monkeypatch.setattr(benchmarks, "ROUNDS", 1)
    monkeypatch.setattr(bench, "dataset_parts", lambda full: [])


@pytest.mark.slow
@pytest.mark.usefixtures("briefly")
def test_without_mink_its_figures_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mink", None)
    answer = call("--full", "--json")
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
    answer = call("--full", "--json")
    assert answer.code == 0, answer.err
    named = figures(answer)
    assert all(isinstance(value, float) for value in named.values())


def part(what: str, *figures: Figure, says: str = "") -> Part:
    def measure(say: Say) -> list[Figure]:
        if says:
            say(says)
        return list(figures)

    return Part(what=what, about_s=70, measure=measure)


@pytest.fixture
def two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "parts", lambda full: [part("kinematics", FIGURES[0])])
    monkeypatch.setattr(bench, "dataset_parts", lambda full: [part("mink", FIGURES[1], says="not installed")])


@pytest.mark.usefixtures("two_parts")
def test_figures_are_a_table_for_people_and_an_object_for_programs() -> None:
    table = call()
    assert table.code == 0
    assert [line.split() for line in table.out.splitlines()] == [
        ["ik_us_alone", "12.35", "µs", "closed", "form"],
        ["mink_us", "not", "measured", "µs", "mink", "on", "the", "same", "targets"],
    ]
    assert json.loads(call("--json").out) == {"ik_us_alone": 12.34567, "mink_us": None}


@pytest.mark.usefixtures("two_parts")
def test_each_part_says_how_long_it_takes_before_it_starts() -> None:
    assert call().err.splitlines() == [
        "2 parts, about 2 min of CPU in all",
        "[1/2] kinematics, about 70 s",
        "[2/2] mink, about 70 s",
        "      not installed",
    ]


@pytest.mark.usefixtures("two_parts")
def test_what_was_measured_before_an_interruption_has_been_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(say: Say) -> list[Figure]:
        raise KeyboardInterrupt

    stopped = Part(what="stopped", about_s=1, measure=stop)
    monkeypatch.setattr(bench, "dataset_parts", lambda full: [stopped])
    answer = call()
    assert answer.code == 130
    assert answer.out.startswith("ik_us_alone")
    assert answer.err.splitlines()[-1] == "graspline: interrupted; 1 figure measured"


def test_the_quick_way_takes_a_minute_and_the_full_one_much_longer() -> None:
    quick, full = (
        sum(each.about_s for each in [*parts(full=long), *dataset_parts(full=long)]) for long in (False, True)
    )
    assert quick <= 60
    assert full >= 5 * quick
