"""Patterns for surfaces, and what a compiled texture consists of.

Patterns are shades of grey that a surface's own colour is multiplied with, so a surface keeps its hue.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SIDE_PX = 128
# The darkest texel of a pattern; its lightest leaves the colour as it is.
_DARKEST = 0.78
# Patterns are generated once, from this.
_SEED = 20240


def _checks(x: Array, y: Array, random: np.random.Generator) -> Array:
    return ((np.floor(4 * x) + np.floor(4 * y)) % 2).astype(float)


def _grain(x: Array, y: Array, random: np.random.Generator) -> Array:
    """Streaks along x, as in a board of wood."""
    streaks = sum(
        np.sin(2 * np.pi * (turns * y + bend * np.sin(2 * np.pi * x)) + phase)
        for turns, bend, phase in zip((3, 7, 16, 31), (0.15, 0.08, 0.04, 0.02), random.uniform(0, 6, 4), strict=True)
    )
    return 0.5 + np.asarray(streaks) / 8


def _clouds(x: Array, y: Array, random: np.random.Generator) -> Array:
    """Smooth blotches, as in stone."""
    blotches = np.zeros_like(x)
    for turns in range(1, 7):
        for across in range(-turns, turns + 1):
            blotches += np.cos(2 * np.pi * (turns * x + across * y) + random.uniform(0, 2 * np.pi)) / turns
    return 0.5 + blotches / (2 * np.abs(blotches).max())


def _speckles(x: Array, y: Array, random: np.random.Generator) -> Array:
    return random.choice([0.0, 0.6, 1.0], x.shape, p=[0.06, 0.10, 0.84])


PATTERNS: dict[str, Callable[[Array, Array, np.random.Generator], Array]] = {
    "checks": _checks,
    "grain": _grain,
    "clouds": _clouds,
    "speckles": _speckles,
}


def add_patterns(spec: mujoco.MjSpec, surface: str, per_m: float) -> None:
    """A material `SURFACE/PATTERN` for every pattern, repeated so often per metre. Nothing wears it yet."""
    for name in PATTERNS:
        if spec.texture(name) is None:
            _add_texture(spec, name)
        material = spec.add_material(name=f"{surface}/{name}", texuniform=True, texrepeat=(per_m, per_m))
        material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = name


def _add_texture(spec: mujoco.MjSpec, name: str) -> None:
    along = np.arange(_SIDE_PX) / _SIDE_PX
    x, y = np.meshgrid(along, along)
    shade = np.clip(PATTERNS[name](x, y, np.random.default_rng(_SEED)), 0, 1)
    grey = np.rint(255 * (_DARKEST + (1 - _DARKEST) * shade)).astype(np.uint8)
    texture = spec.add_texture(
        name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=_SIDE_PX, height=_SIDE_PX, nchannel=3
    )
    texture.data = np.repeat(grey[..., None], 3, axis=2).tobytes()


def texels_of(model: mujoco.MjModel, texture: int) -> NDArray[np.uint8]:
    """(n, channels): the texels of a compiled texture, a view."""
    start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
    size = int(model.tex_width[texture]) * int(model.tex_height[texture]) * channels
    return model.tex_data[start : start + size].reshape(-1, channels)
