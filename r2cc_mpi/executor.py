"""The executor: runs one collective at one rank, in steps that never block.

It combines the rank's own array with the node buffer, captures chunks into channels, applies the chunks that
landed, and at the very end copies the result out, so that the user's arrays are as they were if the
collective fails. Hazards gate the capture and the landing of a chunk, not its time on the wire; among the
chunks that may go, the lowest program index goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.nic import Nic
from r2cc_mpi.contribution import contribution_of, pieces_of
from r2cc_mpi.plan import NodePlan, Operation
from r2cc_mpi.protocol.channel import Chunk
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.news import Signature, Start
from r2cc_mpi.reduction import Reduction

Array = npt.NDArray[Any]

COPY_BYTES = 4 * 1024 * 1024
"""What is copied out between two looks at the network: about a millisecond."""


class NodeMemory(Protocol):
    """What the ranks of a node share. Every word has one writer.

    Attributes:
        buffer: The node buffer, uint8.
        contributed: Per rail, steps of contribution that its rank has done since the beginning.
        finished: Per rail, the last collective whose operations its rank has done.
        copied: Per rail, the last collective whose result its rank has copied out.
        done: Per operation of the node's plan, the last collective in which it was done.
    """

    buffer: npt.NDArray[np.uint8]
    contributed: memoryview
    finished: memoryview
    copied: memoryview
    done: memoryview

    def fence(self) -> None:
        """Order payload and words: to be called between accesses to the one and the other."""


class Call(NamedTuple):
    """One collective call of the user, at one rank.

    Attributes:
        number: Number of the collective, from 1.
        send: The rank's own array, flat, of at least one element.
        receive: Where the result goes, flat; may be the same memory.
        signature: What every rank must ask for alike.
        plan: Makes the node's plan from the agreed START.
        contributors: Places of the node's ranks that bring data and take the result; None: all. Of the arrays
            of another rank only size and type count.
        total: Contributions of all nodes together; None: one of every rank.
    """

    number: int
    send: Array
    receive: Array
    signature: Signature
    plan: Callable[[Start], NodePlan]
    contributors: Sequence[int] | None = None
    total: int | None = None


class Executor:
    """One collective at one rank.

    Args:
        engine: The rank's engine.
        memory: The node's shared memory.
        call: What to do.

    Raises:
        ValueError: The array is empty.
    """

    def __init__(self, engine: Engine, memory: NodeMemory, call: Call) -> None:
        if not len(call.send):
            # The leader could complete it without the others and run ahead of what NEWS remembers.
            raise ValueError(
                f"collective {call.number} is empty; let it reduce one element, which keeps ranks in step"
            )
        self._engine, self._memory, self._call = engine, memory, call
        self._me: Nic = engine.me
        self._count = len(call.send)
        self._reduction = Reduction(call.signature.op)
        self._data = memory.buffer[: self._count * call.send.dtype.itemsize].view(call.send.dtype)
        pieces = pieces_of(self._data.nbytes, engine.nodes, engine.rails, engine.settings.chunk_bytes)
        places = tuple(range(engine.rails)) if call.contributors is None else tuple(call.contributors)
        self._contributors, self._contributes = places, self._me.rail in places
        self._idle = [place for place in range(engine.rails) if place not in places]
        self._contribution = contribution_of(self._me.node, engine.nodes, len(places), self._count, pieces)
        self._path = self._contribution.path(places.index(self._me.rail)) if self._contributes else ()
        # Between collectives the same for every rank of the node.
        self._base = memory.contributed[self._me.rail]
        self._steps = self._copied = 0
        self._all_contributed = False
        self._plan: NodePlan | None = None
        self._sends: dict[int, list[Operation]] = {}
        self._receives: dict[int, list[Operation]] = {}
        self._needs: dict[int, tuple[tuple[int, int], ...]] = {}
        self._looked_at, self._node_did = 0.0, 0
        self.network_began_at: float | None = None
        self.network_ended_at: float | None = None
        self.is_complete = False

    @property
    def has_result(self) -> bool:
        """Whether the result is being copied out: whatever fails from now on, this call must complete."""
        return self._copied > 0

    @property
    def progress(self) -> float:
        """Share of the node's operations that are done, by whichever of its ranks."""
        if self._plan is None or not self._plan.operations:
            return 0.0
        return self._operations_done() / self._plan.operations

    def _operations_done(self) -> int:
        operations = 0 if self._plan is None else self._plan.operations
        return int(np.count_nonzero(np.asarray(self._memory.done[:operations]) >= self._call.number))

    def step(self, now: float) -> bool:
        """Do what can be done now; say whether there was anything, or the node's other ranks got on."""
        if self.is_complete:
            return False
        if self._plan is None:
            # Not earlier: the others use what this rank contributes, and it may ask for something else.
            return self._begin(now)
        progress = False
        if self._steps < self._contribution.steps:
            progress |= self._contribute()
        if self._receives:
            progress |= self._apply_landed()
        if self._sends:
            progress |= self._capture(now)
        return progress | self._finish(now) or self._node_gets_on(now)

    def _node_gets_on(self, now: float) -> bool:
        """Look from time to time whether the node's other ranks do anything.

        A rank with little to do under this plan, as on a rail that its node lost, waits for them. As long as
        they get on it need not ask all ranks who is still there; and of them, who is stuck asks.
        """
        if now < self._looked_at + self._engine.settings.stall_s / 4:
            return False
        before, self._looked_at = self._node_did, now
        self._node_did = self._operations_done() + sum(self._memory.contributed)
        return self._node_did != before

    def _contribute(self) -> bool:
        memory, rail = self._memory, self._me.rail
        if self._steps == 0 and min(memory.copied) < self._call.number - 1:
            return False
        if not self._contributes:
            self._steps = self._contribution.steps
            memory.contributed[rail] = self._base + self._steps  # so that it stays the same for every rank
            return True
        before = self._steps
        for block in self._path[before : before + len(self._contributors)]:
            if block.before is not None:
                if memory.contributed[self._contributors[block.before]] < self._base + block.steps:
                    break
                memory.fence()
                self._reduction.combine(self._data[block.lo : block.hi], self._call.send[block.lo : block.hi])
            else:
                memory.fence()
                self._data[block.lo : block.hi] = self._call.send[block.lo : block.hi]
            memory.fence()
            self._steps += 1
            memory.contributed[rail] = self._base + self._steps
        return self._steps > before

    def _begin(self, now: float) -> bool:
        start = self._engine.start_of(self._call.number)
        if start is None or start.signature != self._call.signature:
            return False
        self._engine.enter(start, now)
        plan = self._plan = self._call.plan(start)
        self._sends = {peer: list(reversed(ops)) for peer, ops in plan.sends.items()}
        self._receives = {peer: list(reversed(ops)) for peer, ops in plan.receives.items()}
        self.network_began_at = self._looked_at = now
        self._node_did = sum(self._memory.contributed)
        return True

    def _ready(self, operation: Operation) -> bool:
        memory = self._memory
        for index in operation.waits_for:
            if memory.done[index] < self._call.number:
                return False
        if not self._all_contributed and not self._is_contributed(operation):
            return False
        memory.fence()
        return True

    def _is_contributed(self, operation: Operation) -> bool:
        contributed = self._memory.contributed
        self._all_contributed = min(contributed) >= self._base + self._contribution.steps
        if self._all_contributed:
            return True
        if operation.index not in self._needs:
            needs = self._contribution.needed(operation.lo, operation.hi)
            self._needs[operation.index] = (
                *((self._contributors[turn], steps) for turn, steps in needs),
                # Also a rank without data must have come: nobody may run ahead of it.
                *((place, self._contribution.steps) for place in self._idle),
            )
        needs = self._needs[operation.index]
        return all(contributed[rail] >= self._base + steps for rail, steps in needs)

    def _apply_landed(self) -> bool:
        progress = False
        for source, operations in list(self._receives.items()):
            channel = self._engine.receiver(source)
            while operations and (chunk := channel.front()) is not None:
                operation = operations[-1]
                if not self._ready(operation):
                    break
                self._apply(operation, chunk)
                operations.pop()
                self._engine.pool.give_back(channel.consume())
                progress = True
            if not operations:
                del self._receives[source]
        return progress

    def _apply(self, operation: Operation, chunk: Chunk) -> None:
        landed = chunk.buffer.payload[: chunk.length].view(self._data.dtype)
        if chunk.collective != self._call.number or len(landed) != operation.hi - operation.lo:
            raise AssertionError(f"chunk of collective {chunk.collective} landed for {operation}")
        if operation.reduce:
            self._reduction.combine(self._data[operation.lo : operation.hi], landed)
        else:
            self._data[operation.lo : operation.hi] = landed
        self._mark_done(operation)

    def _capture(self, now: float) -> bool:
        progress = False
        while True:
            candidates = [
                (operations[-1].index, target)
                for target, operations in self._sends.items()
                if self._engine.sender(target).has_room and self._ready(operations[-1])
            ]
            if not candidates:
                return progress
            target = min(candidates)[1]
            operation = self._sends[target].pop()
            if not self._sends[target]:
                del self._sends[target]
            buffer = self._engine.pool.take()
            payload = self._data[operation.lo : operation.hi].view(np.uint8)
            buffer.payload[: len(payload)] = payload
            chunk = Chunk(buffer, len(payload), self._call.number, operation.index)
            self._engine.sender(target).capture(chunk, now)
            self._mark_done(operation)
            progress = True

    def _mark_done(self, operation: Operation) -> None:
        self._memory.fence()
        self._memory.done[operation.index] = self._call.number

    def _finish(self, now: float) -> bool:
        memory, number = self._memory, self._call.number
        progress = False
        if memory.finished[self._me.rail] < number:
            if self._steps < self._contribution.steps or self._sends or self._receives:
                return False
            memory.fence()
            memory.finished[self._me.rail] = number
            self._engine.leave(number)
            self.network_ended_at = now
            progress = True
        if min(memory.finished) >= number:
            self._copy_out()
            progress = True
        return progress

    def _copy_out(self) -> None:
        """Copy a piece of the result to the user; others may need this rank's engine meanwhile."""
        piece = COPY_BYTES // self._data.itemsize
        begin, end = self._copied, self._copied + piece
        if self._contributes:
            self._memory.fence()
            ranks = self._call.total or self._engine.nodes * self._engine.rails
            self._reduction.finish(self._data[begin:end], ranks, self._call.receive[begin:end])
        else:
            end = self._count
        self._copied = end
        if end >= self._count:
            self._memory.fence()
            self._memory.copied[self._me.rail] = self._call.number
            self.is_complete = True
