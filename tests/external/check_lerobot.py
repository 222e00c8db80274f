"""Have lerobot judge a dataset: `python check_lerobot.py DIR [--numbered]`, with the Python that setup.sh prepared.

Prints one line per check, and ends with 1 if any failed. Nothing is fetched, and the dataset is only read.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.executable).parent
JUDGE = Path(__file__).with_name("judge.py")
# Remarks of lerobot-doctor that are repeated, of each of its checks.
_REMARKS = 2
# What it says of a row that a killed writer had not counted yet; lerobot does not mind.
_UNCOUNTED = "episode metadata entries"


def isolated(home: Path) -> dict[str, str]:
    """An environment without network, whose caches are gone afterwards, and where torchcodec finds PyAV's FFmpeg."""
    found = importlib.util.find_spec("av")
    libraries = str(Path(found.origin).parents[1] / "av.libs") if found and found.origin else ""
    before = os.environ.get("LD_LIBRARY_PATH")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": f"{libraries}:{before}" if before else libraries,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "WANDB_MODE": "disabled",
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
        # torchvision warns of its video reader with every frame.
        "PYTHONWARNINGS": "ignore",
    }


def doctor(root: Path, environment: dict[str, str], *, killed: bool) -> bool:
    """The verdict of lerobot-doctor, an independent judge; its warnings are told, only its failures count."""
    ran = subprocess.run(
        [BIN / "lerobot-doctor", "check", root, "--json"], env=environment, capture_output=True, text=True, check=False
    )
    try:
        checks = json.loads(ran.stdout)["checks"]
    except ValueError:
        return told("lerobot-doctor", (ran.stderr or ran.stdout).strip()[-500:], good=False)
    good = True
    for check in checks:
        remarks = [f"{each['severity']} {each['message']}" for each in check["messages"] if each["severity"] != "PASS"]
        more = f" (and {len(remarks) - _REMARKS} more)" if len(remarks) > _REMARKS else ""
        if remarks:
            print(f"       {check['name']}: {'; '.join(remarks[:_REMARKS])}{more}")
        failures = [each for each in remarks if each.startswith("FAIL")]
        good &= not failures or (killed and all(each.endswith(_UNCOUNTED) for each in failures))
    severities = [check["severity"] for check in checks]
    counts = ", ".join(f"{severities.count(each)} {each}" for each in sorted(set(severities)))
    return told("lerobot-doctor", counts, good=good)


def train(root: Path, steps: int, environment: dict[str, str], scratch: Path) -> bool:
    """A few steps of ACT by lerobot's own command, with a network that fits a small machine."""
    settings = {
        "dataset.repo_id": "local/x",
        "dataset.root": root,
        "dataset.video_backend": "pyav",
        "policy.type": "act",
        "policy.device": "cpu",
        "policy.push_to_hub": "false",
        "policy.pretrained_backbone_weights": "null",
        "policy.dim_model": 64,
        "policy.n_heads": 2,
        "policy.dim_feedforward": 128,
        "policy.chunk_size": 16,
        "policy.n_action_steps": 16,
        "batch_size": 4,
        "steps": steps,
        "log_freq": 1,
        "num_workers": 1,
        "save_checkpoint": "false",
        "wandb.enable": "false",
        "output_dir": scratch / "trained",
    }
    command = [BIN / "lerobot-train", *(f"--{name}={value}" for name, value in settings.items())]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    losses = [line.partition("loss:")[2].split()[0] for line in ran.stderr.splitlines() if "loss:" in line]
    if ran.returncode or not losses:
        return told("training", f"exit code {ran.returncode}: {ran.stderr.strip()[-500:]}", good=False)
    return told("training", f"{steps} steps of ACT, loss {losses[0]} to {losses[-1]}", good="nan" not in losses)


def told(name: str, said: str, *, good: bool) -> bool:
    print(f"{'ok  ' if good else 'FAIL'} {name}: {said}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, metavar="DIR", help="the dataset")
    parser.add_argument("--numbered", action="store_true", help="read the numbers that generate --numbered drew")
    parser.add_argument("--samples", type=int, default=300, metavar="N", help="random frames, beside episode borders")
    parser.add_argument("--backend", choices=("pyav", "torchcodec"), help="one decoder only, not both")
    parser.add_argument("--train", type=int, default=0, metavar="STEPS", help="also train ACT for so many steps")
    parser.add_argument("--killed", action="store_true", help="the writer was killed: allow a row it had not counted")
    asked = parser.parse_args()
    root = asked.root.resolve()
    if not (root / "meta/info.json").is_file():
        parser.error(f"{root}: no dataset (meta/info.json is missing)")
    judge = [sys.executable, JUDGE, root, "--samples", str(asked.samples)]
    judge += ["--numbered"] if asked.numbered else []
    for backend in [asked.backend] if asked.backend else ["pyav", "torchcodec"]:
        judge += ["--backend", backend]
    with tempfile.TemporaryDirectory(prefix="lerobot-check-") as scratch:
        environment = isolated(Path(scratch) / "home")
        verdicts = [subprocess.run(judge, env=environment, check=False).returncode == 0]
        verdicts.append(doctor(root, environment, killed=asked.killed))
        if asked.train:
            verdicts.append(train(root, asked.train, environment, Path(scratch)))
    print("all good" if all(verdicts) else "NOT GOOD", flush=True)
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
