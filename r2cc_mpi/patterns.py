"""Made-up data whose reduction is known exactly, in every type, for every reduction and number of ranks.

Everything repeats after PERIOD elements, so the exact result is worked out once, for one period, in the
widest type and by other means than the collective's. Checking an array is then one comparison per element,
without a tolerance.

Whole numbers span their type and wrap around in sums and products, which is exact as well. Floats are chosen
so that no order of operations ever rounds: whole numbers whose sum over all ranks has no more digits than the
type (multiples of the number of ranks for AVG), or for PROD powers of two whose product has an exponent to
spare. Where a type is too small for all ranks at once (half, and more than 1,000 ranks), ranks take turns:
in each element some contribute what changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from r2cc_mpi.reduction import Reduction

Array = npt.NDArray[Any]

PERIOD = 8191
"""Prime, so that no section of an array looks like another one."""
BLOCK = 32 * PERIOD
"""Elements that are written or compared at a time."""


class Pattern:
    """What one rank contributes, different in every iteration, and what must come out.

    Args:
        dtype: Type of the elements.
        rank: This rank.
        ranks: Number of ranks.
        reduction: What is to be done with the contributions.
    """

    def __init__(
        self, dtype: npt.DTypeLike, rank: int, ranks: int, reduction: Reduction = Reduction.SUM
    ) -> None:
        everyone = [contributions(np.dtype(dtype), other, ranks, reduction) for other in range(ranks)]
        self._mine = _tile(everyone[rank])
        self._result = _tile(exact_result(np.stack(everyone), reduction))

    def fill(self, array: Array, iteration: int) -> None:
        """Write this rank's contribution."""
        self._write(self._mine, array, iteration)

    def spoil(self, array: Array, iteration: int) -> None:
        """Write something that is wrong in every element."""
        self._write(different_from(self._result), array, iteration)

    def count_wrong(self, array: Array, iteration: int) -> int:
        """Count the elements that differ from the exact result."""
        shift = _shift(iteration)
        wrong = 0
        for lo in range(0, len(array), BLOCK):
            part = array[lo : lo + BLOCK]
            wrong += int(np.count_nonzero(part != self._result[shift : shift + len(part)]))
        return wrong

    def _write(self, source: Array, array: Array, iteration: int) -> None:
        shift = _shift(iteration)
        for lo in range(0, len(array), BLOCK):
            part = array[lo : lo + BLOCK]
            part[:] = source[shift : shift + len(part)]


def different_from(result: Array) -> Array:
    """Give an array that `count_wrong` finds wrong everywhere: not a number, or all bits inverted."""
    if result.dtype.kind == "f":
        return np.where(np.isnan(result), 0, np.nan).astype(result.dtype)
    return np.invert(result)


def exact_result(everyone: Array, reduction: Reduction) -> Array:
    """Reduce the contributions of all ranks.

    Args:
        everyone: One row for each rank.
        reduction: How.
    """
    dtype = everyone.dtype
    if reduction is Reduction.MIN:
        return np.asarray(everyone.min(axis=0))
    if reduction is Reduction.MAX:
        return np.asarray(everyone.max(axis=0))
    is_float = dtype.kind == "f"
    wide = everyone.astype(np.float64 if is_float else np.uint64)  # negative numbers as 2**64 less
    whole = wide.prod(axis=0) if reduction is Reduction.PROD else wide.sum(axis=0)
    if reduction is Reduction.AVG:
        whole = whole / len(everyone)
    return np.asarray(whole.astype(dtype) if is_float else whole.astype(f"u{dtype.itemsize}").view(dtype))


def contributions(dtype: np.dtype[Any], rank: int, ranks: int, reduction: Reduction) -> Array:
    """Give one period of what a rank contributes.

    Args:
        dtype: Type of the elements.
        rank: The rank.
        ranks: Number of ranks.
        reduction: What is to be done with it.
    """
    noise = _noise(rank)
    if dtype.kind in "iu":
        return _whole(dtype, noise, reduction)
    info = np.finfo(dtype)
    if reduction in {Reduction.MIN, Reduction.MAX}:
        top = min(PERIOD, 2**info.nmant)
        return np.asarray(noise % top - top // 2, dtype)
    if reduction is Reduction.PROD:
        budget = -int(info.minexp)  # exponents that all ranks together may use, up or down
        steps, on_turn = _share(rank, ranks, budget, most=3)
        exponent = np.where(on_turn, noise % (2 * steps + 1) - steps, 0)
        sign = np.where(noise // 7 % 2, -1, 1)
        return np.ldexp(sign.astype(np.float64), exponent).astype(dtype)
    unit = ranks if reduction is Reduction.AVG else 1
    # Less than the type has digits for, so that also the next larger whole number is another one.
    top, on_turn = _share(rank, ranks, max(1, 2**info.nmant // unit), most=PERIOD - 1)
    return np.where(on_turn, noise % (top + 1) * unit, 0).astype(dtype)


def _whole(dtype: np.dtype[Any], noise: npt.NDArray[np.int64], reduction: Reduction) -> Array:
    """Spread noise over all values of a type of whole numbers; products get odd ones, which never vanish."""
    bits = 8 * dtype.itemsize
    spread = noise.astype(np.uint64) * np.uint64(2**bits // PERIOD | 1)
    if reduction is Reduction.PROD:
        spread |= np.uint64(1)
    return spread.astype(f"u{dtype.itemsize}").view(dtype)


def _share(rank: int, ranks: int, budget: int, *, most: int) -> tuple[int, npt.NDArray[np.bool_]]:
    """Share out among the ranks what a type has room for.

    Args:
        rank: This rank.
        ranks: Number of ranks.
        budget: What all ranks together may use in one element, at least 1.
        most: No rank uses more.

    Returns:
        What a rank may use in an element in which it is on turn, and where it is.
    """
    turns = -(-ranks // budget)
    at_once = -(-ranks // turns)
    places = np.arange(PERIOD) + rank
    return min(most, budget // at_once), places % turns == 0


def _noise(rank: int) -> npt.NDArray[np.int64]:
    """Give whole numbers from 0 to PERIOD - 1 in an order that looks random and differs from rank to rank."""
    places = np.arange(PERIOD, dtype=np.int64)
    return (places * 2999 + (rank + 1) * 1009) * (places + rank + 17) % PERIOD


def _shift(iteration: int) -> int:
    return iteration * 1009 % PERIOD


def _tile(period: Array) -> Array:
    return np.resize(period, BLOCK + PERIOD)
