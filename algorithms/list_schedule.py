"""A list scheduler: plays stripes port by port and writes them down in the order in which they began.

In a schedule all stripes of a transfer have one place in program order, and a channel sends its stripes in
that order. Where rails differ in their work, as those that OptCC's straggler lost differ from the others,
channels then wait: the stripe whose turn it is may not be there yet, while a later one is. So each stripe
becomes a transfer of its own here, in the order in which they would begin if every port took, of all stripes
that may go, the one with the lowest program index. Under the executor's rule, by which a channel keeps its
order, everything then happens at just these times, unless a stripe that has arrived has to wait until an
earlier one of its channel has landed (forms of OptCC for one straggler: never; `algorithms.nested_optcc`:
sometimes).

It pays where every port is busy all the time, as in the mixture of `algorithms.optcc_mixture`, whose time it
brings from 15 to 30 % above the lower bound to about (K+1)/K of it.

Not handled here: stripes that take detours; the cost of a message, since there are more of them afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from algorithms.moves import durations, events
from algorithms.stripes import Stripes
from algorithms.unrolled import unrolled


def list_scheduled(stripes: Stripes, rates: Sequence[Sequence[Fraction]]) -> Stripes:
    """Put stripes in the order in which greedy ports would serve them.

    Args:
        stripes: A mapped schedule, each stripe going straight over its home rail.
        rates: `rates[node][rail]`, what each NIC can carry in each direction, in any unit.

    Returns:
        The same stripes with the same routes, each a transfer of its own in a new schedule, which allows it
        its home rail only.

    Raises:
        ScheduleError: A stripe takes a detour, or goes through a NIC that is dead.
    """
    began = _Ports(stripes, rates).play()
    return unrolled(stripes, began)


class _Ports:
    """The ports of all NICs, and who waits for what.

    A stripe has two events: it arrives, and it lands. It may begin to move when what it reads is there, and
    lands when it has arrived and nobody needs any more what it overwrites.
    """

    def __init__(self, stripes: Stripes, rates: Sequence[Sequence[Fraction]]) -> None:
        columns = stripes.schedule.columns
        source, target = columns.source[stripes.transfer], columns.target[stripes.transfer]
        self._durations = list(map(max, *durations(stripes, rates)))
        # Ports are numbered: all that send, then all that receive. A channel is a pair of them.
        nics = stripes.schedule.nodes * stripes.rails
        out = source.astype(np.int64) * stripes.rails + stripes.home
        into = target.astype(np.int64) * stripes.rails + stripes.home + nics
        pairs, channel = np.unique(out * 2 * nics + into, return_inverse=True)
        self._channel: list[int] = channel.tolist()
        self._ports = [divmod(pair, 2 * nics) for pair in pairs.tolist()]
        self._channels_at: list[list[int]] = [[] for _ in range(2 * nics)]
        for number, ports in enumerate(self._ports):
            for port in ports:
                self._channels_at[port].append(number)
        self._is_free = [True] * (2 * nics)
        self._may_go: list[list[int]] = [[] for _ in self._ports]
        self._waits_for, self._followers = events(stripes)
        self._under_way: list[tuple[int, int]] = []
        self._began: list[int] = []

    def play(self) -> list[int]:
        """Run until everything has landed; return the stripes in the order in which they began."""
        asking = self._open(
            [stripe for stripe in range(len(self._channel)) if not self._waits_for[2 * stripe]]
        )
        self._begin(0, asking)
        while self._under_way:
            now = self._under_way[0][0]
            asking, opened = set(), []
            while self._under_way and self._under_way[0][0] == now:
                _, stripe = heapq.heappop(self._under_way)
                for port in self._ports[self._channel[stripe]]:
                    self._is_free[port] = True
                    asking.update(self._channels_at[port])
                opened += self._happened(stripe)
            self._begin(now, asking | self._open(opened))
        return self._began

    def _happened(self, stripe: int) -> list[int]:
        """Note that a stripe has arrived, and what lands thereupon; return the stripes that may go now."""
        opened, events = [], [2 * stripe]
        while events:
            for event in self._followers[events.pop()]:
                self._waits_for[event] -= 1
                if self._waits_for[event] == 0:
                    if event % 2:
                        events.append(event)
                    else:
                        opened.append(event // 2)
        return opened

    def _open(self, stripes: Sequence[int]) -> set[int]:
        """Queue stripes at their channels, and return these."""
        for stripe in stripes:
            heapq.heappush(self._may_go[self._channel[stripe]], stripe)
        return {self._channel[stripe] for stripe in stripes}

    def _begin(self, now: int, asking: set[int]) -> None:
        """Give free ports to the channels that ask for them, the lowest program index first."""
        heads = [(self._may_go[channel][0], channel) for channel in asking if self._may_go[channel]]
        for stripe, channel in sorted(heads):
            out, into = self._ports[channel]
            if self._is_free[out] and self._is_free[into]:
                self._is_free[out] = self._is_free[into] = False
                heapq.heappop(self._may_go[channel])
                heapq.heappush(self._under_way, (now + self._durations[stripe], stripe))
                self._began.append(stripe)
