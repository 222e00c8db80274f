"""What a check finds: problems, which make a dataset unfit, and notes, which do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be."""

    # A file below the dataset's folder.
    where: str
    what: str
    episode: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {'' if self.episode is None else f'episode {self.episode}: '}{self.what}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"where": self.where, "episode": self.episode, "what": self.what}


class Findings:
    """Everything found so far in the dataset at `root`, in the order found; what is found twice is there once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._problems: dict[Finding, None] = {}
        self._notes: dict[Finding, None] = {}

    @property
    def problems(self) -> tuple[Finding, ...]:
        """All problems found."""
        return tuple(self._problems)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """All notes."""
        return tuple(self._notes)

    def problem(self, where: str, what: str, episode: int | None = None) -> None:
        """Add a problem that makes the dataset unsound."""
        self._problems[Finding(where=where, what=what, episode=episode)] = None

    def note(self, where: str, what: str, episode: int | None = None) -> None:
        """Add something worth knowing that is no problem."""
        self._notes[Finding(where=where, what=what, episode=episode)] = None

    def unreadable(self, complaint: str, episode: int | None = None) -> None:
        """Take over what a reader complained of, line by line; each begins with the file."""
        for line in complaint.splitlines():
            where, _, what = line.removeprefix(f"{self._root}/").partition(": ")
            self.problem(where, what, episode)
