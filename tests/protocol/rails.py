"""Simulated rails: they delay, lose, hold back, die and come back.

They keep the order that MPI promises (between two ranks of a rail, for one kind of traffic) and promise
nothing else. A chunk's bytes are read when it is *delivered*, so that a buffer which is used again too early
corrupts the data, as a real NIC would.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from algorithms.nic import Nic
from r2cc_mpi.protocol.buffers import Buffer
from r2cc_mpi.protocol.header import HEADER_BYTES, Header, Kind, pack, unpack
from r2cc_mpi.protocol.network import Message
from tests.protocol.scenarios import Fault

if TYPE_CHECKING:
    from tests.protocol.world import World


class Flight(NamedTuple):
    """A message on its way, and how often either end had died when it left."""

    source: Nic
    target: Nic
    message: Message
    deaths: tuple[int, int]


class SentChunk(NamedTuple):
    """When a NIC sent a chunk of which collective."""

    at: float
    nic: Nic
    collective: int


class SimulatedRails:
    """All NICs of the cluster, and what is in flight between them.

    Attributes:
        dead: NICs that are dead now.
        deaths: How often each NIC has died.
        history: When each NIC died and came back, seconds, alternating.
        last_death_s: When any NIC died for the last time, seconds.
        chunks: All chunks that were sent.
    """

    def __init__(self, world: World) -> None:
        self._world, self._random = world, world.random
        self.dead: set[Nic] = set()
        self.deaths: Counter[Nic] = Counter()
        self.history: defaultdict[Nic, list[float]] = defaultdict(list)
        self.last_death_s = 0.0
        self.chunks: list[SentChunk] = []
        self._late: set[Nic] = set()
        self._held: list[Flight] = []
        self._last_arrival: dict[tuple[Nic, Nic, bool], float] = {}

    def send(self, source: Nic, target: Nic, message: Message) -> None:
        """Put a message on a rail."""
        if source in self.dead and source not in self._late:
            self._note("loses", Flight(source, target, message, (0, 0)))
            return
        world = self._world
        slowness = max(world.scenario.slow.get(nic, 1.0) for nic in (source, target))
        lag_s = max(world.scenario.lag_s.get(nic, 0.0) for nic in (source, target))
        delay_s = (5e-4 + self._random.expovariate(1 / 5e-4)) * slowness + lag_s
        key = (source, target, message.buffer is not None)
        arrival = max(world.now + delay_s, self._last_arrival.get(key, 0.0) + 1e-9)
        self._last_arrival[key] = arrival
        if message.buffer is not None:
            message.buffer.pending += 1
            message.buffer.raw[:HEADER_BYTES] = np.frombuffer(pack(message.header), np.uint8)
            self.chunks.append(SentChunk(world.now, source, message.header.collective))
        flight = Flight(source, target, message, (self.deaths[source], self.deaths[target]))
        self._note("sends", flight)
        world.later(arrival - world.now, self._arrive, flight)

    def _arrive(self, flight: Flight) -> None:
        ends = {flight.source, flight.target}
        if self._late & ends:
            if self.dead & ends:
                self._held.append(flight)
                self._note("holds", flight)
                return
        elif self._is_lost(flight):
            self._note("loses", flight)
            _release(flight.message)
            return
        self._deliver(flight)

    def _is_lost(self, flight: Flight) -> bool:
        source, target, _, deaths = flight
        if self.deaths[target] != deaths[1] or target in self.dead:
            return True
        # What left before its NIC died may already have been on the wire.
        return self.deaths[source] != deaths[0] and self._random.random() < 0.5

    def _deliver(self, flight: Flight) -> None:
        source, target, message, _ = flight
        rank = self._world.ranks[target]
        if rank.postpone(self._deliver, flight):
            return
        header: Header = message.header
        copy: Buffer | None = None
        if message.buffer is not None:
            header = unpack(message.buffer.raw[:HEADER_BYTES].tobytes())
            copy = rank.engine.pool.take()
            copy.payload[: header.length] = message.buffer.payload[: header.length]
            _release(message)
        self._note("delivers", flight)
        rank.arrived_by_rail(source.node, Message(header, message.body, copy))

    def dead_since(self, nic: Nic, at_s: float) -> float | None:
        """Say since when a NIC was dead at a certain time; None if it was not."""
        before = [time_s for time_s in self.history[nic] if time_s <= at_s]
        return before[-1] if len(before) % 2 else None

    def kill(self, fault: Fault) -> None:
        """Let a NIC die."""
        nic, world = fault.nic, self._world
        if nic in self.dead:
            return
        self.dead.add(nic)
        self.deaths[nic] += 1
        self.history[nic].append(world.now)
        self.last_death_s = world.now
        world.disturbed(world.now)
        (self._late.add if fault.late else self._late.discard)(nic)
        world.note(f"{nic} dies: {fault}")
        if fault.announced:
            world.later(self._random.uniform(0, 2e-3), world.ranks[nic].rail_event, "down")
        if fault.revive_after_s is not None:
            world.later(fault.revive_after_s, self._revive, fault)

    def _revive(self, fault: Fault) -> None:
        nic, world = fault.nic, self._world
        self.dead.discard(nic)
        self.history[nic].append(world.now)
        world.note(f"{nic} comes back")
        if fault.announced:
            world.later(self._random.uniform(3e-3, 5e-3), world.ranks[nic].rail_event, "up")
        if fault.flaps:
            delay_s = self._random.choice([0.002, 0.05, 0.6, 1.5])
            world.later(delay_s, self.kill, replace(fault, flaps=fault.flaps - 1))
        held, self._held = self._held, []
        for place, flight in enumerate(held):
            if self.dead & {flight.source, flight.target}:
                self._held.append(flight)
            else:
                world.later(1e-6 * (place + 1), self._deliver, flight)

    def _note(self, verb: str, flight: Flight) -> None:
        if self._world.trace is not None:
            header = flight.message.header
            what = f"{header.kind.name} {header.sequence} of {header.origin}"
            if header.kind is Kind.ACK:
                what = f"ACK of {header.origin}: landed {header.landed}, consumed {header.consumed}"
            self._world.note(f"{flight.source} to node {flight.target.node}: {verb} {what}")


def _release(message: Message) -> None:
    if message.buffer is not None:
        message.buffer.pending -= 1
