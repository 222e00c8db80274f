from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.parameters import Value, parse_assignment

from .samples import refusals
from .test_documents import yaml_like


@pytest.mark.parametrize(
    "assignment, path, value",
    [
        ("a.b=1e-3", ("a", "b"), 0.001),
        ("a=true", ("a",), True),
        ("a = 2 ", ("a",), 2),
        ("a=null", ("a",), None),
        ('a=""', ("a",), ""),
        ("a=b=c", ("a",), "b=c"),
        ("a=two words", ("a",), "two words"),
        ("a='pick #3'", ("a",), "pick #3"),
        ("a.b.c=[0.02, 0.03]", ("a", "b", "c"), [0.02, 0.03]),
        ("a=[]", ("a",), []),
    ],
)
def test_an_assignment_is_a_key_path_and_a_yaml_value(assignment: str, path: tuple[str, ...], value: Value) -> None:
    read = parse_assignment(assignment)
    assert read == (path, value)
    assert type(read[1]) is type(value)


@pytest.mark.parametrize("assignment", ["", "a", "=1", ".=1", "a.=1", ".a=1", "a..b=1", "a b=1", "a[0]=1", "a-b=1"])
def test_what_is_no_assignment_is_refused_with_what_is_expected(assignment: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_assignment(assignment)
    assert str(caught.value) == f"--set {assignment}: expected KEY.KEY=VALUE, for example jaw.standoff_m=0.04"


@pytest.mark.parametrize(
    "assignment, reason",
    [
        ("a=", "nothing after the ="),
        ("a=  ", "nothing after the ="),
        ("a=# b", "a comment or marker"),
        ("a=pick #3", "a comment or marker"),
        ("a=---", "a comment or marker"),
        ("a={b: 1}", "a value with keys"),
        ("a=b: 1", "a value with keys"),
        ("a=[1", "not valid YAML"),
        ("a=*b", "alias *b is not supported"),
        ("a=!!int 1", "tag '!!int' is not supported"),
        ("a=\udcff", "not text"),
        ("a=" + "[" * 100_000, "nested deeper than 20 levels"),
    ],
)
def test_a_value_follows_the_rules_of_a_file(assignment: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_assignment(assignment)
    assert str(caught.value).startswith("--set a=")
    assert reason in str(caught.value)
    assert str(caught.value).isprintable()


@settings(deadline=None, max_examples=300)
@given(yaml_like | st.text(), st.booleans())
def test_any_assignment_is_read_or_refused(text: str, has_key: bool) -> None:
    assignment = f"a.b={text}" if has_key else text
    assert all(map(str.isprintable, refusals(lambda: parse_assignment(assignment))))
