"""Train lerobot's stock ACT on datasets of graspline, with all frames in the memory of the GPU.

    python examples/policies/train_act.py out/cubes --out out/act --minutes 60
    python examples/policies/train_act.py out/clean:1 out/disturbed:2 --out out/mixed --steps 60000
    graspline eval lift-cube --policy lerobot:out/act --policy-python /path/to/python

Needs torch, torchvision, pyarrow, einops, safetensors, huggingface_hub, PyAV or OpenCV, and lerobot: installed, or its
wheel unpacked in a folder on PYTHONPATH. graspline need not be installed there. The same command goes on where it was
stopped; Ctrl-C saves first. Checkpoints are lerobot's own, in OUT/checkpoints.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from act_checkpoint import ActConfig, Feature, load_last, make_policy, save
from act_data import IMAGENET, Frames, load
from act_files import ACTION, IMAGES, STATE

# Held-out frames that are measured on.
_MEASURED = 512
# Steps between two moments at which Python waits for the GPU, so that the time spent is known.
_WAIT_EVERY = 20
# Steps before one is recorded as a CUDA graph: compilers and tuners of kernels have finished by then.
_WARM_UP = 5


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("data", nargs="+", metavar="DIR[:WEIGHT]", help="datasets; weights say how often each is sampled")
    add("--out", type=Path, required=True, metavar="DIR", help="where checkpoints go")
    add("--minutes", type=float, metavar="M", help="train so long, over all calls together")
    add("--steps", type=int, metavar="N", help="train for N steps; with --minutes, until the first of both")
    add("--batch", type=int, default=64, metavar="N")
    add(
        "--lr", type=float, default=1e-4, help="learning rate; it rises over 500 steps and falls to nothing by a cosine"
    )
    add("--chunk", type=int, default=50, metavar="N", help="actions predicted at once")
    add("--play", type=int, metavar="N", help="n_action_steps of the checkpoint: played before it is asked again")
    add("--dim", type=int, default=256, metavar="N", help="width of the transformer; lerobot's default is 512")
    add("--feedforward", type=int, default=1024, metavar="N")
    add("--layers", type=int, default=4, metavar="N", help="layers of the encoders")
    add(
        "--dropout",
        type=float,
        default=0.0,
        help="0 unless demonstrations are few: what is dropped in training makes all actions too large in use "
        "(benchmarks/policies.md)",
    )
    add("--kl", type=float, default=10.0, metavar="W", help="weight of the variational term; 0 trains without it")
    add("--backbone", type=Path, metavar="FILE", help="weights of a ResNet-18 as torchvision publishes them")
    add(
        "--shift",
        type=int,
        default=0,
        metavar="PX",
        help="shift images at random by up to PX pixels. It hides where things are from a camera that stands "
        "still: leave it at 0 unless demonstrations are few",
    )
    add("--every", type=int, default=1, metavar="N", help="keep only every Nth image, so that more episodes fit")
    add("--held-out", type=float, default=0.05, metavar="SHARE", help="episodes that are only measured on")
    add("--only", default="", metavar="COLUMN", help="learn only from frames where this column, if there, is true")
    add(
        "--compile",
        action="store_true",
        help="compile the network and, on a GPU, replay each step as one CUDA graph: a slow start, then faster steps",
    )
    add("--save-every", type=int, default=5000, metavar="STEPS")
    add("--log-every", type=int, default=200, metavar="STEPS")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add("--frames-on", metavar="DEVICE", help="where the frames are kept: the device, or cpu if it is too small")
    add("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="threads that decode films")
    add("--seed", type=int, default=0)
    given = parser.parse_args(words)
    if given.minutes is None and given.steps is None:
        parser.error("--minutes or --steps says when to end")
    return given


class Batches:
    """Samples of frames as the network gets them, normalized, on one device. Sampling never waits for it."""

    def __init__(self, frames: Frames, given: argparse.Namespace) -> None:
        self._frames, self._device, self._chunk, self._shift = frames, given.device, given.chunk, given.shift
        self._states, self._actions, self._last, self._shown = (
            each.to(given.device) for each in (frames.states, frames.actions, frames.last, frames.shown)
        )
        self._stats = {
            key: tuple(torch.tensor(frames.stats[key][name], device=given.device) for name in ("mean", "std"))
            for key in (STATE, ACTION)
        }
        self._light = tuple(torch.tensor(IMAGENET[name], device=given.device).reshape(3, 1, 1) for name in IMAGENET)
        cumulated = torch.cumsum(frames.odds, 0)
        self._cumulated = (cumulated / cumulated[-1]).to(given.device)
        self._train = frames.train.to(given.device)

    @property
    def on_device(self) -> bool:
        """Whether the images are on the device, too, so that a batch is made there alone."""
        return all(kept.device.type == "cuda" for kept in self._frames.pictures.values())

    def sample(self, count: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """A batch to learn from, with every picture shifted by itself."""
        drawn = torch.rand(count, generator=generator, dtype=torch.float64, device=self._device)
        rows = torch.searchsorted(self._cumulated, drawn).clamp(max=len(self._cumulated) - 1)
        if not self._shift:
            return self.batch(self._train[rows])
        size = (count, len(self._frames.pictures), 2)
        shifts = torch.randint(-self._shift, self._shift + 1, size, generator=generator, device=self._device)
        return self.batch(self._train[rows], shifts)

    def batch(self, rows: torch.Tensor, shifts: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        rows = rows.to(self._device)
        last, shown = self._last[rows][:, None], self._shown[rows]
        ahead = rows[:, None] + torch.arange(self._chunk, device=self._device)
        batch = {
            STATE: self._normal(STATE, self._states[rows]),
            ACTION: self._normal(ACTION, self._actions[torch.minimum(ahead, last)]),
            "action_is_pad": ahead > last,
        }
        for number, (camera, kept) in enumerate(self._frames.pictures.items()):
            seen = kept[shown.to(kept.device)] if shifts is None else _shifted(kept, shown, shifts[:, number])
            seen = seen.to(self._device, non_blocking=True)
            # Channels stay last in memory, where convolutions are fastest.
            batch[IMAGES + camera] = (seen.permute(0, 3, 1, 2).float() / 255 - self._light[0]) / self._light[1]
        return batch

    def _normal(self, key: str, values: torch.Tensor) -> torch.Tensor:
        mean, std = self._stats[key]
        return (values - mean) / (std + 1e-8)


def _shifted(kept: torch.Tensor, rows: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Pictures (n, height, width, 3), moved by (n, 2) pixels; what comes in at an edge repeats the edge."""
    device, (height, width) = kept.device, kept.shape[1:3]
    shift = shift.to(device)
    down = (torch.arange(height, device=device) + shift[:, :1]).clamp(0, height - 1)
    right = (torch.arange(width, device=device) + shift[:, 1:]).clamp(0, width - 1)
    return kept[rows.to(device)[:, None, None], down[:, :, None], right[:, None, :]]


def progress(step: int, spent_s: float, given: argparse.Namespace) -> float:
    """How much of the training is done, 0 to 1."""
    by_steps = step / given.steps if given.steps else 0.0
    return max(by_steps, spent_s / 60 / given.minutes if given.minutes else 0.0)


def learning_rate(step: int, done: float, given: argparse.Namespace) -> float:
    return given.lr * min(1.0, (step + 1) / 500) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


@torch.no_grad()
def held_out_l1(policy: Any, batches: Batches, rows: torch.Tensor, given: argparse.Namespace) -> float:
    """Mean error of normalized actions on episodes that are not learned from, without their hindsight."""
    if not len(rows):
        return float("nan")
    policy.eval()
    errors, count = 0.0, 0
    for part in rows[:: max(1, len(rows) // _MEASURED)].split(max(given.batch, 64)):
        batch = batches.batch(part)
        wanted, real = batch.pop(ACTION), ~batch["action_is_pad"][..., None]
        predicted = policy.predict_action_chunk(batch)
        errors += float(((predicted - wanted).abs() * real).sum())
        count += int(real.sum()) * wanted.shape[-1]
    policy.train()
    return errors / max(count, 1)


def loss_of(policy: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss and its L1 part, as lerobot's `ACTPolicy.forward` computes them, but left on the device.

    lerobot's own copies both to the CPU at every step, and the GPU has nothing to do until Python has queued the next.
    """
    images = [batch[key] for key in policy.config.image_features]
    predicted, (mean, log_variance) = policy.model({**batch, IMAGES.rstrip("."): images})
    real = ~batch["action_is_pad"][..., None]
    errors = (predicted - batch[ACTION]).abs() * real
    l1 = errors.sum() / (real.sum() * errors.shape[-1]).clamp(min=1)
    if mean is None:
        return l1, l1
    divergence = (-0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp())).sum(-1).mean()
    return l1 + policy.config.kl_weight * divergence, l1


class Steps:
    """Steps of the training. Nothing in them waits for the device, so that a GPU never waits for Python."""

    def __init__(self, policy: Any, batches: Batches, given: argparse.Namespace) -> None:
        self._policy, self._batches, self._batch = policy, batches, given.batch
        self._device = torch.device(given.device)
        on_gpu = self._device.type == "cuda"
        self.generator = torch.Generator(self._device).manual_seed(given.seed)
        self._rate = torch.tensor(given.lr, device=self._device)
        self.optimizer = torch.optim.AdamW(
            policy.parameters(), lr=self._rate, weight_decay=1e-4, fused=on_gpu, capturable=on_gpu
        )
        # Sums of L1 and loss since they were last read.
        self._sums = torch.zeros(2, device=self._device)
        self._graph: torch.cuda.CUDAGraph | None = None
        # What comes before the recording must not run on the main stream.
        self._side = torch.cuda.Stream() if given.compile and on_gpu and batches.on_device else None
        self._before_recording = _WARM_UP

    def step(self, rate: float) -> None:
        # A checkpoint that was loaded brings a rate of its own.
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate
        self._rate.fill_(rate)
        if self._side is None:
            self._once()
        elif self._before_recording:
            self._before_recording -= 1
            self._side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._side):
                self._once()
            torch.cuda.current_stream().wait_stream(self._side)
        else:
            self._graph = self._graph or self._recorded()
            self._graph.replay()

    def read(self, steps: int) -> tuple[float, float]:
        """Means of L1 and loss over `steps` steps, those since the last call."""
        l1, loss = (self._sums / steps).tolist()
        self._sums.zero_()
        return l1, loss

    def _once(self) -> None:
        # The network makes its latent on the CPU otherwise.
        with self._device:
            self.optimizer.zero_grad(set_to_none=True)
            loss, l1 = loss_of(self._policy, self._batches.sample(self._batch, self.generator))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._policy.parameters(), 10.0)
            self.optimizer.step()
            self._sums += torch.stack([l1, loss]).detach()

    def _recorded(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph):
            self._once()
        return graph


def configured(frames: Frames, given: argparse.Namespace) -> ActConfig:
    joints = frames.actions.shape[1]
    seen = {IMAGES + camera: Feature("VISUAL", (3, *kept.shape[1:3])) for camera, kept in frames.pictures.items()}
    return ActConfig(
        input_features={**seen, STATE: Feature("STATE", (frames.states.shape[1],))},
        output_features={ACTION: Feature("ACTION", (joints,))},
        device=given.device.partition(":")[0],
        chunk_size=given.chunk,
        n_action_steps=given.play or given.chunk,
        dim_model=given.dim,
        dim_feedforward=given.feedforward,
        n_encoder_layers=given.layers,
        n_vae_encoder_layers=given.layers,
        dropout=given.dropout,
        kl_weight=given.kl,
        use_vae=given.kl > 0,
    )


def train(given: argparse.Namespace) -> int:
    torch.manual_seed(given.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    began = time.monotonic()
    frames = load(
        given.data,
        held_out=given.held_out,
        only=given.only,
        store=torch.device(given.frames_on or given.device),
        threads=given.threads,
        every=given.every,
        rng=np.random.default_rng(given.seed),
    )
    size = sum(kept.numel() for kept in frames.pictures.values()) / 1e9
    pictures = sum(len(kept) for kept in frames.pictures.values())
    say(
        given,
        frames=len(frames.states),
        images=pictures,
        train=len(frames.train),
        held_out=len(frames.held_out),
        picture_gb=size,
    )
    say(given, decoded_s=time.monotonic() - began)
    policy = make_policy(configured(frames, given), given.backbone, compiled=given.compile)
    state = load_last(given.out, policy)
    policy.to(given.device).train()
    policy.model.backbone.to(memory_format=torch.channels_last)
    batches, stopped = Batches(frames, given), Stop()
    steps, step, spent_s = Steps(policy, batches, given), 0, 0.0
    if state is not None:
        steps.optimizer.load_state_dict(state["optimizer"])
        steps.generator.set_state(state["generator"])
        torch.set_rng_state(state["torch"])
        step, spent_s = state["step"], state["spent_s"]
        say(given, resumed_at=step)
    say(given, parameters=sum(each.numel() for each in policy.parameters()))
    saved_at = step

    def saved() -> None:
        nonlocal saved_at
        saved_at = step
        kept = {"step": step, "spent_s": spent_s, "optimizer": steps.optimizer.state_dict()}
        kept |= {"generator": steps.generator.get_state(), "torch": torch.get_rng_state()}
        about = {"dataset": frames.about, "steps": step, "batch_size": given.batch, "command": sys.argv}
        folder = given.out / "checkpoints" / f"{step:06d}"
        save(folder, policy, frames.stats, about, kept)
        say(given, step=step, saved=str(folder), held_out_l1=held_out_l1(policy, batches, frames.held_out, given))

    since = time.monotonic()
    logged, logged_at = step, since
    while not stopped.wanted and progress(step, spent_s, given) < 1:
        rate = learning_rate(step, progress(step, spent_s, given), given)
        steps.step(rate)
        step += 1
        if step % _WAIT_EVERY == 0 and given.device.startswith("cuda"):
            torch.cuda.synchronize()
        now = time.monotonic()
        spent_s, since = spent_s + now - since, now
        if step % given.log_every == 0:
            number = step - logged
            l1, loss = steps.read(number)
            say(given, step=step, l1=l1, loss=loss, lr=rate, steps_per_s=number / (now - logged_at))
            logged, logged_at = step, now
        if step % given.save_every == 0:
            saved()
            # Saving and measuring is not training.
            since = logged_at = time.monotonic()
    if step > saved_at:
        saved()
    say(given, step=step, minutes=spent_s / 60, checkpoint=str(given.out / "checkpoints" / "last"))
    return 130 if stopped.wanted else 0


class Stop:
    """Ctrl-C or SIGTERM: the step is finished, and a checkpoint written."""

    def __init__(self) -> None:
        self.wanted = False
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._want)

    def _want(self, *_: object) -> None:
        self.wanted = True


def say(given: argparse.Namespace, **values: Any) -> None:
    """One line to read, and the same in OUT/log.jsonl."""
    print(
        "  ".join(f"{key} {each:.4g}" if isinstance(each, float) else f"{key} {each}" for key, each in values.items())
    )
    sys.stdout.flush()
    given.out.mkdir(parents=True, exist_ok=True)
    with open(given.out / "log.jsonl", "a") as log:
        log.write(json.dumps(values) + "\n")


if __name__ == "__main__":
    sys.exit(train(arguments()))
