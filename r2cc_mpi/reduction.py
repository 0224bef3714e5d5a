"""Reductions: how two contributions are combined, and what is done to the result at the end."""

from __future__ import annotations

import enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from r2cc_mpi.errors import UsageError

Array = npt.NDArray[Any]


class Reduction(enum.IntEnum):
    """What a collective computes; the numbers travel in START.

    All are associative and commutative but for rounding. AVG is the sum, divided by the number of ranks when
    the result is handed out; like NCCL's it is meant for floating-point numbers.
    """

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    AVG = 4

    @property
    def label(self) -> str:
        """Name on the command line, which is nccl-tests'."""
        return self.name.lower()

    def combine(self, into: Array, other: Array) -> None:
        """Combine two arrays element by element, in place.

        Args:
            into: One of them; it is overwritten with the result.
            other: The other, of the same type and size.
        """
        with np.errstate(all="ignore"):  # infinities and overflows are the user's; MPI does not warn either
            _FUNCTIONS[self](into, other, out=into)

    def finish(self, combined: Array, ranks: int, out: Array) -> None:
        """Turn what was combined over all ranks into the result.

        Args:
            combined: It.
            ranks: Number of ranks.
            out: Where the result goes; may be the same memory.
        """
        if self is Reduction.AVG:
            with np.errstate(all="ignore"):
                np.divide(combined, combined.dtype.type(ranks), out=out)
        else:
            out[:] = combined

    def check(self, dtype: np.dtype[Any]) -> None:
        """Make sure that elements of this type can be reduced so.

        Raises:
            UsageError: They cannot; the message says what can.
        """
        if self is Reduction.AVG and dtype.kind != "f":
            raise UsageError(
                f"avg of {dtype}: the mean of whole numbers is no whole number; use sum, or a float"
            )


_FUNCTIONS: dict[Reduction, np.ufunc] = {
    Reduction.SUM: np.add,
    Reduction.PROD: np.multiply,
    Reduction.MIN: np.minimum,
    Reduction.MAX: np.maximum,
    Reduction.AVG: np.add,
}


class MpiOps(Protocol):
    """The operations of `mpi4py.MPI` that are known here, under MPI's names."""

    SUM: Any
    PROD: Any
    MIN: Any
    MAX: Any


def reduction_of(op: object, mpi: MpiOps) -> Reduction:
    """Translate what a caller gave as operation.

    Args:
        op: One of MPI's operations, a Reduction, or None for the sum.
        mpi: MPI's names.

    Raises:
        UsageError: It is another operation.
    """
    if op is None or isinstance(op, Reduction):
        return op or Reduction.SUM
    for one, name in (
        (Reduction.SUM, mpi.SUM),
        (Reduction.PROD, mpi.PROD),
        (Reduction.MIN, mpi.MIN),
        (Reduction.MAX, mpi.MAX),
    ):
        if op == name:
            return one
    raise UsageError("this version reduces with MPI.SUM, PROD, MIN or MAX, or Reduction.AVG")
