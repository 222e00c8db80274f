"""Which renderer this machine can run."""

from __future__ import annotations

import functools
import logging
from typing import Literal, Protocol, Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import EnvironmentProblem
from graspline.rendering.belt_marks import Travelled
from graspline.rendering.framing import Viewpoint
from graspline.rendering.gl import GlRenderer
from graspline.rendering.picture import Array, Picture
from graspline.rendering.rays import RayRenderer
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

RendererKind = Literal["auto", "gl", "rays"]

_LOG = logging.getLogger(__name__)
_DEBIAN_PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"
_TINY_MODEL = '<mujoco><visual><global offwidth="8" offheight="8"/><quality shadowsize="0"/></visual></mujoco>'


class Renderer(Protocol):
    """Renders one scene at one size; what it returns depends on the arguments only."""

    name: str
    width: int
    height: int

    def render(
        self,
        qpos: Array,
        variation: Variation,
        camera: str | Viewpoint,
        *,
        shadows: bool = False,
        travelled_m: Travelled | None = None,
    ) -> Picture:
        """With marks on the surfaces that have moved so far, if that is given."""
        ...

    def geoms(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.int32]:
        """The id of the geom in each pixel."""
        ...

    def depth(self, qpos: Array, variation: Variation, camera: str) -> NDArray[np.float32]:
        """The distance of each pixel along the camera's axis."""
        ...

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *raised: object) -> None: ...


def open_renderer(
    scene: Scene, width: int, height: int, kind: RendererKind = "auto", *, smooth: bool = True
) -> Renderer:
    """A renderer for this scene and size, by OpenGL where this process has it, else by rays. To be closed.

    `smooth` asks OpenGL for antialiased edges.
    """
    problem = None if kind == "rays" else gl_problem()
    if kind == "gl" and problem:
        raise EnvironmentProblem(f"no OpenGL: {problem}; ray-traced images do not need it")
    if kind == "auto" and problem:
        _LOG.info("rendering with rays, no OpenGL: %s", problem)
    if kind == "rays" or problem:
        return RayRenderer(scene, width, height)
    return GlRenderer(scene, width, height, smooth=smooth)


@functools.cache
def gl_problem() -> str | None:
    """Why OpenGL cannot be used in this process, in one line; None where it can. Tried once per process."""
    try:
        _try_gl()
    except Exception as error:
        # Each missing piece (PyOpenGL, libEGL, a driver) raises another kind, AttributeError and TypeError
        # among them, and the kinds PyOpenGL defines cannot be named where it is missing.
        what = " ".join(str(error).split()) or "no reason given"
        return f"{type(error).__name__}: {what} (on Debian: apt install {_DEBIAN_PACKAGES})"
    return None


def _try_gl() -> None:
    """Open a context with an offscreen buffer and give it back, as a renderer would."""
    from mujoco.egl import GLContext

    model = mujoco.MjModel.from_xml_string(_TINY_MODEL)
    context = GLContext(8, 8)
    with context.as_current():
        graphics = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        offscreen = mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value
        mujoco.mjr_setBuffer(offscreen, graphics)
        has_buffer = graphics.currentBuffer == offscreen
        graphics.free()
    context.free()
    if not has_buffer:
        raise RuntimeError("the driver gives no offscreen buffer")
