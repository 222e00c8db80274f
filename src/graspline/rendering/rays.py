"""Pictures without a graphics library: one ray per pixel on `mj_multiRay`, shaded as MuJoCo's OpenGL shades.

A pixel is the geom's colour times what reaches it: ambient light and, from each directional light, diffuse ×
cos. There are no highlights, no antialiasing and no translucency. A geom that wears a texture has the texture's mean
colour all over. A plane is seen from its front only, where OpenGL shows it from behind as tinted glass.
"""

from __future__ import annotations

from typing import Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.rendering.belt_marks import LIGHTER, Travelled, is_marked
from graspline.rendering.framing import Viewpoint
from graspline.rendering.picture import Array, Picture, Pixels, pixel_rays
from graspline.rendering.ray_hits import Hits, cast, look
from graspline.rendering.stage import VISIBLE_GROUPS, Stage
from graspline.scenes.scene import Scene
from graspline.scenes.textures import texels_of
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import rotate, transpose

# Rays of one call start in one point, so a directional light stands this far off: parallel to 1 mrad.
_LIGHT_DISTANCE_M = 1000.0
# A shadow begins this far behind what casts it, or rounding makes surfaces shade themselves.
_SHADOW_GAP_M = 1e-4
_RGB_ROLE = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)


class RayRenderer:
    """Renders one scene at one size, on any machine."""

    name = "rays"

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        _check(scene)
        self.width, self.height = width, height
        self._stage = Stage(scene)
        # One row per texture and a white one, for geoms without: no texture is texture -1.
        means = [texels_of(scene.model, texture).mean(axis=0)[:3] / 255 for texture in range(scene.model.ntex)]
        self._mean_texels = np.array([*means, np.ones(3)])
        self._rays_C = np.empty((0, 3))
        self._rays_fovy_rad = np.nan

    def render(
        self,
        qpos: Array,
        variation: Variation,
        camera: str | Viewpoint,
        *,
        shadows: bool = False,
        travelled_m: Travelled | None = None,
    ) -> Picture:
        """The image that a camera has of a state."""
        self._stage.place(qpos, variation, camera)
        rays = self._rays_W()
        hits = self._see(rays)
        seen = np.flatnonzero(hits.geom >= 0)
        points = self._stage.position_m + hits.length[seen, None] * rays[seen]
        light = self._light(hits.normal[seen], points if shadows else None)
        colour, emission = self._materials()
        geom = hits.geom[seen]
        painted = colour[geom]
        for name, gone in (travelled_m or {}).items():
            painted[self._is_marked(name, geom, points, np.array(gone))] += LIGHTER
        rgb = np.tile(self._backdrop(), (self.height * self.width, 1))
        rgb[seen] = np.rint(255 * np.minimum(painted * (light + emission[geom, None]), 1))
        return self._stage.picture(rgb.reshape(self.height, self.width, 3))

    def geoms(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.int32]:
        """(H, W): the id of the geom seen in each pixel, -1 for the background."""
        self._stage.place(qpos, variation, camera)
        return self._see(self._rays_W()).geom.reshape(self.height, self.width)

    def depth(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.float32]:
        """(H, W): metres along the viewing direction, infinite for the background."""
        self._stage.place(qpos, variation, camera)
        hits = self._see(self._rays_W())
        # Rays have unit depth, so lengths are depths.
        return np.where(hits.geom >= 0, hits.length, np.inf).astype(np.float32).reshape(self.height, self.width)

    def close(self) -> None:
        """Nothing to give back; here so that either renderer can be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _is_marked(self, name: str, geom: NDArray[np.int32], points: Array, gone_m: Array) -> NDArray[np.intp]:
        """Indices of the points that are on a mark of this surface."""
        number = self._stage.model.geom(name).id
        mine = np.flatnonzero(geom == number)
        R_WG = self._stage.data.geom_xmat[number].reshape(3, 3)
        local = rotate(transpose(R_WG), points[mine] - self._stage.data.geom_xpos[number])
        return mine[is_marked(self._stage.model, number, local, gone_m)]

    def _rays_W(self) -> Array:
        """(H·W, 3): the ray of each pixel from the camera in use, of unit depth."""
        if self._stage.fovy_rad != self._rays_fovy_rad:
            self._rays_fovy_rad = self._stage.fovy_rad
            self._rays_C = pixel_rays(self.width, self.height, self._rays_fovy_rad).reshape(-1, 3)
        return rotate(self._stage.rotation, self._rays_C)

    def _see(self, rays: Array) -> Hits:
        return look(self._stage.model, self._stage.data, self._stage.position_m, rays)

    def _materials(self) -> tuple[Array, Array]:
        """Colour (ngeom, 3) and emission (ngeom,) of each visible geom."""
        visible, count = self._stage.visible, self._stage.model.ngeom
        colour, emission = np.zeros((count, 3)), np.zeros(count)
        for geom in visible.geoms[: visible.ngeom]:
            colour[geom.objid], emission[geom.objid] = geom.rgba[:3], geom.emission
            if geom.matid >= 0:
                colour[geom.objid] *= self._mean_texels[self._stage.model.mat_texid[geom.matid, _RGB_ROLE]]
        return colour, emission

    def _backdrop(self) -> Pixels:
        """(3,): what is seen where nothing is."""
        skyboxes = _skyboxes(self._stage.model)
        return skyboxes[0][0] if skyboxes else np.zeros(3, np.uint8)

    def _light(self, normal: Array, points: Array | None) -> Array:
        """(n, 3): what surfaces get of the headlight and the scene's lights; shaded if points are given."""
        visible = self._stage.visible
        light = np.zeros_like(normal)
        for lamp in visible.lights[: visible.nlight]:
            light += lamp.ambient
            direction = lamp.dir.astype(float)
            facing = np.maximum(np.einsum("ij,j->i", normal, -direction), 0)
            if points is not None and lamp.castshadow:
                facing *= self._reached(direction, points)
            light += facing[:, None] * lamp.diffuse
        return light

    def _reached(self, direction: Array, points: Array) -> NDArray[np.bool_]:
        """(n,): whether nothing stands between a surface point and a light that shines along `direction`."""
        origin = self._stage.model.stat.center - _LIGHT_DISTANCE_M * direction
        hits = cast(self._stage.model, self._stage.data, origin, points - origin)
        return (hits.geom < 0) | (hits.length > 1 - _SHADOW_GAP_M / _LIGHT_DISTANCE_M)


def _skyboxes(model: mujoco.MjModel) -> list[Pixels]:
    """The texels (n, 3) of each texture that surrounds the scene; MuJoCo renders the first."""
    kinds = np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX.value)
    return [texels_of(model, texture)[:, :3] for texture in kinds.tolist()]


def _check(scene: Scene) -> None:
    """Refuse, all at once, what OpenGL would render and rays would not."""
    model = scene.model
    visible = VISIBLE_GROUPS[model.geom_group] > 0
    # A material gives its colour to geoms that are left at the default one.
    alpha = model.geom_rgba[:, 3] * np.append(model.mat_rgba[:, 3], 1)[model.geom_matid]
    touches = (model.geom_contype | model.geom_conaffinity) != 0
    beside_colliding = np.isin(model.geom_bodyid, model.geom_bodyid[touches])
    found = {
        "a backdrop of more than one colour": any(len(np.unique(texels, axis=0)) > 1 for texels in _skyboxes(model)),
        "skins or flexes": model.nskin > 0 or model.nflex > 0,
        "lights that are not directional": np.any(model.light_type != mujoco.mjtLightType.mjLIGHT_DIRECTIONAL.value),
        "translucent geoms": np.any(visible & (alpha > 0) & (alpha < 1)),
        # mj_multiRay takes these for the looks of the colliding geom and skips them.
        "visible geoms without a contact bit on a colliding body": np.any(visible & ~touches & beside_colliding),
    }
    problems = [what for what, there in found.items() if there]
    if problems:
        raise WiringError(f"scene {scene.name!r} cannot be rendered with rays: it has {' and '.join(problems)}")
