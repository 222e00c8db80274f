from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from episodes.playing import PARAMETERS
from graspline.reports.region import refusals, region_chart, survey
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Probe

TASK = find_task("lift-cube")
PROBES = [
    Probe(x_m=0.2, y_m=0.1, refusal=""),
    Probe(x_m=0.3, y_m=0.0, refusal="collision"),
    Probe(x_m=0.3, y_m=0.1, refusal="reach"),
    Probe(x_m=0.4, y_m=0.1, refusal="reach"),
]


def texts(drawn: str) -> list[str]:
    return [str(each.text) for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")]


def test_reasons_are_counted_the_most_frequent_first() -> None:
    assert refusals(PROBES) == [("reach", 2), ("collision", 1)]
    assert refusals(PROBES[:1]) == []


def test_a_map_is_xml_with_a_dot_per_place_and_a_line_per_reason() -> None:
    drawn = region_chart(PROBES)
    dots = [each for each in ElementTree.fromstring(drawn).iter() if each.attrib.get("fill-opacity") == "0.75"]
    assert len(dots) == 4
    words = texts(drawn)
    assert "graspable: 25 % of 4 random poses within reach" in words
    assert "rejected for reach: 50 %" in words
    assert "rejected for collision: 25 %" in words


def test_forward_is_up_and_left_is_left_on_a_map() -> None:
    drawn = region_chart([Probe(x_m=0.3, y_m=0.1, refusal=""), Probe(x_m=0.1, y_m=-0.1, refusal="")])
    ahead, behind = (each for each in ElementTree.fromstring(drawn).iter() if each.attrib.get("fill-opacity") == "0.75")
    assert float(ahead.attrib["cy"]) < float(behind.attrib["cy"])
    assert float(ahead.attrib["cx"]) < float(behind.attrib["cx"])


def test_a_map_of_nothing_can_be_drawn() -> None:
    assert "graspable: 0 % of 0 random poses within reach" in texts(region_chart([]))


def test_a_survey_is_the_same_for_a_seed() -> None:
    first = list(survey(TASK, PARAMETERS, 20, 3))
    assert first == list(survey(TASK, PARAMETERS, 20, 3))
    assert first != list(survey(TASK, PARAMETERS, 20, 4))
    assert len(first) == 20
    assert 0 < sum(probe.certified for probe in first) < 20


@pytest.mark.slow
def test_more_than_half_of_what_the_arm_reaches_is_certified() -> None:
    probes = list(survey(TASK, PARAMETERS, 200, 0))
    assert sum(probe.certified for probe in probes) > 100
