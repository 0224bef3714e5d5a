"""The communicator: what a user of the library holds. mpi4py's conventions, on rails that may die."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from algorithms.nic import Nic
from r2cc_mpi.arrays import Arrays, check_arrays
from r2cc_mpi.caller import Caller, CallReport
from r2cc_mpi.driver import clock
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.errors import R2ccError, UsageError
from r2cc_mpi.groups import Groups, layout_of
from r2cc_mpi.layout import Layout
from r2cc_mpi.protocol.engine import Detection
from r2cc_mpi.protocol.hot_repair import Failover
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.strategy import Collective, Strategy
from r2cc_mpi.virtual_rail import Counters, VirtualRail

if TYPE_CHECKING:
    from mpi4py import MPI


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
        world = MPI.COMM_WORLD if comm is None else comm
        self.strategy = Strategy.parse(strategy)
        self.layout = layout_of(world, nodes, rails)
        _check_numbers(self.layout, rail_rate, isolation_timeout, failed)
        self.settings = Settings.for_rate(rail_rate, isolation_timeout)
        groups = Groups(world, self.layout)
        self._endpoint = Endpoint(groups, self.layout, self.settings, rail_rate, failed)
        self._engine, self._driver = self._endpoint.engine, self._endpoint.driver
        self._caller = Caller(self._endpoint, self.strategy)
        self.nic = self._endpoint.nic
        self.last_report: CallReport | None = None

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
        self._call(Collective.ALLREDUCE, count, arrays)

    def Barrier(self) -> None:
        """Wait until every rank has called it. MPI's own would touch dead rails.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        token = np.zeros(1, np.int64)
        self._call(Collective.BARRIER, 1, Arrays(token, token))

    def _call(self, collective: Collective, count: int, arrays: Arrays) -> None:
        self._check_open()
        self.last_report = self._caller.run(collective, count, arrays)

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
        self._endpoint.raise_error()
        return all(channel.is_consumed for channel in self._engine.senders.values())

    def _check_open(self) -> None:
        if not self._endpoint.is_open:
            raise UsageError("this communicator is closed; create a new one")

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
    def rail(self) -> VirtualRail:
        """This rank's own rail, which can be slowed down or let die in an experiment."""
        return self._endpoint.rail

    @property
    def counters(self) -> Counters:
        """What this rank's NIC has carried so far."""
        return self._endpoint.rail.counters

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

    @property
    def is_open(self) -> bool:
        """Whether collectives may be called."""
        return self._endpoint.is_open

    def close(self) -> None:
        """Serve until every rank is done, then free everything.

        Collective; calling it again has no effect. After an error that this rank was told of it only frees.

        Raises:
            SignatureMismatchError: Another rank called a collective that this one did not.
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._endpoint.close(self._caller.calls)

    def abandon(self) -> None:
        """Leave after an error without waiting for nodes that cannot be reached; see :class:`Endpoint`."""
        self._endpoint.abandon()

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
        elif isinstance(error, R2ccError) and (
            self._endpoint.has_raised or not isinstance(error, UsageError)
        ):
            self.abandon()


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
