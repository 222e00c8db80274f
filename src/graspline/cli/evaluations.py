"""Evaluations that are kept in a folder: opened, finished with a page, and described again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from graspline.cli.options import is_installed
from graspline.cli.outputs import make_folder, report_saved, write_whole
from graspline.cli.progress import Progress
from graspline.datasets.format.files import locked
from graspline.errors import DatasetProblem
from graspline.evaluations.gallery import FailureSheet, chosen, problem, sheets
from graspline.evaluations.page import evaluation_page, factors_sentence, is_tested
from graspline.evaluations.settings import EvaluationSettings
from graspline.evaluations.store import LINES, PAGE, SUMMARY, Evaluation
from graspline.evaluations.summary import EvaluationSummary, summarise


def open_evaluation(folder: Path, settings: EvaluationSettings, stack: ExitStack) -> Evaluation:
    """Begin or go on with an evaluation, as the only writer of its folder until the stack is closed."""
    make_folder("--out", folder)
    stack.enter_context(locked(folder))
    return Evaluation.begin(folder, settings)


def check_installed(task: str, folder: Path) -> None:
    """Say what to install if the task of an evaluation that is continued is missing."""
    if not is_installed(task) and (folder / SUMMARY).is_file():
        with suppress(DatasetProblem):
            Evaluation.read(folder).settings.found_task()


def finish(evaluation: Evaluation, stop: Callable[[], bool], say: Callable[[str], object]) -> None:
    """Write what was found out, and the page; after a stop the page has no pictures."""
    summary = summarise(evaluation)
    evaluation.save(summary.as_dict())
    if is_tested(summary.factors):
        say(factors_sentence(summary.factors))
    report_saved(evaluation.folder / SUMMARY, evaluation.folder / LINES)
    write_page(evaluation, summary, evaluation.folder / PAGE, stop)


def write_page(evaluation: Evaluation, summary: EvaluationSummary, path: Path, stop: Callable[[], bool]) -> None:
    """The page, with pictures of failures as far as they can be rendered here."""
    seeds = [seed for alike in summary.modes.values() for seed in chosen(alike)]
    found, why = list[FailureSheet](), problem(evaluation) if seeds else ""
    if stop():
        why = f"Interrupted before they were rendered; `graspline report {evaluation.folder}` renders them."
    elif seeds and not why:
        with Progress("pictures of failures", len(seeds)) as progress:
            for sheet in sheets(evaluation, seeds, stop):
                found.append(sheet)
                progress.advance()
    write_whole(path, evaluation_page(evaluation, summary, found, why))
    report_saved(path)
