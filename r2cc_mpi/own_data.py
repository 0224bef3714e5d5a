"""The user's own arrays as the data of a job: the same in every iteration, checked against NumPy's result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from r2cc_mpi.patterns import different_from
from r2cc_mpi.reduction import Reduction

Array = npt.NDArray[Any]


class OwnData:
    """What one rank contributes, and what must come out.

    Whole numbers must agree exactly. The order in which floats are added or multiplied is the network's, so
    they may differ from NumPy's result by the rounding of as many operations as there are ranks.

    Args:
        mine: This rank's array, flat.
        others: All ranks' arrays, flat, one at a time.
        reduction: What is to be done with them.
    """

    def __init__(self, mine: Array, others: Iterable[Array], reduction: Reduction = Reduction.SUM) -> None:
        self._mine = mine
        terms = iter(others)
        self._result = next(terms).copy()
        is_rounded = mine.dtype.kind == "f" and reduction not in {Reduction.MIN, Reduction.MAX}
        magnitude = np.abs(self._result).astype(np.float64) if is_rounded else np.zeros(0)
        ranks = 1
        with np.errstate(all="ignore"):  # the user's own infinities and overflows
            for ranks, other in enumerate(terms, start=2):  # noqa: B007  (needed below)
                self._result = _combined(self._result, other, reduction)
                if is_rounded:
                    magnitude += np.abs(other)
            if reduction is Reduction.AVG:
                self._result /= self._result.dtype.type(ranks)
                magnitude /= ranks
            elif reduction is Reduction.PROD and is_rounded:
                magnitude = np.abs(self._result).astype(np.float64)
            self._tolerance = magnitude * (np.finfo(mine.dtype).eps * ranks) if is_rounded else None

    def fill(self, array: Array, iteration: int) -> None:  # noqa: ARG002  (the same in every iteration)
        """Write this rank's contribution."""
        array[:] = self._mine

    def spoil(self, array: Array, iteration: int) -> None:  # noqa: ARG002
        """Write something that is wrong in every element."""
        array[:] = different_from(self._result)

    def count_wrong(self, array: Array, iteration: int) -> int:  # noqa: ARG002
        """Count the elements that are not the result."""
        right = array == self._result
        if array.dtype.kind == "f":
            right |= np.isnan(array) & np.isnan(self._result)
        if self._tolerance is not None:
            with np.errstate(all="ignore"):
                right |= np.isfinite(self._result) & (np.abs(array - self._result) <= self._tolerance)
        return int(np.count_nonzero(~right))


def _combined(one: Array, other: Array, reduction: Reduction) -> Array:
    """Combine two arrays by operators, not by what the collective itself uses."""
    if reduction is Reduction.PROD:
        return np.asarray(one * other)
    if reduction is Reduction.MIN:
        return np.minimum(one, other)
    if reduction is Reduction.MAX:
        return np.maximum(one, other)
    return np.asarray(one + other)
