"""The stock ACT network of lerobot, and its checkpoints in lerobot's own format.

Only two files of lerobot are imported, unchanged: the network and the constants. What stands around them in lerobot
(configuration parser, hub, datasets, every other policy) is not needed to train, and some machines have none of it: an
unpacked wheel on PYTHONPATH is enough, with torch, torchvision, einops, safetensors and huggingface_hub.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import sys
import types
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from act_data import IMAGENET
from act_files import ACTION, IMAGES, STATE
from safetensors.torch import load_file, save_file
from torchvision.ops.misc import FrozenBatchNorm2d

MODES = {"VISUAL": "MEAN_STD", "STATE": "MEAN_STD", "ACTION": "MEAN_STD"}


@dataclass(frozen=True)
class Feature:
    type: str
    shape: tuple[int, ...]


@dataclass(kw_only=True)
class ActConfig:
    """Fields that lerobot's ACTConfig has, by the same names: what the network reads and config.json holds."""

    input_features: dict[str, Feature]
    output_features: dict[str, Feature]
    device: str
    type: str = "act"
    n_obs_steps: int = 1
    chunk_size: int = 100
    n_action_steps: int = 100
    normalization_mapping: dict[str, str] = field(default_factory=lambda: dict(MODES))
    vision_backbone: str = "resnet18"
    # A checkpoint brings its weights; nothing is downloaded for it.
    pretrained_backbone_weights: str | None = None
    replace_final_stride_with_dilation: bool = False
    pre_norm: bool = False
    dim_model: int = 512
    n_heads: int = 8
    dim_feedforward: int = 3200
    feedforward_activation: str = "relu"
    n_encoder_layers: int = 4
    n_decoder_layers: int = 1
    use_vae: bool = True
    latent_dim: int = 32
    n_vae_encoder_layers: int = 4
    temporal_ensemble_coeff: float | None = None
    dropout: float = 0.1
    kl_weight: float = 10.0
    push_to_hub: bool = False

    @property
    def image_features(self) -> dict[str, Feature]:
        return {key: each for key, each in self.input_features.items() if each.type == "VISUAL"}

    @property
    def robot_state_feature(self) -> Feature | None:
        return self.input_features.get(STATE)

    @property
    def env_state_feature(self) -> None:
        return None

    @property
    def action_feature(self) -> Feature:
        return self.output_features[ACTION]

    def validate_features(self) -> None:
        if not self.image_features:
            raise SystemExit("ACT wants at least one camera")


def stock_act() -> Any:
    """lerobot's ACTPolicy, without the packages that lerobot imports around it."""
    found = importlib.util.find_spec("lerobot")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("no lerobot: pip install lerobot, or unpack its wheel and name the folder in PYTHONPATH")
    root = Path(next(iter(found.submodule_search_locations)))
    for name in ("lerobot", "lerobot.utils", "lerobot.policies", "lerobot.policies.act"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package

    class PreTrainedPolicy(torch.nn.Module):
        def __init__(self, config: ActConfig) -> None:
            super().__init__()
            self.config = config

    for name, value in {"pretrained": PreTrainedPolicy, "act.configuration_act": ActConfig}.items():
        module = types.ModuleType(f"lerobot.policies.{name}")
        setattr(module, "PreTrainedPolicy" if value is PreTrainedPolicy else "ACTConfig", value)
        sys.modules[module.__name__] = module
    return importlib.import_module("lerobot.policies.act.modeling_act").ACTPolicy


def make_policy(config: ActConfig, backbone: Path | None, *, compiled: bool = False) -> Any:
    """A fresh policy; `backbone` is a file of ResNet weights as torchvision publishes them.

    Stock ACT freezes the statistics of batch normalization, which suits a backbone that was trained before. One that
    starts from random weights learns them: normalization is let loose in training, and frozen again by whatever loads
    the checkpoint, since both kinds store the same four arrays. All cameras share the backbone, so in training they
    pass it as one batch: camera by camera, each would be normalized by its own statistics while it is trained, and by
    the mean of all of them when it is used.
    """
    policy = stock_act()(config)
    if backbone is not None:
        weights = torch.load(backbone, map_location="cpu", weights_only=True)
        policy.model.backbone.load_state_dict({key: each for key, each in weights.items() if not key.startswith("fc.")})
    else:
        sizes = {each.shape for each in config.image_features.values()}
        if len(sizes) > 1:
            raise SystemExit(f"without --backbone all cameras must have one size; here are {sorted(sizes)}")
        _let_learn(policy.model.backbone)
    if compiled:
        for part in (policy.model.backbone, policy.model.encoder, policy.model.decoder):
            _compile(part)
    _see_together(policy.model)
    return policy


def _compile(part: torch.nn.Module) -> None:
    """Compiled in training, where all batches have one size; as it is otherwise."""
    plain = part.forward
    compiled = torch.compile(plain)
    part.forward = lambda *given, **named: (compiled if part.training else plain)(*given, **named)


def _see_together(model: torch.nn.Module) -> None:
    """In training, all cameras' images of one size pass the backbone as one batch, on a GPU in bfloat16.

    What follows is computed more precisely: bfloat16 would round joint angles to about half a degree.
    """
    backbone: Any = model.backbone
    alone = backbone.forward
    features: dict[int, torch.Tensor] = {}

    def before(_: torch.nn.Module, given: tuple[dict[str, Any]]) -> None:
        features.clear()
        if model.training:
            images = given[0][IMAGES.rstrip(".")]
            for size in {each.shape for each in images}:
                alike = [each for each in images if each.shape == size]
                with torch.autocast("cuda", torch.bfloat16, enabled=alike[0].is_cuda):
                    found = alone(torch.cat(alike))["feature_map"].float().chunk(len(alike))
                features.update(zip(map(id, alike), found, strict=True))

    def forward(image: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"feature_map": features.pop(id(image))} if features else alone(image)

    model.register_forward_pre_hook(before)
    backbone.forward = forward


def _let_learn(module: torch.nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, FrozenBatchNorm2d):
            setattr(module, name, torch.nn.BatchNorm2d(len(child.weight)))
        else:
            _let_learn(child)


def save(
    folder: Path, policy: Any, stats: dict[str, dict[str, list[float]]], about: dict[str, Any], state: dict[str, Any]
) -> None:
    """`pretrained_model` as lerobot writes it and `training_state` to go on from; there as a whole or not at all."""
    made = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(made, ignore_errors=True)
    model, config = made / "pretrained_model", policy.config
    model.mkdir(parents=True)
    weights = {key: each.contiguous().cpu() for key, each in policy.state_dict().items()}
    save_file(
        {key: each for key, each in weights.items() if not key.endswith("num_batches_tracked")},
        model / "model.safetensors",
    )
    (model / "config.json").write_text(json.dumps(asdict(config), indent=2))
    (model / "train_config.json").write_text(json.dumps(about, indent=2))
    _save_processors(model, config, stats)
    (made / "training_state").mkdir()
    torch.save(state, made / "training_state" / "state.pt")
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    last, link = folder.parent / "last", folder.with_name(f".last.{os.getpid()}")
    before = last.resolve() if last.is_symlink() else folder.resolve()
    link.unlink(missing_ok=True)
    link.symlink_to(folder.name)
    link.replace(last)
    if before != folder.resolve():
        # Only the last one is gone on from; the states of optimizers are twice as large as the weights.
        shutil.rmtree(before / "training_state", ignore_errors=True)


def load_last(out: Path, policy: Any) -> dict[str, Any] | None:
    """Put the weights of the last checkpoint into a policy; returns where the training stood."""
    last = out / "checkpoints" / "last"
    if not (last / "training_state" / "state.pt").is_file():
        return None
    missing, unexpected = policy.load_state_dict(
        load_file(last / "pretrained_model" / "model.safetensors"), strict=False
    )
    wrong = [key for key in missing if not key.endswith("num_batches_tracked")] + list(unexpected)
    if wrong:
        raise SystemExit(f"{last}: weights of another network: {', '.join(wrong[:5])}")
    # Written by this program: it holds the states of optimizer and generators, which are not all tensors.
    return torch.load(last / "training_state" / "state.pt", map_location="cpu", weights_only=False)


def _save_processors(model: Path, config: ActConfig, stats: dict[str, dict[str, list[float]]]) -> None:
    features = {key: asdict(each) for key, each in (config.input_features | config.output_features).items()}
    norm: dict[str, Any] = {"eps": 1e-8, "features": features, "norm_map": MODES}
    device: dict[str, Any] = {"device": config.device, "float_dtype": None}
    before = [
        ("rename_observations_processor", {"rename_map": {}}),
        ("to_batch_processor", {}),
        ("device_processor", device),
        ("normalizer_processor", norm),
    ]
    actions = {key: each for key, each in features.items() if key == ACTION}
    after = [
        ("unnormalizer_processor", norm | {"features": actions}),
        ("device_processor", device | {"device": "cpu"}),
    ]
    arrays = {f"{key}.{name}": torch.tensor(each) for key, both in stats.items() for name, each in both.items()}
    for key in features:
        if key.startswith(IMAGES):
            arrays |= {f"{key}.{name}": torch.tensor(each).reshape(3, 1, 1) for name, each in IMAGENET.items()}
    for name, steps in {"policy_preprocessor": before, "policy_postprocessor": after}.items():
        written = []
        for number, (step, settings) in enumerate(steps):
            written.append({"registry_name": step, "config": settings})
            if "norm_map" in settings:
                written[-1]["state_file"] = f"{name}_step_{number}_{step}.safetensors"
                save_file(arrays, model / written[-1]["state_file"])
        (model / f"{name}.json").write_text(json.dumps({"name": name, "steps": written}, indent=2))
