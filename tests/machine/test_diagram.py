from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.execution.notifications import EndsAs
from graspline.machine.chart import chart_of
from graspline.machine.chart_text import text_width
from graspline.machine.diagram import mermaid, svg, svg_sheet
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome
from graspline.machine.table import End, Retry, targets_of
from graspline.tasks.catalogue import TASKS

from .scripts import rest
from .test_machine import fetching, working

MACHINES = {task.name: task.machine(task.parameters()) for task in TASKS.values()}
MACHINES |= {"fetch": fetching(limits_s={"look": 1.0, "carry": 2.0}), "work": working()}


def words_of(drawn: str) -> list[str]:
    """Every text in an SVG picture, without tooltips."""
    return [shown(each) for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("}text")]


def shown(text: ElementTree.Element) -> str:
    parts = [text.text or ""]
    for each in text:
        parts += ["" if each.tag.endswith("}title") else "".join(each.itertext()), each.tail or ""]
    return "".join(parts)


@pytest.mark.parametrize("name", MACHINES)
def test_a_mermaid_diagram_has_every_state_and_every_outcome(name: str) -> None:
    machine, drawn = MACHINES[name], mermaid(MACHINES[name])
    assert drawn.startswith("stateDiagram-v2\n")
    assert f"[*] --> {machine.start}\n" in drawn
    for state, row in machine.table.items():
        for outcome, transition in row.items():
            for target in targets_of(transition):
                to = f"end_{target.outcome}" if isinstance(target, End) else target
                assert re.search(rf"^ +{state} --> {to}: {outcome}( \(.*\))?$", drawn, re.MULTILINE)
    for outcome in machine.outcomes:
        assert f"end_{outcome} --> [*]" in drawn


def test_a_mermaid_diagram_tells_retries_with_their_budget() -> None:
    drawn = mermaid(fetching(looks=2, drops=1))
    assert "look --> look: lost (looks ≤ 2)" in drawn
    assert "look --> end_not_found: lost (none left)" in drawn


def test_a_mermaid_diagram_draws_a_nested_machine_inside_its_state() -> None:
    drawn = mermaid(working())
    block = re.search(r"    state find \{\n(.*?)\n    \}", drawn, re.DOTALL)
    assert block is not None
    inside = block.group(1)
    assert "[*] --> find_look" in inside
    assert "find_look --> find_weigh: seen" in inside
    assert "find_look --> find_look: lost (looks ≤ 1)" in inside
    assert "find_weigh --> end_find_success: weighed" in inside
    assert drawn.count("{") == drawn.count("}") == 1


def texts_of(drawn: str) -> list[tuple[str, float, float, float, float]]:
    """Every text with the box that it needs at most: left, top, right, bottom."""
    found = []
    for each in ElementTree.fromstring(drawn).iter():
        if each.tag.endswith("}text"):
            words, px = shown(each), float(each.attrib["font-size"])
            wide = text_width(words, px)
            before = {"start": 0, "middle": wide / 2, "end": wide}[each.attrib.get("text-anchor", "start")]
            left, base = float(each.attrib["x"]) - before, float(each.attrib["y"])
            found.append((words, left, base - 0.75 * px, left + wide, base + 0.2 * px))
    return found


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_a_picture_is_xml_with_every_state_outcome_and_end(name: str, compact: bool) -> None:
    machine = MACHINES[name]
    words = words_of(svg(machine, compact=compact, timeouts=True))
    pieces = {piece.strip().split(" (")[0].rstrip(":,") for each in words for piece in re.split(r", |: ", each)}
    assert machine.name in words
    for state, row in machine.table.items():
        assert state in words
        assert set(row) <= pieces
    assert set(machine.outcomes) <= pieces


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_no_text_is_small_cut_or_on_another(name: str, compact: bool) -> None:
    check_texts(svg(MACHINES[name], compact=compact))


def check_texts(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)
    assert all(float(each.attrib["font-size"]) >= 11 for each in root.iter() if each.tag.endswith("}text"))
    texts = texts_of(drawn)
    for words, left, top, right, bottom in texts:
        assert left >= 0, words
        assert top >= 0, words
        assert right <= float(root.attrib["width"]), words
        assert bottom <= float(root.attrib["height"]), words
    for one, other in itertools.combinations(texts, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, f"{one[0]} covers {other[0]}"


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_boxes_are_inside_the_frame_and_apart_and_hold_their_name(name: str, compact: bool) -> None:
    check_boxes(MACHINES[name], svg(MACHINES[name], compact=compact))


def check_boxes(machine: Machine, drawn: str) -> None:
    root = ElementTree.fromstring(drawn)
    boxes = [
        [float(each.attrib[key]) for key in ("x", "y", "width", "height")]
        for each in root.iter()
        if each.attrib.get("class") == "box"
    ]
    ends = [each for each in machine.outcomes if each in machine.successes]
    assert len(boxes) == len(machine.states) + len(ends)
    for x, y, w, h in boxes:
        assert x >= 0
        assert x + w <= float(root.attrib["width"])
        assert y + h <= float(root.attrib["height"])
    for one, other in itertools.combinations(boxes, 2):
        across = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        assert across or one[1] + one[3] < other[1] or other[1] + other[3] < one[1]
    for words, left, top, right, bottom in texts_of(drawn):
        for x, y, w, h in boxes:
            inside = left >= x and right <= x + w and top >= y and bottom <= y + h
            outside = right <= x or left >= x + w or bottom <= y or top >= y + h
            assert inside or outside, words


WORDS = ("up", "reached", "not_released", "execute_grasp_success", "release_timed_out", "a_rather_long_name_of_a_thing")


def state_with(outcomes: list[str]) -> Any:
    def state() -> Any:
        raise NotImplementedError

    state.__annotations__ = {"return": Outcome[Literal[tuple(outcomes)]]}  # pyright: ignore
    return state


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Any table: each state leads on to the next, and by other outcomes anywhere."""
    names = [f"{draw(st.sampled_from(WORDS))}_{number}" for number in range(draw(st.integers(1, 8)))]
    states = st.sampled_from(names)
    ends = st.builds(End, st.sampled_from(WORDS), st.none() | states) | st.just(End("success"))
    retries = st.builds(
        Retry,
        to=states,
        budget=st.sampled_from(("looks", "tries")),
        otherwise=ends | states,
        is_round=st.booleans(),
    )
    table: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(names):
        onward = names[number + 1] if number + 1 < len(names) else End("success")
        others = draw(st.dictionaries(st.sampled_from(WORDS), ends | retries | states, max_size=5))
        table[name] = {**others, "onward": onward}
    return Machine(
        name="any",
        start=names[0],
        states={name: state_with(list(row)) for name, row in table.items()},
        table=table,
        budgets={"looks": 3, "tries": 12},
        takes_over=draw(st.none() | states),
    )


@given(machines(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_picture_of_any_machine_is_readable(machine: Machine, compact: bool) -> None:
    drawn = svg(machine, compact=compact)
    check_texts(drawn)
    check_boxes(machine, drawn)
    chart = chart_of(machine)
    assert chart.spine[0] == machine.start
    assert sorted((*chart.spine, *chart.aside)) == sorted(machine.states)


@pytest.mark.parametrize("name", list(TASKS))
def test_a_compact_picture_fits_the_panel(name: str) -> None:
    def widths(machine: Machine) -> list[float]:
        nested = [each for each in machine.states.values() if isinstance(each, Machine)]
        own = float(ElementTree.fromstring(svg(machine, compact=True)).attrib["width"])
        return [own, *(width for each in nested for width in widths(each))]

    assert max(widths(MACHINES[name])) <= 430


@pytest.mark.parametrize(
    "name, path",
    [
        ("lift-cube", "look plan approach descend seat close lift hold verify"),
        ("sort", "watch travel grip carry drop choose check account"),
        ("tidy", "robot_setup ask_program single_grasp"),
        ("fetch", "look weigh carry"),
    ],
)
def test_the_way_to_success_is_straight_down(name: str, path: str) -> None:
    chart = chart_of(MACHINES[name])
    assert chart.spine == tuple(path.split())
    assert set(chart.spine) | set(chart.aside) == set(MACHINES[name].states)


def test_a_task_that_works_in_rounds_leaves_the_last_by_another_outcome() -> None:
    spine = chart_of(MACHINES["oranges"]).spine
    assert spine[:2] == ("idle", "plan")
    assert spine[-3:] == ("withdraw", "return_home", "confirm")
    table = MACHINES["tidy"].states["clear_table"]
    assert isinstance(table, Machine)
    assert chart_of(table).spine[-3:] == ("count_delivered", "face_table", "check_table")


def test_timeouts_are_a_footnote_unless_they_are_asked_for_or_happened() -> None:
    machine = MACHINES["lift-cube"]
    quiet = words_of(svg(machine))
    assert quiet[-1] == "Every state also ends as timed_out after 10 s."
    assert "timed_out" not in quiet
    loud = words_of(svg(machine, timeouts=True))
    assert sum("timed_out" in each for each in loud) > len(machine.states)
    once = words_of(svg(machine, {("look", "timed_out", EndsAs("timed_out")): 1}))
    assert any("timed_out ×1" in each for each in once)
    assert once[-1] == "Every state but look also ends as timed_out after 10 s."


def test_a_time_limit_that_leads_elsewhere_is_always_shown() -> None:
    words = words_of(svg(MACHINES["fetch"]))
    assert words.count("timed_out: late") == 2


def fine() -> Outcome[Literal["a<b & c"]]:
    return Outcome("a<b & c")


def test_names_that_xml_would_misread_are_escaped() -> None:
    machine = Machine(
        name='"<&>"',
        start="fine",
        states={"fine": fine, "rest": rest},
        table={"fine": {"a<b & c": "rest"}, "rest": {"rested": End("success")}},
    )
    words = words_of(svg(machine))
    assert '"<&>"' in words
    assert "a<b & c" in words


def test_a_picture_shows_retries_with_their_budget_and_what_follows_when_none_is_left() -> None:
    words = words_of(svg(fetching()))
    assert "looks ≤ 2" in words
    assert "drops ≤ 1" in words
    assert words[words.index("no looks left") + 1] == "not_found"
    assert words[words.index("no drops left") + 1] == "dropped"
    assert any(each.startswith("retries") for each in words)
    assert "look: lost goes back to look while looks last, then ends as not_found" in svg(fetching())


def again(otherwise: str | End) -> Any:
    return Retry(to="rest", budget="naps", otherwise=otherwise)


def test_a_retry_may_lead_on_to_a_state() -> None:
    machine = Machine(
        name="nap",
        start="rest",
        states={"rest": rest, "wake": rest},
        table={"rest": {"rested": again("wake")}, "wake": {"rested": End("success")}},
        budgets={"naps": 3},
    )
    assert "rest --> wake: rested (none left)" in mermaid(machine)
    words = words_of(svg(machine))
    assert "naps ≤ 3" in words
    assert "rested, no naps left" in words


def test_a_picture_with_counts_says_how_often_each_way_was_taken() -> None:
    taken = {("look", "lost", "look"): 3, ("look", "lost", EndsAs("not_found")): 1}
    words = words_of(svg(fetching(), taken))
    assert "lost ×3" in words
    assert words[words.index("no looks left") + 1] == "not_found ×1"


@pytest.mark.parametrize("name", MACHINES)
def test_a_picture_with_counts_has_the_same_shape_and_pales_what_never_happened(name: str) -> None:
    plain, never = (ElementTree.fromstring(svg(MACHINES[name], taken)) for taken in (None, {}))
    assert plain.attrib == never.attrib
    assert words_of(svg(MACHINES[name])) == words_of(svg(MACHINES[name], {}))
    pale = [each for each in never.iter() if "never" in each.attrib.get("class", "")]
    assert len(pale) >= 2 * len(MACHINES[name].states)
    assert not [each for each in plain.iter() if "never" in each.attrib.get("class", "")]


def test_the_current_state_stands_out() -> None:
    def marked(drawn: str) -> int:
        return len([each for each in ElementTree.fromstring(drawn).iter() if "current" in each.attrib.get("class", "")])

    assert marked(svg(fetching(), current="weigh")) == 1
    assert marked(svg(fetching())) == 0


def test_a_sheet_has_every_machine_once() -> None:
    words = words_of(svg_sheet(MACHINES["tidy"]))
    titles = ["tidy", "single_grasp", "clear_table", "find_grasp", "execute_grasp", "placement", "handover"]
    for title in titles:
        assert title in words
    assert svg_sheet(MACHINES["tidy"]).count("<style>") == 1
    assert svg_sheet(fetching()) == svg(fetching())


def test_a_machine_shows_itself_as_its_diagram(tmp_path: Path) -> None:
    machine = fetching()
    diagram = machine.diagram()
    assert diagram._repr_svg_() == svg(machine)
    assert svg(machine) in machine._repr_html_()
    assert machine.diagram(compact=True).svg == svg(machine, compact=True)
    assert diagram.save(tmp_path / "fetch.svg").read_text() == svg(machine)
    assert diagram.save(str(tmp_path / "fetch.mmd")).read_text() == mermaid(machine)
    with pytest.raises(InputError, match=r"ends in \.svg or \.mmd"):
        diagram.save(tmp_path / "fetch.png")


def test_a_machine_prints_in_one_line() -> None:
    assert repr(fetching()) == "<Machine fetch: 3 states from look; looks ≤ 2, drops ≤ 1>"
    assert repr(fetching().diagram()) == "<Diagram of fetch: 3 states>"
