"""How often a dataset's own actions do the task again, and how often those of another of its episodes do.

The `action` column of every successful episode is read from the dataset and followed from the scene of the episode's
seed, without looking, through the code that evaluates policies: at the dataset's rate, and thinned to lower ones.

    graspline generate lift-cube --episodes 40 --seed 61000 --cameras none --fps 60 --out out/cubes
    python benchmarks/reproduction.py out/cubes --fps 60 30 15 10
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graspline import TASKS, Scenario
from graspline.datasets.format.store import Dataset
from graspline.envs.interface import Interface, interface_of
from graspline.envs.recorded_actions import RecordedActions, reproduce, thinned
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError
from graspline.parameters.records import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--fps", type=int, nargs="+", default=[30, 15])
    parser.add_argument("--lanes", type=int, default=20)
    asked = parser.parse_args()
    for root in asked.datasets:
        for line in measure(root, asked.fps, asked.lanes):
            print(line, flush=True)


def measure(root: Path, rates: Sequence[int], lanes: int) -> Iterator[str]:
    """What following a dataset's actions comes to, a line for each rate and whose actions they are."""
    dataset = Dataset.open(root)
    own_fps, units = dataset.settings.fps, dataset.settings.units
    wrong = [fps for fps in rates if own_fps % fps]
    if wrong:
        raise InputError(f"{root}: has {own_fps} frames a second, which {wrong[0]} does not divide")
    kept = [recording_of(dataset, row) for row in dataset.rows if row["success"]]
    scene = kept[0].scenario.task.scene(kept[0].scenario.parameters)
    interface = interface_of(scene, fps=own_fps, cameras="none", units=units)
    yield f"{root}: {len(kept)} successful episodes of {kept[0].scenario.task.name}, {own_fps} fps, {units}"
    yield f"  fastest step of an action: {100 * fastest_step(kept, interface):.0f} % of the speed limit"
    for fps in rates:
        every = own_fps // fps
        slower = [dataclasses.replace(each, actions=thinned(each.actions, every)) for each in kept]
        at_rate = interface_of(scene, fps=fps, cameras="none", units=units)
        for shift, whose in ((0, "its own actions"), (1, "another episode's")):
            again = list(reproduce(slower, at_rate, lanes=lanes, shift=shift))
            yield f"  {fps} fps, {whose}: {rate_text(sum(each.succeeded for each in again), len(again))}"


def recording_of(dataset: Dataset, row: dict[str, Any]) -> RecordedActions:
    """An episode's actions as the dataset holds them, and the scene of its seed."""
    made = json.loads(row["scenario"])
    if made["faults"]:
        raise InputError(f"{dataset.root}: was made with the fault {made['faults'][0]}, which following cannot repeat")
    task = TASKS[made["task"]]
    scenario = Scenario(task=task, parameters=load(task.parameters, made["parameters"]), seed=row["seed"])
    return RecordedActions(
        scenario=scenario, actions=np.array(dataset.frames(row).column("action").to_pylist(), np.float32)
    )


def fastest_step(recordings: Sequence[RecordedActions], interface: Interface) -> float:
    """Over the joints' speed limits: at 1 and above, following would be slower than the recording."""
    limit_rad = interface.robot.limits.velocity / interface.fps
    steps = [np.diff(interface.units.inward(each.actions.astype(np.float64)), axis=0) for each in recordings]
    return max(float((np.abs(each) / limit_rad).max()) for each in steps)


if __name__ == "__main__":
    main()
