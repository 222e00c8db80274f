from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from graspline.evidence import Measurement, at_least, at_most, failures, passes


def equal_to(name: str, value: float, limit: float) -> Measurement:
    return Measurement(name=name, value=value, relation="==", limit=limit)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_measurement_passes_exactly_if_its_relation_holds(value: float, limit: float) -> None:
    assert at_most("x", value, limit).passed == (value <= limit)
    assert at_least("x", value, limit).passed == (value >= limit)
    assert equal_to("x", value, limit).passed == (value == limit)


@given(st.floats())
def test_a_signal_without_data_never_passes(limit: float) -> None:
    for absent in (at_most("x", math.nan, limit), at_least("x", math.nan, limit), equal_to("x", math.nan, limit)):
        assert absent.absent
        assert not absent.passed


@given(st.floats(allow_nan=False))
def test_nothing_passes_a_limit_that_is_not_a_number(value: float) -> None:
    assert not at_most("x", value, math.nan).passed
    assert not at_least("x", value, math.nan).passed


def test_a_measurement_is_told_with_its_limit_and_unit() -> None:
    assert str(at_most("slip", 0.01234567, 0.012, "m")) == "slip 12.3 mm (limit <= 12 mm)"
    assert str(at_least("ratio", 0.5, 0.7)) == "ratio 0.5 (limit >= 0.7)"


def test_an_absent_signal_is_told_as_absent() -> None:
    absent = at_least("ratio", math.nan, 0.7)
    assert str(absent) == "ratio absent (limit >= 0.7)"
    assert absent.as_dict()["value"] is None


def test_a_measurement_as_plain_values_is_what_it_says() -> None:
    plain = at_most("slip", 0.01, 0.012, "m").as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == {
        "name": "slip",
        "value": 0.01,
        "relation": "<=",
        "limit": 0.012,
        "unit": "m",
        "passed": True,
    }


def test_no_evidence_proves_nothing() -> None:
    assert not passes(())


def test_evidence_passes_if_every_measurement_does() -> None:
    good, bad, absent = at_most("a", 1, 2), at_most("b", 3, 2), at_least("c", math.nan, 0)
    assert passes((good, good))
    assert not passes((good, bad))
    assert not passes((good, absent))
    assert failures((good, bad, absent)) == (bad, absent)


def test_an_infinite_measurement_can_be_written_as_json() -> None:
    plain = at_most("force", math.inf, 2.0).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False))["value"] is None
    assert plain["passed"] is False
