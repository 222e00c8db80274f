"""What is going to happen in lanes, and when; it waits where no time passes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[], object]


@dataclass(order=True, slots=True)
class _Entry:
    when: int
    # Of those at the same tick the first that was put comes first.
    order: int
    lane: int = field(compare=False)
    world: int = field(compare=False)
    action: Action = field(compare=False)


class Agenda:
    """Actions by tick, each for one lane as long as it is in one world."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        # Of worlds that stand still; there `when` counts from now.
        self._paused: dict[int, list[_Entry]] = {}
        self._order = itertools.count()

    def put(self, now: int, ticks: int, lane: int, world: int, action: Action) -> None:
        """Have something done this many ticks from now."""
        if world in self._paused:
            self._paused[world].append(_Entry(ticks, next(self._order), lane, world, action))
        else:
            heapq.heappush(self._entries, _Entry(now + ticks, next(self._order), lane, world, action))

    def pause(self, world: int, now: int) -> None:
        """Let nothing happen in a world."""
        paused = [each for each in self._entries if each.world == world]
        if paused:
            self._entries = [each for each in self._entries if each.world != world]
            heapq.heapify(self._entries)
        for each in paused:
            each.when -= now
        self._paused[world] = paused

    def go_on(self, world: int, now: int) -> None:
        """Go on in a world as if there had been no pause."""
        for each in self._paused.pop(world):
            each.when += now
            heapq.heappush(self._entries, each)

    def due(self, now: int) -> bool:
        """Whether anything is due now."""
        return bool(self._entries) and self._entries[0].when <= now

    def pop(self) -> tuple[int, int, Action]:
        """The next one: its lane, its world, and what is to be done."""
        entry = heapq.heappop(self._entries)
        return entry.lane, entry.world, entry.action
