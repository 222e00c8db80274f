"""Two evaluations on the same seeds: which is better, by how much, on which episodes, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graspline.episodes.statistics import mcnemar, wilson, wilson_paired
from graspline.errors import InputError
from graspline.evaluations.factor_tables import Factor, factor_tables
from graspline.evaluations.settings import differences
from graspline.evaluations.store import Evaluation, Line
from graspline.evaluations.summary import in_order, mode_of
from graspline.parameters.notation import printable

# Settings that may differ: they belong to the policy. A first seed may, too; common seeds are compared.
_ITS_OWN = ("policy", "options.", "seed", "graspline", "mujoco")
# Limits of an episode, which must not differ.
_SHARED_OPTIONS = ("max_seconds",)
# A success, in tables of how each of both ended.
SUCCESS = "success"
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One episode, played by both."""

    seed: int
    first: Line
    second: Line

    @property
    def difference(self) -> int:
        """1 if only the first succeeded, -1 if only the second did."""
        return int(self.first["succeeded"]) - int(self.second["succeeded"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two evaluations on their common seeds."""

    first: Evaluation
    second: Evaluation
    pairs: tuple[Pair, ...]
    factors: tuple[Factor, ...]

    def count(self, first: bool, second: bool) -> int:
        """Episodes that ended so for both: succeeded or not."""
        return sum(each.first["succeeded"] == first and each.second["succeeded"] == second for each in self.pairs)

    @property
    def rates(self) -> tuple[int, int]:
        """Successes of each."""
        return sum(each.first["succeeded"] for each in self.pairs), sum(each.second["succeeded"] for each in self.pairs)

    @property
    def difference(self) -> float:
        """Rate of the second less that of the first."""
        one, two = self.rates
        return (two - one) / len(self.pairs)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the difference."""
        return wilson_paired(
            self.count(True, True), self.count(False, True), self.count(True, False), self.count(False, False)
        )

    @property
    def p(self) -> float:
        """The p-value of the difference (McNemar)."""
        return mcnemar(self.count(True, False), self.count(False, True))

    def only(self, which: int) -> tuple[int, ...]:
        """Seeds on which only the first (0) or only the second (1) succeeded."""
        wanted = 1 if which == 0 else -1
        return tuple(each.seed for each in self.pairs if each.difference == wanted)

    @property
    def left_out(self) -> tuple[int, int]:
        """Episodes of each that the other has not played."""
        return len(self.first.lines) - len(self.pairs), len(self.second.lines) - len(self.pairs)

    def endings(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """Seeds by how each ended: success, or the mode of failure."""
        found: dict[tuple[str, str], list[int]] = {}
        for each in self.pairs:
            found.setdefault((_ending(each.first), _ending(each.second)), []).append(each.seed)
        return {key: tuple(seeds) for key, seeds in found.items()}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        one, two = self.rates
        count = len(self.pairs)
        return {
            "first": _side(self.first, one, count),
            "second": _side(self.second, two, count),
            "seeds": count,
            "left_out": dict(zip(("first", "second"), self.left_out, strict=True)),
            "both": self.count(True, True),
            "neither": self.count(False, False),
            "only_first": list(self.only(0)),
            "only_second": list(self.only(1)),
            "difference": self.difference,
            "interval": list(self.interval),
            "mcnemar_p": self.p,
            "endings": [
                {"first": key[0], "second": key[1], "episodes": len(seeds), "seeds": list(seeds)}
                for key, seeds in sorted(self.endings().items())
            ],
            "factors": [
                {
                    "name": each.name,
                    "p": each.p,
                    "p_corrected": each.p_corrected,
                    "stands_out": each.stands_out,
                    "bins": [
                        {"low": one.low, "high": one.high, "episodes": one.episodes, "difference": 0.0 - one.mean}
                        for one in each.bins
                    ],
                }
                for each in self.factors
            ],
        }

    def modes(self) -> list[str]:
        """Endings that occur, a success first."""
        found = {name for key in self.endings() for name in key}
        return [*([SUCCESS] if SUCCESS in found else []), *in_order(found - {SUCCESS})]


def compare(first: Path, second: Path) -> Comparison:
    """Compare the evaluations in two folders; refused where they are not of the same scenes."""
    one, two = Evaluation.read(first), Evaluation.read(second)
    common = sorted(one.lines.keys() & two.lines.keys())
    problems = [
        *differences(one.settings, two.settings, ("the first has", "the second"), _ITS_OWN),
        *_limits(one, two),
        *_scenes(one, two, common),
    ]
    if problems:
        said = f"{printable(str(first))} and {printable(str(second))} cannot be compared: they differ in"
        more = [f"  and {len(problems) - _MOST_LISTED} more"] if len(problems) > _MOST_LISTED else []
        raise InputError([said, *(f"  {each}" for each in problems[:_MOST_LISTED]), *more])
    if not common:
        raise InputError(
            f"{printable(str(first))} and {printable(str(second))} have no seed in common: the first has "
            f"{_seeds(one)}, the second {_seeds(two)}"
        )
    pairs = tuple(Pair(seed=seed, first=one.lines[seed], second=two.lines[seed]) for seed in common)
    factors = factor_tables([each.first["factors"] for each in pairs], [float(each.difference) for each in pairs])
    return Comparison(first=one, second=two, pairs=pairs, factors=tuple(factors))


def _limits(one: Evaluation, two: Evaluation) -> list[str]:
    """What limits episodes must be the same, where both have it: a machine has no such option."""
    first, second = one.settings.options, two.settings.options
    return [
        f"{name}: the first has {first[name]}, the second {second[name]}"
        for name in _SHARED_OPTIONS
        if name in first and name in second and first[name] != second[name]
    ]


def _scenes(one: Evaluation, two: Evaluation, seeds: Sequence[int]) -> list[str]:
    """The first seed whose scene differs: another version may sample other scenes."""
    for seed in seeds:
        first, second = one.lines[seed]["factors"], two.lines[seed]["factors"]
        for name in sorted(first.keys() | second.keys()):
            # What struck depends on what the policy did before.
            if not name.startswith("fault.") and first.get(name) != second.get(name):
                values = f"the first has {first.get(name, 'nothing')}, the second {second.get(name, 'nothing')}"
                return [f"the scene of seed {seed}, {name}: {values}"]
    return []


def _seeds(evaluation: Evaluation) -> str:
    seeds = list(evaluation.lines)
    return f"{seeds[0]} to {seeds[-1]}" if seeds else "none"


def _side(evaluation: Evaluation, succeeded: int, count: int) -> dict[str, Any]:
    return {
        "folder": str(evaluation.folder),
        "policy": evaluation.settings.policy,
        "succeeded": succeeded,
        "rate": succeeded / count,
        "interval": list(wilson(succeeded, count)),
    }


def _ending(line: Line) -> str:
    return mode_of(line) or SUCCESS
