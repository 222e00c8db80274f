"""Every state that a kill during a commit can leave: `python tail.py BEFORE AFTER OUT`.

BEFORE and AFTER are one dataset before and after an episode was added. OUT gets a copy of BEFORE for each file of the
commit, with that file and those written earlier.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

# As the writer goes; meta/info.json makes the commit.
ORDER = ("videos", "graspline/logs", "data", "meta/episodes", "meta/stats.json", "meta/info.json")


def commit_of(before: Path, after: Path) -> list[Path]:
    """The files that the commit wrote, in its order."""
    return [path for part in ORDER for path in files_below(after, part) if differs(before, after, path)]


def files_below(root: Path, part: str) -> list[Path]:
    inside = [root / part] if (root / part).is_file() else sorted((root / part).rglob("*"))
    return [path.relative_to(root) for path in inside if path.is_file()]


def differs(before: Path, after: Path, name: Path) -> bool:
    return not (before / name).is_file() or (before / name).read_bytes() != (after / name).read_bytes()


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    before, after, out = map(Path, sys.argv[1:])
    written = commit_of(before, after)
    if not written or written[-1] != Path("meta/info.json"):
        print(f"{after}: no episode was added to {before}", file=sys.stderr)
        return 2
    for count in range(1, len(written)):
        state = out / f"{count}-after-{written[count - 1].as_posix().replace('/', '_')}"
        shutil.copytree(before, state)
        for name in written[:count]:
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(after / name, state / name)
        print(state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
