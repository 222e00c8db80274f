from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.parameters import Value, load_yaml, parse_yaml

from .samples import refusals


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "task.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    "word, value",
    [
        ("1e-3", 0.001),
        ("1E5", 1e5),
        ("-.5", -0.5),
        ("3.", 3.0),
        ("12", 12),
        ("-7", -7),
        ("010", 10),
        ("true", True),
        ("no", "no"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("", None),
        ("null", None),
        ("-.inf", -math.inf),
        ("1e999", math.inf),
        ("9" * 5000, math.inf),
        ("'1'", "1"),
        ('"a\\nb"', "a\nb"),
        ("[0.02, [a, 1e2]]", [0.02, ["a", 100.0]]),
        ("{b: 1}", {"b": 1}),
    ],
)
def test_words_are_read_as_people_mean_them(word: str, value: Value) -> None:
    read = parse_yaml(f"a: {word}").values["a"]
    assert read == value
    assert type(read) is type(value)


def test_nan_is_read_as_a_number() -> None:
    read = parse_yaml("a: .nan").values["a"]
    assert isinstance(read, float)
    assert math.isnan(read)


def test_every_key_and_item_has_its_line() -> None:
    document = parse_yaml("a:\n  b: 1\n  c:\n    - 2\n    - 3\n", "task.yaml")
    assert document.name == "task.yaml"
    assert document.lines == {("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0): 4, ("a", "c", 1): 5}


@pytest.mark.parametrize("text", ["", "# all of it\n# commented out\n", "---\n"])
def test_an_empty_file_sets_nothing(text: str) -> None:
    assert parse_yaml(text).values == {}


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "task.yaml:4: b.c: given twice, first on line 3"),
        ("a: &x 1", "task.yaml:1: anchor &x is not supported; write the value out"),
        ("a: !!str 1", "task.yaml:1: tag '!!str' is not supported; write the plain value"),
        ("a: !new 1", "task.yaml:1: tag '!new' is not supported; write the plain value"),
        ("<<: {a: 1}", "task.yaml:1: merge key << is not supported; write the keys out"),
        ("a: 1\n---\nb: 1", "task.yaml:2: a second document starts here; expected one"),
        ("[1]", "task.yaml: [1] at the top level; expected keys with values, such as 'seed: 1'"),
        ("word", "task.yaml: 'word' at the top level; expected keys with values, such as 'seed: 1'"),
        ("a: 1\n1: 2", "task.yaml:2: key 1 is not a name"),
        ("a: 1\n? [b]\n: 2", "task.yaml:2: a key must be a name; quote text that starts with one of [ { *"),
        ("a: 1\nb: \x00", "task.yaml:2: holds a character that is not text: 0x00"),
        ('a: "\\ud800"', "task.yaml:1: '\\ud800' holds half a character"),
        ('a: "\\U99999999"', "task.yaml:1: not valid YAML: an escape or a number out of bounds"),
        ("a: " + "x" * 1_000_000, "task.yaml: larger than 1 MB; expected a short YAML file"),
    ],
)
def test_what_is_no_plain_configuration_is_refused_in_one_line(text: str, message: str) -> None:
    assert refusal(text) == message


@pytest.mark.parametrize("text", ["a: [", "a: 'b", "a: b: c", "a\n b: 1", "}", "%YAML 9.9\n---\na: 1"])
def test_broken_yaml_is_refused_with_its_line(text: str) -> None:
    assert refusal(text).startswith("task.yaml:")
    assert "not valid YAML: " in refusal(text)


def test_tabs_are_refused_with_the_cure() -> None:
    assert refusal("a:\n\tb: 1").endswith("indent with spaces, not tabs")


def test_all_refusals_of_a_file_come_at_once() -> None:
    assert len(refusal("a: 1\na: 2\nb: &x 1\nc: *x\n").splitlines()) == 3


def test_an_alias_bomb_does_not_go_off() -> None:
    levels = [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]" for level in range(1, 30)]
    assert "alias *l0 is not supported" in refusal("\n".join(["l0: &l0 [x]", *levels]))


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "[" * 100_000, "- " * 100_000, "a: " + "{b: " * 100_000])
def test_deep_nesting_is_refused_before_it_costs_anything(text: str) -> None:
    assert refusal(text) == "task.yaml:1: nested deeper than 20 levels"


def test_twenty_levels_are_allowed() -> None:
    assert parse_yaml("{a: " * 20 + "1" + "}" * 20).lines[("a",) * 20] == 1


def test_a_file_is_read_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_bytes("\ufeffnote: größe\r\nretries: 1\r\n".encode())
    document = load_yaml(path)
    assert document.values == {"note": "größe", "retries": 1}
    assert document.name == str(path)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"a: 1\nb: \xff\xfe", ":2: not UTF-8 text; expected a YAML file"),
        (b"a: \x00", ":1: holds a character that is not text: 0x00"),
        (b"# " + b"x" * 1_000_000, ": larger than 1 MB; expected a short YAML file"),
    ],
)
def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "task.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_yaml(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_yaml(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read: No such file"):
        load_yaml(tmp_path / "none.yaml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.touch(mode=0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load_yaml(path)


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\udcff", ""])
def test_an_odd_name_is_refused_on_one_printable_line(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_yaml(name)
    assert str(caught.value).isprintable()


# Text made of YAML's own marks finds more than text at random.
yaml_like = st.text(st.sampled_from("[]{}:,-?!&*|>'\"%@` \n\t#ab01.~\\<=\ufeff\x85\u2028é\0"), max_size=40)


@settings(deadline=None, max_examples=400)
@given(yaml_like | st.text())
@example("%YAML 1." + "9" * 5000 + "\n---\n")
@example("a: !<tag:yaml.org,2002:python/object/apply:os.system> [x]")
def test_any_text_is_read_or_refused(text: str) -> None:
    assert all(map(str.isprintable, refusals(lambda: parse_yaml(text))))


@settings(deadline=None, max_examples=100)
@given(content=st.binary())
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    assert all(map(str.isprintable, refusals(lambda: load_yaml(path))))
