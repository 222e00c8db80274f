"""OpenGL where it works, rays where it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graspline.errors import EnvironmentProblem
from graspline.rendering import choose
from graspline.rendering.choose import gl_problem, open_renderer
from graspline.scenes.cube_table import cube_table

from .render_cases import random_state

WITHOUT_PYOPENGL = "import sys; sys.modules['OpenGL'] = None"
WITHOUT_LIBEGL = """
import os
os.environ["PYOPENGL_PLATFORM"] = "egl"
from OpenGL.platform import ctypesloader
def missing(*args, **more): raise OSError("cannot open shared object file")
ctypesloader.loadLibrary = missing
"""
OTHER_PLATFORM = "import os; os.environ['PYOPENGL_PLATFORM'] = 'glx'"
ASK = """
from graspline.rendering.choose import gl_problem, open_renderer
from graspline.scenes.cube_table import cube_table
print(gl_problem())
print(open_renderer(cube_table(), 32, 24).name)
"""


def test_rays_are_chosen_where_gl_is_missing(monkeypatch):
    monkeypatch.setattr(choose, "gl_problem", lambda: "no libEGL")
    with open_renderer(cube_table(), 32, 24) as renderer:
        assert renderer.name == "rays"
        assert renderer.render(*random_state(0), "front").rgb.shape == (24, 32, 3)


def test_gl_is_chosen_where_it_works():
    if problem := gl_problem():
        pytest.skip(problem)
    with open_renderer(cube_table(), 32, 24) as renderer:
        assert renderer.name == "gl"


def test_rays_can_be_asked_for(opened):
    assert opened("rays", cube_table()).name == "rays"


def test_asking_for_gl_where_it_is_missing_raises_the_reason(monkeypatch):
    monkeypatch.setattr(choose, "gl_problem", lambda: "no libEGL")
    with pytest.raises(EnvironmentProblem, match="no libEGL"):
        open_renderer(cube_table(), 32, 24, "gl")


@pytest.mark.parametrize("broken", [WITHOUT_PYOPENGL, WITHOUT_LIBEGL, OTHER_PLATFORM])
def test_whatever_is_missing_the_probe_answers_in_one_line(broken):
    done = subprocess.run(
        [sys.executable, "-c", broken + ASK], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    reason, name = done.stdout.splitlines()
    assert "libegl1" in reason
    assert name == "rays"
