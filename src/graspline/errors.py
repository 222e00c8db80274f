"""What graspline raises on purpose. A mistake raises; the world's refusals are returned as values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

_Word = TypeVar("_Word", bound=str)


class GrasplineError(Exception):
    """Base of every error that graspline raises on purpose; `exit_code` is what the command line returns for it.

    >>> from graspline import GrasplineError, InputError
    >>> issubclass(InputError, GrasplineError), InputError.exit_code
    (True, 2)
    """

    exit_code = 5


class InputError(GrasplineError):
    """Bad usage or configuration: the message names all problems at once and what is allowed.

    >>> from graspline import InputError, find_task
    >>> try:
    ...     find_task("orange")
    ... except InputError as error:
    ...     print(error.problems[0].partition("?")[0])
    unknown task 'orange'; did you mean 'oranges'
    """

    exit_code = 2

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class EnvironmentProblem(GrasplineError):
    """Something that this machine lacks: a display, a library, disk space, a free port. The message says what to do.

    >>> from graspline import EnvironmentProblem
    >>> EnvironmentProblem.exit_code
    3
    """

    exit_code = 3


class DatasetProblem(GrasplineError):
    """A dataset on disk that contradicts itself or cannot be read."""

    exit_code = 4


class Interrupted(GrasplineError):
    """The user ended what was being done; the message says what is left of it."""

    exit_code = 130


class WiringError(GrasplineError):
    """A machine, motion or scene that was put together wrongly: our bug, or a task author's."""


def either(words: Sequence[str]) -> str:
    """`a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean 'lift'? ` with the closest known name; nothing if none is close."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, then all of them."""
    known = sorted(known)
    if not known:
        return "there are none"
    return f"{suggestion(name, known)}known: {', '.join(known)}"


def one_of(value: object, known: Iterable[_Word], where: str) -> _Word:
    """The value, if it is one of the known words; `where` it was given, such as --units."""
    known = tuple(known)
    for word in known:
        if isinstance(value, str) and value == word:
            return word
    raise InputError(f"{where}: {value!r} is unknown; {nearest(str(value), known)}")


def together(*parts: Callable[[], Any]) -> list[Any]:
    """What each part returns; the bad input that any of them finds is raised as one error."""
    results, problems = [], []
    for part in parts:
        try:
            results.append(part())
        except InputError as error:
            problems += error.problems
    if problems:
        # Two parts may find the same.
        raise InputError(dict.fromkeys(problems))
    return results
