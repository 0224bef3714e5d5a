"""A simulated rank: a real engine and real executors, polled whenever something reaches them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from algorithms.nic import Nic, describe_route
from r2cc_mpi.executor import Executor
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import ErrorFact
from tests.protocol.invariants import check_channels, check_result

if TYPE_CHECKING:
    from tests.protocol.world import World

LEADER = Nic(0, 0)


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
    """One simulated process: its engine, its user program, and its ways out.

    Attributes:
        completed: Collectives whose result it has.
        left: Whether it has stopped serving.
        error: Why it gave up, if it did.
        failed_at: When.
        asleep_until: It does not run before.
    """

    def __init__(self, world: World, me: Nic) -> None:
        self.world, self.me = world, me
        self.engine = Engine(me, world.scenario.nodes, world.scenario.rails, self, world.settings)
        self.executor: Executor | None = None
        self.completed = 0
        self.left = False
        self.error: ErrorFact | None = None
        self.failed_at = 0.0
        self.asleep_until = 0.0
        self._clock_offset = world.random.uniform(0, 1e3)  # no two hosts' clocks agree
        self._poked = False
        self._noted = 0, 0
        self._mailbox: dict[int, int] = {}
        self._last_hand_over: dict[tuple[int, bool], float] = {}
        self._closing = False

    @property
    def now(self) -> float:
        """The time on this rank's own clock, seconds."""
        return self.world.now + self._clock_offset

    def world_time(self, at: float) -> float:
        """Translate a time on this rank's clock."""
        return at - self._clock_offset

    # The wire, and what comes from it.

    def send_rail(self, node: int, message: Message) -> None:
        """Put a message on this rank's rail."""
        self.world.rails.send(self.me, Nic(node, self.me.rail), message)

    def hand_over(self, rail: int, message: Message) -> bool:
        """Copy a message into the neighbour rank's mailbox."""
        world = self.world
        neighbour = world.ranks[Nic(self.me.node, rail)]
        payload = None
        if message.buffer is not None:
            waiting = neighbour._mailbox.get(self.me.rail, 0)
            if waiting == world.scenario.mailbox_slots:
                return False
            neighbour._mailbox[self.me.rail] = waiting + 1
            payload = message.buffer.payload[: message.header.length].copy()
        queue = (rail, message.buffer is not None)
        ready_at = max(
            world.now + world.random.uniform(1e-4, 2e-3), self._last_hand_over.get(queue, 0.0) + 1e-9
        )
        self._last_hand_over[queue] = ready_at
        world.later(ready_at - world.now, neighbour.take_hand_over, self.me.rail, message, payload)
        return True

    def take_hand_over(self, rail: int, message: Message, payload: npt.NDArray[np.uint8] | None) -> None:
        """Take a message out of the mailbox."""
        if self.left or self.postpone(self.take_hand_over, rail, message, payload):
            return
        buffer = None
        if payload is not None:
            self._mailbox[rail] -= 1
            buffer = self.engine.pool.take()
            buffer.payload[: len(payload)] = payload
        self.engine.arrived_locally(message._replace(buffer=buffer), self.now)
        self.drive()

    def arrived_by_rail(self, node: int, message: Message) -> None:
        """Take in a message from this rank's rail."""
        if not self.left:
            self.engine.arrived_by_rail(node, message, self.now)
            self.drive()

    def rail_event(self, state: Literal["up", "down"]) -> None:
        """Take in what the rail reports of itself."""
        if not self.left and not self.postpone(self.rail_event, state):
            self.engine.rail_event(up=state == "up", now=self.now)
            self.drive()

    # The life of a process.

    def sleep(self, length_s: float) -> None:
        """Do not run for a while."""
        self.asleep_until = max(self.asleep_until, self.world.now + length_s)
        self.world.note(f"{self.me} sleeps for {length_s} s")

    def postpone(self, action: Callable[..., None], *arguments: object) -> bool:
        """Put an event off while the process sleeps."""
        if self.world.now < self.asleep_until:
            self.world.later(self.asleep_until - self.world.now + 1e-9, action, *arguments)
            return True
        return False

    def call_later(self, delay_s: float) -> None:
        """Let the user's program go on for a while before the next call."""
        pause_s = self.world.scenario.pauses.get((self.me, self.completed + 1), 0.0)
        self.world.disturbed(self.world.now + delay_s + pause_s)
        self.world.later(delay_s + pause_s, self.call_next)

    def call_next(self) -> None:
        """Make the next collective call, or close."""
        if self.left or self.error or self.postpone(self.call_next):
            return
        self.engine.liveness.progress(self.now)
        if self.completed == len(self.world.scenario.counts):
            self.engine.closing.ask()
            self._closing = True
        else:
            call = self.world.call(self.me, self.completed + 1)
            self.executor = Executor(self.engine, self.world.nodes[self.me.node], call)
            if self.me == LEADER:
                self.world.note(f"{self.me} leads collective {call.number}")
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
        self._poked = False
        if not self.left and self.world.now >= self.asleep_until:
            self.drive()

    def drive(self) -> None:
        """Poll, as the real driver does, until nothing moves."""
        now, engine = self.now, self.engine
        engine.tick(now)
        engine.pump()
        moved, may_go_on = self._step(now)
        check_channels(self)
        if self.world.trace is not None:
            self._note_health()
        if engine.news.error and self.error is None and (self._closing or self._is_waiting()):
            self._fail(engine.news.error)
        if self._closing and self.error is None and engine.closing.may_leave(now):
            self._leave()
        if moved:
            self._poke_node(myself=may_go_on)

    def _step(self, now: float) -> tuple[bool, bool]:
        """Let the executor do some steps, as many as happen to be between two events.

        Returns:
            Whether anything was done, and whether more could be done at once.
        """
        moved = False
        for _ in range(self.world.random.choice([1, 2, 50])):
            if self.executor is None or self.error or not self.executor.step(now):
                return moved, False
            moved = True
            self.engine.liveness.progress(now)
            self.engine.pump()
            if self.executor.is_complete:
                self._complete()
        return moved, True

    def _note_health(self) -> None:
        for detection in self.engine.detections[self._noted[0] :]:
            state = "down" if detection.version % 2 else "up"
            self.world.note(f"{self.me} holds {detection.nic} for {state} ({detection.cause})")
        for failover in self.engine.hot_repair.failovers[self._noted[1] :]:
            route = None if failover.route is None else describe_route(failover.source, failover.route)
            self.world.note(f"{self.me} goes on over {route}, {failover.resent_chunks} chunks again")
        self._noted = len(self.engine.detections), len(self.engine.hot_repair.failovers)

    def _is_waiting(self) -> bool:
        return self.executor is not None and not self.executor.has_result

    def _complete(self) -> None:
        self.completed += 1
        self.executor = None
        self.engine.liveness.rest()
        self.world.note(f"{self.me} has completed collective {self.completed}")
        check_result(self, self.completed)
        self.call_later(self.world.random.choice([0.0, 0.001, 0.3]))

    def _fail(self, error: ErrorFact) -> None:
        self.error, self.failed_at = error, self.world.now
        self.executor = None
        self.engine.liveness.rest()
        self.world.running -= 1
        self.world.note(f"{self.me} gives up: {error}")
        self.world.later(self.world.settings.stall_s, self._abandon)

    def _abandon(self) -> None:
        self.left = True

    def _leave(self) -> None:
        self.left = True
        self.world.running -= 1
        self.world.note(f"{self.me} leaves")

    def _poke_node(self, *, myself: bool) -> None:
        """Let the node's other ranks see what has changed in their memory, and this one go on if it can."""
        for rail in range(self.world.scenario.rails):
            rank = self.world.ranks[Nic(self.me.node, rail)]
            if not rank._poked and (myself or rank is not self):
                rank._poked = True
                self.world.later(self.world.random.uniform(1e-5, 5e-4), rank.poke)
