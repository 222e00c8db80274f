"""Lines of episodes in the order of their seeds, however the lanes end."""

from __future__ import annotations

import json
from typing import Any


class InOrder:
    """Prints one JSON object per episode, each as soon as all with lower seeds are printed."""

    def __init__(self, first_seed: int) -> None:
        self._next = first_seed
        self._waiting: dict[int, str] = {}

    def add(self, seed: int, plain: dict[str, Any]) -> None:
        """Add an episode's line; it is printed once all before it are."""
        self._waiting[seed] = json.dumps(plain, allow_nan=False)
        while self._next in self._waiting:
            print(self._waiting.pop(self._next), flush=True)
            self._next += 1

    def close(self) -> None:
        """Print what still waits: those before it will not come any more."""
        for seed in sorted(self._waiting):
            print(self._waiting.pop(seed), flush=True)
