"""Rounds of train, roll out, take over, add: a policy learns from the expert's corrections of its own mistakes.

Round 0 generates demonstrations and trains on them. Every later round lets the last policy drive, with the expert
taking over where it fails, merges all sets and trains again. Each round ends with an evaluation on the same seeds.

    python examples/policies/dagger.py lift-cube --out out/dagger --rounds 3 --demonstrations 200 --takeovers 100 \\
        --train "lerobot-train --dataset.repo_id=my/set --dataset.root={data} --output_dir={out} --policy.type=act" \\
        --policy "lerobot:{out}/checkpoints/last/pretrained_model" --evaluate 100 \\
        --common "--cameras front:320x240,wrist:320x240"

In the templates {data} is the dataset to learn from, {out} the folder for the policy of this round, {module} that
folder as a Python module below the current directory, and {round} the round. The same command goes on where it was
stopped: whatever a round has finished is not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from graspline.episodes.statistics import wilson

# Rounds do not share seeds with each other, nor with the evaluation.
_SEEDS_OF_A_ROUND = 1_000_000
_EVALUATION_SEED = 900_000_000
_ROUNDS = "rounds.jsonl"
_SETTINGS = "dagger.json"
_TRAINED = "trained"
# Of the policy's episodes, only the expert's part is learned from: the rest shows what not to do.
_ROLL_OUT = ("--keep", "takeover", "--record", "intervention")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the command line says."""

    task: str
    out: Path
    rounds: int
    demonstrations: int
    takeovers: int
    train: str
    policy: str
    evaluate: int
    common: str
    take_over: str
    max_seconds: float

    def fill(self, template: str, number: int, data: Path) -> str:
        """A template with the names of one round."""
        out = self.policy_folder(number)
        names = {"data": str(data), "out": str(out), "module": _module(out), "round": str(number)}
        for name, value in names.items():
            template = template.replace(f"{{{name}}}", value)
        return template

    def set_folder(self, number: int) -> Path:
        return self.out / "sets" / f"round_{number}"

    def data_folder(self, number: int) -> Path:
        """All sets up to this round as one."""
        return self.set_folder(0) if not number else self.out / "merged" / f"round_{number}"

    def policy_folder(self, number: int) -> Path:
        return self.out / "policies" / f"round_{number}"

    def policy_name(self, number: int) -> str:
        return self.fill(self.policy, number, self.data_folder(number))


def main() -> None:
    plan = _plan()
    plan.out.mkdir(parents=True, exist_ok=True)
    _check_same(plan)
    done = _rounds_in(plan)
    for number in range(plan.rounds + 1):
        if number not in done:
            done[number] = _round(plan, number)
            with (plan.out / _ROUNDS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[number]) + "\n")
        print(_line(done[number]), flush=True)


def _round(plan: Plan, number: int) -> dict[str, Any]:
    """Everything of one round, less what was finished before."""
    common, made = shlex.split(plan.common), plan.set_folder(number)
    seed = ("--seed", str(number * _SEEDS_OF_A_ROUND))
    if not number:
        _graspline("generate", plan.task, "--out", made, "--episodes", plan.demonstrations, *seed, *common)
    else:
        source = ("--from-policy", plan.policy_name(number - 1), *_ROLL_OUT, *shlex.split(plan.take_over))
        _graspline("generate", plan.task, "--out", made, "--episodes", plan.takeovers, *seed, *common, *source)
        if not plan.data_folder(number).exists():
            sets = [plan.set_folder(each) for each in range(number + 1)]
            _graspline("merge", *sets, "--out", plan.data_folder(number))
    _train(plan, number)
    succeeded = _evaluate(plan, number)
    low, high = wilson(succeeded, plan.evaluate)
    info = json.loads((plan.data_folder(number) / "meta/info.json").read_text(encoding="utf-8"))
    return {
        "round": number,
        "policy": plan.policy_name(number),
        "episodes": info["total_episodes"],
        "frames": info["total_frames"],
        "evaluated": plan.evaluate,
        "succeeded": succeeded,
        "interval": [round(low, 4), round(high, 4)],
    }


def _train(plan: Plan, number: int) -> None:
    """A training that was stopped begins anew; what it left is taken away."""
    folder, mark = plan.policy_folder(number), plan.out / "policies" / f"round_{number}.{_TRAINED}"
    if mark.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run(shlex.split(plan.fill(plan.train, number, plan.data_folder(number))))
    if not folder.exists():
        _stop(f"--train: wrote nothing to {folder}", 2)
    mark.touch()


def _evaluate(plan: Plan, number: int) -> int:
    """How many episodes the policy of a round succeeds in, on the same seeds in every round."""
    words = ("--policy", plan.policy_name(number), "--episodes", plan.evaluate, "--seed", _EVALUATION_SEED, "--json")
    limit = ("--max-seconds", plan.max_seconds)
    found = _graspline("eval", plan.task, *words, *limit, *shlex.split(plan.common))
    return sum(json.loads(line)["succeeded"] for line in found.splitlines())


def _graspline(*words: object) -> str:
    return _run([sys.executable, "-m", "graspline", *map(str, words)], listen=True)


def _run(words: list[str], *, listen: bool = False) -> str:
    """Run a command and give back what it printed, if that is asked for; where it fails, so does this one."""
    print(f"$ {shlex.join(words)}", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE if listen else sys.stderr, text=True, check=False)
    except OSError as error:
        _stop(f"{words[0]}: {error.strerror or error}", 3)
    if done.returncode:
        _stop(f"{shlex.join(words[:4])} … ended with {done.returncode}; the same command goes on from here", 2)
    return done.stdout or ""


def _check_same(plan: Plan) -> None:
    """Rounds of other commands are not gone on with."""
    settings = {name: value for name in Plan.__slots__ if name != "rounds" for value in [str(getattr(plan, name))]}
    path = plan.out / _SETTINGS
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        for name in (name for name in settings if before.get(name) != settings[name]):
            _stop(f"--{name.replace('_', '-')}: {plan.out} was begun with {before.get(name)!r}", 2)
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _rounds_in(plan: Plan) -> dict[int, dict[str, Any]]:
    path = plan.out / _ROUNDS
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return {row["round"]: row for row in rows}


def _line(row: dict[str, Any]) -> str:
    low, high = row["interval"]
    share = f"{100 * row['succeeded'] / row['evaluated']:5.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    return f"round {row['round']}: {row['episodes']:6d} episodes {row['frames']:8d} frames   success {share}"


def _module(folder: Path) -> str:
    """A folder as a module that Python finds from the current directory; nothing where it does not lie below."""
    try:
        return ".".join(folder.resolve().relative_to(os.getcwd()).parts)
    except ValueError:
        return ""


def _stop(message: str, code: int) -> NoReturn:
    print(f"dagger: {message}", file=sys.stderr)
    raise SystemExit(code)


def _plan() -> Plan:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="a task whose expert can take over: lift-cube, oranges or grab")
    parser.add_argument("--out", type=Path, required=True, help="folder of all sets, policies and results")
    parser.add_argument("--train", required=True, help="command that learns from {data} and writes to {out}")
    parser.add_argument("--policy", required=True, help="how `graspline eval --policy` names the policy in {out}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the first (default 3)")
    parser.add_argument("--demonstrations", type=int, default=200, help="episodes of round 0 (default 200)")
    parser.add_argument("--takeovers", type=int, default=100, help="episodes of every later round (default 100)")
    parser.add_argument("--evaluate", type=int, default=100, help="episodes of every evaluation (default 100)")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="simulated time of an evaluated episode")
    parser.add_argument(
        "--common", default="", help="options of `generate` and `eval` alike: cameras, fps, units, --set"
    )
    parser.add_argument("--take-over", default="", help='options of the roll-outs, such as "--take-over still_s=2"')
    given = parser.parse_args()
    for name in ("demonstrations", "takeovers", "evaluate"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} {getattr(given, name)}: expected at least 1")
    return Plan(**vars(given))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
