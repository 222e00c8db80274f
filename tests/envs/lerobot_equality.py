"""Run by a Python with lerobot: actions for many episodes against lerobot's own `select_action`, one by one.

`python lerobot_equality.py policy_lerobot.py KIND FOLDER`: makes a small random policy of that kind, saves it as
lerobot does, and prints the greatest difference between both ways of asking it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch  # pyright: ignore[reportMissingImports]
from lerobot.configs.types import FeatureType, PolicyFeature  # pyright: ignore[reportMissingImports]
from lerobot.policies.factory import (  # pyright: ignore[reportMissingImports]
    get_policy_class,
    make_policy_config,
    make_pre_post_processors,
)

HEIGHT, WIDTH, JOINTS, FRAMES, SEED = 36, 48, 6, 12, 5
NETWORK = {
    "act": {"dim_model": 16, "n_heads": 2, "dim_feedforward": 16, "n_encoder_layers": 1, "n_vae_encoder_layers": 1},
    "diffusion": {
        "down_dims": (16, 32),
        "diffusion_step_embed_dim": 16,
        "n_groups": 4,
        "spatial_softmax_num_keypoints": 4,
        "num_train_timesteps": 3,
    },
}
STEPS = {"act": {"chunk_size": 8, "n_action_steps": 5}, "diffusion": {"horizon": 8, "n_action_steps": 4}}


def save(kind: str, folder: Path, **settings: Any) -> None:
    torch.manual_seed(0)
    features = {f"observation.images.{name}": visual() for name in ("front", "wrist")}
    features["observation.state"] = PolicyFeature(type=FeatureType.STATE, shape=(JOINTS,))
    config = make_policy_config(
        kind,
        input_features=features,
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(JOINTS,))},
        device="cpu",
        pretrained_backbone_weights=None,
        **NETWORK[kind],
        **STEPS[kind],
        **settings,
    )
    get_policy_class(kind)(config).save_pretrained(folder)
    one = {"mean": torch.rand(JOINTS), "std": torch.rand(JOINTS) + 0.5}
    one |= {"min": -torch.ones(JOINTS) * 3, "max": torch.ones(JOINTS) * 2}
    seen = {"mean": torch.full((3, 1, 1), 0.4), "std": torch.full((3, 1, 1), 0.3)}
    stats = {"observation.state": one, "action": one} | dict.fromkeys(list(features)[:2], seen)
    for each in make_pre_post_processors(config, dataset_stats=stats):
        each.save_pretrained(folder)


def visual() -> Any:
    return PolicyFeature(type=FeatureType.VISUAL, shape=(3, HEIGHT, WIDTH))


def observations(episode: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(episode)
    return [
        {
            "task": "Lift it.",
            "agent_pos": rng.normal(size=JOINTS).astype(np.float32),
            "pixels": {name: rng.integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8) for name in ("front", "wrist")},
        }
        for _ in range(FRAMES)
    ]


def by_lerobot(asker: Any, seen: list[dict[str, Any]], seed: int) -> np.ndarray:
    """Actions (FRAMES, JOINTS) of lerobot's loop, with its own queues; noise is seeded as ours is before each pass."""
    policy, before, after = asker._policy, asker._before, asker._after
    predict, passes = policy.predict_action_chunk, 0

    def seeded(*arguments: Any, **named: Any) -> Any:
        nonlocal passes
        torch.manual_seed(int(np.random.SeedSequence([seed, passes]).generate_state(1)[0]))
        passes += 1
        return predict(*arguments, **named)

    policy.reset()
    policy.predict_action_chunk = seeded
    actions = []
    with torch.inference_mode():
        for each in seen:
            batch: dict[str, Any] = {"task": [each["task"]], "robot_type": ""}
            batch["observation.state"] = torch.from_numpy(each["agent_pos"])[None]
            for name, picture in each["pixels"].items():
                scaled = torch.from_numpy(picture).float() / 255
                batch[f"observation.images.{name}"] = scaled.permute(2, 0, 1)[None]
            actions.append(after(policy.select_action(before(batch)))[0].numpy())
    del policy.predict_action_chunk
    policy.reset()
    return np.stack(actions)


def alone(asker: Any, seen: list[dict[str, Any]], seed: int) -> np.ndarray:
    actions = [asker.many([each], [0], [seed])[0] for each in seen]
    asker.ended([0])
    return np.stack(actions)


def together(asker: Any, episodes: list[list[dict[str, Any]]]) -> list[np.ndarray]:
    """The same, all episodes at once: number k begins k frames later."""
    actions: list[list[Any]] = [[] for _ in episodes]
    for tick in range(FRAMES + len(episodes) - 1):
        asked = [k for k in range(len(episodes)) if 0 <= tick - k < FRAMES]
        answers = asker.many([episodes[k][tick - k] for k in asked], asked, [SEED] * len(asked))
        for k, answer in zip(asked, answers, strict=True):
            actions[k].append(answer)
        asker.ended([k for k in asked if tick - k == FRAMES - 1])
    return [np.stack(each) for each in actions]


def main() -> None:
    source, kind, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    spec = importlib.util.spec_from_file_location("policy_lerobot", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ensembled = kind == "ensembled"
    save("act" if ensembled else kind, folder)
    settings = {"temporal_ensemble_coeff": "0.01", "n_action_steps": "1"} if ensembled else {}
    asker = module.CheckpointPolicy(str(folder), settings, "cpu")
    episodes = [observations(k) for k in range(3)]
    for each in episodes:
        wanted = by_lerobot(asker, each, SEED)
        print("alone", float(np.abs(alone(asker, each, SEED) - wanted).max()), float(np.abs(wanted).max()))
    if kind != "diffusion":
        # Noise of a batch is another than that of its rows alone.
        for got, each in zip(together(asker, episodes), episodes, strict=True):
            print("together", float(np.abs(got - by_lerobot(asker, each, SEED)).max()))
    elif all(each.shape == (FRAMES, JOINTS) for each in together(asker, episodes)):
        print("together", 0.0)
    assert not asker._episodes


if __name__ == "__main__":
    main()
