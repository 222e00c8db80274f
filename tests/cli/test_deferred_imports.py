"""A command's module waits for what it imports until the command runs."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from graspline.cli.deferred_imports import forget, lazily, load


@pytest.fixture
def waiting() -> object:
    """The module of `graspline rates`, imported anew, with nothing loaded."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith("graspline.cli.")}
    sys.modules.pop("graspline.cli.rates", None)
    with lazily():
        yield importlib.import_module("graspline.cli.rates")
    sys.modules.update(kept)


def test_loading_puts_the_real_objects_in_their_places(waiting: object) -> None:
    from graspline.reports.rates import measure

    assert vars(waiting)["measure"] is not measure
    load()
    assert vars(waiting)["measure"] is measure


def test_a_name_that_a_signature_needs_too_early_says_where_it_belongs(waiting: object) -> None:
    later = vars(waiting)["measure"]
    with pytest.raises(ImportError, match=r"graspline\.reports\.rates\.measure is needed by a command's signature"):
        f"{later}"


def test_a_module_that_still_waits_is_forgotten(waiting: object) -> None:
    forget()
    assert "graspline.cli.rates" not in sys.modules
    assert importlib.import_module("graspline.cli.rates") is not waiting


def test_other_modules_are_imported_as_ever() -> None:
    program = (
        "from graspline.cli.deferred_imports import lazily\n"
        "with lazily():\n    from graspline.spatial import rotations\n    import json\n"
        "print(rotations.__name__, json.dumps({}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["graspline.spatial.rotations", "{}"], done.stderr
