"""What the tests of the pages parse but do not run, and why.

Blocks of the languages `bash` and `python` are run as printed, in order, in one empty folder for each page. Commands in
blocks of `sh`, `text` or no language are parsed only, and their page needs a reason here.
"""

from __future__ import annotations

PARSED_ONLY = {
    "README.md": "installs from the package index; serves until it is stopped; make",
    "docs/datasets.md": "hundreds of episodes; a policy of your own",
    "docs/evaluation.md": "hundreds of episodes; a policy of your own; a GPU",
    "docs/films.md": "films of several minutes of CPU",
    "docs/gpu.md": "needs an NVIDIA GPU",
    "docs/panel.md": "serves until it is stopped",
    "docs/policies.md": "trains for hours with LeRobot",
    "docs/randomization.md": "oranges with everything randomized",
    "docs/so101.md": "measures for minutes",
    "docs/start/first-policy.md": "trains for hours with LeRobot",
    "docs/start/install.md": "installs from the package index",
    "docs/tasks/oranges.md": "hundreds of episodes",
    "docs/tasks/tidy.md": "episodes of ten seconds of CPU and more",
    "docs/teachability.md": "needs datasets of hundreds of episodes",
}
# Pages whose shell blocks talk to a server that is running; another test compares them with the server's routes.
TALKS_TO_A_SERVER = {"docs/service.md"}
