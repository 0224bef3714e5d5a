"""The communicator: what a user of the library holds. mpi4py's conventions, on rails that may die."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from algorithms.nic import Nic
from r2cc_mpi import last_resort
from r2cc_mpi.arrays import Arrays, check_arrays
from r2cc_mpi.driver import Driver, RankWire, clock
from r2cc_mpi.errors import (
    FailStopError,
    IncompleteCollectiveError,
    IsolatedError,
    MachineError,
    R2ccError,
    SignatureMismatchError,
    UsageError,
)
from r2cc_mpi.executor import Call, Executor
from r2cc_mpi.layout import Layout
from r2cc_mpi.mpi_rail import MpiRail
from r2cc_mpi.plan import NodePlan, plan_node
from r2cc_mpi.protocol.engine import Detection, Engine
from r2cc_mpi.protocol.hot_repair import Failover
from r2cc_mpi.protocol.news import Closing, ErrorFact, ErrorKind, News, Signature, Start
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.shared_memory import check_free
from r2cc_mpi.shared_node import SharedNode
from r2cc_mpi.strategy import (
    SUM,
    Collective,
    Strategy,
    dtype_code,
    in_force,
    operations_bound,
    stripes_of,
)
from r2cc_mpi.virtual_rail import Counters, VirtualRail

if TYPE_CHECKING:
    from mpi4py import MPI

LAST_CALL_S = 0.2
"""After an error, how long a rank that is ready to grow the memory still waits for all others to be so."""
SERIALS = 1 << 28
"""Communicators that follow each other are told apart by a random number below this."""


@dataclass(frozen=True)
class NicHealth:
    """What this rank knows of a NIC.

    Attributes:
        nic: Which one.
        is_up: Whether it works.
        since: When this rank learned it, seconds on :data:`r2cc_mpi.driver.clock`; None if it was never
            reported.
        cause: How this rank learned it: 'event', 'probe', 'news', 'echo' or 'declared'; empty if it was never
            reported.
    """

    nic: Nic
    is_up: bool
    since: float | None
    cause: str


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


class Communicator:
    """Collectives over several rails, one rank per rail and node.

    All ranks of ``comm`` create it together, with the same arguments. Use it as a context manager or call
    :meth:`close`: until then a thread of each rank serves the others.

    Args:
        comm: An MPI communicator, by default COMM_WORLD; it is used only here and in :meth:`close`.
        nodes: Number of nodes; by default from ``rails``, or one for each host.
        rails: Rails per node, which is ranks per node.
        rail_rate: Pace each rail in each direction at this many bytes per second; None: not at all.
        strategy: 'auto', 'ring' or 'hot-repair'.
        isolation_timeout: Seconds without an answer by any route after which a collective is given up.
        failed: NICs that are down from the start.

    Raises:
        UsageError: The ranks do not divide into nodes, or the ranks' arguments are impossible.
        MachineError: MPI lacks THREAD_MULTIPLE, or ``/dev/shm`` is too small.
    """

    def __init__(
        self,
        comm: MPI.Intracomm | None = None,
        *,
        nodes: int | None = None,
        rails: int | None = None,
        rail_rate: float | None = None,
        strategy: str = "auto",
        isolation_timeout: float = 10.0,
        failed: Collection[Nic] = (),
    ) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise MachineError(
                "MPI was started without THREAD_MULTIPLE, which the service thread needs; "
                "do not lower mpi4py.rc.thread_level, or use an MPI that offers it"
            )
        world = MPI.COMM_WORLD if comm is None else comm
        self.strategy = Strategy.parse(strategy)
        self.layout = _layout(world, nodes, rails)
        _check_numbers(self.layout, rail_rate, isolation_timeout, failed)
        self.nic = self.layout.nic_of(world.rank)
        self.settings = Settings.for_rate(rail_rate, isolation_timeout)
        body_bytes = News.capacity(self.layout.nodes, self.layout.rails)
        # mpi4py duplicates the communicator in the first call of its lower-case reductions, holding the GIL,
        # so that the service thread could not run meanwhile. This gets it over with.
        world.allreduce(0)
        self._world = world.Dup()
        self._node_comm = self._world.Split(self.nic.node, self.nic.rail)
        self._rail_comm = self._world.Split(self.nic.rail, self.nic.node)
        assert isinstance(self._node_comm, MPI.Intracomm)
        self._host_comm = self._world.Split_type(MPI.COMM_TYPE_SHARED)
        self._check_host(body_bytes)
        self._memory = SharedNode(self._node_comm, self._host_comm, self.settings.chunk_bytes, body_bytes)
        wire = RankWire()
        self._engine = Engine(self.nic, self.layout.nodes, self.layout.rails, wire, self.settings)
        serial = self._world.bcast(random.randrange(SERIALS))
        self._rail = MpiRail(self._rail_comm, self._engine.pool, body_bytes, self.settings.window, serial)
        one_host = self._host_comm.size == self._world.size
        self.rail = VirtualRail(self._rail, rail_rate, common_clock=one_host)
        """This rank's own rail, which can be slowed down or let die in an experiment."""
        self._driver = Driver(self._engine, self.rail, self._memory, wire, self._die)
        self._number = 0
        self._is_open = True
        self._has_raised = False
        self.last_report: CallReport | None = None
        self._engine.declare_down(list(failed), clock())
        if self.nic in failed:
            self.rail.die(late=False)
            self._engine.rail_event(up=False, now=clock())
        self._world.Barrier()
        last_resort.watch(self)
        self._driver.start()

    def _check_host(self, body_bytes: int) -> None:
        local = self._host_comm.allgather(self.nic.node)
        whole = all(local.count(node) == self.layout.rails for node in set(local))
        error = (
            "" if whole else f"the ranks of node {self.nic.node} are not all on one host; start {self.layout}"
        )
        if whole and self.nic.rail == 0:
            windows = len(set(local)) * SharedNode.fixed_bytes(
                self.layout.rails, self.settings.chunk_bytes, body_bytes
            )
            try:
                check_free(windows, "the mailboxes")
            except MachineError as short:
                error = str(short)
        errors = [text for text in self._world.allgather(error) if text]
        if errors:
            raise MachineError(errors[0])

    # Collectives.

    def Allreduce(self, sendbuf: object, recvbuf: object, op: MPI.Op | None = None) -> None:
        """Reduce arrays element by element over all ranks; every rank gets the result.

        Args:
            sendbuf: Contiguous NumPy array of float32, float64, int32 or int64, or ``MPI.IN_PLACE``.
            recvbuf: Array of the same type and size for the result; with IN_PLACE also the input.
            op: ``MPI.SUM``, which is the default.

        Raises:
            UsageError: An argument is unsuitable; nothing has been sent.
            SignatureMismatchError: Another rank called with another count, type or strategy, or another
                collective.
            IncompleteCollectiveError: The collective could not complete; the arrays are as they were before.
        """
        if op is not None and op != self._mpi.SUM:
            raise UsageError("this version reduces with MPI.SUM only")
        arrays = check_arrays(sendbuf, recvbuf, self._mpi.IN_PLACE)
        count = len(arrays.send)
        if count == 0:  # nothing to add up, but still a collective: everyone must have called it
            dummy = np.zeros(1, arrays.send.dtype)
            arrays = Arrays(dummy, dummy)
        self._run(Collective.ALLREDUCE, count, arrays)

    def Barrier(self) -> None:
        """Wait until every rank has called it. MPI's own would touch dead rails.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        token = np.zeros(1, np.int64)
        self._run(Collective.BARRIER, 1, Arrays(token, token))

    def settle(self) -> None:
        """Wait until the receivers have applied every chunk of every rank; collective.

        A collective returns when its result is there; its last chunks may still be on their way to others,
        and are then missing from :attr:`counters`.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._check_open()
        with self._driver.held():
            self._engine.liveness.progress(clock())
            try:
                self._driver.run_until(self._is_settled)
            finally:
                self._engine.liveness.rest()
        self.Barrier()

    def _is_settled(self, _now: float) -> bool:
        self._raise_error()
        return all(channel.is_consumed for channel in self._engine.senders.values())

    def _check_open(self) -> None:
        if not self._is_open:
            raise UsageError("this communicator is closed; create a new one")

    def _run(self, collective: Collective, count: int, arrays: Arrays) -> None:
        self._check_open()
        began_at = clock()
        self._number += 1
        dtype = arrays.send.dtype
        signature = Signature(collective, count, dtype_code(dtype), SUM, self.strategy)
        chunk_elements = self.settings.chunk_bytes // dtype.itemsize
        layout = self.layout
        operations = operations_bound(len(arrays.send), layout.nodes, layout.rails, chunk_elements)
        call = Call(
            self._number,
            arrays.send,
            arrays.receive,
            signature,
            self._planner(len(arrays.send), chunk_elements),
        )
        with self._driver.held():
            earlier_failovers = len(self._engine.hot_repair.failovers)
            self._engine.liveness.progress(began_at)
            if layout.rank_of(self.nic) == 0:
                self._engine.lead(self._number, signature)
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
        self.last_report = CallReport(
            self._number,
            in_force(self.strategy, excluded).label,
            excluded,
            clock() - began_at,
            executor.network_ended_at - executor.network_began_at,
            failovers,
        )

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
            self._engine.give_up(ErrorKind.MACHINE, f"node {self.nic.node}: {short}")
            raise

    def _planner(self, count: int, chunk_elements: int) -> Callable[[Start], NodePlan]:
        def plan(_start: Start) -> NodePlan:
            return plan_node(
                stripes_of(self.layout.nodes, self.layout.rails),
                node=self.nic.node,
                rail=self.nic.rail,
                count=count,
                chunk_elements=chunk_elements,
            )

        return plan

    def _step(self, executor: Executor, signature: Signature, now: float) -> bool:
        engine = self._engine
        if executor.step(now):
            engine.liveness.progress(now)
            engine.pump()
        if not executor.has_result:  # once the user's array is being written, nothing may stop it half-way
            self._is_announced(signature)
        return executor.is_complete

    def _is_announced(self, signature: Signature) -> bool:
        """Say whether this call's START is known; raise what ends the call."""
        engine = self._engine
        start = engine.start_of(self._number)
        if start is not None and start.signature != signature:
            engine.give_up(ErrorKind.MISMATCH, self._mismatch(start.signature, signature))
        if start is None and engine.news.closing[0] >= Closing.DONE:  # rank 0 tells all it knows, STARTs too
            engine.give_up(ErrorKind.MISMATCH, self._closed_early(0, Nic(0, 0)))
        if self.strategy is Strategy.RING and (down := engine.health.down()):
            engine.give_up(ErrorKind.FAIL_STOP, _fail_stop_text(down[0]))
        self._raise_error()
        return start is not None

    def _raise_error(self) -> None:
        if self._engine.news.error is not None:
            self._has_raised = True
            raise _exception(self._engine.news.error)

    def _mismatch(self, leader: Signature, mine: Signature) -> str:
        names = Signature._fields
        differences = [
            f"{name} {ours} instead of {theirs}"
            for name, ours, theirs in zip(names, mine, leader, strict=True)
            if ours != theirs
        ]
        rank = self.layout.rank_of(self.nic)
        return (
            f"collective {self._number}: rank {rank} ({self.nic}) called with {', '.join(differences)} "
            "as on rank 0; every rank must make the same calls in the same order"
        )

    def _closed_early(self, rank: int, nic: Nic) -> str:
        return (
            f"rank {rank} ({nic}) closed the communicator while another rank called collective "
            f"{max(self._number, self._engine.news.latest_start)}; "
            "every rank must make the same calls in the same order"
        )

    # Health and experiments.

    @property
    def health(self) -> dict[Nic, NicHealth]:
        """What is up and what failed, since when and how this rank knows."""
        last = {detection.nic: detection for detection in self.detections}
        return {
            nic: NicHealth(
                nic,
                self._engine.health.is_up(nic),
                last[nic].at if nic in last else None,
                last[nic].cause if nic in last else "",
            )
            for nic in self.layout
        }

    @property
    def detections(self) -> Sequence[Detection]:
        """Every change of health that this rank learned of, in order."""
        return tuple(self._engine.detections)

    @property
    def counters(self) -> Counters:
        """What this rank's NIC has carried so far."""
        return self.rail.counters

    @property
    def landed_bytes(self) -> int:
        """Bytes of this rank's chunks that have landed, over whichever rail, counted in whole chunks."""
        return sum(channel.landed for channel in self._engine.senders.values()) * self.settings.chunk_bytes

    @property
    def failovers(self) -> Sequence[Failover]:
        """Every repair of one of this rank's channels, in order."""
        return tuple(self._engine.hot_repair.failovers)

    def add_hook(self, hook: Callable[[float], None]) -> None:
        """Call ``hook`` with the time on every poll, under the driver's lock; fault plans use it."""
        with self._driver.held():
            self._driver.hooks.append(hook)

    def rail_event(self, *, up: bool, now: float) -> None:
        """Tell the engine what this rank's rail reports of itself; call it from a hook."""
        self._engine.rail_event(up=up, now=now)

    # The end.

    def close(self) -> None:
        """Serve until every rank is done, then free everything.

        Collective; calling it again has no effect. After an error that this rank was told of it only frees.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        if self._has_raised:
            self.abandon()
        if not self._is_open:
            return
        try:
            with self._driver.held():
                self._engine.closing.ask()
                self._engine.liveness.progress(clock())
                self._driver.run_until(self._may_leave)
        except R2ccError:
            self.abandon()
            raise
        self._is_open = False
        with self._driver.held():
            self._driver.run_until(lambda _: self._memory.may_be_freed())
        self._driver.stop()
        self._rail.cancel_receives()
        self._memory.free()
        for one in (self._rail_comm, self._node_comm, self._host_comm, self._world):
            one.Free()

    def _may_leave(self, now: float) -> bool:
        if self._engine.news.latest_start > self._number:
            text = self._closed_early(self.layout.rank_of(self.nic), self.nic)
            self._engine.give_up(ErrorKind.MISMATCH, text)
        self._raise_error()
        return self._engine.closing.may_leave(now) and (self.rail.is_idle or self.rail.is_dead)

    @property
    def is_open(self) -> bool:
        """Whether collectives may be called."""
        return self._is_open

    def abandon(self) -> None:
        """Leave after a collective that could not complete, without waiting for nodes that cannot be reached.

        Serves a little longer, so that the others hear why, and waits for the node's other ranks, to free the
        shared memory with them. If one does not come within the isolation timeout (it may be stopped), the
        job is aborted when this process ends, with the status of an incomplete collective.
        """
        if self._is_open:
            self._is_open = False
            heard_by = clock() + max(
                min(self.settings.stall_s, self.settings.isolation_timeout_s), 2 * LAST_CALL_S
            )
            deadline = heard_by + self.settings.isolation_timeout_s
            with self._driver.held():
                self._driver.run_until(lambda now: now > heard_by)
                # Some rank may have announced itself for growing the memory before it heard of the error. The
                # others come there too, so that MPI is left clean; those that closed in peace do not.
                until = clock() + self.settings.stall_s
                self._driver.run_until(lambda now: now > until or self._memory.everyone_came())
                self._driver.run_until(lambda now: self._memory.may_be_freed() or now > deadline)
            self._driver.stop()
            self._rail.cancel_receives()
            if self._memory.may_be_freed():
                self._memory.free()
            else:
                last_resort.abort_at_exit(IncompleteCollectiveError.exit_code)

    def _die(self, error: BaseException) -> None:
        """End the whole job with the reason: without its service thread, others would wait for this rank."""
        traceback.print_exception(error)
        last_resort.end_job()

    def __enter__(self) -> Communicator:  # noqa: PYI034  (typing.Self needs Python 3.11)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, or abandon after an error of ours.

        After any other exception the communicator stays open, since this rank may go on (if the caller
        catches it) or end the job (if nobody does, see :mod:`r2cc_mpi.last_resort`).
        """
        if error is None:
            self.close()
        elif isinstance(error, R2ccError) and (self._has_raised or not isinstance(error, UsageError)):
            self.abandon()


def _layout(comm: MPI.Intracomm, nodes: int | None, rails: int | None) -> Layout:
    from mpi4py import MPI

    if nodes is None and rails is None:
        host = comm.Split_type(MPI.COMM_TYPE_SHARED)
        sizes = comm.allgather(host.size)
        host.Free()
        if len(set(sizes)) > 1:
            raise UsageError(
                f"hosts have different numbers of ranks ({sorted(set(sizes))}); name the rails per node"
            )
        rails = sizes[0]
    return Layout.from_ranks(comm.size, rails=rails, nodes=nodes)


def _check_numbers(
    layout: Layout, rail_rate: float | None, isolation_timeout: float, failed: Collection[Nic]
) -> None:
    if rail_rate is not None and not rail_rate > 0:
        raise UsageError(f"rail_rate is {rail_rate}; give bytes per second above zero, or None for no pacing")
    if not isolation_timeout > 0:
        raise UsageError(f"isolation_timeout is {isolation_timeout}; give seconds above zero")
    for nic in failed:
        if nic not in layout:
            raise UsageError(f"failed names {nic}, but the layout has {layout}")


def _fail_stop_text(nic: Nic) -> str:
    return (
        f"{nic} failed and strategy ring does not repair: this is what a fail-stop library does; "
        "use --strategy hot-repair or auto to go on without it"
    )


def _exception(error: ErrorFact) -> R2ccError:
    kinds: dict[ErrorKind, type[R2ccError]] = {
        ErrorKind.ISOLATED: IsolatedError,
        ErrorKind.FAIL_STOP: FailStopError,
        ErrorKind.MISMATCH: SignatureMismatchError,
        ErrorKind.MACHINE: MachineError,
    }
    return kinds[error.kind](error.text)
