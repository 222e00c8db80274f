"""Whether the kept logs are those of the episodes, and the labels what the simulator says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.check.replay import Rerun, log_differences, replayable, rerun, versions_note
from graspline.datasets.format.frames import timeline_of
from graspline.datasets.format.recording import KeptLog
from graspline.datasets.format.rows import Row, log_file, row_file, row_slot
from graspline.datasets.format.tables import numbers_in
from graspline.episodes.log import EpisodeLog
from graspline.episodes.units import units_of
from graspline.errors import DatasetProblem
from graspline.evidence import Evidence, failures, passes
from graspline.motion.path import Path, check_corners
from graspline.robots.robot import Robot

# Roundings of a number of some hundreds to float32.
_ROUNDING = 1e-4


def read_logs(contents: Contents, found: Findings, done: Callable[[], object]) -> None:
    """What can be checked without playing; `done` is called for every episode."""
    claims = _claims(contents)
    for row in contents.rows:
        name, episode = log_file(row["episode_id"]), row["episode_index"]
        try:
            kept = contents.dataset.log(row)
        except DatasetProblem as error:
            found.unreadable(str(error), episode)
        else:
            for each in (*log_differences(contents.dataset, row, kept), *_reference_differences(contents, row, kept)):
                found.problem(name, each, episode)
        _check_label(contents, row, row["verdict"] in claims, (), found)
        done()


def play_logs(contents: Contents, found: Findings, done: Callable[[], object]) -> None:
    """Play every log again and judge its end; `done` is called for every episode."""
    played: list[Rerun] = []
    claims = _claims(contents)
    for each in rerun(contents.dataset, contents.rows):
        played.append(each)
        done()
    for each in sorted(played, key=lambda each: each.row["episode_index"]):
        name, episode = log_file(each.row["episode_id"]), each.row["episode_index"]
        for line in each.differences:
            if line.startswith(f"{contents.dataset.root}/"):
                found.unreadable(line, episode)
            elif replayable(each.row):
                found.problem(name, line, episode)
        if each.differences and (versions := versions_note(each.row)):
            found.note("graspline/logs", versions)
        _check_label(contents, each.row, each.row["verdict"] in claims, each.goal, found)


def _reference_differences(contents: Contents, row: Row, kept: KeptLog) -> Iterator[str]:
    """Whether actions are what was intended, in the units that the dataset declares, and that is what can be."""
    robot, settings = contents.dataset.scene.robot, contents.dataset.settings
    timeline = timeline_of(kept.log.ticks, robot.control_hz, settings.fps, row["first_tick"])
    try:
        action = numbers_in(contents.dataset.frames(row), "action")
    except DatasetProblem:
        # The check of data files reports that.
        return
    if kept.log.positions.shape[1:] == action.shape[1:] and len(timeline) == len(action) and kept.log.ticks:
        wanted = units_of(robot, settings.units).outward(kept.log.intention[timeline.ends])
        said = "intended" if len(kept.log.intended) else "commanded"
        if not np.allclose(action, wanted, rtol=0, atol=_ROUNDING):
            yield f"action is not what the log says was {said}, by up to {np.abs(action - wanted).max():.4f}"
        yield from _intention_differences(robot, kept.log)


def _intention_differences(robot: Robot, log: EpisodeLog) -> Iterator[str]:
    """Of an arm that was pushed: whether what was intended keeps the robot's limits, and is what was done elsewhere."""
    if not len(log.intended):
        return
    apart = np.flatnonzero((log.intended != log.positions).any(axis=1) & ~log.off)
    if len(apart):
        yield f"what was intended is not what was executed at tick {apart[0]}, where the arm was not pushed"
    refused = check_corners(Path(positions=log.intended, velocities=log.velocities, dt_s=robot.dt_s), robot)
    if refused is not None:
        yield f"what was intended breaks limits: {refused}"


def _claims(contents: Contents) -> tuple[str, ...]:
    """Verdicts by which the machine claims success."""
    task, parameters = contents.dataset.settings.found_task()
    return task.machine(parameters).successes


def _check_label(contents: Contents, row: Row, claimed: bool, goal: Evidence, found: Findings) -> None:
    """A success is claimed by the machine and granted by the simulator; `goal` is empty where it was not asked."""
    where, episode, verdict = row_file(row_slot(row)), row["episode_index"], row["verdict"]
    if row["success"] and not claimed:
        found.problem(where, f"is labelled a success, and its verdict is {verdict}", episode)
    keep = contents.dataset.settings.keep
    if not row["success"] and keep != "all" and not contents.merged:
        found.problem(where, "is labelled a failure, and only successes were to be kept", episode)
    if not json.loads(row["takeover"]) and keep == "takeover" and not contents.merged:
        found.problem(where, "has no takeover, and only episodes with one were to be kept", episode)
    if row["success"] and goal and not passes(goal):
        broken = "; ".join(str(each) for each in failures(goal))
        found.problem(where, f"is labelled a success, and by the simulator it is none: {broken}", episode)
    if not row["success"] and passes(goal):
        message = f"is labelled a failure ({verdict}), and by the simulator the goal is reached"
        (found.problem if claimed else found.note)(where, message, episode)
