from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, field_validator

from graspline.parameters import Document, Parameters, Value, build, describe, dump, load, parse_yaml

from .samples import Cube, Motion, Scene, Task, problems_of
from .test_documents import yaml_like


def in_file(text: str) -> str:
    """The one problem of a file."""
    (problem,) = problems_of(Task, parse_yaml(text, "task.yaml"))
    return problem


def in_option(assignment: str) -> str:
    """The one problem of an option."""
    (problem,) = problems_of(Task, None, assignment)
    return problem


def test_nothing_given_gives_the_defaults() -> None:
    assert build(Task) == Task()


def test_later_options_win_over_earlier_ones_over_the_file_over_defaults() -> None:
    document = parse_yaml("retries: 3\nnote: file\nmotion: {speed_m_s: 0.3, settle: false}\n")
    task = build(Task, document, ["retries=4", "retries=5", "motion.speed_m_s=0.4"])
    assert task == Task(retries=5, note="file", motion=Motion(speed_m_s=0.4, settle=False))


def test_the_document_is_left_as_it_was() -> None:
    document = parse_yaml("motion: {speed_m_s: 0.3}")
    build(Task, document, ["motion.speed_m_s=0.4"])
    assert document.values == {"motion": {"speed_m_s": 0.3}}


def test_what_is_no_assignment_is_refused_with_a_parameter_that_exists() -> None:
    expected, _, example = in_option("fast").rpartition(" ")
    assert expected == "--set fast: expected KEY.KEY=VALUE, for example"
    assert build(Task, None, [example]) == Task()


def test_a_value_the_options_replace_is_not_checked() -> None:
    assert build(Task, parse_yaml("retries: 99"), ["retries=1"]).retries == 1


def test_an_option_sets_lists_and_opens_and_closes_optional_sections() -> None:
    opened = build(Task, parse_yaml("scene: {spare: null}"), ["scene.spare.friction=[1, 2]", "scene.labels=[a, b]"])
    assert opened.scene == Scene(spare=Cube.model_validate({"friction": [1, 2]}), labels=("a", "b"))
    assert build(Task, parse_yaml("scene: {spare: {mass_kg: 1}}"), ["scene.spare=null"]).scene.spare is None


def test_an_option_keeps_the_rest_of_a_section_default() -> None:
    assert build(Task, None, ["scene.heavy.edge_m=0.04"]).scene.heavy == Cube(mass_kg=0.5, edge_m=0.04)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("retries: -1", "1: retries: -1 is below 0 (allowed 0 to 10)"),
        ("retries: 3.0", "1: retries: 3.0 is not a whole number (allowed 0 to 10)"),
        ("retries: true", "1: retries: true is not a whole number (allowed 0 to 10)"),
        ("retries: '3'", "1: retries: '3' is not a whole number (allowed 0 to 10); remove the quotes"),
        ("note: 3", "1: note: 3 is not text"),
        ("note: {a: 1}", "1: note: a section is not text"),
        ("motion: {settle: yes}", "1: motion.settle: 'yes' is not true or false"),
        ("motion: {settle: 1}", "1: motion.settle: 1 is not true or false"),
        (
            "motion:\n  timeout_s: 0",
            "2: motion.timeout_s: 0 is not above 0 (allowed above 0, seconds, or null)",
        ),
        ("scene: {labels: cube}", "1: scene.labels: 'cube' is not a list of text"),
        ("scene:\n  labels:\n  - a\n  - 1", "4: scene.labels[1]: 1 is not text"),
    ],
)
def test_a_problem_in_a_file_names_line_key_value_and_what_is_allowed(text: str, problem: str) -> None:
    assert in_file(text) == f"task.yaml:{problem}"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("edge_m: 0.5", "edge_m: 0.5 is above 0.1 (allowed 0.005 to 0.1, metres)"),
        ("edge_m: .nan", "edge_m: nan is not a finite number (allowed 0.005 to 0.1, metres)"),
        ("mass_kg: -.inf", "mass_kg: -inf is not a finite number (allowed above 0 and at most 1, kilograms)"),
        ("colour: rde", "colour: unknown choice 'rde'; did you mean 'red'? known: blue, green, red"),
        ("weights: [1, -1]", "weights[1]: -1 is below 0 (allowed at least 0)"),
        ("centre_m: [1, 2]", "centre_m: [1, 2] is not a list of 3 numbers (metres)"),
        ("centre_m: [1, 2, 3, 4]", "centre_m: [1, 2, 3, 4] is not a list of 3 numbers (metres)"),
        ("friction: 1", "friction: 1 is not a range [low, high] (allowed 0 to 3)"),
        ("friction: [1]", "friction: [1] is not a range [low, high] (allowed 0 to 3)"),
        ("friction: [1, 5]", "friction: [1, 5] reaches above 3 (allowed 0 to 3)"),
        ("friction: [.nan, 1]", "friction[0]: nan is not a finite number (allowed 0 to 3)"),
        (
            "friction: [2, 1]",
            "friction: [2, 1] is refused: its low end 2.0 is above its high end 1.0 (allowed 0 to 3)",
        ),
    ],
)
def test_a_problem_deep_in_a_file_names_the_whole_path(text: str, problem: str) -> None:
    assert in_file(f"scene:\n  cube:\n    {text}") == f"task.yaml:3: scene.cube.{problem}"


@pytest.mark.parametrize(
    "text, hint",
    [
        ("motoin: {}", "'motoin'; did you mean 'motion'? known: motion, note, retries, scene"),
        ("speed_m_s: 1", "'speed_m_s'; did you mean 'motion.speed_m_s'? known: motion, note, retries, scene"),
        ("zzz: 1", "'zzz'; known: motion, note, retries, scene"),
        ("scene: {cbe: 1}", "'cbe' in scene; did you mean 'cube'? known: cube, heavy, labels, spare"),
    ],
)
def test_an_unknown_key_suggests_the_nearest(text: str, hint: str) -> None:
    assert in_file(text) == f"task.yaml:1: unknown key {hint}"


def test_a_value_for_a_section_is_told_its_keys() -> None:
    keys = "speed_m_s, slow_m_s, timeout_s, settle"
    assert in_file("motion: 3") == f"task.yaml:1: motion: 3 is not a section; set its keys one by one: {keys}"
    assert in_file("motion:") == f"task.yaml:1: motion: the section is empty; set its keys ({keys}) or leave it out"


@pytest.mark.parametrize(
    "assignment, problem",
    [
        ("retries=11", "11 is above 10 (allowed 0 to 10)"),
        ("grap.speed=1", "unknown key 'grap'; known: motion, note, retries, scene"),
        ("scen.cube=1", "unknown key 'scen'; did you mean 'scene'? known: motion, note, retries, scene"),
        (
            "scene.cbe.a=1",
            "unknown key 'cbe' in scene; did you mean 'cube'? known: cube, heavy, labels, spare",
        ),
        ("scene=3", "3 is not a section; set its keys one by one: cube, heavy, spare, labels"),
        ("retries.a=3", "retries is a whole number, set it whole; it has no key 'a'"),
        ("scene.labels.first=3", "scene.labels is a list of text, set it whole; it has no key 'first'"),
        ("scene.labels=[a, 1]", "scene.labels[1]: 1 is not text"),
    ],
)
def test_a_problem_in_an_option_names_the_option(assignment: str, problem: str) -> None:
    assert in_option(assignment) == f"--set {assignment}: {problem}"


def test_all_problems_come_at_once() -> None:
    document = parse_yaml("retries: 99\nmotion: {settle: 3}\nscene:\n  cub: 1\n", "task.yaml")
    found = problems_of(Task, document, "note", "a=1", "note=3", "motion.slow_m_s=9")
    assert [problem.split(": ")[0] for problem in found] == [
        "--set note",
        "--set a=1",
        "task.yaml:4",
        "--set motion.slow_m_s=9",
        "task.yaml:2",
        "task.yaml:1",
        "--set note=3",
    ]


def test_an_option_into_a_section_the_file_made_a_value_points_at_the_file() -> None:
    found = problems_of(Task, parse_yaml("scene: 3", "task.yaml"), "scene.cube.edge_m=0.02")
    assert found == ("task.yaml:1: scene: 3 is not a section; set its keys one by one: cube, heavy, spare, labels",)


def test_a_check_across_keys_points_at_the_keys_it_names() -> None:
    document = parse_yaml("motion:\n  slow_m_s: 0.5\n", "task.yaml")
    assert problems_of(Task, document, "motion.speed_m_s=0.4") == (
        "task.yaml:2, --set motion.speed_m_s=0.4: motion.slow_m_s, motion.speed_m_s: "
        "slow_m_s 0.5 is above speed_m_s 0.4",
    )


class Strange(Parameters):
    """Its checks say little about where."""

    inner: Motion
    count: int = Field(default=2, ge=0)
    code: str = Field(default="ab", pattern="^[a-z]+$")
    names: tuple[str, ...] = Field(default=(), max_length=1)

    @field_validator("count")
    @classmethod
    def _even(cls, count: int) -> int:
        if count % 2:
            raise ValueError("must be\neven")
        return count

    @field_validator("inner")
    @classmethod
    def _brisk(cls, inner: Motion) -> Motion:
        if inner.timeout_s is None:
            raise ValueError("needs a limit")
        return inner


def test_checks_of_a_single_key_say_their_reason_on_one_line() -> None:
    document = parse_yaml("inner: {}\ncount: 3\ncode: A1\nnames: [a, b]\n", "task.yaml")
    assert problems_of(Strange, document) == (
        "task.yaml:1: inner: needs a limit",
        "task.yaml:2: count: 3 is refused: must be even (allowed at least 0)",
        "task.yaml:3: code: 'A1' is refused: String should match pattern '^[a-z]+$'",
        "task.yaml:4: names: ['a', 'b'] is refused: 2 items; expected at most 1",
    )


def test_a_required_key_is_asked_for() -> None:
    assert problems_of(Strange) == ("inner: required, but not given; expected a section",)
    assert problems_of(Strange, parse_yaml("", "task.yaml")) == (
        "task.yaml: inner: required, but not given; expected a section",
    )


def test_a_section_may_hold_itself() -> None:
    class Node(Parameters):
        weight_kg: float = 1
        child: Node | None = None

    assert build(Node, None, ["child.child.weight_kg=2"]) == Node(child=Node(child=Node(weight_kg=2)))
    assert problems_of(Node, None, "child.child.wait=2") == (
        "--set child.child.wait=2: unknown key 'wait' in child.child; known: child, weight_kg",
    )


keys = st.sampled_from((*Task.model_fields, *Scene.model_fields, *Cube.model_fields, *Motion.model_fields, "x"))
values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
paths = st.lists(keys, min_size=1, max_size=4).map(".".join)


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(keys, values), st.lists(st.tuples(paths, yaml_like | st.text(max_size=5)).map("=".join)))
def test_any_structure_is_built_or_refused(given_values: dict[str, Value], assignments: list[str]) -> None:
    document = Document(name="any", values=given_values, lines={(key,): 1 for key in given_values})
    problems = problems_of(Task, document, *assignments)
    assert all(problem.isprintable() and "pydantic" not in problem for problem in problems)


class Shelf(Parameters):
    cubes: tuple[Cube, ...] = Field(default=(), max_length=2, description="cubes on it")


def test_a_list_of_sections_is_set_whole_and_described() -> None:
    shelf = build(Shelf, None, ["cubes=[{edge_m: 0.04}, {mass_kg: 0.2, colour: blue}]"])
    assert shelf.cubes == (Cube(edge_m=0.04), Cube(mass_kg=0.2, colour="blue"))
    assert build(Shelf, parse_yaml(describe(shelf))) == shelf
    assert load(Shelf, dump(shelf)) == shelf
    assert "list of sections of edge_m, mass_kg" in describe(shelf)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[{edge_m: 9}]", "cubes[0].edge_m: 9 is above 0.1"),
        ("[{}, {edg_m: 1}]", "unknown key 'edg_m' in cubes[1]; did you mean 'edge_m'?"),
        ("{edge_m: 0.04}", "set one key at a time"),
        ("[3]", "cubes[0]: 3 is not a section"),
        ("[{}, {}, {}]", "is refused"),
    ],
)
def test_a_mistake_in_a_list_of_sections_names_its_item(given: str, expected: str) -> None:
    (problem,) = problems_of(Shelf, None, f"cubes={given}")
    assert expected in problem
