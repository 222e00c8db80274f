"""What dropout does to the actions of ACT: how large they come out, compared with those it learned from.

    graspline generate lift-cube --cameras none --episodes 1500 --seed 7800000 --out out/cubes
    python examples/policies/act_dropout.py out/cubes --dropout 0.1
    python examples/policies/act_dropout.py out/cubes --dropout 0

The network is lerobot's ACT without cameras: it is given the joints and the cube's true pose, so that seeing plays no
part. Layers are normalized after dropout (`pre_norm` is off by default). Dropout adds variance there in training and
none in use, so that what is left is scaled up. Actions are absolute joint angles, and an arm that turns 4 % too far
from the middle misses by millimetres to centimetres. Needs torch and lerobot, unpacked or installed; four minutes on
one core. `slope` is that of predicted over demonstrated actions on held-out episodes: 1 is right.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from act_checkpoint import ActConfig, Feature, stock_act
from act_files import ACTION, STATE
from pyarrow.dataset import dataset

ENVIRONMENT, POSES = "observation.environment_state", "graspline.object_poses"
CHUNK, BATCH, RATE = 16, 128, 5e-4


class Config(ActConfig):
    """Without cameras; the pose is the state of the environment."""

    @property
    def env_state_feature(self) -> Feature:
        return self.input_features[ENVIRONMENT]

    def validate_features(self) -> None:
        """Cameras are not needed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--held-out", type=int, default=100, metavar="N", help="episodes at the end")
    given = parser.parse_args()
    torch.manual_seed(0)
    names = ["index", "episode_index", STATE, ACTION, POSES]
    table = dataset(sorted((given.data / "data").rglob("*.parquet"))).to_table(columns=names).sort_by("index")
    episode = table["episode_index"].to_numpy()
    last = torch.from_numpy(np.searchsorted(episode, episode, side="right") - 1)
    state, action, poses = (
        table[name].combine_chunks().flatten().to_numpy().reshape(len(table), -1) for name in names[2:]
    )
    mean, std = action.mean(0), action.std(0)
    inputs = {STATE: normal(state), ENVIRONMENT: normal(seen(poses)), ACTION: normal(action)}
    learned = np.flatnonzero(episode <= episode[-1] - given.held_out)

    def batch(rows: torch.Tensor) -> dict[str, torch.Tensor]:
        ahead, end = rows[:, None] + torch.arange(CHUNK), last[rows][:, None]
        observed = {name: inputs[name][rows] for name in (STATE, ENVIRONMENT)}
        return {**observed, ACTION: inputs[ACTION][torch.minimum(ahead, end)], "action_is_pad": ahead > end}

    config = Config(
        input_features={name: Feature("STATE", (inputs[name].shape[1],)) for name in (STATE, ENVIRONMENT)},
        output_features={ACTION: Feature("ACTION", (action.shape[1],))},
        device="cpu",
        chunk_size=CHUNK,
        n_action_steps=CHUNK,
        dim_model=128,
        dim_feedforward=256,
        use_vae=False,
        dropout=given.dropout,
    )
    policy = stock_act()(config)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=RATE, weight_decay=1e-4)
    for step in range(given.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 200) * 0.5 * (1 + math.cos(math.pi * step / given.steps))
        rows = torch.from_numpy(np.random.default_rng(step).choice(learned, BATCH))
        loss, _ = policy(batch(rows))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    held = np.flatnonzero(episode > episode[-1] - given.held_out)
    test = batch(torch.from_numpy(np.random.default_rng(0).choice(held, 4000)))
    with torch.no_grad():
        in_training = float(policy(test)[0])
        predicted = policy.predict_action_chunk(test)
        real = ~test["action_is_pad"][..., None]
        in_use = float(((predicted - test[ACTION]).abs() * real).sum() / real.sum() / action.shape[1])
    first, wanted = (each[:, 0].numpy() * std + mean for each in (predicted, test[ACTION]))
    joints = range(action.shape[1])
    figures = {
        "dropout": given.dropout,
        "l1_held_out_in_training": round(in_training, 4),
        "l1_held_out_in_use": round(in_use, 4),
        "slope": [round(float(np.polyfit(wanted[:, joint], first[:, joint], 1)[0]), 4) for joint in joints],
        "median_error": [round(float(np.median(np.abs(first - wanted)[:, joint])), 2) for joint in joints],
    }
    print(json.dumps(figures))


def seen(poses: np.ndarray) -> np.ndarray:
    """Where the cube is, and its heading modulo 90°."""
    x, y, z, qw, qx, qy, qz = poses.T
    yaw = 4 * np.arctan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy**2 + qz**2))
    return np.column_stack([x, y, z, np.hypot(x, y), np.arctan2(y, x), 0.3 * np.cos(yaw), 0.3 * np.sin(yaw)])


def normal(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(((values - values.mean(0)) / (values.std(0) + 1e-6)).astype(np.float32))


if __name__ == "__main__":
    main()
