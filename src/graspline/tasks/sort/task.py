"""The task `sort`: its machine, its goal, and what its outcomes claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graspline.evidence import Evidence, at_least, at_most
from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry, Transition
from graspline.motion.path import at_rest
from graspline.perception.belt.blocks import BlockSeen
from graspline.perception.belt.tracks import follow
from graspline.scenes.belt_line import belt_line
from graspline.tasks.sort.annotation import BeltAnnotator
from graspline.tasks.sort.belt_beliefs import BeltBeliefs, SeenInBins
from graspline.tasks.sort.catch_plans import Catch, plan_catch
from graspline.tasks.sort.cell import Departure, SortCell
from graspline.tasks.sort.faults import FAULT_HINTS
from graspline.tasks.sort.feeder import delivered, place_across
from graspline.tasks.sort.layout import feeder, robot_of, sample, scene_of
from graspline.tasks.sort.parameters import ACCEPTED, SIZES, Sort, SortRetryParameters
from graspline.tasks.sort.sight import BeltEye, nothing_yet
from graspline.tasks.sort.states import account, carry, check, choose, drop, grip, recheck, retreat, travel, watch
from graspline.tasks.stages.ready import collision_world
from graspline.tasks.task import Claim, Claims, Draw, Feed, Instruction, PolicyRules, Probe, Snapshot, Task, in_hand

# Blocks this far up and down the belt are probed for the plot of the region.
_BESIDE_M = 0.6
# How long the last block may take to its bin after it was sent.
_LAST_BLOCK_S = 60.0
# By truth, a block seen in a bin lies within a block's length of where it was seen; often half of it is hidden.
_SEEN_M = 0.06

CLAIMS = {
    ("grip", "gripped"): Claim(name="held", asserted=True),
    ("carry", "carried"): Claim(name="held", asserted=True),
    ("grip", "missed"): Claim(name="held", asserted=False),
    ("carry", "lost"): Claim(name="held", asserted=False),
    ("check", "sorted"): Claim(name="sorted", asserted=True),
    ("recheck", "sorted"): Claim(name="sorted", asserted=True),
}


def build_machine(parameters: Sort) -> Machine:
    """States and table."""

    def again(budget: str, otherwise: str) -> Retry:
        return Retry(to="retreat", budget=budget, otherwise=End(otherwise))

    blocked = again("ways", "blocked")
    table: dict[str, dict[str, Transition]] = {
        "watch": {"spotted": "travel", "in_doubt": "recheck", "finished": "account"},
        "travel": {
            "met": "grip",
            "came_home": "watch",
            "escaped": again("chases", "blocks_escaped"),
            "blocked": blocked,
        },
        "grip": {"gripped": "carry", "missed": again("grips", "grips_missed")},
        "carry": {"carried": "drop", "lost": again("losses", "blocks_lost"), "blocked": blocked},
        "drop": {"released": "choose", "stuck": again("grips", "grips_missed")},
        "choose": {"planned": "check", "none": "check", "stuck": End("stuck")},
        "check": {"sorted": "travel", "unseen": "travel", "blocked": blocked},
        "recheck": {"sorted": "watch", "unseen": "watch"},
        "retreat": {"planned": "travel", "none": "travel", "stuck": End("stuck")},
        "account": {"done": End("success"), "short": End("too_few_sorted"), "idle": End("nothing_to_sort")},
    }
    return Machine(
        name="sort",
        start="watch",
        work_begins="travel",
        states={
            state.__name__: state
            for state in (watch, travel, grip, carry, drop, choose, check, recheck, retreat, account)
        },
        table=table,
        inputs={"cell": SortCell, "line": BeltBeliefs},
        budgets={name: getattr(parameters.retries, name) for name in SortRetryParameters.model_fields},
    )


def given(parameters: Sort, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode."""
    return {"cell": cell_of(parameters), "line": BeltBeliefs(tracks=nothing_yet(parameters))}


def cell_of(parameters: Sort) -> SortCell:
    """The robot, collision checker, estimator and parameters that states use."""
    robot, eye = robot_of(parameters), BeltEye(camera=parameters.sight.camera)
    return SortCell(robot=robot, world=collision_world(belt_line(robot, 0)), eye=eye, settings=parameters)


def judge(parameters: Sort, sampled: Draw, truth: Snapshot) -> Evidence:
    """The goal by truth: enough blocks in the right bin, none in a wrong one."""
    accounts = [(sent.where, parameters.rules.bin_for(_known(sent.colour))) for sent in truth.accounts]
    wanted = [(where, its_bin) for where, its_bin in accounts if its_bin is not None]
    right = sum(where == its_bin for where, its_bin in wanted)
    wrong = sum(where != its_bin for where, its_bin in accounts if where.startswith("bin_"))
    # What has not been sent yet has not been sorted.
    ordered = len(wanted) + max(parameters.belt.blocks - len(truth.accounts), 0)
    share = right / ordered if ordered else 0.0
    return (at_least("sorted_share", share, parameters.success_share), at_most("sorted_wrong", wrong, 0))


def time_limit_s(parameters: Sort) -> float:
    """Until the last block is on the belt, and as long as that may take then."""
    belt = parameters.belt
    return belt.blocks / (belt.density_per_m * belt.speed_m_s) + _LAST_BLOCK_S


def _known(colour: str) -> str:
    """A colour as the task calls it."""
    return colour if colour in ACCEPTED else "unknown"


def check_claim(parameters: Sort, claim: str, about: str | SeenInBins, truth: Snapshot) -> Evidence:
    """A block is in the hand; or a number of a colour are in their bin, one of them just where it was seen."""
    if isinstance(about, str):
        apart = {name: float(np.linalg.norm(each.position_m - truth.tool_m)) for name, each in truth.objects.items()}
        nearest = min(apart, key=apart.__getitem__)
        return in_hand(truth, nearest)
    found: Evidence = ()
    for seen in about.blocks:
        bin_name = parameters.rules.bin_for(seen.colour)
        there = [sent for sent in truth.accounts if _known(sent.colour) == seen.colour and sent.where == bin_name]
        # Objects are sent again: the last account of each says what it is now.
        now = {sent.name: sent for sent in truth.accounts}
        places = [truth.objects[sent.name].position_m[:2] for sent in there if now[sent.name] is sent]
        off_m = min((float(np.linalg.norm(place - (seen.x_m, seen.y_m))) for place in places), default=np.inf)
        found += (
            at_least(f"{seen.colour}_in_{bin_name}", len(there), seen.number),
            at_most("off_where_seen", off_m, _SEEN_M, "m"),
        )
    return found


def probe(parameters: Sort, random: np.random.Generator) -> Probe:
    """One block anywhere on the belt beside the arm, and whether it can be caught from home."""
    x, yaw = place_across(parameters.belt, random)
    y, size = float(random.uniform(-_BESIDE_M, _BESIDE_M)), SIZES[int(random.integers(len(SIZES)))]
    block = BlockSeen(
        colour="red", size_m=size, x_m=x, y_m=y, yaw_rad=yaw, sigma_m=0, yaw_sigma_rad=0, whole=True, misfit_px=0
    )
    cell, tracks = cell_of(parameters), follow(nothing_yet(parameters), [block], 0.0, lambda x, y: True)
    found = plan_catch(cell, Departure(start=at_rest(cell.robot.home), now_s=0.0), tracks, tracks.alive[0])
    return Probe(x_m=x, y_m=y, refusal="" if isinstance(found, Catch) else found)


def instruction(parameters: Sort, sampled: Draw, outcomes: Mapping[str, str]) -> Instruction:
    """Which colour goes where."""
    rules = parameters.rules
    if all(rules.bin_for(colour) == f"bin_{colour}" for colour in ACCEPTED):
        sentence = "Sort the blocks by colour"
    else:
        *most, last = (f"{colour} blocks on the {_belt(rules.bin_for(colour))} belt" for colour in ACCEPTED)
        sentence = f"Put {', '.join(most)} and {last}"
    rest = ", and put blocks of any other colour on the reject belt" if rules.unknown == "reject" else ""
    return Instruction(sentence=f"{sentence}{rest}.")


def _belt(bin_name: str | None) -> str:
    return (bin_name or "").removeprefix("bin_")


SORT = Task(
    name="sort",
    robot="ur5e",
    sentence="Sort the blocks by colour.",
    summary="an arm catches blocks on a moving belt, guided by a camera, and sorts them onto one belt per colour",
    instruction=instruction,
    parameters=Sort,
    scene=scene_of,
    sample=sample,
    region=probe,
    machine=build_machine,
    inputs=given,
    goal=judge,
    policy=PolicyRules(time_limit_s=time_limit_s),
    claims=Claims(outcomes=CLAIMS, check=check_claim),
    randomization=lambda parameters: parameters.randomize,
    actor=feeder,
    annotator=BeltAnnotator,
    fault_hints=FAULT_HINTS,
    feed=Feed(
        settings=lambda speed_m_s, per_m: (f"belt.speed_m_s={speed_m_s}", f"belt.density_per_m={per_m}"),
        count=delivered,
    ),
    # Six blocks, close to each other; an episode that loses one of them and sorts the others has recovered.
    brief=("belt.blocks=6", "belt.density_per_m=4", "success_share=0.8"),
)
