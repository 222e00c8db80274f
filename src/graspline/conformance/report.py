"""What was checked of a task, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graspline.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One promise: what was looked at, and every way in which the task breaks it."""

    name: str
    # What was measured, in a few words.
    note: str
    problems: tuple[str, ...] = ()
    # False where an earlier problem made it impossible.
    done: bool = True

    @property
    def kept(self) -> bool:
        """Whether the promise was checked and is kept."""
        return self.done and not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": self.name, "kept": self.kept, "note": self.note, "problems": list(self.problems)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """Every promise of a task."""

    task: str
    checks: tuple[Checked, ...]

    @property
    def conforms(self) -> bool:
        """Whether every promise is kept."""
        return all(each.kept for each in self.checks)

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems, each with its check."""
        return tuple(f"{each.name}: {problem}" for each in self.checks for problem in each.problems)

    def require(self) -> None:
        """Raise InputError with every problem, for tests: `check_task(STACK).require()`."""
        if not self.conforms:
            raise InputError([f"task {self.task!r} does not conform:", *(f"  {each}" for each in self.problems)])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"task": self.task, "conforms": self.conforms, "checks": [each.as_dict() for each in self.checks]}
