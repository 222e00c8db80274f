"""What renders the pictures that policies see: worker processes on the CPU, or a GPU."""

from __future__ import annotations

from collections.abc import Callable

from graspline.engine.protocol import EngineKind
from graspline.envs.interface import Interface
from graspline.episodes.processes import cores
from graspline.episodes.render_pool import RenderPool
from graspline.rendering.batches import OpenSource, PictureSource
from graspline.scenes.scene import Scene


def source_for(
    engine: EngineKind,
    scene: Scene,
    interface: Interface,
    *,
    smooth: bool,
    say: Callable[[str], object],
    device: str = "cuda:0",
) -> OpenSource | None:
    """What renders the pictures of this interface for all lanes at once; None without cameras.

    With a GPU it is the GPU, unless it would render the scene wrong: `say` is called with why then.
    """
    if not interface.views:
        return None
    if engine == "gpu":
        from graspline.gpu.looks import what_warp_cannot_render

        problem = "edges that are antialiased" if smooth else what_warp_cannot_render(scene)
        if not problem:
            return lambda scene, lanes: _on_gpu(scene, lanes, device, say)
        say(f"pictures are rendered on the CPU: a GPU cannot render {problem}")
    return lambda scene, lanes: _on_cpu(scene, lanes, smooth=smooth)


def _on_cpu(scene: Scene, lanes: int, *, smooth: bool) -> PictureSource | None:
    """A worker for each core; none where there is nothing to share out, for a lane looks once at a time."""
    workers = min(lanes, cores())
    return RenderPool(scene, workers, smooth=smooth) if workers > 1 else None


def _on_gpu(scene: Scene, lanes: int, device: str, say: Callable[[str], object]) -> PictureSource:
    # Imports Warp, which is not everywhere.
    from graspline.gpu.pictures import WarpPictures

    return WarpPictures(scene, lanes, device, lambda: RenderPool(scene, min(lanes, cores())), say)
