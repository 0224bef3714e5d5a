"""One collective call at one rank, from START to its report, in steps that do not wait for others.

The steps are a generator: it reads like the sequence it is, and yields wherever the network has to be polled
before it can go on. Whoever holds the driver may take the next step: the caller's thread, or the service
thread while the caller does something else.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from algorithms.nic import Nic
from r2cc_mpi.agreed_plan import AgreedPlan, Planner
from r2cc_mpi.arrays import Arrays
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.driver import clock
from r2cc_mpi.endpoint import LAST_CALL_S, Endpoint, closed_early
from r2cc_mpi.errors import MachineError, R2ccError
from r2cc_mpi.executor import Call, Executor
from r2cc_mpi.layout import Layout
from r2cc_mpi.protocol.news import Closing, ErrorKind, Signature
from r2cc_mpi.signatures import difference
from r2cc_mpi.strategy import DTYPES

UNKNOWN = -1
"""In the signature of a rank that brings no data: what it takes over from START."""


class Arguments(NamedTuple):
    """What a call is made with.

    Attributes:
        signature: What it asks for; what the planner has to say in it is filled in when the call is made.
        arrays: At least one element each; None if this rank brings no data, whose signature is then UNKNOWN
            in part.
        everyone: Whether also ranks that usually bring no data do so in this call.
    """

    signature: Signature
    arrays: Arrays | None
    everyone: bool = False


class PendingCall:
    """One call.

    Args:
        endpoint: What the rank owns.
        number: Number of the collective, from 1.
        arguments: What it is made with.
        planner: Makes its plan.

    Attributes:
        number: The same number.
        report: What the call did; None until it has completed.
        error: What ended it instead, or None.
        is_done: Whether it has ended, well or not.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        number: int,
        arguments: Arguments,
        planner: Planner,
    ) -> None:
        self._endpoint, self._engine, self._memory = endpoint, endpoint.engine, endpoint.memory
        self.number, self._arrays, self._planner = number, arguments.arrays, planner
        self._signature = planner.stamp(arguments.signature)
        everyone = range(endpoint.layout.ranks)
        self._contributors = tuple(everyone) if arguments.everyone else endpoint.contributors
        self._called_at = self._now = clock()
        self._executor: Executor | None = None
        self._news_read = -1
        self._knows_start = False
        self._steps = self._run()
        self.report: CallReport | None = None
        self.error: BaseException | None = None
        self.is_done = False

    @property
    def progress(self) -> float:
        """Share of the node's operations that are done, by whichever of its ranks."""
        return self._executor.progress if self._executor is not None else 0.0

    def step(self, now: float) -> bool:
        """Take the next step; say whether the call is done. The caller holds the driver.

        An error of ours is kept for the user; anything else is raised as well, wherever this runs.
        """
        self._now = now
        try:
            next(self._steps)
        except StopIteration:
            self.is_done = True
        except R2ccError as error:
            self.error, self.is_done = error, True
        except BaseException as error:
            self.error, self.is_done = error, True
            raise
        return self.is_done

    def drop(self, error: R2ccError) -> None:
        """Take no further step."""
        self._steps.close()
        self.error, self.is_done = error, True

    def _run(self) -> Generator[None]:
        engine = self._engine
        failovers_before = len(engine.hot_repair.failovers)
        resent_before = self._resent_bytes()
        engine.liveness.progress(self._now)
        try:
            if self._endpoint.rank == self._endpoint.leader:
                engine.lead(self.number, self._signature)
            while not self._is_announced():
                yield
            if self._arrays is None:
                self._arrays = _stand_in(self._signature)
            start = engine.start_of(self.number)
            assert start is not None
            plan = self._planner.plan(start)
            yield from self._make_room(plan)
            executor = self._executor = Executor(engine, self._memory, self._prepare(self._arrays, plan))
            while not self._advance(executor):
                yield
        finally:
            engine.liveness.rest()
        self.report = self._make_report(plan, executor, failovers_before, resent_before)

    def _prepare(self, arrays: Arrays, plan: AgreedPlan) -> Call:
        ranks = self._endpoint.layout.ranks_of_node(self._endpoint.nic.node)
        return Call(
            self.number,
            arrays.send,
            arrays.receive,
            self._signature,
            lambda _start: plan.node,
            contributors=[rank - ranks.start for rank in self._contributors if rank in ranks],
            total=len(self._contributors),
        )

    def _make_report(
        self, plan: AgreedPlan, executor: Executor, failovers_before: int, resent_before: int
    ) -> CallReport:
        assert executor.network_began_at is not None
        assert executor.network_ended_at is not None
        start, layout = self._engine.start_of(self.number), self._endpoint.layout
        assert start is not None
        excluded = tuple(nic for nic in self._engine.health.excluded() if nic in layout)
        return CallReport(
            number=self.number,
            strategy=plan.in_force(excluded).label,
            pieces=plan.choice.pieces,
            excluded=excluded,
            time_s=clock() - self._called_at,
            start_s=executor.network_began_at - self._called_at,
            network_s=executor.network_ended_at - executor.network_began_at,
            failovers=tuple(self._engine.hot_repair.failovers[failovers_before:]),
            resent_bytes=self._resent_bytes() - resent_before,
            health_versions=_by_nic(layout, start.versions),
        )

    def _resent_bytes(self) -> int:
        return sum(channel.resent_bytes for channel in self._engine.senders.values())

    def _make_room(self, plan: AgreedPlan) -> Generator[None]:
        """Grow the shared memory. All ranks of the host must do it together, so all must want the same."""
        memory = self._memory
        if memory.has_room(plan.buffer_bytes, plan.operations):
            return
        came = False
        try:
            while not came and self._is_announced():
                came = memory.everyone_came()
                yield
        except R2ccError:
            # If all have come, some may be growing already and wait for this rank inside MPI.
            until = clock() + LAST_CALL_S
            while not came and self._now <= until:
                came = memory.everyone_came()
                yield
            if not came:
                raise
        try:
            memory.ensure(plan.buffer_bytes, plan.operations)
        except MachineError as short:
            self._engine.give_up(ErrorKind.MACHINE, f"node {self._endpoint.nic.node}: {short}")
            raise

    def _advance(self, executor: Executor) -> bool:
        if executor.step(self._now):
            self._engine.liveness.progress(self._now)
        if not executor.has_result:  # once the user's array is being written, nothing may stop it half-way
            self._is_announced()
        return executor.is_complete

    def _is_announced(self) -> bool:
        """Say whether this call's START is known; raise what ends the call."""
        news = self._engine.news
        if self._news_read != news.version:
            self._news_read = news.version
            self._knows_start = self._read_news()
        return self._knows_start

    def _read_news(self) -> bool:
        engine, layout, leader = self._engine, self._endpoint.layout, self._endpoint.leader
        start = engine.start_of(self.number)
        if start is not None and self._signature.elements == UNKNOWN:
            self._signature = self._signature._replace(
                elements=start.signature.elements, dtype=start.signature.dtype
            )
        if start is not None and start.signature != self._signature:
            engine.give_up(ErrorKind.MISMATCH, self._mismatch(start.signature))
        if start is None and engine.news.closing[leader] >= Closing.DONE:  # it tells all it knows, STARTs too
            engine.give_up(ErrorKind.MISMATCH, closed_early(layout.describe(leader), self.number))
        down = [nic for nic in engine.health.down() if nic in layout] if self._planner.is_fail_stop else []
        if down:
            engine.give_up(
                ErrorKind.FAIL_STOP,
                f"{down[0]} failed and strategy ring does not repair: this is what a fail-stop library does; "
                "use --strategy hot-repair or auto to go on without it",
            )
        self._endpoint.raise_error()
        return start is not None

    def _mismatch(self, leader: Signature) -> str:
        return (
            f"collective {self.number}: {self._endpoint.name} called with "
            f"{difference(self._signature, leader)} as on rank {self._endpoint.leader}; "
            "every rank must make the same calls in the same order"
        )


@lru_cache(maxsize=16)
def _by_nic(layout: Layout, versions: tuple[int, ...]) -> Mapping[Nic, int]:
    return MappingProxyType({nic: versions[layout.rank_of(nic)] for nic in layout})


def _stand_in(signature: Signature) -> Arrays:
    """Make arrays that have size and type, but no memory."""
    nothing = np.broadcast_to(np.zeros((), DTYPES[signature.dtype]), max(signature.elements, 1))
    return Arrays(nothing, nothing)
