from __future__ import annotations

import logging
from pathlib import Path

import pytest

from graspline.errors import InputError
from graspline.parameters import build, dump, load, load_yaml
from graspline.tasks.grab.parameters import Grab, ThingsParameters
from graspline.tasks.grab.task import problems
from scenes.meshes import shapes


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("graspline.scenes.meshes.store._IN_MEMORY", {})
    shapes.write_obj(shapes.bracket(), tmp_path / "bracket.obj")
    monkeypatch.chdir(tmp_path)


def grab(*assignments: str) -> Grab:
    return build(Grab, None, assignments)


def problem(*assignments: str) -> str:
    with pytest.raises(InputError) as raised:
        grab(*assignments)
    (found,) = raised.value.problems
    return found


BRACKET = "things.meshes=[{file: bracket.obj, scale: 0.001}]"


def test_a_mesh_goes_by_the_name_of_its_file_and_weighs_what_its_volume_does() -> None:
    (mesh,) = grab(BRACKET).things.meshes
    assert (mesh.name, len(mesh.content), len(mesh.parts)) == ("bracket", 64, 64)
    assert mesh.weight_kg == pytest.approx(38.25e-6 * 900, rel=1e-6)
    assert grab(BRACKET).kinds[-1].mass_kg(1.0) == pytest.approx(mesh.weight_kg)


def test_a_saved_scenario_gives_the_same_object() -> None:
    made = grab(BRACKET)
    assert load(Grab, dump(made)) == made


def test_a_file_is_looked_for_beside_the_configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "grab.yaml").write_text("things:\n  meshes:\n    - {file: bracket.obj, scale: 0.001, name: corner}\n")
    monkeypatch.chdir(tmp_path / "else")
    assert build(Grab, load_yaml(tmp_path / "grab.yaml")).things.meshes[0].name == "corner"


def test_a_file_that_has_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = dump(grab(BRACKET))
    shapes.write_obj(shapes.wedge(), tmp_path / "bracket.obj")
    # This machine knows the shape still.
    assert load(Grab, saved).things.meshes[0].solid.half_extents_m == pytest.approx((0.03, 0.02, 0.015))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setattr("graspline.scenes.meshes.store._IN_MEMORY", {})
    with pytest.raises(InputError, match=r"bracket\.obj: changed since this was recorded"):
        load(Grab, saved)


def test_other_parts_than_were_recorded_are_refused() -> None:
    saved = dump(grab(BRACKET))
    saved["things"]["meshes"][0]["parts"] = "0" * 64  # type: ignore[index, call-overload]
    with pytest.raises(InputError, match=r"other ones here than when this was recorded.*graspline\[mesh\]"):
        load(Grab, saved)


@pytest.mark.parametrize(
    ("meshes", "expected"),
    [
        ("[bracket.obj]", "modelled in millimetres? then set scale: 0.001"),
        ("[{file: none.stl}]", "none.stl: cannot be read"),
        ("[{}]", "file is required"),
        ("[{file: bracket.obj, scale: -1}]", "-1 is not above 0"),
        ("[{file: bracket.obj, scale: 0.001, colour: [2, 0, 0]}]", "is not red, green and blue from 0 to 1"),
        ("[{file: bracket.obj, scale: 0.001, name: 'a b'}]", "is not 1 to 40 letters, digits, _ and -"),
        ("[{file: bracket.obj, scale: 0.008, density_kg_m3: 900}]", "expected at most 2"),
        ("[{fil: bracket.obj}]", "unknown key 'fil' in things.meshes[0]; did you mean 'file'?"),
        ("bracket.obj", "is not a list of sections of file, name"),
    ],
)
def test_what_cannot_be_an_object_is_refused_in_one_line(meshes: str, expected: str) -> None:
    assert expected in problem(f"things.meshes={meshes}")


def test_a_hull_with_its_hollows_filled_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("graspline.scenes.meshes.parts.is_whole_hull", lambda: True)
    monkeypatch.setattr("graspline.tasks.mesh_objects.is_whole_hull", lambda: True)
    monkeypatch.setattr("graspline.tasks.mesh_objects._WARNED", set())
    with caplog.at_level(logging.WARNING):
        grab("things.meshes=[{file: bracket.obj, scale: 0.0011}]")
    assert "convex hull, hollows filled: for convex parts pip install 'graspline[mesh]'" in caplog.text


def test_what_the_hand_cannot_take_is_refused_before_anything_is_sampled(tmp_path: Path) -> None:
    shapes.write_obj(shapes.box(120, 120, 60), tmp_path / "crate.obj")
    (found,) = problems(grab("things.meshes=[{file: crate.obj, scale: 0.001}]"))
    assert found.startswith("things.meshes: so101 cannot take crate: ")
    assert "expected two opposite upright sides that fit between its fingers" in found


def test_names_are_unique_and_a_camera_knows_no_meshes() -> None:
    (found,) = problems(grab("things.meshes=[{file: bracket.obj, scale: 0.001, name: red_2x2}]"))
    assert "two objects are called 'red_2x2'" in found
    (found,) = problems(grab(BRACKET, "perception.source=camera"))
    assert "set truth" in found


def test_without_meshes_nothing_differs() -> None:
    assert ThingsParameters().meshes == ()
    assert len(Grab().kinds) == 7
