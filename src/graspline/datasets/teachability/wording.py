"""What is good about the figures of a dataset, in a line for each measure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from graspline.datasets.teachability.findings import (
    GOOD_SPREAD_DEG,
    GOOD_TURN_RATIO,
    SIMILAR_MM,
    TeachabilityFindings,
    Ties,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One measure: its figure, what is good, and whether it is; None where there is no limit."""

    measure: str
    value: str
    good: str
    met: bool | None = None

    @property
    def mark(self) -> str:
        """`yes`, `NO` or `-`."""
        return {True: "yes", False: "NO", None: "-"}[self.met]


def advice(found: TeachabilityFindings) -> Iterator[Advice]:
    """One for each measure of the findings."""
    scene, pacing = found.scene, found.pacing
    if scene is not None:
        widest = sorted(((scene.judged_spread(each), each.joint) for each in found.judged), reverse=True)[:2]
        goods = [scene.spread_is_good(each) for each in found.judged]
        ties = "without ties if these are few"
        judged = ties if scene.similar else f"not judged: neighbours over {SIMILAR_MM:g} mm away"
        yield Advice(
            measure="spread at the grasp",
            value=", ".join(f"{joint} {number(value)} deg" for value, joint in widest),
            good=f"at most {GOOD_SPREAD_DEG:g} deg for each joint; {judged}",
            met=all(goods) if scene.similar else None,
        )
        yield Advice(
            measure="ties",
            value=f"{share(scene.ties.scenes, scene.scenes)} of scenes; {_nearer(scene.ties)}",
            good=f"at most {share(scene.most_ties, scene.scenes)} of scenes, and fewer the more similar scenes are",
            met=scene.few_ties if scene.similar else None,
        )
        turn, any_roll = scene.roll_turn, scene.turn_is_good is None
        yield Advice(
            measure=f"turn of {scene.roll}",
            value=f"{number(turn.path.median)} deg" if any_roll else f"{number(turn.ratio.median, 2)} times the least",
            good="little: any roll takes these objects" if any_roll else f"at most {GOOD_TURN_RATIO:g} times",
            met=scene.turn_is_good,
        )
        yield Advice(
            measure="spread over time",
            value=f"{number(max(each.median for each in scene.whole.joints.values()))} for the widest joint",
            good="small; the turning of objects is part of it",
        )
    yield Advice(
        measure="pauses",
        value=f"{pacing.pauses_per_episode:.2f} per episode",
        good="none: a single frame does not show how long the arm has been waiting",
    )
    yield Advice(
        measure="idle frames",
        value=f"{100 * pacing.idle:.1f} %",
        good="few: a policy that imitates them may never move on",
    )
    yield Advice(
        measure="speed",
        value=f"{number(max(each.p95 for each in pacing.joints))} per second for the fastest joint (p95)",
        good="even, and slow enough for the rate at which the policy acts",
    )


def _nearer(ties: Ties) -> str:
    """The share of pairs that chose otherwise, of the most and of the least similar of them."""
    counted = [each for each in ties.by_distance if each.pairs >= 30]
    if not counted:
        return "too few similar scenes to tell"
    near, far = counted[0], counted[-1]
    return (
        f"{share(near.otherwise, near.pairs)} of pairs below {near.to_mm:g} mm, "
        f"{share(far.otherwise, far.pairs)} below {far.to_mm:g} mm"
    )


def number(value: float, digits: int = 1) -> str:
    """A number with a fixed count of decimals, `-` if it is not finite."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def share(count: float, total: float) -> str:
    """A share in percent, `-` of nothing."""
    return f"{100 * count / total:.0f} %" if total else "-"
