"""A checkpoint of `train_act.py` as a policy, for a machine without lerobot.

    export ACT_CHECKPOINT=out/act ACT_PLAY=25 PYTHONPATH=examples/policies:unpacked
    graspline eval lift-cube --policy act_policy:Policy --cameras front:160x120,wrist:160x120 --lanes 64

Where lerobot is installed, `--policy lerobot:out/act` does the same with lerobot's own code around the network. Here
only the network is lerobot's. ACT_PLAY is n_action_steps, how many actions of a chunk are played; ACT_ENSEMBLE is
temporal_ensemble_coeff, with which the network is asked on every frame and what its chunks say is averaged.
"""

from __future__ import annotations

import json
import os
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from act_checkpoint import ActConfig, Feature, stock_act
from act_files import ACTION, IMAGES, STATE
from safetensors.torch import load_file

# Images that pass the network at once.
BATCH = 256


def find(folder: Path) -> Path:
    """The folder with the weights: the one given, or the last of a training run."""
    found = [folder / inside for inside in ("", "pretrained_model", "checkpoints/last/pretrained_model")]
    return next((each for each in found if (each / "model.safetensors").is_file()), folder)


class Policy:
    """Answers for all episodes; each has its own queue of actions."""

    def __init__(self) -> None:
        folder = find(Path(os.environ["ACT_CHECKPOINT"]))
        plain = json.loads((folder / "config.json").read_text())
        for key in ("input_features", "output_features"):
            plain[key] = {name: Feature(each["type"], tuple(each["shape"])) for name, each in plain[key].items()}
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        config = ActConfig(**plain | {"device": self._device})
        self._policy = stock_act()(config)
        self._policy.load_state_dict(load_file(folder / "model.safetensors"))
        self._policy.to(self._device).eval()
        stats = load_file(next(folder.glob("policy_preprocessor_step_*_normalizer_processor.safetensors")))
        self._stats = {key: each.to(self._device) for key, each in stats.items()}
        self._play = int(os.environ.get("ACT_PLAY") or config.n_action_steps)
        ensemble = os.environ.get("ACT_ENSEMBLE") or config.temporal_ensemble_coeff
        self._fade = None if ensemble is None else float(ensemble)
        self._queues: dict[int, deque[np.ndarray]] = {}
        self._averages: dict[int, _Average] = {}

    def ended(self, episodes: list[int]) -> None:
        for each in episodes:
            self._queues.pop(each, None)
            self._averages.pop(each, None)

    def many(self, observations: list[dict[str, Any]], episodes: list[int]) -> np.ndarray:
        """One action for each, (n, joints)."""
        if self._fade is not None:
            chunks = self._chunks(observations)
            averages = [self._averages.setdefault(each, _Average(self._fade)) for each in episodes]
            return np.stack([average.next(chunk) for average, chunk in zip(averages, chunks, strict=True)])
        queues = [self._queues.setdefault(each, deque()) for each in episodes]
        empty = [row for row, queue in enumerate(queues) if not queue]
        if empty:
            for row, chunk in zip(empty, self._chunks([observations[row] for row in empty]), strict=True):
                queues[row].extend(chunk[: self._play])
        return np.stack([queue.popleft() for queue in queues])

    def _chunks(self, observations: list[dict[str, Any]]) -> np.ndarray:
        """(n, chunk, joints) in the units of the dataset."""
        parts = [self._chunk(observations[first : first + BATCH]) for first in range(0, len(observations), BATCH)]
        return np.concatenate(parts)

    @torch.inference_mode()
    def _chunk(self, observations: list[dict[str, Any]]) -> np.ndarray:
        states = torch.from_numpy(np.stack([each["agent_pos"] for each in observations])).to(self._device).float()
        batch = {STATE: (states - self._stat(STATE, "mean")) / (self._stat(STATE, "std") + 1e-8)}
        for camera in observations[0]["pixels"]:
            images = torch.from_numpy(np.stack([each["pixels"][camera] for each in observations])).to(self._device)
            mean, std = (self._stat(IMAGES + camera, name) for name in ("mean", "std"))
            batch[IMAGES + camera] = (images.permute(0, 3, 1, 2).float() / 255 - mean) / (std + 1e-8)
        chunk = self._policy.predict_action_chunk(batch).float()
        return (chunk * (self._stat(ACTION, "std") + 1e-8) + self._stat(ACTION, "mean")).cpu().numpy()

    def _stat(self, key: str, name: str) -> torch.Tensor:
        return self._stats[f"{key}.{name}"]


class _Average:
    """What all chunks of an episode say about its next frame; the weight of a later one is exp(-fade) that before."""

    def __init__(self, fade: float) -> None:
        self._fade, self._sum, self._weight, self._count = fade, np.zeros((0, 0)), np.zeros(0), np.zeros(0)

    def next(self, chunk: np.ndarray) -> np.ndarray:
        """The average for this frame, (joints,)."""
        left = len(self._weight)
        total, weight, count = np.zeros_like(chunk), np.zeros(len(chunk)), np.zeros(len(chunk))
        if left:
            total[:left], weight[:left], count[:left] = self._sum, self._weight, self._count
        new = np.exp(-self._fade * count)
        total, weight, count = total + new[:, None] * chunk, weight + new, count + 1
        self._sum, self._weight, self._count = total[1:], weight[1:], count[1:]
        return total[0] / weight[0]


if __name__ == "__main__":
    raise SystemExit(__doc__)
