"""Commands and programs on the pages that the tests only parse, and why: by page, and by how the block begins.

Blocks of the languages `bash` and `python` are run as printed, in order, in one shell and one empty folder per page.
Those of `sh`, `py` or no language need a reason here, unless all they do is start a server: another test does that.
"""

from __future__ import annotations

_INSTALLS = "installs from a package index"
_LEROBOT = "needs LeRobot, in an environment of its own"
_TRAINS = "trains for hours on a GPU"
_CHECKPOINT = "needs a policy that was trained for hours"
_GPU = "needs an NVIDIA GPU"
_FILM = "a film of an episode of 20 s: half a minute of CPU"

PARSED_ONLY: dict[str, dict[str, str]] = {
    "README.md": {"pip install": _INSTALLS, "make demo": "runs in a clone of the repository and creates .venv there"},
    "docs/datasets.md": {
        "from lerobot.": _LEROBOT,
        "python examples/policies/dagger.py": "hundreds of episodes, and a training command of your own",
    },
    "docs/evaluation.md": {"graspline eval lift-cube --policy lerobot:": f"{_CHECKPOINT}; {_GPU}"},
    "docs/films.md": {"graspline run tidy --video": _FILM},
    "docs/gpu.md": {"pip install": _GPU, "python benchmarks/evaluation.py": _GPU},
    "docs/notebooks.md": {"pip install": f"{_INSTALLS}; opens Jupyter; tests/test_notebooks.py runs the notebooks"},
    "docs/policies.md": {
        "graspline generate": f"500 episodes; {_TRAINS}",
        "python3.12 -m venv": _INSTALLS,
        "HF_HUB_OFFLINE=1": _TRAINS,
        "~/lerobot/bin/python": _TRAINS,
        "pip download": f"{_INSTALLS}; {_TRAINS}",
        "graspline eval": _CHECKPOINT,
        "export ACT_CHECKPOINT": _CHECKPOINT,
    },
    "docs/robots.md": {"from pathlib": "a module of a package of your own"},
    "docs/site.md": {"make docs": "tests/docs/test_site.py builds the site"},
    "docs/start/first-dataset.md": {"from lerobot.": _LEROBOT},
    "docs/start/first-policy.md": {"graspline generate": f"500 episodes; {_TRAINS}"},
    "docs/start/first-task.md": {
        "pip install -e stack-two": f"{_INSTALLS}; tests/cli/test_new.py does the same with a task that it writes",
        "pip install -e examples/stack": f"{_INSTALLS}; the test of the page puts the package beside graspline",
        "graspline check stack": "half a minute of CPU; tests/cli/test_foreign.py checks the same task",
    },
    "docs/start/install.md": {
        "python3 -m venv": _INSTALLS,
        "pipx install": _INSTALLS,
        "uv tool install": _INSTALLS,
        "pipx run": _INSTALLS,
        "uvx graspline": _INSTALLS,
        "sudo apt-get": "installs system packages as root",
    },
    "docs/tasks/oranges.md": {"graspline audit oranges": "hundreds of episodes"},
    "docs/tasks/tidy.md": {
        "graspline run tidy --set object_to_grasp=mug": f"five to ten seconds of CPU each; {_FILM}",
        "graspline campaign tidy": "dozens of episodes of several seconds of CPU",
    },
}
