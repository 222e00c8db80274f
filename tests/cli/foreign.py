"""What every command does with a task of another distribution, in processes of its own."""

from __future__ import annotations

from pathlib import Path

from .doors import spawn


def play_and_remove(task: str, found: dict[str, str], folder: Path, says: str) -> None:
    """Play a task that is installed only in the environment `found`; without it, commands say what to install."""
    dataset = folder / "dataset"
    generate = ("generate", task, "--workers", "2", "--cameras", "none", "--out", dataset)
    inspect = (("replay", dataset), ("doctor", dataset))
    played = spawn("run", task, "--seed", "10", "--episodes", "3", "--lanes", "3", cwd=folder, **found)
    assert played.code == 0, played
    assert "succeeded: 3/3" in played.out
    for words in ((*generate, "--episodes", "2"), *inspect):
        answer = spawn(*words, cwd=folder, **found)
        assert answer.code == 0, answer
    before = {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()}
    for words in (*inspect, (*generate, "--episodes", "4")):
        missing(says, *words, cwd=folder)
    assert {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()} == before


def missing(says: str, *words: str | Path, cwd: Path) -> None:
    """A command whose task is not installed: one line that ends with what to do about it, and exit code 3."""
    answer = spawn(*words, cwd=cwd)
    assert (answer.code, answer.out) == (3, ""), answer
    (line,) = answer.err.splitlines()
    assert line.endswith(says), line
