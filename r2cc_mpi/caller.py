"""One collective call at one rank: START, room in shared memory, executor, report, and what can end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from algorithms.nic import Nic
from r2cc_mpi.arrays import Arrays
from r2cc_mpi.driver import clock
from r2cc_mpi.endpoint import LAST_CALL_S, Endpoint, closed_early
from r2cc_mpi.errors import MachineError, R2ccError
from r2cc_mpi.executor import Call, Executor
from r2cc_mpi.plan import NodePlan, plan_node
from r2cc_mpi.protocol.hot_repair import Failover
from r2cc_mpi.protocol.news import Closing, ErrorKind, Signature, Start
from r2cc_mpi.strategy import (
    SUM,
    Collective,
    Strategy,
    dtype_code,
    in_force,
    operations_bound,
    stripes_of,
)

LEADER = 0
"""The rank whose START begins every collective: the lowest of node 0."""


@dataclass(frozen=True)
class CallReport:
    """The last collective at this rank.

    Attributes:
        number: Number of the collective.
        strategy: Name of the strategy in force when it ended.
        excluded: NICs that were not used any more, or not yet again, when it ended.
        time_s: Seconds from call to return.
        network_s: Seconds from the START to this rank's last operation.
        failovers: Channels of this rank that were repaired meanwhile.
    """

    number: int
    strategy: str
    excluded: tuple[Nic, ...]
    time_s: float
    network_s: float
    failovers: tuple[Failover, ...]


class Caller:
    """Makes one rank's calls, one after the other.

    Args:
        endpoint: What the rank owns.
        strategy: What the user asked for.

    Attributes:
        calls: Number of calls made.
    """

    def __init__(self, endpoint: Endpoint, strategy: Strategy) -> None:
        self._endpoint, self._strategy = endpoint, strategy
        self._engine, self._driver, self._memory = endpoint.engine, endpoint.driver, endpoint.memory
        self.calls = 0

    def run(self, collective: Collective, count: int, arrays: Arrays) -> CallReport:
        """Run a collective.

        Args:
            collective: Which one.
            count: Elements that the user asked for.
            arrays: At least one element each.

        Raises:
            R2ccError: What ended the job.
        """
        began_at = clock()
        self.calls += 1
        dtype = arrays.send.dtype
        signature = Signature(collective, count, dtype_code(dtype), SUM, self._strategy)
        chunk_elements = self._endpoint.settings.chunk_bytes // dtype.itemsize
        elements, layout = len(arrays.send), self._endpoint.layout
        operations = operations_bound(elements, layout.nodes, layout.rails, chunk_elements)
        plan = self._planner(elements, chunk_elements)
        call = Call(self.calls, arrays.send, arrays.receive, signature, plan)
        with self._driver.held():
            earlier_failovers = len(self._engine.hot_repair.failovers)
            self._engine.liveness.progress(began_at)
            if self._endpoint.rank == LEADER:
                self._engine.lead(self.calls, signature)
            try:
                self._make_room(signature, arrays.send.nbytes, operations)
                executor = Executor(self._engine, self._memory, call)
                self._driver.run_until(lambda now: self._step(executor, signature, now))
            finally:
                self._engine.liveness.rest()
            failovers = tuple(self._engine.hot_repair.failovers[earlier_failovers:])
            excluded = tuple(self._engine.health.excluded())
        assert executor.network_began_at is not None
        assert executor.network_ended_at is not None
        network_s = executor.network_ended_at - executor.network_began_at
        strategy = in_force(self._strategy, excluded).label
        return CallReport(self.calls, strategy, excluded, clock() - began_at, network_s, failovers)

    def _planner(self, count: int, chunk_elements: int) -> Callable[[Start], NodePlan]:
        layout, nic = self._endpoint.layout, self._endpoint.nic

        def plan(_start: Start) -> NodePlan:
            stripes = stripes_of(layout.nodes, layout.rails)
            return plan_node(
                stripes, node=nic.node, rail=nic.rail, count=count, chunk_elements=chunk_elements
            )

        return plan

    def _make_room(self, signature: Signature, buffer_bytes: int, operations: int) -> None:
        """Grow the shared memory. All ranks of the host must do it together, so all must want the same."""
        if self._memory.has_room(buffer_bytes, operations):
            return
        self._driver.run_until(lambda _: self._is_announced(signature))
        came = False

        def everyone_came() -> bool:
            nonlocal came
            came = came or self._memory.everyone_came()
            return came

        try:
            self._driver.run_until(lambda _: everyone_came() or not self._is_announced(signature))
        except R2ccError:
            # If all have come, some may be growing already and wait for this rank inside MPI.
            until = clock() + LAST_CALL_S
            self._driver.run_until(lambda now: everyone_came() or now > until)
            if not came:
                raise
        try:
            self._memory.ensure(buffer_bytes, operations)
        except MachineError as short:
            self._engine.give_up(ErrorKind.MACHINE, f"node {self._endpoint.nic.node}: {short}")
            raise

    def _step(self, executor: Executor, signature: Signature, now: float) -> bool:
        if executor.step(now):
            self._engine.liveness.progress(now)
            self._engine.pump()
        if not executor.has_result:  # once the user's array is being written, nothing may stop it half-way
            self._is_announced(signature)
        return executor.is_complete

    def _is_announced(self, signature: Signature) -> bool:
        """Say whether this call's START is known; raise what ends the call."""
        engine = self._engine
        start = engine.start_of(self.calls)
        if start is not None and start.signature != signature:
            engine.give_up(ErrorKind.MISMATCH, self._mismatch(start.signature, signature))
        if start is None and engine.news.closing[LEADER] >= Closing.DONE:  # it tells all it knows, STARTs too
            leader = self._endpoint.layout.nic_of(LEADER)
            engine.give_up(ErrorKind.MISMATCH, closed_early(LEADER, leader, self.calls))
        if self._strategy is Strategy.RING and (down := engine.health.down()):
            engine.give_up(ErrorKind.FAIL_STOP, _fail_stop_text(down[0]))
        self._endpoint.raise_error()
        return start is not None

    def _mismatch(self, leader: Signature, mine: Signature) -> str:
        differences = [
            f"{name} {ours} instead of {theirs}"
            for name, ours, theirs in zip(Signature._fields, mine, leader, strict=True)
            if ours != theirs
        ]
        return (
            f"collective {self.calls}: rank {self._endpoint.rank} ({self._endpoint.nic}) called with "
            f"{', '.join(differences)} as on rank {LEADER}; "
            "every rank must make the same calls in the same order"
        )


def _fail_stop_text(nic: Nic) -> str:
    return (
        f"{nic} failed and strategy ring does not repair: this is what a fail-stop library does; "
        "use --strategy hot-repair or auto to go on without it"
    )
