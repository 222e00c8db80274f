"""What a command returns to the shell, from the text that `graspline --help` ends with and the errors themselves."""

from __future__ import annotations

import inspect
import re

from graspline import errors
from graspline.cli.commands import app
from reference.markdown import code, sentence, table


def page() -> str:
    told = re.findall(r"(\d+) (.*?)(?=, \d+ |\.$)", app.info.epilog or "")
    rows = [(code(number), sentence(meaning), _error(int(number))) for number, meaning in told]
    return (
        "# Exit codes\n\nEvery command returns one of these. In Python the same problems are exceptions.\n\n"
        + table(("code", "meaning", "exception"), rows)
        + "\nExceptions are described in the [Python API](api.md#errors).\n"
    )


def _error(number: int) -> str:
    """The exceptions that end a command with this code; those that mean a bug in graspline are not listed."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.GrasplineError)]
    return ", ".join(code(kind.__name__) for kind in kinds if kind.exit_code == number and number != 5)
