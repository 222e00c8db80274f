"""From wheels alone, in a folder that is not the repository: the tutorial's task, and one that `new` has written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from .doors import PATIENCE_S

ROOT = Path(__file__).parents[2]
STACK = ROOT / "examples" / "stack"


class Installation:
    """An environment of its own with a wheel of graspline; what graspline needs is that of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._wheels = folder, folder / "wheels"
        venv.create(folder / "environment")
        self.bin = folder / "environment" / "bin"
        (packages,) = (folder / "environment").glob("lib/python*/site-packages")
        # A path in a .pth file is searched, but .pth files in it are not followed: graspline is not found as editable.
        (packages / "dependencies.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def install(self, project: Path) -> None:
        out = self._wheels / project.name
        self._do(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out, cwd=project)
        (wheel,) = out.iterdir()
        self._pip("install", "--quiet", "--no-index", "--no-deps", wheel)

    def uninstall(self, distribution: str) -> None:
        self._pip("uninstall", "--quiet", "--yes", distribution)

    def graspline(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / "graspline", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def _pip(self, *words: str | Path) -> None:
        self._do(sys.executable, "-m", "pip", "--python", self.bin / "python", *words, cwd=self.folder)

    def _do(self, *words: str | Path, cwd: Path) -> None:
        done = subprocess.run(words, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = Installation(tmp_path_factory.mktemp("wheel"))
    made.install(ROOT)
    where = [made.bin / "python", "-c", "import graspline; print(graspline.__file__)"]
    found = subprocess.run(where, cwd=made.folder, env=made.environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(made.folder))
    made.install(STACK)
    assert made.graspline("new", "task", "stack-two").returncode == 0
    made.install(made.folder / "stack-two")
    return made


@pytest.mark.slow
def test_a_task_that_new_has_written_is_played(installation: Installation) -> None:
    assert "success" in installation.graspline("run", "stack-two").stdout


@pytest.mark.slow
def test_every_command_plays_an_installed_task_until_it_is_removed(installation: Installation) -> None:
    still = ("--policy", "hold-still", "--cameras", "none", "--max-seconds", "1")
    generate = ("generate", "stack", "--workers", "2", "--cameras", "none", "--out", "dataset", "--episodes")
    for words in (
        ("run", "stack", "--seed", "10", "--episodes", "3", "--lanes", "3"),
        (*generate, "2"),
        # Goes on.
        (*generate, "3"),
        ("replay", "dataset"),
        ("doctor", "dataset"),
        ("audit", "stack", "--episodes", "4", "--out", "audit"),
        ("campaign", "stack", "--faults", "drop", "--states", "carry", "--episodes", "1", "--out", "campaign"),
        ("eval", "stack", *still, "--episodes", "1"),
        ("diagram", "stack", "--out", "stack.svg"),
    ):
        done = installation.graspline(*words)
        assert done.returncode == 0, (words, done.stderr)
    installation.uninstall("graspline-stack")
    for words in (("replay", "dataset"), (*generate, "4")):
        done = installation.graspline(*words)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.endswith("pip install graspline-stack\n")
        assert len(done.stderr.splitlines()) == 1
    installation.install(STACK)
    assert installation.graspline("replay", "dataset").returncode == 0


@pytest.mark.slow
def test_an_installed_task_is_served(installation: Installation) -> None:
    pytest.importorskip("fastapi", reason="the serve extra is not installed")
    with subprocess.Popen(
        [installation.bin / "graspline", "serve", "stack", "--port", "0"],
        cwd=installation.folder,
        env=installation.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("http://127.0.0.1:")
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 130
