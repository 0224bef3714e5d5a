"""A simulated cluster: real engines and executors over a network with all kinds of trouble.

Everything random comes from one seed, so a failing seed replays exactly.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import numpy as np

from algorithms.nic import Nic
from algorithms.stripes import healthy_mapping
from r2cc_mpi.executor import Call
from r2cc_mpi.plan import NodePlan, plan_node
from r2cc_mpi.protocol.news import Signature, Start
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.invariants import UNTOUCHED, ViolationError
from tests.protocol.rails import SimulatedRails
from tests.protocol.rank import Rank, SimulatedNode
from tests.protocol.scenarios import Scenario

SETTINGS = Settings(window=3, chunk_bytes=16, stall_s=0.5, probe_s=0.25, isolation_timeout_s=6.0)
ITEM_BYTES = 8
EVENT_LIMIT = 40_000


class World:
    """The cluster and its clock.

    Args:
        scenario: What happens.
        seed: Decides everything that the scenario leaves open.
        trace: Called with the time in seconds and a line for whatever happens.

    Attributes:
        now: The time, seconds.
        events: Events handled so far.
        running: Ranks that have neither left nor failed.
        inputs: Per collective and rank what it brings.
        outputs: Per collective and rank the result.
    """

    def __init__(
        self, scenario: Scenario, seed: int, trace: Callable[[float, str], None] | None = None
    ) -> None:
        self.scenario, self.settings, self.trace = scenario, SETTINGS, trace
        self.random = random.Random(seed)
        self.now, self.events = 0.0, 0
        self._queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = 0
        largest = max(scenario.counts, default=0)
        self._stripes = healthy_mapping(scenario.schedule(scenario.nodes), scenario.rails)
        operations = 4 * scenario.nodes * scenario.rails * (largest + 1)
        self.nodes = [
            SimulatedNode(scenario.rails, ITEM_BYTES * largest, operations) for _ in range(scenario.nodes)
        ]
        data = np.random.default_rng(seed)
        ranks = range(len(scenario.nics))
        self.inputs = [[data.integers(-1000, 1000, count) for _ in ranks] for count in scenario.counts]
        self.outputs = [[np.full(count, UNTOUCHED) for _ in ranks] for count in scenario.counts]
        self.expected = [np.sum(arrays, axis=0) for arrays in self.inputs]
        self.rails = SimulatedRails(self)
        self.ranks = {nic: Rank(self, nic) for nic in scenario.nics}
        self.running = len(self.ranks)
        self._patient_until_s = scenario.patience_s

    def rank_number(self, nic: Nic) -> int:
        """World rank of a NIC's owner."""
        return nic.node * self.scenario.rails + nic.rail

    def call(self, me: Nic, number: int) -> Call:
        """Make the ``number``-th collective call of one rank."""
        count = self.scenario.counts[number - 1]
        rank = self.rank_number(me)

        def plan(_start: Start) -> NodePlan:
            return plan_node(
                self._stripes,
                node=me.node,
                rail=me.rail,
                count=count,
                chunk_elements=self.settings.chunk_bytes // ITEM_BYTES,
            )

        return Call(
            number,
            self.inputs[number - 1][rank],
            self.outputs[number - 1][rank],
            Signature(1, count, 3, 0, 1),
            plan,
        )

    def later(self, delay_s: float, action: Callable[..., None], *arguments: object) -> None:
        """Schedule an event."""
        self._serial += 1
        heapq.heappush(self._queue, (self.now + delay_s, self._serial, action, arguments))

    def note(self, line: str) -> None:
        """Tell whoever traces this run what has happened."""
        if self.trace is not None:
            self.trace(self.now, line)

    def disturbed(self, until_s: float) -> None:
        """Note that something disturbs the run, at the latest at a certain time."""
        self._patient_until_s = max(self._patient_until_s, until_s + self.scenario.patience_s)

    def run(self) -> None:
        """Run until every process has left or failed, or the time is up."""
        for rank in self.ranks.values():
            rank.call_later(self.random.uniform(0, 5e-3))
            self.later(self.random.uniform(0, 0.05), rank.tick)
        for nap in self.scenario.naps:
            self.disturbed(nap.at_s + nap.length_s)
            self.later(nap.at_s, self.ranks[nap.nic].sleep, nap.length_s)
        faults = sorted(self.scenario.faults, key=lambda fault: fault.at_event, reverse=True)
        while self.running and self.now < self._patient_until_s:
            while faults and self.events >= faults[-1].at_event:
                self.rails.kill(faults.pop())
            if self.events == EVENT_LIMIT:
                raise ViolationError(
                    f"{EVENT_LIMIT} events by {self.now:.2f} s: messages multiply without end"
                )
            self.now, _, action, arguments = heapq.heappop(self._queue)
            self.events += 1
            action(*arguments)
