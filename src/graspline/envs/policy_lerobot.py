"""A checkpoint of LeRobot as a policy of many episodes at once. Runs where lerobot is installed, never in graspline.

`policy_server` loads this file in the policy's process. Everything about the network is lerobot's own: configuration,
weights, pre- and post-processors, temporal ensembling. Only the queues are ours. lerobot keeps one queue of actions and
one of observations for a whole batch, whose rows must move in lock step; episodes of an evaluation begin and end when
they like, so here every episode has its own, and one forward pass serves all episodes whose queue is empty. For a
single episode the actions are those of a loop around lerobot's `select_action`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from typing import Any

import numpy as np

_IMAGES, _STATE = "observation.images", "observation.state"
# Constructing a network downloads these, although a checkpoint brings all weights.
_NO_DOWNLOADS = {"pretrained_backbone_weights": "null"}


class NoDevice(Exception):
    """The device that was asked for is not there."""


class _EpisodeMemory:
    """What is remembered of one episode."""

    def __init__(self) -> None:
        # Actions that wait to be played, in the units of the dataset.
        self.actions: deque[Any] = deque()
        # The last observations, oldest first, as the network gets them.
        self.history: deque[dict[str, Any]] = deque()
        self.ensembler: Any = None
        self.passes = 0


class CheckpointPolicy:
    """The policy of a folder as `lerobot-train` writes it, for all episodes."""

    def __init__(self, folder: str, settings: dict[str, str], device: str) -> None:
        # An evaluation makes no network request; files of the hub come from its cache.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch  # pyright: ignore[reportMissingImports]
        from lerobot.configs.policies import PreTrainedConfig  # pyright: ignore[reportMissingImports]
        from lerobot.policies.factory import (  # pyright: ignore[reportMissingImports]
            get_policy_class,
            make_pre_post_processors,
        )

        if device.startswith("cuda") and not torch.cuda.is_available():
            raise NoDevice(f"--policy-device {device}: its torch {torch.__version__} finds no such device")
        self._torch = torch
        with open(os.path.join(folder, "config.json")) as file:
            known = json.load(file)
        overrides = {key: value for key, value in _NO_DOWNLOADS.items() if known.get(key) is not None}
        overrides |= {"device": device} if device else {}
        config = PreTrainedConfig.from_pretrained(
            folder, cli_overrides=[f"--{key}={value}" for key, value in (overrides | settings).items()]
        )
        # Strictly: weights that are missing in the file would stay random numbers.
        self._policy = get_policy_class(config.type).from_pretrained(folder, config=config, strict=True)
        self._before, self._after = make_pre_post_processors(
            config, pretrained_path=folder, preprocessor_overrides=_step_overrides(folder, config, settings)
        )
        self._config = config
        self._remembers = (config.n_obs_steps or 1) > 1
        self._coefficient = getattr(config, "temporal_ensemble_coeff", None)
        self._episodes: dict[int, _EpisodeMemory] = {}

    def ended(self, episodes: list[int]) -> None:
        """These episodes have ended."""
        for episode in episodes:
            self._episodes.pop(episode, None)

    def many(self, observations: list[dict[str, Any]], episodes: list[int], seeds: list[int]) -> Any:
        """One action for each, (n, joints), in the units of the dataset."""
        own = [self._episodes.setdefault(each, _EpisodeMemory()) for each in episodes]
        if self._remembers:
            self._remember(observations, own)
        empty = [row for row, each in enumerate(own) if not each.actions]
        if empty:
            asked = [own[row] for row in empty]
            # What a policy samples is decided by the seeds of its episodes and by how far they are.
            noise_seeds = [(seeds[row], own[row].passes) for row in empty]
            self._torch.manual_seed(int(np.random.SeedSequence(np.ravel(noise_seeds).tolist()).generate_state(1)[0]))
            batch = self._recalled(asked) if self._remembers else self._batch([observations[row] for row in empty])
            self._fill(asked, self._chunk(batch))
        return np.stack([each.actions.popleft() for each in own])

    def _batch(self, observations: list[dict[str, Any]]) -> dict[str, Any]:
        """Observations as the network gets them: through lerobot's own preprocessor, all at once."""
        torch, device = self._torch, self._config.device
        batch: dict[str, Any] = {"task": [each["task"] for each in observations], "robot_type": ""}
        states = np.stack([each["agent_pos"] for each in observations])
        batch[_STATE] = torch.from_numpy(states).to(device)
        for camera in observations[0].get("pixels", {}):
            pictures = torch.from_numpy(np.stack([each["pixels"][camera] for each in observations])).to(device)
            batch[f"{_IMAGES}.{camera}"] = pictures.permute(0, 3, 1, 2).float() / 255
        return self._before(batch)

    def _remember(self, observations: list[dict[str, Any]], own: list[_EpisodeMemory]) -> None:
        """Add these to what is remembered; the first of an episode counts as often as there is room, as in lerobot."""
        batch = self._batch(observations)
        tensors = {key: value for key, value in batch.items() if self._torch.is_tensor(value)}
        for row, each in enumerate(own):
            seen = {key: value[row] for key, value in tensors.items()}
            while len(each.history) < self._config.n_obs_steps - 1:
                each.history.append(seen)
            each.history.append(seen)
            if len(each.history) > self._config.n_obs_steps:
                each.history.popleft()

    def _recalled(self, own: list[_EpisodeMemory]) -> dict[str, Any]:
        """The last observation of each; the policy's own queues are filled with those before it."""
        from lerobot.policies.utils import populate_queues  # pyright: ignore[reportMissingImports]

        self._policy.reset()
        batch: dict[str, Any] = {}
        for step in range(self._config.n_obs_steps):
            keys = own[0].history[step]
            batch = {key: self._torch.stack([each.history[step][key] for each in own]) for key in keys}
            if self._config.image_features:
                batch[_IMAGES] = self._torch.stack([batch[key] for key in self._config.image_features], dim=-4)
            self._policy._queues = populate_queues(self._policy._queues, batch)
        return batch

    def _chunk(self, batch: dict[str, Any]) -> Any:
        """The next actions of every row, (n, steps, joints), as the network gives them."""
        torch = self._torch
        kind = torch.device(self._config.device).type
        mixed = torch.autocast(kind) if self._config.use_amp else contextlib.nullcontext()
        with torch.inference_mode(), mixed:
            chunk = self._policy.predict_action_chunk(batch)
        # Its own queues stay empty: ours are the ones that are played.
        self._policy.reset()
        if chunk.ndim != 3:
            raise ValueError(
                f"policies of type {self._config.type} give an array of shape {tuple(chunk.shape)} instead of chunks "
                "of actions, (episodes, steps, joints), and cannot be asked for many episodes"
            )
        return chunk

    def _fill(self, own: list[_EpisodeMemory], chunk: Any) -> None:
        """Queue what is to be played before the network is asked again."""
        torch = self._torch
        with torch.inference_mode():
            if self._coefficient is not None:
                chunk = torch.stack([self._ensembled(each, row) for each, row in zip(own, chunk.cpu(), strict=True)])
            else:
                chunk = chunk[:, : self._config.n_action_steps]
            actions = self._after(chunk).float().cpu().numpy()
        for each, row in zip(own, actions, strict=True):
            each.actions.extend(row)
            each.passes += 1

    def _ensembled(self, episode: _EpisodeMemory, chunk: Any) -> Any:
        """The next action alone, (1, joints), the average of what all chunks so far say about it."""
        if episode.ensembler is None:
            kind = type(self._policy.temporal_ensembler)
            episode.ensembler = kind(self._coefficient, self._config.chunk_size)
        return episode.ensembler.update(chunk[None].clone())


def _step_overrides(folder: str, config: Any, settings: dict[str, str]) -> dict[str, Any]:
    """What steps of the preprocessor must know of where the policy runs now; a step that is not there takes none."""
    with open(os.path.join(folder, "policy_preprocessor.json")) as file:
        steps = {each.get("registry_name") for each in json.load(file)["steps"]}
    wanted: dict[str, Any] = {"device_processor": {"device": config.device}}
    if "vlm_model_name" in settings:
        wanted["tokenizer_processor"] = {"tokenizer_name": settings["vlm_model_name"]}
    return {name: value for name, value in wanted.items() if name in steps}
