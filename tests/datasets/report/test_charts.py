from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.datasets.report.charts import box_plot, column_chart, histogram, rate_bar, rate_columns


def bars_of(drawn: str) -> list[dict[str, str]]:
    return [each.attrib for each in ElementTree.fromstring(drawn).iter() if each.attrib.get("class") == "bar"]


def counts_of(drawn: str) -> list[int]:
    """The numbers that stand above columns."""
    texts = [each for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")]
    return [int(each.text) for each in texts if each.text and each.text.isdigit()]


@given(st.lists(st.floats(0.5, 400), min_size=1, max_size=60))
def test_a_histogram_counts_every_value_in_at_most_twelve_columns(values: list[float]) -> None:
    drawn = histogram(values, "seconds, from")
    assert sum(counts_of(drawn)) == len(values)
    assert 1 <= len(bars_of(drawn)) <= 12


def test_a_histogram_of_equal_values_has_one_column_between_round_numbers() -> None:
    drawn = histogram([7.3, 7.3], "seconds, from")
    assert len(bars_of(drawn)) == 1
    assert ">7–<" in drawn


def test_columns_that_would_mislead_xml_are_escaped() -> None:
    assert "&lt;b&gt;" in column_chart([("<b>", 1)], "<b>")


def test_a_box_lies_between_zero_and_the_longest() -> None:
    (box,) = bars_of(box_plot([1.0, 2.0, 3.0, 4.0], 4.0))
    assert 0 < float(box["x"]) < float(box["x"]) + float(box["width"]) < 220


@pytest.mark.parametrize(("hits", "share"), [(0, 0.0), (5, 0.5), (10, 1.0)])
def test_a_rate_is_as_long_as_its_share_and_its_interval_holds_it(hits: int, share: float) -> None:
    drawn = rate_bar(hits, 10)
    (bar,) = bars_of(drawn)
    assert float(bar["width"]) == pytest.approx(220 * share)
    low, high = map(float, re.findall(r"d='M([\d.]+) [\d.]+ H([\d.]+)", drawn)[0])
    assert low <= 220 * share <= high


def test_columns_of_rates_are_as_high_as_the_rates_and_say_their_counts() -> None:
    drawn = rate_columns([("0.1\nto 0.2", 10, 10), ("0.2\nto <3", 5, 10), ("none", 0, 10)], "radius_m")
    whole, half, none = (float(each["height"]) for each in bars_of(drawn))
    assert whole == pytest.approx(2 * half, abs=0.1)
    assert none == 0
    texts = [each.text for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")]
    assert {"10/10", "5/10", "0/10", "0.1", "to 0.2", "to <3", "radius_m", "100 %"} <= set(texts)
