from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from graspline.errors import InputError
from graspline.robots.so101 import SO101
from graspline.scenes.furniture import add_table
from graspline.scenes.meshes.bodies import add_solid
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.meshes.store import content_of, folder, known_solid, solid_of
from graspline.scenes.scene import new_spec
from graspline.spatial.rotations import matrix_from_quaternion

from . import shapes


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("graspline.scenes.meshes.store._IN_MEMORY", {})


def made(name: str, folder: Path) -> Solid:
    return solid_of(shapes.write_obj(shapes.SOLIDS[name](), folder / f"{name}.obj"), 0.001)


def test_mass_centre_and_inertia_of_a_box_are_those_of_the_formula(tmp_path: Path) -> None:
    box = solid_of(shapes.write_obj(shapes.box(40, 20, 30), tmp_path / "box.obj"), 0.001)
    assert box.volume_m3 == pytest.approx(24e-6)
    np.testing.assert_allclose(box.centre_m, 0, atol=1e-12)
    x, y, z = 0.04, 0.02, 0.03
    expected = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12
    np.testing.assert_allclose(box.inertia_m2, expected, atol=1e-12)
    assert box.file_origin_m == pytest.approx((-0.02, -0.01, -0.015))


@pytest.mark.parametrize("name", shapes.SOLIDS)
def test_a_solid_stays_as_it_rests(name: str, tmp_path: Path) -> None:
    solid = made(name, tmp_path)
    spec = new_spec()
    add_table(spec, SO101)
    add_solid(spec, name, solid, 0.04, (0.5, 0.5, 0.5))
    model = spec.compile()
    data = mujoco.MjData(model)
    for rest in solid.rests:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = (0.2, 0, rest.height_m, *rest.quaternion)
        for _ in range(480):
            mujoco.mj_step(model, data)
        lean = np.arccos(min(float(-matrix_from_quaternion(data.qpos[3:])[2] @ rest.down), 1.0))
        assert lean < 0.01
        assert abs(data.qpos[2] - rest.height_m) < 1e-4
        assert solid.rest_at(matrix_from_quaternion(data.qpos[3:])) is rest


def test_a_solid_is_made_once_and_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shapes.write_stl(shapes.mug(), tmp_path / "mug.stl")
    first, content = solid_of(path, 0.001), content_of(path)
    assert len(list(folder().iterdir())) == 1
    monkeypatch.setattr("graspline.scenes.meshes.store._IN_MEMORY", {})
    path.unlink()
    again = known_solid(content, ".stl", 0.001)
    assert again == first
    assert again is not first
    assert known_solid(content, ".stl", 0.002) is None


def test_a_damaged_entry_of_the_store_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made("wedge", tmp_path)
    (entry,) = folder().iterdir()
    entry.write_bytes(b"PK damaged")
    monkeypatch.setattr("graspline.scenes.meshes.store._IN_MEMORY", {})
    assert made("wedge", tmp_path) == first


def test_a_store_that_cannot_be_written_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert made("wedge", tmp_path).rests


def test_what_only_rolls_is_refused(tmp_path: Path) -> None:
    angles = np.linspace(0.02, np.pi - 0.02, 24)
    ball = shapes.turned([(15 * np.sin(a), -15 * np.cos(a)) for a in angles], 40)
    with pytest.raises(InputError, match="rests on no face"):
        solid_of(shapes.write_obj(ball, tmp_path / "ball.obj"), 0.001)
