"""The simulator's rules once more, as literally as they can be written: one stripe at a time, in fractions.

Nothing here is shared with `analysis.simulation`. It is slow and meant for a few dozen stripes.
"""

from __future__ import annotations

from fractions import Fraction

from algorithms.nic import nics_of
from analysis.simulation.rules import Gate, PortRule


class SlowSimulation:
    """Play stripes; `landed` and `started` are times in D/B, the latter per (stripe, hop)."""

    def __init__(self, stripes, rates, *, alpha=Fraction(0), port=PortRule.CHANNELS, gate=Gate.LANDING):
        self.stripes = list(stripes)
        self.grid, self.rates, self.alpha, self.port, self.gate = stripes.grid, rates, alpha, port, gate
        self.hops = [nics_of(one.transfer.source, one.route) for one in self.stripes]
        self.started = {}
        self.ended = {}
        self.landed = {}
        self.now = Fraction(0)
        self._run()

    @property
    def completion(self):
        """When the last stripe lands."""
        return max(self.landed.values(), default=Fraction(0))

    def _run(self):
        while True:
            while self._land_one():
                pass
            if len(self.landed) == len(self.stripes):
                return
            for stripe in range(len(self.stripes)):
                self._try_to_start(stripe)
            self.now = min(end for end in self.ended.values() if end > self.now)

    def _land_one(self):
        for stripe in range(len(self.stripes)):
            last = (stripe, len(self.hops[stripe]) - 1)
            if stripe in self.landed or not self._is_over(last):
                continue
            if all(stripe_ in self.landed for stripe_ in self._earlier_of_channel(stripe)) and (
                self.gate is Gate.START or self._may_write(stripe)
            ):
                self.landed[stripe] = self.now
                return True
        return False

    def _try_to_start(self, stripe):
        hop = next((hop for hop in range(len(self.hops[stripe])) if (stripe, hop) not in self.started), None)
        if hop is None or (hop and not self._is_over((stripe, hop - 1))):
            return
        if hop == 0:
            in_turn = all(self._is_over((other, 0)) for other in self._earlier_of_channel(stripe))
            if not in_turn or not self._may_read(stripe):
                return
            if self.gate is Gate.START and not self._may_write(stripe):
                return
        sender, receiver = self.hops[stripe][hop]
        for other, hops in enumerate(self.hops):
            for number, (their_sender, their_receiver) in enumerate(hops):
                if their_sender != sender and their_receiver != receiver:
                    continue
                key = (other, number)
                is_running = key in self.started and not self._is_over(key)
                is_before = key < (stripe, hop) and not self._is_over(key)
                if is_running or (self.port is PortRule.STRICT and is_before):
                    return
        low, high = self.stripes[stripe].source_region
        rate = min(self.rates.rate(sender), self.rates.rate(receiver))
        self.started[stripe, hop] = self.now
        self.ended[stripe, hop] = self.now + self.alpha + Fraction(high - low, self.grid) / rate

    def _is_over(self, key):
        return key in self.ended and self.ended[key] <= self.now

    def _earlier_of_channel(self, stripe):
        if self.port is not PortRule.CHANNELS:
            return []
        channels = [(one.transfer.source, one.transfer.target, one.home) for one in self.stripes]
        return [other for other in range(stripe) if channels[other] == channels[stripe]]

    def _may_read(self, stripe):
        one = self.stripes[stripe]
        return all(
            done
            for done, _, writes in self._earlier(stripe, one.transfer.source, one.source_region)
            if writes
        )

    def _may_write(self, stripe):
        one = self.stripes[stripe]
        return all(done for done, _, _ in self._earlier(stripe, one.transfer.target, one.target_region))

    def _earlier(self, stripe, node, region):
        """List the earlier accesses that overlap: (is done, stripe, whether it writes)."""
        for other, one in enumerate(self.stripes[:stripe]):
            if one.transfer.source == node and overlap(one.source_region, region):
                yield self._is_over((other, 0)), other, False
            if one.transfer.target == node and overlap(one.target_region, region):
                yield other in self.landed, other, True


def overlap(one, other):
    """Whether two regions have a place in common."""
    return one[0] < other[1] and other[0] < one[1]
