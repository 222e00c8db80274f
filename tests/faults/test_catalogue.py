"""Faults by name and by place, and what every one of them must be."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import mujoco
import pytest

from graspline.engine.events import Place, Push
from graspline.errors import InputError
from graspline.faults.catalogue import fault_kinds, fault_names, find_fault, own_fault_names
from graspline.faults.kind import FaultKind
from graspline.faults.robot import JAM

from .fruit_world import on_plate, world

ROOT = Path(__file__).parents[2]
GUST = """
from graspline.engine.events import Push
from graspline.faults.kind import FaultKind
from graspline.faults.needs import OBJECT

GUST = FaultKind(
    name="gust",
    description="Wind pushes the object.",
    strike=lambda context: [(0.0, Push(body=context.target, force_n=(0.1, 0.0, 0.0)))],
    needs=(OBJECT,),
)
LATE = 3
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module outside of graspline that has a fault."""
    (tmp_path / "windy_lab.py").write_text(GUST)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "windy_lab", raising=False)
    return "windy_lab"


def test_our_own_faults_are_entry_points_of_our_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted(project["entry-points"]["graspline.faults"]) == sorted(own_fault_names())
    for name, place in project["entry-points"]["graspline.faults"].items():
        assert find_fault(place) is find_fault(name)


def test_a_fault_is_listed_under_its_own_name() -> None:
    assert {name: kind.name for name, kind in fault_kinds().items()} == {name: name for name in fault_names()}
    assert find_fault("jam") is JAM


@pytest.mark.parametrize("kind", fault_kinds().values(), ids=lambda kind: kind.name)
def test_every_fault_says_in_one_sentence_what_happens(kind: FaultKind) -> None:
    assert kind.description.endswith(".")
    assert ". " not in kind.description


def test_a_fault_of_another_package_is_found_by_its_place(lab: str) -> None:
    kind = find_fault(f"{lab}:GUST")
    assert kind.description == "Wind pushes the object."
    assert kind.name not in fault_names()


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(InputError, match=r"unknown fault 'dorp'; did you mean 'drop'\? known: base-slip, "):
        find_fault("dorp")


def test_a_place_without_a_fault_names_those_that_the_module_has(lab: str) -> None:
    for attribute, wrong in (("LATE", "is no FaultKind, its type is int"), ("GUSTT", "is missing")):
        with pytest.raises(InputError, match=f"{attribute} {wrong}; in {lab}, .*known: GUST"):
            find_fault(f"{lab}:{attribute}")


def test_a_place_in_a_module_that_is_not_installed_is_told_as_such() -> None:
    with pytest.raises(InputError, match="there is no module 'no_such_lab', neither installed nor in the current"):
        find_fault("no_such_lab:GUST")


def test_a_module_that_breaks_while_it_is_imported_is_told_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_lab.py").write_text("1 / 0")
    # Found without a path: it lies in the current folder.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match=r"\(broken_lab:GUST\) cannot be imported: ZeroDivisionError: "):
        find_fault("broken_lab:GUST")


def test_pushes_and_places_of_faults_name_bodies_of_the_scene() -> None:
    struck = set[str]()
    for name, kind in fault_kinds().items():
        context = world(on_plate(0.0), beside=1)
        if kind.missing_in(context.scene):
            continue
        for _, deed in kind.strike(context):
            event = deed(context) if callable(deed) else deed
            if isinstance(event, Push | Place):
                assert mujoco.mj_name2id(context.scene.model, mujoco.mjtObj.mjOBJ_BODY, event.body) > 0, name
                struck.add(name)
    assert struck >= {"drop", "shove", "remove"}
