"""`graspline new robot`: what it guesses is usable and marked, and what it cannot read it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.robots.unknown_arms import SCARA, TONGS

from .doors import call, refused


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "model"), [("scara", SCARA), ("tongs", TONGS)])
def test_a_description_is_guessed_that_makes_a_robot(here: Path, name: str, model: str) -> None:
    (here / "arm.xml").write_text(model, encoding="utf-8")
    answer = call("new", "robot", "arm.xml", "--out", "robots")
    file = Path("robots") / f"{name}.yaml"
    assert (answer.code, answer.err) == (0, f"saved: {file}\n")
    assert answer.out.splitlines()[-2:] == [f"  graspline jaw {file}", f"  graspline run lift-cube --robot {file}"]
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    guessed = ("arm:", "jaw:", "fixed:", "moving:", "along:", "opening:", "home:")
    assert all("# guessed" in line for line in lines if line.strip().startswith(guessed))
    assert call("jaw", file).code == 0


def test_what_a_model_lacks_is_listed_and_marked(here: Path) -> None:
    model = TONGS.replace(' range="-3.1 3.1"', "").replace(
        '<geom name="tip"', '<geom contype="0" conaffinity="0" name="tip"'
    )
    (here / "tongs.xml").write_text(model, encoding="utf-8")
    answer = call("new", "robot", "tongs.xml")
    assert answer.code == 0
    assert "still to be filled in, or corrected in the model:" in answer.out
    assert "'roll' has no limits" in answer.out
    assert "moving: [TODO]  # to fill in" in (here / "tongs.yaml").read_text(encoding="utf-8")


def test_what_is_no_robot_or_is_there_already_is_refused(here: Path) -> None:
    (here / "page.xml").write_text("<html/>", encoding="utf-8")
    (here / "ball.xml").write_text(
        "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>", encoding="utf-8"
    )
    (here / "tongs.xml").write_text(TONGS, encoding="utf-8")
    (here / "tongs.yaml").write_text("", encoding="utf-8")
    (problem,) = refused("new", "robot", "page.xml")
    assert problem.startswith("page.xml: neither MJCF nor URDF")
    (here / "folder.xml").mkdir()
    (problem,) = refused("new", "robot", "folder.xml")
    assert problem.startswith("folder.xml: this is a folder; expected an MJCF or URDF file")
    (problem,) = refused("new", "robot", "ball.xml")
    assert "nothing that could be an arm" in problem
    (problem,) = refused("new", "robot", "tongs.xml")
    assert problem == "tongs.yaml exists already; nothing was written, choose another --out"
    (problem,) = refused("new", "robot", "tongs.yaml")
    assert problem.endswith("a description, not a model; expected the MJCF or URDF file that it names")
    (problem,) = refused("new", "robot", "none.xml")
    assert problem.startswith("none.xml: there is no such file; expected an MJCF or URDF file; in its folder: ball.xml")
    assert refused("run", "lift-cube", "--robot", "tongs.xml")[0].startswith("robot 'tongs.xml': a model alone")


def test_meshes_of_a_package_are_refused_with_what_to_write(here: Path) -> None:
    mesh = '<mesh filename="package://arm/meshes/base.stl"/>'
    urdf = f'<robot name="arm"><link name="base"><visual><geometry>{mesh}</geometry></visual></link></robot>'
    (here / "arm.urdf").write_text(urdf.replace("visual", "collision"), encoding="utf-8")
    (problem,) = refused("new", "robot", "arm.urdf")
    assert problem.endswith("write the path from the model's folder instead of package://")
