"""What variations of a scene look like, as rows of plain numbers that a renderer of many worlds can be sent.

A row holds every number of the model in which worlds may be seen to differ. Rows are worked out without a GPU, so that
the process that asks for pictures can do it for the one that renders them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.rendering.stage import VISIBLE_GROUPS
from graspline.scenes.scene import Scene
from graspline.scenes.textures import texels_of
from graspline.scenes.variation import Edit, Variation, numbers_of, write_edits

Singles = NDArray[np.float32]

# Fields of the model in which worlds may differ. The light of the first lamp and the one at the camera that come from
# everywhere are one number here: the renderer has the latter for all worlds together.
_OF_MODEL = (
    "body_pos",
    "body_quat",
    "cam_fovy",
    "cam_pos",
    "cam_quat",
    "geom_matid",
    "geom_rgba",
    "geom_size",
    "light_diffuse",
    "light_dir",
    "light_pos",
    "mat_emission",
    "mat_texrepeat",
)
_AMBIENT = "light_ambient"
_OTHERS = frozenset({"headlight_ambient", "tex_rgb"})
# What no picture shows.
_UNSEEN_KINDS = frozenset({"actuator", "bvh", "dof", "eq"})
_UNSEEN = frozenset(
    {
        "body_gravcomp",
        "body_inertia",
        "body_mass",
        "geom_aabb",
        "geom_friction",
        "geom_rbound",
        "geom_surfacevel",
    }
)
# Rows that are kept in case they are asked for again.
_KEPT = 1024


class AppearanceRows:
    """Rows for one scene; refuses, by a `WiringError`, what would be rendered wrong."""

    def __init__(self, scene: Scene) -> None:
        _refuse(what_warp_cannot_render(scene), scene)
        self._scene = scene
        self._model = copy.copy(scene.model)
        self.fields = tuple(name for name in (*_OF_MODEL, _AMBIENT) if getattr(self._model, name).size)
        sizes = [getattr(self._model, name).size for name in self.fields]
        ends = np.cumsum(sizes).tolist()
        # Where each field of the model is in a row, and the colour of what is seen where nothing is.
        self.places = {name: slice(end - size, end) for name, size, end in zip(self.fields, sizes, ends, strict=True)}
        self.size = ends[-1] + 3
        self.backdrop = slice(ends[-1], self.size)
        self._known: dict[tuple[Edit, ...], Singles] = {}

    def row(self, variation: Variation) -> Singles:
        """(size,): the numbers of one variation, not to be written to."""
        known = self._known.get(variation.edits)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[variation.edits] = self._worked_out(variation)
        return known

    def rows(self, variations: Sequence[Variation]) -> tuple[Singles, NDArray[np.intp]]:
        """The different ones, (m, size), and which of them each variation has, (n,)."""
        different = {id(variation): variation for variation in variations}
        numbers = {key: number for number, key in enumerate(different)}
        rows = np.array([self.row(variation) for variation in different.values()], np.float32)
        which = np.array([numbers[id(variation)] for variation in variations], np.intp)
        return rows.reshape(-1, self.size), which

    def _worked_out(self, variation: Variation) -> Singles:
        _refuse(what_warp_cannot_render(self._scene, variation), self._scene)
        seen = [edit for edit in variation.edits if not _unseen(edit)]
        before = [numbers_of(self._model, edit.field, edit.element).copy() for edit in seen]
        write_edits(self._model, seen)
        row = np.concatenate([np.ravel(getattr(self._model, name)) for name in self.fields] + [_backdrop(self._model)])
        row = row.astype(np.float32)
        first = self.places[_AMBIENT].start
        row[first : first + 3] += self._model.vis.headlight.ambient if self._model.vis.headlight.active else 0
        for edit, numbers in zip(reversed(seen), reversed(before), strict=True):
            numbers_of(self._model, edit.field, edit.element)[...] = numbers
        return row


def what_warp_cannot_render(scene: Scene, variation: Variation | None = None) -> str:
    """What of a scene, or of a variation of it, MuJoCo Warp would render wrong or not at all; empty if nothing."""
    found = _of_scene(scene.model) if variation is None else _of_variation(scene.model, variation.edits)
    return " and ".join(found)


def _refuse(problem: str, scene: Scene) -> None:
    if problem:
        raise WiringError(f"scene {scene.name!r} cannot be rendered by MuJoCo Warp: it has {problem}")


def _of_scene(model: mujoco.MjModel) -> list[str]:
    visible = VISIBLE_GROUPS[model.geom_group] > 0
    alpha = model.geom_rgba[:, 3] * np.append(model.mat_rgba[:, 3], 1)[model.geom_matid]
    skies = [texels_of(model, each)[:, :3] for each in _skyboxes(model)]
    glassy = (model.mat_rgba[:, 3] > 0) & (model.mat_rgba[:, 3] < 1)
    found = {
        "skins or flexes": model.nskin > 0 or model.nflex > 0,
        "translucent geoms": np.any(visible & (alpha > 0) & (alpha < 1)) or np.any(glassy),
        "no light that is on": not model.nlight or not model.light_active[0],
        "orthographic cameras": np.any(model.cam_projection),
        "cameras or lights that turn by themselves": np.any(model.cam_mode) or np.any(model.light_mode),
        "a backdrop of more than one colour": any(len(np.unique(texels, axis=0)) > 1 for texels in skies),
    }
    return [what for what, there in found.items() if there]


def _of_variation(model: mujoco.MjModel, edits: Iterable[Edit]) -> list[str]:
    found = dict[str, None]()
    skies = {model.texture(each).name for each in _skyboxes(model)[:1]}
    for edit in edits:
        if edit.field not in _OF_MODEL and edit.field not in _OTHERS and not _unseen(edit):
            found[f"another {edit.field} in some worlds"] = None
        elif edit.field == "geom_rgba" and 0 < edit.values[3] < 1:
            found["translucent geoms"] = None
        elif edit.field == "tex_rgb" and edit.element not in skies:
            found[f"another texture {edit.element!r} in some worlds"] = None
    return list(found)


def _unseen(edit: Edit) -> bool:
    return edit.field in _UNSEEN or edit.field.split("_", 1)[0] in _UNSEEN_KINDS


def _skyboxes(model: mujoco.MjModel) -> list[int]:
    """Textures that surround the scene; the first is rendered."""
    return np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX.value).tolist()


def _backdrop(model: mujoco.MjModel) -> NDArray[np.uint8]:
    skies = _skyboxes(model)
    return texels_of(model, skies[0])[0, :3] if skies else np.zeros(3, np.uint8)
