"""Pictures by OpenGL, through EGL: no display, no window, and no environment variable."""

from __future__ import annotations

from typing import Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.rendering.belt_marks import Travelled
from graspline.rendering.framing import Viewpoint
from graspline.rendering.picture import Array, Picture, Pixels
from graspline.rendering.stage import Stage
from graspline.scenes.scene import Scene
from graspline.scenes.textures import texels_of
from graspline.scenes.variation import Variation

# A quarter of MuJoCo's default: a renderer opens sooner, a shadow costs half as much, and its edge is soft.
_SHADOW_MAP_PX = 768
_FLAG = mujoco.mjtRndFlag


class GlRenderer:
    """Renders one scene at one size. One thread at a time may use it, and no process that holds one may fork.

    Edges are smooth unless `smooth` is false, which takes a third of the time. Opening raises what graphics libraries
    raise; see `gl_problem`.
    """

    name = "gl"

    def __init__(self, scene: Scene, width: int, height: int, *, smooth: bool = True) -> None:
        # Imported late: where EGL or PyOpenGL is missing, this import raises one of several unrelated errors.
        from mujoco.egl import GLContext

        self.width, self.height, self._smooth = width, height, smooth
        self._stage = Stage(scene)
        self._stage.visible.flags[_FLAG.mjRND_REFLECTION] = 0
        self._viewport = mujoco.MjrRect(0, 0, width, height)
        self._gl = GLContext(width, height)
        self._planes = np.flatnonzero(scene.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE.value)
        self._context = self._upload()
        self._closed = False

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
        self._place(qpos, variation, camera)
        self._stage.mark(travelled_m or {})
        flags = self._stage.visible.flags
        flags[_FLAG.mjRND_SHADOW] = shadows
        flags[_FLAG.mjRND_SEGMENT] = flags[_FLAG.mjRND_IDCOLOR] = 0
        return self._stage.picture(self._colours())

    def geoms(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.int32]:
        """(H, W): the id of the geom seen in each pixel, -1 for the background."""
        self._place(qpos, variation, camera)
        self._colour_by_id()
        code = self._colours().astype(np.int32)
        row = code[..., 0] | code[..., 1] << 8 | code[..., 2] << 16
        visible = self._stage.visible
        ids = np.full(visible.ngeom + 1, -1, np.int32)
        for geom in visible.geoms[: visible.ngeom]:
            ids[geom.segid + 1] = geom.objid
        return ids[row]

    def depth(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.float32]:
        """(H, W): metres along the viewing direction, infinite for the background."""
        self._place(qpos, variation, camera)
        # Rendered by id, each pixel has the depth of its centre; antialiased, that of some point in it.
        self._colour_by_id()
        buffer = np.empty((self.height, self.width), np.float32)
        with self._gl.as_current():
            mujoco.mjr_render(self._viewport, self._stage.visible, self._context)
            mujoco.mjr_readPixels(None, buffer, self._viewport, self._context)
        lens = self._stage.visible.camera[0]
        near, far = float(lens.frustum_near), float(lens.frustum_far)
        # The buffer runs from 1 at the near plane to 0 at the far one, linearly in 1 / depth.
        inverse = buffer[::-1] * (1 / near - 1 / far) + 1 / far
        return np.where(buffer[::-1] > 0, 1 / inverse, np.inf).astype(np.float32)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        if self._closed:
            return
        with self._gl.as_current():
            self._context.free()
        self._gl.free()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _upload(self) -> mujoco.MjrContext:
        """Put meshes and planes on the graphics side, with a buffer of this picture's size."""
        visual = self._stage.model.vis
        visual.global_.offwidth, visual.global_.offheight = self.width, self.height
        visual.quality.shadowsize = _SHADOW_MAP_PX
        if not self._smooth:
            visual.quality.offsamples = 0
        with self._gl.as_current():
            context = mujoco.MjrContext(self._stage.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value
        self._uploaded = self._stage.model
        return context

    def _place(self, qpos: Array, variation: Variation, camera: str | Viewpoint) -> None:
        if self._closed:
            raise WiringError("this renderer is closed")
        varied = self._stage.place(qpos, variation, camera)
        if varied:
            self._upload_what_differs()

    def _upload_what_differs(self) -> None:
        model, uploaded = self._stage.model, self._uploaded
        # Boxes, balls and the like are scaled as they are rendered; a plane's size is fixed when it is uploaded.
        if not np.array_equal(model.geom_size[self._planes], uploaded.geom_size[self._planes]):
            with self._gl.as_current():
                self._context.free()
            self._context = self._upload()
            return
        for texture in range(model.ntex):
            if not np.array_equal(texels_of(model, texture), texels_of(uploaded, texture)):
                with self._gl.as_current():
                    mujoco.mjr_uploadTexture(model, self._context, texture)
        self._uploaded = model

    def _colour_by_id(self) -> None:
        flags = self._stage.visible.flags
        flags[_FLAG.mjRND_SHADOW] = 0
        flags[_FLAG.mjRND_SEGMENT] = flags[_FLAG.mjRND_IDCOLOR] = 1

    def _colours(self) -> Pixels:
        buffer = np.empty((self.height, self.width, 3), np.uint8)
        with self._gl.as_current():
            mujoco.mjr_render(self._viewport, self._stage.visible, self._context)
            mujoco.mjr_readPixels(buffer, None, self._viewport, self._context)
        # OpenGL counts rows from the bottom.
        return np.ascontiguousarray(buffer[::-1])
