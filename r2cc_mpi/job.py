"""What every rank of `r2cc run` does: iterations of a collective, timed and checked element by element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from r2cc_mpi.communicator import Communicator
from r2cc_mpi.driver import clock
from r2cc_mpi.errors import IncompleteCollectiveError, WrongResultError
from r2cc_mpi.fault_runner import FaultRunner

Array = npt.NDArray[Any]
PERIOD = 8191
"""Prime, so that no section of the data looks like another; sums stay exact in float32 up to 1,000 ranks."""


class Pattern:
    """Integer-valued data whose sum over all ranks is exact in every type, different in every iteration.

    Args:
        count: Elements.
        dtype: Their type.
        rank: This rank.
        ranks: Number of ranks.
    """

    def __init__(self, count: int, dtype: npt.DTypeLike, rank: int, ranks: int) -> None:
        self._count, self._rank, self._ranks = count, rank, ranks
        self._wave = np.resize(np.arange(PERIOD).astype(dtype), count + PERIOD)
        self._weights = [(other * other) % PERIOD for other in range(ranks)]

    def fill(self, array: Array, iteration: int) -> None:
        """Write this rank's contribution."""
        np.add(self._base(iteration), array.dtype.type(self._weights[self._rank]), out=array)

    def count_wrong(self, array: Array, iteration: int) -> int:
        """Count the elements that differ from the exact sum."""
        wrong = 0
        base = self._base(iteration)
        block = 1 << 18
        for lo in range(0, self._count, block):
            expected = base[lo : lo + block] * array.dtype.type(self._ranks)
            expected += array.dtype.type(sum(self._weights))
            wrong += int(np.count_nonzero(array[lo : lo + block] != expected))
        return wrong

    def _base(self, iteration: int) -> Array:
        shift = iteration * 1009 % PERIOD
        base: Array = self._wave[shift : shift + self._count]
        return base


class OwnData:
    """The user's own arrays: the same contribution in every iteration, checked against NumPy's sum.

    Integers must agree exactly. The order in which floats are added is the network's, so they may differ from
    NumPy's sum by the rounding of as many additions as there are ranks.

    Args:
        mine: This rank's array, flat.
        others: All ranks' arrays, flat, one at a time.
    """

    def __init__(self, mine: Array, others: Iterable[Array]) -> None:
        self._mine = mine
        self._sum = np.zeros_like(mine)
        self._tolerance = np.zeros(len(mine)) if mine.dtype.kind == "f" else None
        terms = 0
        for other in others:
            terms += 1
            with np.errstate(all="ignore"):  # the user's own infinities and overflows
                self._sum += other
                if self._tolerance is not None:
                    self._tolerance += np.abs(other)
        if self._tolerance is not None:
            self._tolerance *= np.finfo(mine.dtype).eps * terms

    def fill(self, array: Array, iteration: int) -> None:  # noqa: ARG002  (the same in every iteration)
        """Write this rank's contribution."""
        array[:] = self._mine

    def count_wrong(self, array: Array, iteration: int) -> int:  # noqa: ARG002
        """Count the elements that are not the sum."""
        if self._tolerance is None:
            return int(np.count_nonzero(array != self._sum))
        with np.errstate(all="ignore"):
            near = np.abs(array - self._sum) <= self._tolerance
        same = (array == self._sum) | (np.isnan(array) & np.isnan(self._sum))
        return int(np.count_nonzero(~(near | same)))


@dataclass(frozen=True)
class Iteration:
    """One timed iteration at one rank; every field can be written as JSON.

    Attributes:
        collective: Number of the collective.
        time_s: Seconds of the call.
        network_s: Seconds from START to this rank's last operation.
        strategy: Strategy in force when it ended.
        wrong: Wrong elements; None when not checked.
        ended_at: When it ended, on the host's clock.
        down: NICs that were not in use at the end, as [node, rail].
    """

    collective: int
    time_s: float
    network_s: float
    strategy: str
    wrong: int | None
    ended_at: float
    down: list[list[int]]


class Job:
    """Iterations of AllReduce at one rank.

    Args:
        comm: The communicator.
        faults: What is to happen to this rank's rail.
        data: Contributions and expected sums.
        count: Elements.
        dtype: Their type.
        expected_bytes: Bytes this rank's rail sends in a healthy iteration.
    """

    def __init__(
        self,
        comm: Communicator,
        faults: FaultRunner,
        data: Pattern | OwnData,
        *,
        count: int,
        dtype: npt.DTypeLike,
        expected_bytes: int,
    ) -> None:
        self._comm, self._faults, self._data = comm, faults, data
        self._expected_bytes = expected_bytes
        self._send, self.result = np.empty(count, dtype), np.empty(count, dtype)

    def warm_up(self, iterations: int) -> None:
        """Run untimed iterations."""
        for number in range(iterations):
            self._prepare_all(-1 - number, in_place=False)
            self._call(-1 - number, in_place=False)

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
        self._faults.begin(number, self._expected_bytes, clock())
        self._call(number, in_place=in_place)
        self._faults.end()
        ended_at = clock()
        report = self._comm.last_report
        assert report is not None
        if corrupt:
            self.result[len(self.result) // 2] += 1
        wrong = self._data.count_wrong(self.result, number) if check else None
        down = [[nic.node, nic.rail] for nic in report.excluded]
        return Iteration(
            report.number, report.time_s, report.network_s, report.strategy, wrong, ended_at, down
        )

    def _call(self, number: int, *, in_place: bool) -> None:
        from mpi4py import MPI

        try:
            self._comm.Allreduce(MPI.IN_PLACE if in_place else self._send, self.result)
        except IncompleteCollectiveError as error:
            expected = np.empty_like(self.result)
            self._prepare(expected, number, in_place=in_place)
            if not np.array_equal(expected, self.result):
                raise WrongResultError(f"{error}; and the user's array was written to") from error
            raise

    def _prepare_all(self, number: int, *, in_place: bool) -> None:
        self._prepare(self.result, number, in_place=in_place)
        if not in_place:
            self._data.fill(self._send, number)

    def _prepare(self, array: Array, number: int, *, in_place: bool) -> None:
        """Write what the result array holds before the call: the input, or what no sum is equal to."""
        if in_place:
            self._data.fill(array, number)
        else:
            array.fill(-1)
