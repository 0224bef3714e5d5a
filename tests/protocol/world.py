"""A simulated cluster: real engines and executors over a network that delays, loses, holds back, kills and revives.

Everything random comes from one seed, so a failing seed replays exactly. The network honours what MPI promises (order between
two ranks of a rail for one kind of traffic) and nothing else. A message's bytes are read when it is *delivered*, so a buffer
that is used again too early corrupts it, as a real NIC would.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from r2cc_mpi.executor import Call, Executor
from r2cc_mpi.plan import plan_node
from r2cc_mpi.protocol.buffers import Buffer
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import HEADER_BYTES, Header, pack, unpack
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import ErrorFact, Signature
from r2cc_mpi.protocol.settings import Settings

SETTINGS = Settings(window=3, chunk_bytes=16, stall_s=0.5, probe_s=0.25, isolation_timeout_s=6.0)
LEADER = Nic(0, 0)
UNTOUCHED = 12345


@dataclass
class Fault:
    """A NIC dies when the world has handled ``at_event`` events, and may come back ``revive_after_s`` later."""

    nic: Nic
    at_event: int
    announced: bool
    late: bool
    revive_after_s: float | None = None


@dataclass
class Scenario:
    """What happens in one run."""

    nodes: int
    rails: int
    counts: list[int]
    faults: list[Fault] = field(default_factory=list)
    slow: dict[Nic, float] = field(default_factory=dict)
    naps: list[tuple[Nic, float, float]] = field(default_factory=list)
    mailbox_slots: int = 4
    time_limit_s: float = 60.0


class SimulatedNode:
    """What the ranks of one node share; see :class:`r2cc_mpi.executor.NodeMemory`."""

    def __init__(self, rails: int, buffer_bytes: int, operations: int) -> None:
        self.buffer = np.zeros(buffer_bytes, np.uint8)
        self.contributed, self.finished, self.copied = (
            memoryview(bytearray(8 * rails)).cast("q") for _ in range(3)
        )
        self.done = memoryview(bytearray(8 * operations)).cast("q")

    def fence(self) -> None:
        """Nothing to order: one process."""


class Rank:
    """One simulated process: its engine, its user program, and its ways out."""

    def __init__(self, world: World, me: Nic) -> None:
        self.world, self.me = world, me
        self.engine = Engine(me, world.scenario.nodes, world.scenario.rails, self, world.settings)
        self.executor: Executor | None = None
        self.completed = 0
        self.left = False
        self.error: ErrorFact | None = None
        self.failed_at = 0.0
        self.asleep_until = 0.0
        self.poked = False
        self.mailbox: dict[int, int] = {}
        self.closing = False

    # The wire.

    def send_rail(self, node: int, message: Message) -> None:
        """Put a message on this rank's rail."""
        self.world.transmit(self.me, Nic(node, self.me.rail), message)

    def hand_over(self, rail: int, message: Message) -> bool:
        """Copy a message into the neighbour rank's mailbox."""
        target = self.world.ranks[Nic(self.me.node, rail)]
        payload = None
        if message.buffer is not None:
            if target.mailbox.get(self.me.rail, 0) >= self.world.scenario.mailbox_slots:
                return False
            target.mailbox[self.me.rail] = target.mailbox.get(self.me.rail, 0) + 1
            payload = message.buffer.payload[: message.header.length].copy()
        self.world.later(
            self.world.random.uniform(1e-4, 2e-3), target.take_hand_over, self.me.rail, message, payload
        )
        return True

    def take_hand_over(self, rail: int, message: Message, payload: np.ndarray | None) -> None:
        """Take a message out of the mailbox."""
        if self.left:
            return
        if self.postpone(self.take_hand_over, rail, message, payload):
            return
        buffer = None
        if payload is not None:
            self.mailbox[rail] -= 1
            buffer = self.engine.pool.take()
            buffer.payload[: len(payload)] = payload
        self.engine.arrived_locally(message._replace(buffer=buffer), self.world.now)
        self.drive()

    # The life of a process.

    def postpone(self, action: Callable[..., None], *arguments: object) -> bool:
        """Put an event off while the process sleeps."""
        if self.world.now < self.asleep_until:
            self.world.later(self.asleep_until - self.world.now + 1e-9, action, *arguments)
            return True
        return False

    def call_next(self) -> None:
        """Make the next collective call, or close."""
        if self.left or self.error:
            return
        if self.postpone(self.call_next):
            return
        scenario = self.world.scenario
        if self.completed == len(scenario.counts):
            self.engine.closing.ask()
            self.closing = True
            self.engine.liveness.progress(self.world.now)
        else:
            call = self.world.call(self.me, self.completed + 1)
            self.executor = Executor(self.engine, self.world.nodes[self.me.node], call)
            self.engine.liveness.progress(self.world.now)
            if self.me == LEADER:
                self.engine.lead(call.number, call.signature)
        self.drive()

    def tick(self) -> None:
        """Let time pass at this rank, again and again."""
        if self.left:
            return
        self.world.later(self.world.random.uniform(0.02, 0.06), self.tick)
        if self.world.now >= self.asleep_until:
            self.drive()

    def poke(self) -> None:
        """Look at the node's shared memory, which a neighbour has changed."""
        self.poked = False
        if not self.left and self.world.now >= self.asleep_until:
            self.drive()

    def drive(self) -> None:
        """Poll, as the real driver does, until nothing moves."""
        now, engine = self.world.now, self.engine
        engine.tick(now)
        engine.pump()
        moved = False
        while self.executor is not None and self.error is None:
            if not self.executor.step(now):
                break
            moved = True
            engine.liveness.progress(now)
            engine.pump()
            if self.executor.is_complete:
                self.world.check_result(self.me, self.completed + 1)
                self.completed += 1
                self.executor = None
                engine.liveness.rest()
                self.world.later(self.world.random.choice([0.0, 0.001, 0.3]), self.call_next)
        if self.engine.news.error and (self.executor is not None or self.closing):
            self.error, self.failed_at = self.engine.news.error, now
            self.executor = None
            engine.liveness.rest()
        if self.closing and engine.closing.may_leave(now):
            self.left = True
            assert not any(not channel.is_consumed for channel in engine.senders.values())
        if moved:
            for rank in self.world.ranks.values():
                if rank.me.node == self.me.node and rank is not self and not rank.poked:
                    rank.poked = True
                    self.world.later(self.world.random.uniform(1e-5, 5e-4), rank.poke)


class World:
    """The cluster and its clock."""

    def __init__(self, scenario: Scenario, seed: int, settings: Settings = SETTINGS) -> None:
        self.scenario, self.settings = scenario, settings
        self.random = random.Random(seed)
        self.now, self.events = 0.0, 0
        self._queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = 0
        self._last_arrival: dict[tuple[Nic, Nic, bool], float] = {}
        self.dead: set[Nic] = set()
        self.killed: set[Nic] = set()
        self.last_death_s = 0.0
        self.deaths: dict[Nic, int] = {}
        self._late: set[Nic] = set()
        self._held: list[tuple[Nic, Nic, Message]] = []
        self.in_flight = 0
        largest = max(scenario.counts, default=0)
        schedule = ring_allreduce(scenario.nodes)
        self.stripes = healthy_mapping(schedule, scenario.rails)
        operations = 4 * scenario.nodes * scenario.rails * (largest + 1)
        self.nodes = [SimulatedNode(scenario.rails, 8 * largest, operations) for _ in range(scenario.nodes)]
        nics = [Nic(node, rail) for node in range(scenario.nodes) for rail in range(scenario.rails)]
        data = np.random.default_rng(seed)
        self.inputs = [[data.integers(-1000, 1000, count) for _ in nics] for count in scenario.counts]
        self.outputs = [[np.full(count, UNTOUCHED) for _ in nics] for count in scenario.counts]
        self.ranks = {nic: Rank(self, nic) for nic in nics}
        self._faults = sorted(scenario.faults, key=lambda fault: fault.at_event)

    def rank_number(self, nic: Nic) -> int:
        """World rank of a NIC's owner."""
        return nic.node * self.scenario.rails + nic.rail

    def call(self, me: Nic, number: int) -> Call:
        """The ``number``-th collective call at one rank."""
        count = self.scenario.counts[number - 1]
        rank = self.rank_number(me)

        def plan(_start: object) -> object:
            return plan_node(
                self.stripes,
                node=me.node,
                rail=me.rail,
                count=count,
                chunk_elements=self.settings.chunk_bytes // 8,
            )

        return Call(
            number,
            self.inputs[number - 1][rank],
            self.outputs[number - 1][rank],
            Signature(1, count, 3, 0, 1),
            plan,  # type: ignore[arg-type]
        )

    def check_result(self, me: Nic, number: int) -> None:
        """Compare every element with NumPy's sum."""
        expected = np.sum(self.inputs[number - 1], axis=0)
        found = self.outputs[number - 1][self.rank_number(me)]
        assert np.array_equal(found, expected), f"{me}: collective {number} is wrong"

    # Events.

    def later(self, delay_s: float, action: Callable[..., None], *arguments: object) -> None:
        """Schedule an event."""
        self._serial += 1
        heapq.heappush(self._queue, (self.now + delay_s, self._serial, action, arguments))

    def transmit(self, source: Nic, target: Nic, message: Message) -> None:
        """Put a message on a rail."""
        is_data = message.buffer is not None
        slowness = max(self.scenario.slow.get(source, 1.0), self.scenario.slow.get(target, 1.0))
        delay_s = (5e-4 + self.random.expovariate(1 / 5e-4)) * slowness
        key = (source, target, is_data)
        arrival = max(self.now + delay_s, self._last_arrival.get(key, 0.0) + 1e-9)
        self._last_arrival[key] = arrival
        if message.buffer is not None:
            message.buffer.pending += 1
            message.buffer.raw[:HEADER_BYTES] = np.frombuffer(pack(message.header), np.uint8)
        self.in_flight += 1
        deaths = self.deaths.get(source, 0), self.deaths.get(target, 0)
        self.later(arrival - self.now, self._arrive, source, target, message, deaths)

    def _arrive(self, source: Nic, target: Nic, message: Message, deaths: tuple[int, int]) -> None:
        died_meanwhile = deaths != (self.deaths.get(source, 0), self.deaths.get(target, 0))
        if source in self.dead or target in self.dead or died_meanwhile:
            if self._late & {source, target}:
                if self.dead & {source, target}:
                    self._held.append((source, target, message))
                    return
            else:
                self._lose(message)
                return
        self._deliver(source, target, message)

    def _lose(self, message: Message) -> None:
        self.in_flight -= 1
        if message.buffer is not None:
            message.buffer.pending -= 1

    def _deliver(self, source: Nic, target: Nic, message: Message) -> None:
        rank = self.ranks[target]
        if rank.postpone(self._deliver, source, target, message):
            return
        self.in_flight -= 1
        copy: Buffer | None = None
        header: Header = message.header
        if message.buffer is not None:
            header = unpack(message.buffer.raw[:HEADER_BYTES].tobytes())
            copy = rank.engine.pool.take()
            copy.payload[: header.length] = message.buffer.payload[: header.length]
            message.buffer.pending -= 1
        if not rank.left:
            rank.engine.arrived_by_rail(source.node, Message(header, message.body, copy), self.now)
            rank.drive()

    def kill(self, fault: Fault) -> None:
        """Let a NIC die."""
        nic = fault.nic
        if nic in self.dead:
            return
        self.dead.add(nic)
        self.killed.add(nic)
        self.last_death_s = self.now
        self.deaths[nic] = self.deaths.get(nic, 0) + 1
        (self._late.add if fault.late else self._late.discard)(nic)
        if fault.announced:
            self.later(self.random.uniform(0, 2e-3), self._announce, nic, False)
        if fault.revive_after_s is not None:
            self.later(fault.revive_after_s, self._revive, fault)

    def _announce(self, nic: Nic, up: bool) -> None:
        rank = self.ranks[nic]
        if not rank.left and not rank.postpone(self._announce, nic, up):
            rank.engine.rail_event(up=up, now=self.now)
            rank.drive()

    def _revive(self, fault: Fault) -> None:
        self.dead.discard(fault.nic)
        if fault.announced:
            self.later(self.random.uniform(3e-3, 5e-3), self._announce, fault.nic, True)
        held, self._held = self._held, []
        for source, target, message in held:
            if self.dead & {source, target}:
                self._held.append((source, target, message))
            else:
                self.later(1e-6 * len(self._queue), self._deliver, source, target, message)

    @property
    def is_over(self) -> bool:
        """Whether every process has left or failed."""
        return all(rank.left or rank.error for rank in self.ranks.values())

    def run(self) -> None:
        """Run until every process has left or failed, or the time is up."""
        for rank in self.ranks.values():
            self.later(self.random.uniform(0, 5e-3), rank.call_next)
            self.later(self.random.uniform(0, 0.05), rank.tick)
        for nic, begin_s, length_s in self.scenario.naps:
            self.later(begin_s, self._nap, nic, length_s)
        faults = list(self._faults)
        while self._queue and not self.is_over and self.now < self.scenario.time_limit_s:
            while faults and self.events >= faults[0].at_event:
                self.kill(faults.pop(0))
            self.now, _, action, arguments = heapq.heappop(self._queue)
            self.events += 1
            action(*arguments)

    def _nap(self, nic: Nic, length_s: float) -> None:
        self.ranks[nic].asleep_until = self.now + length_s
