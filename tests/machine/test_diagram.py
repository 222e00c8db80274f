from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Literal

import pytest

from graspline.machine.diagram import mermaid, svg
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome
from graspline.machine.table import End, Retry, targets_of
from graspline.tasks.catalogue import TASKS

from .scripts import rest
from .test_machine import fetching, working

MACHINES = {task.name: task.machine(task.parameters()) for task in TASKS.values()}
MACHINES |= {"fetch": fetching(limits_s={"look": 1.0, "carry": 2.0}), "work": working()}


def words_of(drawn: str) -> list[str]:
    """Every text in an SVG picture."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")]


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


@pytest.mark.parametrize("name", MACHINES)
def test_a_picture_is_xml_with_every_state_and_every_outcome(name: str) -> None:
    machine = MACHINES[name]
    words = words_of(svg(machine))
    assert machine.name in words
    for state, row in machine.table.items():
        assert state in words
        for outcome in row:
            assert any(each == outcome or each.startswith(f"{outcome}: ") for each in words)
    for outcome in machine.outcomes:
        told = re.compile(rf"end, {outcome}(, after \w+)?$")
        assert any(told.search(each) for each in words) or any(
            transition == End(outcome) for row in machine.table.values() for transition in row.values()
        )


@pytest.mark.parametrize("name", MACHINES)
def test_a_picture_keeps_its_boxes_inside_its_frame_and_apart(name: str) -> None:
    root = ElementTree.fromstring(svg(MACHINES[name]))
    height = float(root.attrib["height"])
    boxes = [each for each in root.iter() if each.tag.endswith("rect") and "y" in each.attrib]
    assert len(boxes) == len(MACHINES[name].states)
    bottom = 0.0
    for box in boxes:
        assert float(box.attrib["y"]) > bottom
        bottom = float(box.attrib["y"]) + float(box.attrib["height"])
    assert bottom < height


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


def test_a_picture_tells_where_a_retry_leads() -> None:
    words = words_of(svg(fetching()))
    assert "lost: again from look while looks last; then end, not_found" in words
    assert "retry budgets: looks 2, drops 1" in words


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
    assert "rested: again from rest while naps last; then wake" in words_of(svg(machine))


def test_a_picture_with_counts_says_how_often_each_way_was_taken() -> None:
    taken = {("look", "lost", "look"): 3, ("look", "lost", "end: not_found"): 1}
    words = words_of(svg(fetching(), taken))
    assert "lost: again from look ×3 while looks last; then end, not_found ×1" in words


@pytest.mark.parametrize("name", MACHINES)
def test_a_picture_with_counts_has_the_same_shape_and_pales_what_never_happened(name: str) -> None:
    plain, never = (ElementTree.fromstring(svg(MACHINES[name], taken)) for taken in (None, {}))
    assert plain.attrib == never.attrib
    assert words_of(svg(MACHINES[name])) == words_of(svg(MACHINES[name], {}))
    pale = [each for each in never.iter() if each.tag.endswith("}g")]
    assert sum(len(list(each.iter())) - 1 for each in pale) >= 2 * len(MACHINES[name].states)
    assert not [each for each in plain.iter() if each.tag.endswith("}g")]
