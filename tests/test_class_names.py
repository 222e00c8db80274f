"""One name, one class: a search for a class finds the only one of that name."""

from __future__ import annotations

import ast
import collections
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "graspline"


def repeated(folder: Path) -> dict[str, list[str]]:
    """Every class name that is defined more than once, with the lines where it is."""
    places = collections.defaultdict[str, list[str]](list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(folder)}:{node.lineno}")
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_name_is_defined_twice() -> None:
    # Private classes and those inside of functions count, too: all of `src` is searched at once.
    assert repeated(SOURCE) == {}


def test_a_class_of_a_name_that_exists_is_found(tmp_path: Path) -> None:
    (tmp_path / "arms.py").write_text("class Reach:\n    pass\n\n\nclass _Joint:\n    pass\n")
    (tmp_path / "belts.py").write_text("class Belt:\n    pass\n\n\ndef rode():\n    class Reach:\n        pass\n")
    assert repeated(tmp_path) == {"Reach": ["arms.py:1", "belts.py:6"]}
