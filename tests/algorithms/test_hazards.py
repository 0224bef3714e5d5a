from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.hazards import dependencies
from algorithms.ring import ring_allreduce

PLACES = 8
operations = st.lists(
    st.tuples(st.integers(0, PLACES), st.integers(0, PLACES), st.booleans()).map(
        lambda op: (min(op[:2]), max(op[:2]), op[2])
    ),
    max_size=14,
)


def rows(ops):
    """Call `dependencies` and return one list per operation."""
    indptr, indices = dependencies(*([op[part] for op in ops] for part in range(3)))
    assert len(indptr) == len(ops) + 1
    return [indices[indptr[op] : indptr[op + 1]].tolist() for op in range(len(ops))]


def brute_force(ops):
    """The definition, place by place and operation by operation."""
    waits_for: list[set[int]] = [set() for _ in ops]
    for later, (low, high, writes) in enumerate(ops):
        for place in range(low, high):
            for earlier in reversed(range(later)):
                its_low, its_high, it_writes = ops[earlier]
                if not its_low <= place < its_high:
                    continue
                if it_writes:
                    waits_for[later].add(earlier)
                    break
                if writes:
                    waits_for[later].add(earlier)
    return [sorted(earlier) for earlier in waits_for]


def random_order(waits_for, rng):
    """Draw an order in which everything comes after what it waits for."""
    waiting = [set(earlier) for earlier in waits_for]
    order: list[int] = []
    while len(order) < len(waiting):
        done = set(order)
        order.append(rng.choice([op for op in range(len(waiting)) if op not in done and waiting[op] <= done]))
    return order


def execute(ops, order):
    """Run operations in some order; return what each of them saw and what is left in memory.

    Content is the history of a place, so that any two orders that differ where it matters are told apart.
    """
    memory: list[tuple[Any, ...]] = [()] * PLACES
    seen: list[tuple[Any, ...]] = [()] * len(ops)
    for op in order:
        low, high, writes = ops[op]
        seen[op] = tuple(memory[low:high])
        if writes:
            memory[low:high] = [(op, before) for before in memory[low:high]]
    return seen, memory


def test_the_three_hazards_by_hand():
    """Read after write, write after read and write after write on partly overlapping regions."""
    ops = [
        (0, 4, True),  # 0 writes
        (2, 6, False),  # 1 reads two places of it
        (3, 5, False),  # 2 reads one place of it
        (0, 3, True),  # 3 overwrites places of 0, one of them read by 1
        (0, 2, False),  # 4 reads what 3 wrote, not what 0 wrote
        (5, 9, True),  # 5 overwrites a place that only 1 read
        (9, 9, True),  # 6 touches nothing
    ]
    assert rows(ops) == [[], [0], [0], [0, 1], [3], [1], []]


@given(operations)
def test_dependencies_match_their_definition(ops):
    """Vectorised result and brute force agree on every operation, duplicates and order included."""
    assert rows(ops) == brute_force(ops)


@given(operations, st.integers(0, 1000))
def test_any_order_that_respects_them_is_as_good_as_program_order(ops, seed):
    """Every operation sees the same content, and the same is left, as when run in program order."""
    order = random_order(rows(ops), random.Random(seed))
    assert execute(ops, order) == execute(ops, range(len(ops)))


@given(operations.filter(lambda ops: any(brute_force(ops))), st.data())
def test_no_dependency_is_superfluous_or_missing(ops, data):
    """Leaving out one direct dependency allows, unless others imply it, an order with another outcome."""
    waits_for = rows(ops)
    later = data.draw(st.sampled_from([op for op, earlier in enumerate(waits_for) if earlier]))
    dropped = data.draw(st.sampled_from(waits_for[later]))
    weakened = [[e for e in earlier if (op, e) != (later, dropped)] for op, earlier in enumerate(waits_for)]
    ancestors = {later}
    for op in reversed(range(later + 1)):
        if op in ancestors:
            ancestors.update(weakened[op])
    if dropped in ancestors:
        return
    first = sorted(ancestors)
    order = [*first, *(op for op in range(len(ops)) if op not in ancestors)]
    assert execute(ops, order) != execute(ops, range(len(ops)))


def test_regions_may_lie_anywhere():
    """Only the order of boundaries counts, so huge and negative ones are as good as small ones."""
    far = 2**40
    assert rows([(-far, far, True), (far - 1, far, False), (far, far + 1, False)]) == [[], [0], []]


def test_no_operations_have_no_dependencies():
    """The empty list gives an empty matrix."""
    indptr, indices = dependencies([], [], [])
    assert (indptr.tolist(), indices.tolist()) == ([0], [])


def test_malformed_regions_are_refused():
    """A region that ends before it begins and arrays of different lengths raise."""
    with pytest.raises(ValueError, match=r"operation 1: region \[5, 3\)"):
        dependencies([0, 5], [1, 3], [True, True])
    with pytest.raises(ValueError, match="one length"):
        dependencies([0, 5], [1], [True, True])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_ring_may_run_in_any_order_that_respects_the_hazards_of_every_node(n):
    """Concurrent execution, simulated by random orders of transfers, gives the sum at every node."""
    schedule = ring_allreduce(n)
    waits_for: list[set[int]] = [set() for _ in schedule]
    for node in range(n):
        local = [transfer for transfer in schedule if node in (transfer.source, transfer.target)]
        ops = [(*transfer.source_region, transfer.target == node) for transfer in local]
        for transfer, earlier in zip(local, rows(ops), strict=True):
            waits_for[transfer.index].update(local[op].index for op in earlier)
    for seed in range(20):
        buffers = np.random.default_rng(seed).integers(1, 2**40, (n, n))
        total = buffers.sum(axis=0)
        for index in random_order(waits_for, random.Random(seed)):
            transfer = schedule[index]
            low, _ = transfer.source_region
            kept = buffers[transfer.target, low] if transfer.reduce else 0
            buffers[transfer.target, low] = kept + buffers[transfer.source, low]
        assert np.array_equal(buffers, np.tile(total, (n, 1)))
