"""The look of films: light, backdrop and surfaces of a scene as in a photograph of a tidy lab.

Nothing but films is rendered from a dressed scene. What tasks and datasets see is rendered from the scene itself.
"""

from __future__ import annotations

import copy
import dataclasses

import mujoco
import numpy as np

from graspline.rendering.framing import Viewpoint, direction
from graspline.rendering.picture import Array
from graspline.scenes.scene import Scene
from graspline.scenes.textures import texels_of

# Light that comes from everywhere, from the lamp that casts shadows, and from the lamps that lighten them: a warm key
# and cooler rest, so that shadows are neither black nor grey. A white surface that faces the key is just not white.
_AMBIENT, _KEY, _FILL = (0.45, 0.46, 0.485), (0.56, 0.535, 0.49), (0.17, 0.175, 0.185)
_HIGHLIGHT = 0.22
# Where the lamps shine to: to the right of the picture, away from the camera, up.
_KEY_TO, _FILL_TO = (-0.42, 0.60, -1.0), (0.8, 0.5, -0.55)
# How far from the middle of the picture shadows are cast, and how far away lamps are, in distances of the camera.
_SHADOWS_REACH, _LAMPS_FAR = 0.75, 2.0
# Of the backdrop, from straight above to straight below.
_ABOVE, _LEVEL, _BELOW = (0.97, 0.97, 0.965), (0.89, 0.89, 0.88), (0.64, 0.64, 0.64)
# Wood of which surfaces are that could be: how often its pattern is repeated, and how much of its contrast is left.
_GRAIN, _GRAIN_TIMES, _GRAIN_CONTRAST = "grain", 2.0, 0.55


def dressed(scene: Scene, viewpoint: Viewpoint) -> Scene:
    """A copy of a scene for a film with this camera; a variation changes it as it changes the scene."""
    model = copy.copy(scene.model)
    _light(model, viewpoint)
    _paint_backdrop(model)
    _lay_grain(model, scene)
    return dataclasses.replace(scene, model=model)


def _light(model: mujoco.MjModel, viewpoint: Viewpoint) -> None:
    headlight = model.vis.headlight
    headlight.ambient[:] = _AMBIENT
    # (right, away, up) in W.
    away = direction(viewpoint.azimuth_rad, 0.0)
    axes = np.stack([[away[1], -away[0], 0.0], away, [0.0, 0.0, 1.0]], axis=1)
    key = next(iter(np.flatnonzero(model.light_castshadow)), -1)
    for lamp in range(model.nlight):
        is_key = lamp == key
        to: Array = axes @ np.array(_KEY_TO if is_key else _FILL_TO)
        to /= np.linalg.norm(to)
        model.light_castshadow[lamp] = is_key
        model.light_diffuse[lamp] = _KEY if is_key else _FILL
        model.light_specular[lamp] = _HIGHLIGHT if is_key else 0.0
        model.light_dir[lamp] = to
        model.light_pos[lamp] = viewpoint.target_m - _LAMPS_FAR * viewpoint.distance_m * to
    model.vis.map.shadowclip = _SHADOWS_REACH * viewpoint.distance_m / model.stat.extent


def _paint_backdrop(model: mujoco.MjModel) -> None:
    """From light above to darker below, the same all round."""
    for texture in np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX.value).tolist():
        texels = texels_of(model, texture)
        side = int(model.tex_width[texture])
        if len(texels) != 6 * side * side:
            continue
        # A side of the cube spans 45 degrees up and down.
        down = (np.arange(side) + 0.5) / side
        shades = np.array([np.interp(down, (0, 0.5, 1), column) for column in zip(_ABOVE, _LEVEL, _BELOW, strict=True)])
        faces = np.empty((6, side, side, 3))
        faces[...] = shades.T[:, None]
        # MuJoCo's order: right, left, up, down, front, back.
        faces[2], faces[3] = shades[:, 0], shades[:, -1]
        texels[:, :3] = np.rint(255 * faces).reshape(-1, 3)


def _lay_grain(model: mujoco.MjModel, scene: Scene) -> None:
    """Furniture that could be of wood, and is plain, is of wood."""
    materials = {model.mat(index).name: index for index in range(model.nmat)}
    moved = {*scene.object_names, *scene.place_names, *scene.people}
    for surface, geoms in scene.surfaces.items():
        material = materials.get(f"{surface}/{_GRAIN}")
        if material is None or surface in moved:
            continue
        model.mat_texrepeat[material] *= _GRAIN_TIMES
        for geom in geoms:
            if model.geom(geom).matid[0] < 0:
                model.geom(geom).matid = material
    for texture in range(model.ntex):
        if model.tex(texture).name == _GRAIN:
            texels = texels_of(model, texture)
            texels[...] = np.rint(255 - _GRAIN_CONTRAST * (255.0 - texels))
