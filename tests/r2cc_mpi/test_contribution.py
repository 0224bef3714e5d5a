from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from r2cc_mpi.contribution import PIECE_BYTES, Contribution, pieces_of
from r2cc_mpi.plan import plan_node


@st.composite
def contributions(draw):
    """Draw a node's contribution."""
    nodes = draw(st.integers(1, 4))
    return Contribution(
        node=draw(st.integers(0, nodes - 1)),
        nodes=nodes,
        rails=draw(st.integers(1, 4)),
        count=draw(st.integers(0, 50)),
        pieces=draw(st.integers(1, 3)),
    )


def blocks_of(contribution, rail):
    """List the blocks a rank walks over, in its order."""
    return list(contribution.path(rail))


@given(contributions())
def test_every_rank_walks_over_every_element_once(contribution):
    """The blocks of each rank, sorted, lie end to end from the first element to the last."""
    for rail in range(contribution.rails):
        bounds = sorted((block.lo, block.hi) for block in blocks_of(contribution, rail))
        assert bounds[0][0] == 0
        assert bounds[-1][1] == contribution.count
        assert all(before[1] == after[0] for before, after in pairwise(bounds))


@given(contributions())
def test_each_element_has_one_first_rank(contribution):
    """Exactly one rank is the first at each element and waits for nobody."""
    firsts = [0] * contribution.count
    for rail in range(contribution.rails):
        for block in blocks_of(contribution, rail):
            for place in range(block.lo, block.hi):
                firsts[place] += block.before is None
    assert firsts == [1] * contribution.count


@given(contributions(), st.randoms(use_true_random=False))
def test_any_allowed_interleaving_gives_the_exact_sum(contribution, random):
    """However the ranks take turns, nobody is stuck and the node buffer ends as the sum of their arrays."""
    arrays = np.array(
        [[1000**rail + place for place in range(contribution.count)] for rail in range(contribution.rails)]
    )
    buffer = np.full(contribution.count, -(10**15))
    done = [0] * contribution.rails
    while able := [rail for rail in range(contribution.rails) if may_go(contribution, rail, done)]:
        rail = random.choice(able)
        block = contribution.path(rail)[done[rail]]
        piece = slice(block.lo, block.hi)
        buffer[piece] = arrays[rail, piece] + (0 if block.before is None else buffer[piece])
        done[rail] += 1
    assert done == [contribution.steps] * contribution.rails
    assert buffer.tolist() == arrays.sum(axis=0).tolist()


def may_go(contribution, rail, done):
    """Say whether a rank has a step left and may begin it."""
    if done[rail] == contribution.steps:
        return False
    block = contribution.path(rail)[done[rail]]
    return block.before is None or done[block.before] >= block.steps


@given(contributions(), st.data())
def test_needed_is_what_completes_the_elements(contribution, data):
    """Named is, for each block among the elements, the last rank to reach it and the step in which it does.

    That the other ranks were there before follows. An empty block between two of the elements counts too.
    """
    if not contribution.count:
        return
    lo = data.draw(st.integers(0, contribution.count - 1))
    hi = data.draw(st.integers(lo + 1, contribution.count))
    expected: dict[int, int] = {}
    for rail in range(contribution.rails):
        for step, block in enumerate(blocks_of(contribution, rail)):
            is_last = step % contribution.rails == contribution.rails - 1
            if is_last and block.lo < hi and block.hi > lo:
                expected[rail] = step + 1
    assert dict(contribution.needed(lo, hi)) == expected


@given(contributions(), st.data(), st.randoms(use_true_random=False))
def test_what_is_needed_suffices(contribution, data, random):
    """In any allowed order, once the steps named are done every rank has been at the elements."""
    if not contribution.count:
        return
    lo = data.draw(st.integers(0, contribution.count - 1))
    hi = data.draw(st.integers(lo + 1, contribution.count))
    needed = contribution.needed(lo, hi)
    visits = [[0] * contribution.count for _ in range(contribution.rails)]
    done = [0] * contribution.rails
    while any(done[rail] < steps for rail, steps in needed):
        rail = random.choice([rail for rail in range(contribution.rails) if may_go(contribution, rail, done)])
        block = contribution.path(rail)[done[rail]]
        visits[rail][block.lo : block.hi] = [1] * (block.hi - block.lo)
        done[rail] += 1
    assert all(all(visited[lo:hi]) for visited in visits)


@pytest.mark.parametrize(("nodes", "rails"), [(2, 2), (3, 2), (4, 4)])
def test_sections_come_in_the_order_the_ring_needs_them(nodes, rails):
    """What a node sends first it adds up first, and so on through the ring."""
    count = nodes * rails * 10
    stripes = healthy_mapping(ring_allreduce(nodes), rails)
    for node in range(nodes):
        contribution = Contribution(node, nodes, rails, count)
        plan = plan_node(stripes, node=node, rail=0, count=count, chunk_elements=count)
        (sends,) = plan.sends.values()
        reduced = [op for op in sends if op.reduce]
        steps = [max(steps for _, steps in contribution.needed(op.lo, op.hi)) for op in reduced]
        assert steps == [(place + 1) * rails for place in range(nodes - 1)]


@given(st.integers(0, 2**34), st.integers(1, 16), st.integers(1, 8), st.sampled_from([1, 20]))
def test_pieces_are_about_the_piece_size(buffer_bytes, nodes, rails, log_of_chunk):
    """A stripe is cut into pieces of a chunk, if that is larger than the piece size, up to twice it."""
    pieces = pieces_of(buffer_bytes, nodes, rails, 1 << log_of_chunk)
    least_bytes = max(PIECE_BYTES, 1 << log_of_chunk)
    piece_bytes = Fraction(buffer_bytes, nodes * rails * pieces)
    assert pieces >= 1
    assert piece_bytes < 2 * least_bytes
    assert pieces == 1 or piece_bytes >= least_bytes
