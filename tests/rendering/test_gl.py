"""OpenGL contexts: opened and closed at will, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.rendering.choose import gl_problem
from graspline.scenes.cube_table import cube_table

from .render_cases import random_state

needs_gl = pytest.mark.skipif(gl_problem() is not None, reason=gl_problem() or "")

DRAW_ONE = """
import mujoco
from graspline.rendering.gl import GlRenderer
from graspline.scenes.cube_table import cube_table
from graspline.scenes.variation import Variation
with GlRenderer(cube_table(), 32, 24) as renderer:
    print(renderer.render(cube_table().model.qpos0, Variation(), "front").rgb.std() > 5)
"""


@needs_gl
@pytest.mark.parametrize("setting", ["glfw", "disable"])
def test_the_environment_variable_of_mujoco_does_not_matter(setting):
    done = subprocess.run(
        [sys.executable, "-c", DRAW_ONE],
        env={**os.environ, "MUJOCO_GL": setting},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


def test_a_closed_renderer_says_so_and_may_be_closed_twice(opened):
    renderer = opened("gl", cube_table())
    renderer.close()
    renderer.close()
    with pytest.raises(WiringError, match="closed"):
        renderer.render(*random_state(0), "front")


def test_two_renderers_take_turns(opened):
    one, two = opened("gl", cube_table()), opened("gl", cube_table())
    (qpos, variation), other = random_state(0), random_state(1)
    first = one.render(qpos, variation, "front").rgb
    two.render(*other, "front")
    assert np.array_equal(first, one.render(qpos, variation, "front").rgb)


def test_a_renderer_may_be_handed_to_another_thread(opened):
    renderer = opened("gl", cube_table())
    here = renderer.render(*random_state(0), "front").rgb
    there = []
    thread = threading.Thread(target=lambda: there.append(renderer.render(*random_state(0), "front").rgb))
    thread.start()
    thread.join()
    assert np.array_equal(here, there[0])
