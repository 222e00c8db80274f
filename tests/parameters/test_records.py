from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.parameters import dump, load

from .samples import Cube, Task, refusals, tasks


@settings(deadline=None, max_examples=60)
@given(tasks)
def test_a_record_gives_the_same_parameters_through_json(task: Task) -> None:
    assert load(Task, json.loads(json.dumps(dump(task), allow_nan=False))) == task


def test_a_record_holds_every_value_as_plain_data() -> None:
    assert dump(Cube()) == {
        "edge_m": 0.03,
        "mass_kg": 0.05,
        "colour": "red",
        "friction": [0.5, 1.5],
        "centre_m": [0.2, 0.0, 0.015],
        "weights": [],
    }


def test_a_bad_record_is_refused_with_all_its_problems() -> None:
    with pytest.raises(InputError) as caught:
        load(Cube, {"mass_kg": 10**5000, "color": 1}, "episode 7")
    assert caught.value.problems == (
        "episode 7: mass_kg: a huge whole number is not a number (allowed above 0 and at most 1, kilograms)",
        "episode 7: unknown key 'color'; did you mean 'colour'? "
        "known: centre_m, colour, edge_m, friction, mass_kg, weights",
    )


odd = st.none() | st.integers() | st.floats() | st.text() | st.binary() | st.dictionaries(st.integers(), st.none())


@settings(deadline=None, max_examples=200)
@given(odd | st.dictionaries(st.sampled_from(list(Task.model_fields)) | st.integers() | st.text(), odd | st.lists(odd)))
def test_any_record_is_loaded_or_refused(record: object) -> None:
    problems = refusals(lambda: load(Task, record))
    assert all(map(str.isprintable, problems))
