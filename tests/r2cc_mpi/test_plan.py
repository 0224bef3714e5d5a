from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.ring import ring_all_gather_schedule, ring_allreduce, ring_reduce_scatter_schedule
from algorithms.schedule import element
from algorithms.stripes import healthy_mapping
from r2cc_mpi.plan import plan_node

SCHEDULES = (ring_allreduce, ring_reduce_scatter_schedule, ring_all_gather_schedule)
layouts = st.tuples(st.integers(2, 5), st.integers(1, 4), st.integers(0, 60), st.integers(1, 7))


def plans_of(stripes, node, count, chunk_elements):
    """Make the plans of all ranks of a node."""
    return [
        plan_node(stripes, node=node, rail=rail, count=count, chunk_elements=chunk_elements)
        for rail in range(stripes.rails)
    ]


def operations_of(plans):
    """List a node's operations, of all its ranks, in program order; check that none is missing."""
    parts = [part for plan in plans for peers in (plan.sends, plan.receives) for part in peers.values()]
    operations = sorted(itertools.chain(*parts), key=lambda operation: operation.index)
    assert [operation.index for operation in operations] == list(range(plans[0].operations))
    assert all(plan.operations == plans[0].operations for plan in plans)
    return operations


def brute_force_hazards(operations):
    """For each operation the last writer of each element it touches and, if it writes, the readers since."""
    hazards = []
    for later in operations:
        waits: set[int] = set()
        for place in range(later.lo, later.hi):
            for earlier in reversed(operations[: later.index]):
                if not earlier.lo <= place < earlier.hi:
                    continue
                if not earlier.is_send:
                    waits.add(earlier.index)
                    break
                if not later.is_send:
                    waits.add(earlier.index)
        hazards.append(tuple(sorted(waits)))
    return hazards


@given(st.sampled_from(SCHEDULES), layouts)
def test_chunks_cover_each_stripe_exactly(schedule, layout):
    """A node's chunks, in program order, are its stripes cut into pieces of at most the chunk size."""
    nodes, rails, count, chunk_elements = layout
    stripes = healthy_mapping(schedule(nodes), rails)
    for node in range(nodes):
        expected = []
        for stripe in stripes:
            transfer = stripe.transfer
            if node not in (transfer.source, transfer.target):
                continue
            is_send = transfer.source == node
            region = stripe.source_region if is_send else stripe.target_region
            lo, hi = (element(boundary, count, stripes.grid) for boundary in region)
            peer = transfer.target if is_send else transfer.source
            expected += [
                (peer, is_send, transfer.reduce, at, min(at + chunk_elements, hi))
                for at in range(lo, hi, chunk_elements)
            ]
        operations = operations_of(plans_of(stripes, node, count, chunk_elements))
        assert [(op.peer, op.is_send, op.reduce, op.lo, op.hi) for op in operations] == expected


@given(st.sampled_from(SCHEDULES), layouts)
def test_both_ends_of_every_channel_agree(schedule, layout):
    """What one node sends on a channel is, chunk by chunk, what the other one applies."""
    nodes, rails, count, chunk_elements = layout
    stripes = healthy_mapping(schedule(nodes), rails)
    plans = [plans_of(stripes, node, count, chunk_elements) for node in range(nodes)]
    for source, target, rail in itertools.product(range(nodes), range(nodes), range(rails)):
        sent = plans[source][rail].sends.get(target, ())
        applied = plans[target][rail].receives.get(source, ())
        assert [(op.lo, op.hi, op.reduce) for op in sent] == [(op.lo, op.hi, op.reduce) for op in applied]


@given(layouts)
def test_channels_are_in_program_order(layout):
    """On each channel a rank captures and applies in program order, and waits for earlier operations only."""
    nodes, rails, count, chunk_elements = layout
    for plan in plans_of(healthy_mapping(ring_allreduce(nodes), rails), 0, count, chunk_elements):
        for peers, is_send in ((plan.sends, True), (plan.receives, False)):
            for peer, operations in peers.items():
                indices = [op.index for op in operations]
                assert indices == sorted(indices)
                assert all((op.peer, op.is_send) == (peer, is_send) for op in operations)
                assert all(max(op.waits_for, default=-1) < op.index for op in operations)


@given(st.sampled_from(SCHEDULES), layouts)
def test_hazards_equal_their_definition(schedule, layout):
    """An operation waits exactly for the last writers of what it touches and for readers it overwrites."""
    nodes, rails, count, chunk_elements = layout
    stripes = healthy_mapping(schedule(nodes), rails)
    operations = operations_of(plans_of(stripes, nodes - 1, count, chunk_elements))
    assert [op.waits_for for op in operations] == brute_force_hazards(operations)


def test_small_example():
    """With two nodes, two rails and eight elements each rank of node 0 applies its half of a section."""
    plans = plans_of(healthy_mapping(ring_allreduce(2), 2), 0, count=8, chunk_elements=1)
    received = [[(op.lo, op.reduce) for op in plan.receives[1]] for plan in plans]
    assert received == [
        [(4, True), (5, True), (0, False), (1, False)],
        [(6, True), (7, True), (2, False), (3, False)],
    ]


@pytest.mark.parametrize("count", [0, 5])
def test_single_node_has_nothing_to_do(count):
    """A node alone neither sends nor receives."""
    plan = plan_node(healthy_mapping(ring_allreduce(1), 2), node=0, rail=1, count=count, chunk_elements=4)
    assert (plan.sends, plan.receives, plan.operations) == ({}, {}, 0)
