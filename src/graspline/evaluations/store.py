"""The folder of an evaluation: settings, a line per episode, and logs of the episodes that failed.

A line is appended, whole, when its episode ends, so that a killed evaluation loses nothing but what was being played;
what remains of a line that was cut off is dropped. Opened and closed, the lines are in the order of their seeds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graspline.datasets.format import files
from graspline.datasets.format.recording import KeptLog, pack, recording_of, unpack
from graspline.episodes.episode import INTERRUPTED, Episode
from graspline.errors import DatasetProblem, InputError
from graspline.evaluations.factors import factors_of
from graspline.evaluations.settings import EvaluationSettings, differences
from graspline.parameters.notation import printable
from graspline.scenes.scene import Scene

SUMMARY, LINES, LOGS, PAGE = "evaluation.json", "episodes.jsonl", "logs", "report.html"
# Keys that a line has besides those of `eval --json`.
ADDED = ("wanted", "factors", "log")
Line = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """An evaluation on disk; lines by seed, in order."""

    folder: Path
    settings: EvaluationSettings
    lines: dict[int, Line] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Evaluation:
        """What a folder holds; refused if it holds no evaluation."""
        if not (folder / SUMMARY).is_file():
            raise InputError(f"{printable(str(folder))}: no evaluation there ({SUMMARY} is missing)")
        try:
            settings = EvaluationSettings.from_dict(json.loads((folder / SUMMARY).read_text("utf-8"))["settings"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DatasetProblem(f"{folder / SUMMARY}: not the summary of an evaluation: {error}") from None
        return cls(folder=folder, settings=settings, lines=_lines(folder / LINES))

    @classmethod
    def begin(cls, folder: Path, settings: EvaluationSettings) -> Evaluation:
        """Go on with an evaluation of the same settings, or begin one; the folder exists and is locked."""
        if (folder / SUMMARY).exists():
            found = cls.read(folder)
            wrong = differences(found.settings, settings, ("the folder has", "asked for"))
            if wrong:
                where = f"--out {printable(str(folder))}"
                raise InputError(
                    [
                        f"{where}: has an evaluation with other settings",
                        *(f"  {each}" for each in wrong),
                        f"  choose another folder for these settings, such as --out {printable(str(folder))}-2",
                    ]
                )
        elif any(not each.name.startswith(".") for each in folder.iterdir()):
            raise InputError(f"--out {printable(str(folder))}: contains something else; choose a new or empty folder")
        else:
            found = cls(folder=folder, settings=settings)
        found.save({})
        return found

    def add(self, episode: Episode, scene: Scene) -> None:
        """Keep an episode that has ended; one that was interrupted is played anew another time."""
        if episode.verdict == INTERRUPTED:
            return
        seed, log = episode.scenario.seed, None
        if not episode.succeeded:
            log = f"{LOGS}/{seed:08d}.npz"
            # The line makes it count, so the log comes first.
            files.write(self.folder, log, pack(recording_of(episode, None)))
        line = {
            **episode.as_dict(),
            "wanted": list(episode.instruction.objects),
            "factors": factors_of(episode, scene),
            "log": log,
        }
        self.lines[seed] = line
        _append(self.folder / LINES, json.dumps(line, allow_nan=False))

    def save(self, findings: Mapping[str, Any]) -> None:
        """Put all lines in order, and write the summary: the settings, and what was found out."""
        self.lines = dict(sorted(self.lines.items()))
        lines = "".join(json.dumps(line, allow_nan=False) + "\n" for line in self.lines.values())
        summary = {"settings": self.settings.as_dict(), **findings}
        numbers = json.dumps(summary, indent=1, allow_nan=False) + "\n"
        files.write_all(self.folder, {LINES: lines.encode(), SUMMARY: numbers.encode()})

    def log_of(self, line: Line) -> KeptLog:
        """The log of an episode that failed."""
        path = self.folder / str(line["log"])
        try:
            return unpack(path.read_bytes())
        except (OSError, ValueError) as error:
            raise DatasetProblem(f"{path}: {error}") from None


def shown(line: Line) -> dict[str, Any]:
    """A line as `eval --json` prints it."""
    return {name: value for name, value in line.items() if name not in ADDED}


def _lines(path: Path) -> dict[int, Line]:
    found: dict[int, Line] = {}
    texts = path.read_bytes().split(b"\n") if path.exists() else []
    # A whole file ends with a line feed; what follows the last one was cut off.
    for number, text in enumerate(texts[:-1], start=1):
        try:
            line = json.loads(text)
            seed = line["seed"]
            if type(seed) is not int or not isinstance(line["succeeded"], bool):
                raise ValueError("seed or succeeded is missing")
            if not isinstance(line["factors"], dict) or not isinstance(line["wanted"], list):
                raise ValueError("factors or wanted are missing")
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetProblem(f"{path}: line {number} is not an episode: {error}") from None
        found[seed] = line
    return dict(sorted(found.items()))


def _append(path: Path, text: str) -> None:
    """One line by one call, so that it is there whole or cut off at its end."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, (text + "\n").encode())
    finally:
        os.close(file)
