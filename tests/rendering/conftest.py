"""Renderers for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from graspline.rendering.choose import Renderer, gl_problem, open_renderer
from graspline.scenes.scene import Scene

WIDTH, HEIGHT = 320, 240


@pytest.fixture
def opened() -> Iterator[Callable[[str, Scene], Renderer]]:
    """Opens renderers by kind and closes them after the test; skips where this machine has no OpenGL."""
    renderers: list[Renderer] = []

    def open_one(kind: str, scene: Scene) -> Renderer:
        if kind == "gl" and (problem := gl_problem()):
            pytest.skip(problem)
        renderers.append(open_renderer(scene, WIDTH, HEIGHT, "gl" if kind == "gl" else "rays"))
        return renderers[-1]

    yield open_one
    for renderer in renderers:
        renderer.close()
