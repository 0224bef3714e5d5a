"""What real ranks make of stripes, as `r2cc_mpi` runs them: closer to them than `analysis.simulator` is.

The simulator's hop takes a send port and a receive port at once, as in the papers' model. Real ones do not
know of each other:

- a rank captures what may go, channel by channel in program order, as long as the channel has credit: a
  window of chunks that are captured and not yet applied. What is captured has left the buffer;
- its port sends what was captured, the lowest place in program order first;
- the receiving port takes what arrives, first come first served, whoever sent it. If several send at once,
  what is urgent stands in line behind what is not;
- what has arrived is applied in the order of its channel;
- after HotRepair a channel's chunks go over another rail, whose ports serve them beside their own.

So an order that is perfect for pairs of ports, as that of `algorithms.list_schedule`, can be worse here than
one that leaves room: a rank that runs ahead of the plan blocks the port of another one.

Time is exact. Feed it chunks (`analysis.simulation.chunks`), which is what ranks send.

Not handled: stripes that other nodes relay; the time that processors and acknowledgements take; adding up a
node's own ranks before.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from algorithms.moves import durations, events, ticks_per_unit
from algorithms.stripes import Stripes
from analysis.rail_rates import RailRates

WINDOW = 8
"""Chunks of a channel that may be captured and not yet applied, as in `r2cc_mpi`."""


def executed_time(stripes: Stripes, rates: RailRates, window: int = WINDOW) -> Fraction:
    """Play stripes as the executor does.

    Args:
        stripes: The mapped schedule, cut into chunks.
        rates: What every NIC can carry.
        window: How many chunks of a channel may be captured and not yet applied; at least 1.

    Returns:
        When the last one was applied, in D/B.

    Raises:
        ScheduleError: A stripe is relayed by another node, or goes through a NIC that is dead.

    >>> from algorithms.ring import ring_allreduce
    >>> from algorithms.stripes import healthy_mapping
    >>> executed_time(healthy_mapping(ring_allreduce(4), rails=2), RailRates.of(4, 2))
    Fraction(3, 2)
    """
    ticks = _Ranks(stripes, rates, window).play()
    return Fraction(ticks, ticks_per_unit(rates.rates) * stripes.grid)


class _Ranks:
    """All ranks; channels and ports are numbered."""

    def __init__(self, stripes: Stripes, rates: RailRates, window: int) -> None:
        columns = stripes.schedule.columns
        source, target = columns.source[stripes.transfer], columns.target[stripes.transfer]
        taken = np.array([route[0].rail for route in stripes.routes], np.int32)[stripes.route]
        out = source.astype(np.int64) * stripes.rails + taken
        into = target.astype(np.int64) * stripes.rails + taken
        ports = stripes.schedule.nodes * stripes.rails
        channels, channel = np.unique(
            (out * ports + into) * stripes.rails + stripes.home, return_inverse=True
        )
        # To a port all that it carries is alike, whichever rail is its home.
        self._sending, self._receiving = durations(replace(stripes, home=taken), rates.rates)
        self._waits_for, self._followers = events(stripes)
        self._channel: list[int] = channel.tolist()
        self._ports = [divmod(one // stripes.rails, ports) for one in channels.tolist()]
        self._to_capture = [deque[int]() for _ in self._ports]
        for stripe, number in enumerate(self._channel):
            self._to_capture[number].append(stripe)
        self._credit = [window] * len(self._ports)
        self._landed = [deque[int]() for _ in self._ports]
        self._captured: list[list[int]] = [[] for _ in range(ports)]
        self._sends = [False] * ports
        self._receives_until = [0] * ports
        self._moves: list[tuple[int, int, bool]] = []
        self._asking = set(range(len(self._ports)))

    def play(self) -> int:
        """Run until everything is applied; return the time in ticks."""
        now = 0
        self._serve(now)
        while self._moves:
            now, stripe, has_arrived = heapq.heappop(self._moves)
            channel = self._channel[stripe]
            out, into = self._ports[channel]
            if has_arrived:
                self._landed[channel].append(stripe)
            else:
                self._sends[out] = False
                # A chunk comes in while it leaves, if nothing stands before it.
                begun = max(self._receives_until[into], now - self._receiving[stripe])
                self._receives_until[into] = begun + self._receiving[stripe]
                heapq.heappush(self._moves, (self._receives_until[into], stripe, True))
            self._asking.add(channel)
            if not self._moves or self._moves[0][0] > now:
                self._serve(now)
        return now

    def _serve(self, now: int) -> None:
        """Apply and capture what may be, and give ports that are free something to send."""
        ports = {self._ports[channel][0] for channel in self._asking}
        while self._asking:
            channel = self._asking.pop()
            landed, to_capture = self._landed[channel], self._to_capture[channel]
            while landed and not self._waits_for[2 * landed[0] + 1]:
                self._credit[channel] += 1
                self._happened(2 * landed.popleft() + 1)
            while to_capture and self._credit[channel] and not self._waits_for[2 * to_capture[0]]:
                self._credit[channel] -= 1
                out = self._ports[channel][0]
                heapq.heappush(self._captured[out], to_capture[0])
                ports.add(out)
                self._happened(2 * to_capture.popleft())
        self._send(now, ports)

    def _happened(self, event: int) -> None:
        """Note an event; the channels of what waited for it ask again."""
        for following in self._followers[event]:
            self._waits_for[following] -= 1
            self._asking.add(self._channel[following // 2])

    def _send(self, now: int, ports: Iterable[int]) -> None:
        for port in ports:
            if self._captured[port] and not self._sends[port]:
                stripe = heapq.heappop(self._captured[port])
                self._sends[port] = True
                heapq.heappush(self._moves, (now + self._sending[stripe], stripe, False))
