"""Which engine plays: the CPU's, or a GPU's where there is one."""

from __future__ import annotations

import importlib.util
from typing import Literal

from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.errors import EnvironmentProblem
from graspline.scenes.scene import Scene

EngineKind = Literal["cpu", "gpu"]
EngineChoice = Literal["cpu", "gpu", "auto"]


def open_engine(kind: EngineKind, scene: Scene, count: int, threads: int = 0) -> Engine:
    """So many lanes of a scene; the CPU's on so many threads (0: all cores)."""
    if kind == "cpu":
        return CpuEngine(scene, count, threads)
    missing = what_a_gpu_lacks()
    if missing:
        raise EnvironmentProblem(f"--engine gpu: {missing}")
    from graspline.engine.warp import WarpEngine

    return WarpEngine(scene, count)


def what_a_gpu_lacks() -> str:
    """What this machine lacks for the GPU engine, and what helps; nothing if it can be used."""
    packages = [name for name in ("mujoco_warp", "warp") if importlib.util.find_spec(name) is None]
    if packages:
        return f"{' and '.join(packages)} not installed; pip install 'graspline[gpu]'"
    import warp

    warp.config.quiet = True
    warp.init()
    if not warp.is_cuda_available():
        return "Warp finds no NVIDIA GPU with its driver; `nvidia-smi` must list one, or use --engine cpu"
    return ""
