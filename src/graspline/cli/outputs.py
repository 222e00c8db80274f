"""Files that commands write: what is wrong with a name is said before anything moves."""

from __future__ import annotations

import os
from pathlib import Path

from graspline.errors import EnvironmentProblem, InputError
from graspline.parameters.notation import printable


def check_name(option: str, path: Path, suffix: str = "") -> None:
    """Refuse a name that cannot be a file of this kind."""
    named = f"{option} {printable(str(path))}"
    if suffix and path.suffix != suffix:
        raise InputError(f"{named}: expected a name that ends in {suffix}")
    if path.is_dir():
        raise InputError(f"{named}: is a directory, expected a file")


def make_folder(option: str, folder: Path) -> None:
    """The folder, made where it is missing; a problem of this machine if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        # Below a regular file mkdir says that the file exists, which is not the point.
        below_a_file = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "a file is in the way" if below_a_file else error.strerror or error
        raise EnvironmentProblem(f"{option}: cannot make the folder {printable(str(folder))}: {reason}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EnvironmentProblem(f"{option}: cannot write to the folder {printable(str(folder))}")
