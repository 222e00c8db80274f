"""Every notebook runs from top to bottom, and shows what its text promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def cells_of(name: str) -> list[dict[str, Any]]:
    return json.loads((NOTEBOOKS / name).read_text())["cells"]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    for cell in cells_of(path.name):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def executed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cells of a notebook after its execution in an empty folder."""
    nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(folder / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    (folder / "work").mkdir()
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    resources = {"metadata": {"path": str(folder / "work")}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return notebook.cells


def shown(cells: list[Any], source: str, kind: str = "text/plain") -> str:
    """What the cell that holds this line has put out."""
    (cell,) = [each for each in cells if each.cell_type == "code" and source in each.source.splitlines()]
    parts = [each["text"] if "text" in each else each.get("data", {}).get(kind, "") for each in cell.outputs]
    return "".join(parts)


@pytest.mark.slow
def test_first_episode_runs_films_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = executed("first_episode.ipynb", tmp_path, monkeypatch)
    assert "parameters<" in shown(cells, "task", "text/html")
    assert ">success<" in shown(cells, "episode", "text/html")
    assert "at least 50 mm" in shown(cells, "episode.evidence", "text/html")
    assert "data:video/mp4;base64," in shown(cells, "film", "text/html")
    assert shown(cells, "again.state_hash == episode.state_hash") == "True"
    assert "success, " in shown(cells, "recovered")
    assert "1 retry" in shown(cells, "recovered")
    assert "seen ×2" in shown(cells, "recovered.diagram()", "image/svg+xml")
    assert "Failures" in shown(cells, "machine.diagram()", "image/svg+xml")
    assert "8 of 8 succeeded" in shown(cells, "episodes")


@pytest.mark.slow
def test_first_dataset_is_made_loaded_checked_and_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = executed("first_dataset.ipynb", tmp_path, monkeypatch)
    assert "3 episodes" in shown(cells, "dataset")
    assert "observation.state" in shown(cells, "episode", "text/html")
    assert shown(cells, "Image.fromarray(np.vstack(rows))", "image/png")
    assert "gripper.pos" in shown(cells, 'actions = episode.frames["action"]')
    assert "healthy" in shown(cells, 'run_command("doctor out/cubes")')
    assert re.search(r"^0 of 5 succeeded$", shown(cells, 'print(sum(results), "of", len(results), "succeeded")'), re.M)
    assert shown(cells, "rollout(lambda observation: next(remaining), episode.seed)") == "True"
