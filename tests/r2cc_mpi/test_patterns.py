from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi.patterns import BLOCK, PERIOD, Pattern, contributions, exact_result
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.strategy import DTYPES

NAMES = [np.dtype(dtype).name for dtype in DTYPES]
PAIRS = [
    (name, reduction)
    for name in NAMES
    for reduction in Reduction
    if reduction is not Reduction.AVG or name.startswith("float")
]


def everyone(name, ranks, reduction):
    """Give one period of what each rank contributes."""
    return [contributions(np.dtype(name), rank, ranks, reduction) for rank in range(ranks)]


def combined(arrays, reduction):
    """Combine contributions as the executor does, in this order."""
    result = arrays[0].copy()
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            reduction.combine(result, array)
        reduction.finish(result, len(arrays), result)
    return result


def reduce_fractions(values, reduction):
    """Reduce exact numbers."""
    if reduction in {Reduction.MIN, Reduction.MAX}:
        return min(values) if reduction is Reduction.MIN else max(values)
    if reduction is Reduction.PROD:
        return prod(values)
    return sum(values) / (len(values) if reduction is Reduction.AVG else 1)


def by_hand(arrays, place, reduction):
    """Reduce one element with Python's exact numbers; whole numbers wrap around as in their type."""
    dtype = arrays[0].dtype
    exact = reduce_fractions([Fraction(array[place].item()) for array in arrays], reduction)
    if dtype.kind == "f":
        return exact
    wrapped = int(exact) % 2 ** (8 * dtype.itemsize)
    return Fraction(np.array(wrapped, f"u{dtype.itemsize}").astype(dtype).item())


@pytest.mark.parametrize(("name", "reduction"), PAIRS)
@pytest.mark.parametrize("ranks", [1, 2, 9, 64])
def test_result_is_exact_in_any_order(name, reduction, ranks):
    """Combined in either direction, and worked out with fractions, it is what the check expects."""
    arrays = everyone(name, ranks, reduction)
    expected = exact_result(np.stack(arrays), reduction)
    assert np.array_equal(combined(arrays, reduction), expected)
    assert np.array_equal(combined(arrays[::-1], reduction), expected)
    for place in range(0, PERIOD, 97):
        assert Fraction(expected[place].item()) == by_hand(arrays, place, reduction)


@pytest.mark.parametrize("reduction", [Reduction.SUM, Reduction.PROD, Reduction.AVG])
@pytest.mark.parametrize("ranks", [1000, 1500])
def test_half_is_exact_on_many_ranks(reduction, ranks):
    """The smallest float has room for a thousand ranks and more, which take turns."""
    arrays = everyone("float16", ranks, reduction)
    expected = exact_result(np.stack(arrays), reduction)
    assert np.isfinite(expected).all()
    assert np.array_equal(combined(arrays, reduction), expected)
    assert np.array_equal(combined(arrays[::-1], reduction), expected)
    for place in range(0, PERIOD, 401):
        assert Fraction(expected[place].item()) == by_hand(arrays, place, reduction)


@pytest.mark.parametrize(("name", "reduction"), PAIRS)
def test_another_reduction_is_noticed(name, reduction):
    """Had the ranks been reduced in another way, most elements would be wrong."""
    arrays = everyone(name, 4, reduction)
    expected = exact_result(np.stack(arrays), reduction)
    for other in Reduction:
        if other is not reduction and (name, other) in PAIRS:
            assert np.count_nonzero(combined(arrays, other) != expected) > PERIOD / 2


@pytest.mark.parametrize(("name", "reduction"), PAIRS)
def test_missing_rank_is_noticed(name, reduction):
    """Without one of nine ranks many elements are wrong; of a minimum or maximum about a ninth."""
    arrays = everyone(name, 9, reduction)
    expected = exact_result(np.stack(arrays), reduction)
    for rank in range(9):
        rest = arrays[:rank] + arrays[rank + 1 :]
        result = combined(rest, Reduction.SUM if reduction is Reduction.AVG else reduction)
        if reduction is Reduction.AVG:
            result = result / result.dtype.type(9)
        assert np.count_nonzero(result != expected) > PERIOD / 15


@pytest.mark.parametrize(("name", "reduction"), [pair for pair in PAIRS if pair[1].label in {"sum", "prod"}])
def test_rank_that_counts_twice_is_noticed(name, reduction):
    """A contribution that comes twice makes many elements wrong."""
    arrays = everyone(name, 9, reduction)
    expected = exact_result(np.stack(arrays), reduction)
    assert np.count_nonzero(combined([*arrays, arrays[4]], reduction) != expected) > PERIOD / 3


@pytest.mark.parametrize(("name", "reduction"), PAIRS)
def test_ranks_places_and_iterations_differ(name, reduction):
    """No two ranks contribute the same, and what belongs to another place or iteration is wrong there."""
    assert len({array.tobytes() for array in everyone(name, 20, reduction)}) == 20
    pattern, count = Pattern(name, 0, 4, reduction), 20_000
    result = np.tile(exact_result(np.stack(everyone(name, 4, reduction)), reduction), 3)[:count]
    assert pattern.count_wrong(result, 0) == 0
    assert pattern.count_wrong(result, 1) > count / 2
    swapped = np.concatenate((result[count // 2 :], result[: count // 2]))
    assert pattern.count_wrong(swapped, 0) > count / 2


@given(st.integers(1, 3 * PERIOD), st.sampled_from(PAIRS), st.integers(-20, 20))
def test_all_ranks_together(count, pair, iteration):
    """What the patterns of all ranks write, reduced, is what each of them expects, for every iteration."""
    name, reduction = pair
    patterns = [Pattern(name, rank, 3, reduction) for rank in range(3)]
    arrays = [np.empty(count, name) for _ in patterns]
    for pattern, array in zip(patterns, arrays, strict=True):
        pattern.fill(array, iteration)
    result = combined(arrays, reduction)
    assert [pattern.count_wrong(result, iteration) for pattern in patterns] == [0, 0, 0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [0, 1, BLOCK - 1, BLOCK, BLOCK + 5])
def test_one_spoiled_element_is_seen(name, place):
    """A single element that is one too large is found wherever it is."""
    arrays = everyone(name, 2, Reduction.SUM)
    result = np.resize(exact_result(np.stack(arrays), Reduction.SUM), BLOCK + 6)
    result[place] += 1
    assert Pattern(name, 0, 2).count_wrong(result, 0) == 1


@pytest.mark.parametrize(("name", "reduction"), PAIRS)
def test_spoiled_array_is_wrong_everywhere(name, reduction):
    """What is written into an array before the call is right in no element."""
    pattern, array = Pattern(name, 1, 4, reduction), np.empty(BLOCK + 100, name)
    pattern.spoil(array, 3)
    assert pattern.count_wrong(array, 3) == BLOCK + 100
