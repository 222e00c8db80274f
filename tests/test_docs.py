"""The documents say what is: the program runs, the commands exist, the diagram is the table."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graspline import find_task
from graspline.machine.diagram import svg

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_program_in_the_readme_runs_as_printed(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("success") == 20


def test_every_command_in_the_readme_exists() -> None:
    from typer.main import get_command

    from graspline.cli.commands import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    lines = re.findall(r"^graspline .*$", README, flags=re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(re.split(r"\s{3,}", line)[0])
        command = commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_links_in_the_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_diagram_in_the_documents_is_the_table() -> None:
    task = find_task("lift-cube")
    drawn = (ROOT / "docs" / "images" / "lift-cube-machine.svg").read_text()
    assert drawn == svg(task.machine(task.parameters()))
