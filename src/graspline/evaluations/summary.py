"""What came of an evaluation: the rate, how the failures failed, and what success depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graspline.episodes.failures import MODES
from graspline.episodes.statistics import wilson
from graspline.evaluations.factor_tables import LEVEL, Factor, factor_tables, shuffles_for
from graspline.evaluations.store import Evaluation, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSummary:
    """Numbers of one evaluation."""

    episodes: int
    succeeded: int
    # Seeds of the episodes that failed, by mode, in the order of how far an episode got.
    modes: dict[str, tuple[int, ...]]
    sim_time_s: float
    factors: tuple[Factor, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "summary": {
                "episodes": self.episodes,
                "succeeded": self.succeeded,
                "rate": self.succeeded / self.episodes if self.episodes else None,
                "interval": list(wilson(self.succeeded, self.episodes)),
                "sim_time_s": round(self.sim_time_s, 6),
            },
            "failures": [
                {
                    "mode": mode,
                    "episodes": len(seeds),
                    "share": len(seeds) / self.episodes,
                    "interval": list(wilson(len(seeds), self.episodes)),
                    "seeds": list(seeds),
                }
                for mode, seeds in self.modes.items()
            ],
            "factors": [each.as_dict() for each in self.factors],
            "factor_test": {"shuffles": shuffles_for(len(self.factors)), "level": LEVEL},
        }


def mode_of(line: Line) -> str:
    """How an episode failed; empty for a success."""
    if line["succeeded"]:
        return ""
    return str(line["failure"]["mode"]) if "failure" in line else str(line["verdict"])


def in_order(modes: Iterable[str]) -> list[str]:
    """Modes by how far an episode got; those that only a verdict names come last."""
    known = list(MODES)
    return sorted(set(modes), key=lambda mode: (known.index(mode) if mode in known else len(known), mode))


def summarise(evaluation: Evaluation) -> EvaluationSummary:
    """The rates, modes and factors of an evaluation."""
    lines = list(evaluation.lines.values())
    by_mode: dict[str, list[int]] = {}
    for line in lines:
        if not line["succeeded"]:
            by_mode.setdefault(mode_of(line), []).append(line["seed"])
    factors = factor_tables([line["factors"] for line in lines], [float(line["succeeded"]) for line in lines])
    return EvaluationSummary(
        episodes=len(lines),
        succeeded=sum(line["succeeded"] for line in lines),
        modes={mode: tuple(by_mode[mode]) for mode in in_order(by_mode)},
        sim_time_s=sum(line["sim_time_s"] for line in lines),
        factors=tuple(factors),
    )
