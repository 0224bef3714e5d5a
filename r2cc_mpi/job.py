"""What every rank of `r2cc run` does: iterations of a collective, timed and checked element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.nic import Nic
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.driver import clock
from r2cc_mpi.errors import IncompleteCollectiveError, WrongResultError
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.persistent import PersistentRequest
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.time_limit import TimeLimit

Array = npt.NDArray[Any]


class Data(Protocol):
    """What the ranks bring and what must come out; see :class:`Pattern` and :class:`OwnData`."""

    def fill(self, array: Array, iteration: int) -> None:
        """Write this rank's contribution."""

    def spoil(self, array: Array, iteration: int) -> None:
        """Write something that is wrong in every element."""

    def count_wrong(self, array: Array, iteration: int) -> int:
        """Count the elements that are not what must come out."""


@dataclass(frozen=True)
class Work:
    """What an iteration does.

    Attributes:
        count: Elements of an array.
        dtype: Their type.
        reduction: What is done with them.
        calls: Calls of an iteration, each with arrays of its own; times are divided by their number.
        persistent: Whether the calls are planned once and then replayed.
    """

    count: int
    dtype: np.dtype[Any]
    reduction: Reduction = Reduction.SUM
    calls: int = 1
    persistent: bool = False


@dataclass(frozen=True)
class Iteration:
    """One timed iteration at one rank; every field can be written as JSON.

    Attributes:
        collective: Number of its first collective; its others follow.
        time_s: Mean seconds of a call.
        network_s: Mean seconds of a call from START to this rank's last operation.
        strategy: Strategy in force when it ended.
        wrong: Wrong elements of all its calls; None when not checked.
        ended_at: When it ended, on the host's clock.
        down: NICs that were not in use at the end, as [node, rail].
        planned_without: NICs that the replayed plan was made without; None when each call is planned anew.
        kernel: What the kernel had counted at this rank's interface when it began, as [sent, received]; None
            for a virtual rail.
    """

    collective: int
    time_s: float
    network_s: float
    strategy: str
    wrong: int | None
    ended_at: float
    down: list[list[int]]
    planned_without: list[list[int]] | None = None
    kernel: list[int] | None = None


class Job:
    """Iterations of AllReduce at one rank.

    Args:
        comm: The communicator.
        faults: What is to happen to this rank's rail.
        limit: How long a call may take.
        data: Contributions and expected results.
        work: What an iteration does.
        expected_bytes: Bytes this rank's rail sends in a healthy call.
    """

    def __init__(
        self,
        comm: Communicator,
        faults: FaultRunner,
        limit: TimeLimit,
        data: Data,
        work: Work,
        expected_bytes: int,
    ) -> None:
        self._comm, self._faults, self._limit, self._data, self._work = comm, faults, limit, data, work
        self._expected_bytes = expected_bytes * work.calls
        self._sends, self._results = (
            [np.empty(work.count, work.dtype) for _ in range(work.calls)] for _ in range(2)
        )
        self._requests: dict[bool, list[PersistentRequest]] = {}

    @property
    def result(self) -> Array:
        """The result of the last call."""
        return self._results[-1]

    def warm_up(self, iterations: int) -> None:
        """Run untimed iterations."""
        for number in range(iterations):
            self._prepare_all(-1 - number, in_place=False)
            self._call_all(-1 - number, in_place=False)

    def iterate(self, number: int, *, in_place: bool, check: bool, corrupt: bool) -> Iteration:
        """Run one timed iteration.

        Args:
            number: Its number, from 1.
            in_place: Whether input and result are one array.
            check: Whether to compare every element.
            corrupt: Whether to spoil one element before.
        """
        self._prepare_all(number, in_place=in_place)
        self._comm.Barrier()  # after the preparation, whose length differs from rank to rank
        kernel = self._comm.kernel_bytes()
        self._faults.begin(number, self._expected_bytes, clock())
        reports = self._call_all(number, in_place=in_place)
        self._faults.end()
        ended_at = clock()
        if corrupt:
            corrupt_element(self.result, self._work.count // 2)
        return Iteration(
            reports[0].number,
            fmean(report.time_s for report in reports),
            fmean(report.network_s for report in reports),
            reports[-1].strategy,
            self._count_wrong(number) if check else None,
            ended_at,
            _pairs(reports[-1].excluded),
            _pairs(self._requests[in_place][-1].plan_report.excluded) if self._work.persistent else None,
            None if kernel is None else list(kernel),
        )

    def _call_all(self, number: int, *, in_place: bool) -> list[CallReport]:
        return [self._call(call, number, in_place=in_place) for call in range(self._work.calls)]

    def _call(self, call: int, number: int, *, in_place: bool) -> CallReport:
        result = self._results[call]
        try:
            with self._limit.watching():
                if self._work.persistent:
                    self._requests[in_place][call].Start()
                    self._requests[in_place][call].Wait()
                else:
                    self._comm.Allreduce(self._send(call, in_place=in_place), result, op=self._work.reduction)
        except IncompleteCollectiveError as error:
            expected = np.empty_like(result)
            self._prepare(expected, self._turn(call, number), in_place=in_place)
            if not np.array_equal(expected.view(np.uint8), result.view(np.uint8)):  # bits: NaN is not NaN
                raise WrongResultError(f"{error}; and the user's array was written to") from error
            raise
        assert self._comm.last_report is not None
        return self._comm.last_report

    def _send(self, call: int, *, in_place: bool) -> object:
        from mpi4py import MPI

        return MPI.IN_PLACE if in_place else self._sends[call]

    def _plan(self, *, in_place: bool) -> list[PersistentRequest]:
        with self._limit.watching():
            return [
                self._comm.Allreduce_init(
                    self._send(call, in_place=in_place), result, op=self._work.reduction
                )
                for call, result in enumerate(self._results)
            ]

    def _count_wrong(self, number: int) -> int:
        return sum(
            self._data.count_wrong(result, self._turn(call, number))
            for call, result in enumerate(self._results)
        )

    def _prepare_all(self, number: int, *, in_place: bool) -> None:
        if self._work.persistent and in_place not in self._requests:
            self._requests[in_place] = self._plan(in_place=in_place)
        for call, (send, result) in enumerate(zip(self._sends, self._results, strict=True)):
            self._prepare(result, self._turn(call, number), in_place=in_place)
            if not in_place:
                self._data.fill(send, self._turn(call, number))

    def _prepare(self, array: Array, turn: int, *, in_place: bool) -> None:
        """Write what the result array holds before the call: the input, or what is wrong everywhere."""
        if in_place:
            self._data.fill(array, turn)
        else:
            self._data.spoil(array, turn)

    def _turn(self, call: int, number: int) -> int:
        """Number the calls of all iterations, so that each has data of its own."""
        return number * self._work.calls + call


def _pairs(nics: Sequence[Nic]) -> list[list[int]]:
    return [[nic.node, nic.rail] for nic in nics]


def corrupt_element(array: Array, place: int) -> None:
    """Change one element by so much that no tolerance hides it: the bit below the sign is inverted."""
    bits = array.view(f"u{array.itemsize}")
    bits[place] ^= bits.dtype.type(1 << (8 * array.itemsize - 2))
