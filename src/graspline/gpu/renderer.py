"""Pictures of many worlds at once, by MuJoCo Warp's ray caster, from the same cameras as OpenGL's.

One ray goes through the middle of each pixel, as in OpenGL without antialiasing. Of a thousand pixels at most one shows
another geom than there, because balls and cylinders have no corners here. Colours are those of OpenGL to 2 of 255 on 98
of 100 pixels at 320×240, and rounded down. More differ where surfaces wear patterns finer than a pixel, which are not
smoothed, and on boxes with patterns, which are mirrored on the sides of -x, +y and -z: in `tidy` up to one in twelve,
by 1.3 on average. There are no shadows. Nothing is too near to be seen, where OpenGL cuts off the first hundredth of
the scene's extent, and a plane cannot be seen from behind.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.gpu.looks import AppearanceRows, Singles
from graspline.gpu.renderer_kernels import take, unpack
from graspline.rendering.picture import Array, Pixels
from graspline.rendering.stage import VISIBLE_GROUPS, camera_id
from graspline.scenes.scene import Scene
from graspline.scenes.textures import texels_of
from graspline.scenes.variation import Variation

# Flags of physics, which is never stepped here, that MuJoCo Warp does not know.
_UNKNOWN_FLAGS = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET) | int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)

# Batches between which memory is shared out: one is rendered while another's pictures are taken away.
_UNDER_WAY = 2


class WarpRenderer:
    """Renders up to `worlds` states of one scene at a time, at one size, on a Warp device, which must be there."""

    name = "warp"

    def __init__(self, scene: Scene, width: int, height: int, worlds: int, device: str = "cuda:0") -> None:
        warp.config.log_level = warp.LOG_ERROR
        warp.init()
        self.width, self.height, self.worlds, self.device = width, height, worlds, device
        self._scene, self._looks = scene, AppearanceRows(scene)
        host = _host_model(scene)
        with warp.ScopedDevice(device):
            batched = dict.fromkeys(self._looks.fields, worlds)
            self._model: Any = mujoco_warp.put_model(host, batch_sizes=batched)
            # MuJoCo Warp takes what is fixed to the world to be where the model has it; here it is not.
            self._model.body_weldid.fill_(1)
            # Nothing touches here, so there is room for no contact.
            self._data: Any = mujoco_warp.make_data(host, nworld=worlds, nconmax=0, njmax=0)
            self._context = _context(host, width, height, worlds)
            self._rgb = warp.zeros((worlds, height * width, 3), dtype=warp.uint8)
            self._backdrop = warp.zeros((worlds, 3), dtype=warp.uint8)
            # What a batch differs in, a row for each world: coordinates, looks, and in the first row the camera.
            self._numbers = warp.zeros((worlds, scene.model.nq + self._looks.size + 1), dtype=warp.float32)
        pinned = {"device": "cpu", "pinned": device != "cpu"}
        self._sent, self._got = (
            [warp.zeros(of.shape, dtype=of.dtype, **pinned) for _ in range(_UNDER_WAY)]
            for of in (self._numbers, self._rgb)
        )
        self._begun = 0
        self._graph: Any = None

    def render_many(self, qpos: Array, variations: Sequence[Variation], camera: str) -> Pixels:
        """(n, H, W, 3): any number of states (n, nq), each with its variation."""
        pictures = np.empty((len(qpos), self.height, self.width, 3), np.uint8)
        rows, which = self._looks.rows(variations)
        for first in range(0, len(qpos), self.worlds):
            chunk = slice(first, first + self.worlds)
            pictures[chunk] = self.render_looks(qpos[chunk], rows[which[chunk]], camera)
        return pictures

    def render_looks(self, qpos: NDArray[np.floating], looks: Singles, camera: str) -> Pixels:
        """(n, H, W, 3): up to `worlds` states with rows of `AppearanceRows`; overwritten by the call after the next."""
        return self.begin_looks(qpos, looks, camera)()

    def begin_looks(self, qpos: NDArray[np.floating], looks: Singles, camera: str) -> Callable[[], Pixels]:
        """The same without waiting: the device renders, and what is given back waits for the pictures.

        Two batches may be under way; with the third, the pictures of the first are overwritten.
        """
        count = len(qpos)
        if np.shape(qpos) != (count, self._scene.model.nq) or not 0 < count <= self.worlds:
            raise InputError(
                f"scene {self._scene.name!r} has {self._scene.model.nq} coordinates and up to {self.worlds} states are "
                f"rendered at once, got qpos {np.shape(qpos)}"
            )
        sent, got = (each[self._begun % _UNDER_WAY] for each in (self._sent, self._got))
        self._begun += 1
        rows = sent.numpy()
        rows[:count, : qpos.shape[1]] = qpos
        rows[:count, qpos.shape[1] : -1] = looks
        rows[0, -1] = camera_id(self._scene, camera)
        with warp.ScopedDevice(self.device) as device:
            warp.copy(self._numbers, sent, count=count * self._numbers.shape[1])
            self._run()
            warp.copy(got, self._rgb, count=count * self.height * self.width * 3)
            rendered = warp.record_event() if device.is_cuda else None

        def pictures() -> Pixels:
            if rendered is not None:
                warp.synchronize_event(rendered)
            found: Any = got.numpy()
            return found[:count].reshape(count, self.height, self.width, 3)

        return pictures

    def _run(self) -> None:
        """Render all worlds; on a GPU by a graph that was captured the first time."""
        if self._graph is not None:
            warp.capture_launch(self._graph)
            return
        self._render()
        if warp.get_device(self.device).is_cuda:
            with warp.ScopedCapture() as capture:
                self._render()
            self._graph = capture.graph

    def _render(self) -> None:
        self._take_numbers()
        mujoco_warp.kinematics(self._model, self._data)
        mujoco_warp.camlight(self._model, self._data)
        mujoco_warp.refit_bvh(self._model, self._data, self._context)
        mujoco_warp.render(self._model, self._data, self._context)
        inputs = [self._context.rgb_data, self._backdrop]
        warp.launch(unpack, dim=self._context.rgb_data.shape, inputs=inputs, outputs=[self._rgb])

    def _take_numbers(self) -> None:
        """Into the coordinates, the fields of the model, the backdrops, and the camera that all worlds have."""
        nq = self._scene.model.nq
        fields = {nq + at.start: getattr(self._model, name) for name, at in self._looks.places.items()}
        fields |= {
            0: self._data.qpos,
            nq + self._looks.backdrop.start: self._backdrop,
            nq + self._looks.size: self._context.cam_id_map,
        }
        for first, field in fields.items():
            rows = _as_rows(field)
            warp.launch(take, dim=rows.shape, inputs=[self._numbers, first], outputs=[rows])


def _host_model(scene: Scene) -> mujoco.MjModel:
    """The scene's, less what worlds bring along and what MuJoCo Warp does not know."""
    host = copy.copy(scene.model)
    host.opt.disableflags = int(host.opt.disableflags) & ~_UNKNOWN_FLAGS
    headlight = host.vis.headlight
    headlight.ambient = 0
    headlight.active = bool(headlight.active) and bool(np.any(headlight.diffuse) or np.any(headlight.specular))
    return host


def _context(host: mujoco.MjModel, width: int, height: int, worlds: int) -> Any:
    """With room for one camera, whichever it is."""
    shiny = np.any(host.light_specular) or bool(host.vis.headlight.active)
    context: Any = mujoco_warp.create_render_context(
        host,
        nworld=worlds,
        cam_res=(width, height),
        cam_active=[0],
        render_rgb=True,
        render_depth=False,
        render_seg=False,
        use_textures=bool(np.any(host.mat_texid >= 0)),
        use_fast_math=False,
        enabled_geom_groups=np.flatnonzero(VISIBLE_GROUPS).tolist(),
        # Of no opacity, so that it differs from what was hit.
        background_color=(0.0, 0.0, 0.0, 0.0),
        # Each world's camera has an angle of its own.
        use_precomputed_rays=False,
        enable_specular=bool(shiny),
    )
    if context.use_textures:
        context.textures_registry = [_texture(host, index) for index in range(host.ntex)]
        context.textures = warp.array(context.textures_registry, dtype=warp.Texture2D)
    return context


def _texture(host: mujoco.MjModel, index: int) -> warp.Texture2D:
    """One that goes on where it ends, as in OpenGL; MuJoCo Warp's own has a seam there."""
    size = int(host.tex_height[index]), int(host.tex_width[index]), -1
    texels = texels_of(host, index)[:, :3].reshape(size)
    with_alpha = np.concatenate([texels, np.full_like(texels[..., :1], 255)], axis=2)
    return warp.Texture2D(
        with_alpha,
        filter_mode=warp.TextureFilterMode.LINEAR,
        address_mode=warp.TextureAddressMode.WRAP,
    )


def _as_rows(array: Any) -> Any:
    """An array of the device as plain numbers, a row for each world, whatever its elements are made of."""
    # As numpy has it: only there are elements of several numbers taken apart.
    plain = warp.empty((1,), dtype=array.dtype, device="cpu").numpy()
    shape, kind = (array.shape[0], array.size * plain.size // array.shape[0]), warp.dtype_from_numpy(plain.dtype)
    return warp.array(ptr=array.ptr, dtype=kind, shape=shape, device=array.device, copy=False)
