"""Which engine plays: the CPU's, or a GPU's where there is one."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from graspline.choices import EngineChoice
from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine, EngineKind
from graspline.errors import EnvironmentProblem, InputError
from graspline.scenes.scene import Scene

if TYPE_CHECKING:
    from graspline.gpu.engine import WarpEngine

GPU = "cuda:0"
_DRIVER = "install one until `nvidia-smi` lists a GPU, or use the CPU"


def chosen(choice: EngineChoice, say: Callable[[str], None]) -> EngineKind:
    """The engine that is asked for; `auto` takes a GPU where there is one, and says so if there is none."""
    if choice == "cpu":
        return "cpu"
    if choice == "gpu":
        check_gpu("--engine gpu")
    missing = what_a_gpu_lacks()
    if not missing:
        return "gpu"
    say(f"--engine auto uses the CPU: {missing}")
    return "cpu"


def check_gpu(option: str) -> None:
    """Refuse an option that needs a GPU where there is none, with what is missing."""
    if missing := what_a_gpu_lacks():
        raise EnvironmentProblem(f"{option}: {missing}")


def open_engine(kind: EngineKind, scene: Scene, count: int, threads: int = 0) -> Engine:
    """Engine with `count` lanes of a scene; the CPU's on `threads` threads (0: all cores)."""
    if kind == "cpu":
        return CpuEngine(scene, count, threads)
    return open_gpu_engine(scene, count)


def open_gpu_engine(scene: Scene, count: int, device: str = GPU) -> WarpEngine:
    """On the first GPU, or on another device that Warp knows."""
    if scene.solids:
        meshes = ", ".join(scene.solids)
        raise InputError(
            f"--engine gpu plays no objects that are meshes, and this scene has {meshes}; use --engine cpu"
        )
    if device == GPU:
        chosen("gpu", print)
    from graspline.gpu.engine import WarpEngine

    try:
        return WarpEngine(scene, count, device)
    except (RuntimeError, MemoryError) as error:
        # Warp's only word for it.
        if "alloc" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise EnvironmentProblem(
            f"--engine gpu: {count} lanes of scene {scene.name!r} do not fit into the GPU's memory{_free(device)}; "
            "use fewer --lanes, or --engine cpu"
        ) from error


def _free(device: str) -> str:
    import warp

    found = warp.get_device(device)
    return f", of which {found.free_memory / 2**30:.1f} GiB are free" if found.is_cuda else ""


def what_a_gpu_lacks() -> str:
    """What this machine lacks for the GPU engine, and what helps; nothing if it can be used."""
    packages = [name for name in ("mujoco_warp", "warp") if importlib.util.find_spec(name) is None]
    if packages:
        return f"{' and '.join(packages)} not installed; pip install 'graspline[gpu]'"
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return f"no NVIDIA driver; {_DRIVER}"
    import warp

    warp.config.log_level = warp.LOG_ERROR
    warp.init()
    return "" if warp.is_cuda_available() else f"the NVIDIA driver finds no GPU that Warp can use; {_DRIVER}"
