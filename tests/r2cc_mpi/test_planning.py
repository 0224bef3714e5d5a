from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.catalogue import ALGORITHMS, OPTCC_FORMS, Case
from algorithms.nic import Nic
from analysis import planner
from analysis.played import Chunking
from analysis.rail_rates import RailRates
from r2cc_mpi.plan import most_operations, plan_node
from r2cc_mpi.planning import Wishes, choose, chunking_for, slow_from_the_start
from r2cc_mpi.strategy import Strategy

LARGE = 64 << 20
RATE = Fraction(20_000_000)


def wishes(strategy="auto", **more):
    """Wishes of a run on rails of 20 MB/s."""
    return Wishes(Strategy.parse(strategy), rail_bytes_per_s=RATE, **more)


def test_healthy_rails_run_the_ring():
    """Without failures every strategy runs the plain ring; HotRepair keeps its name."""
    for name in ("auto", "ring", "balance", "r2cc-allreduce"):
        assert choose(3, 3, wishes(name), (), LARGE).strategy is Strategy.RING
    assert choose(3, 3, wishes("hot-repair"), (), LARGE).strategy is Strategy.HOT_REPAIR


def test_ring_and_hot_repair_keep_the_healthy_plan():
    """They run the stripes of the healthy ring whatever is down: routes are the protocol's business."""
    healthy = choose(3, 3, wishes("ring"), (), LARGE).stripes
    for name in ("ring", "hot-repair"):
        assert choose(3, 3, wishes(name), (Nic(1, 1),), LARGE).stripes.routes == healthy.routes


@pytest.mark.parametrize("name", ["balance", "r2cc-allreduce", "optcc"])
def test_plans_avoid_what_is_down(name):
    """The stripes of the others are those of the catalogue, proved right, and use no dead NIC."""
    down = (Nic(1, 0), Nic(1, 2))
    chosen = choose(4, 3, wishes(name, pieces=3), down, LARGE)
    assert chosen.strategy is Strategy.parse(name)
    verify.check(chosen.stripes.schedule)
    verify.check_stripes(chosen.stripes, down)
    rates = RailRates.of(4, 3, dead=down).rates
    assert len(chosen.stripes) == len(ALGORITHMS[name](Case(rates, pieces=3, form=chosen.form)))


def test_auto_is_the_planner():
    """`auto` runs what the planner chooses of what is built, with its K: few pieces for small arrays."""
    down = (Nic(1, 1),)
    large = choose(3, 3, wishes(), down, LARGE)
    small = choose(3, 3, wishes(), down, 1 << 10)
    assert large.strategy is Strategy.OPTCC
    assert small.strategy is Strategy.BALANCE
    unit_s = LARGE / (3 * RATE)
    chunking = chunking_for(RATE, LARGE)
    rates = RailRates.of(3, 3, dead=down)
    expected = planner.plan(rates, alpha=wishes().alpha_s / unit_s, chunking=chunking).chosen
    assert (large.pieces, large.form) == (expected.pieces, expected.form)


def test_two_degraded_nodes_are_balanced_and_re_ranked():
    """R2CC-AllReduce cannot serve two degraded nodes; Balance can, in a ring that keeps them apart."""
    chosen = choose(4, 4, wishes("r2cc-allreduce"), (Nic(0, 0), Nic(1, 1)), LARGE)
    assert (chosen.strategy, chosen.order) == (Strategy.BALANCE, (0, 2, 1, 3))


def test_wishes_are_granted():
    """Pieces, form and partial share are what the user says; what he leaves open is the planner's."""
    chosen = choose(3, 3, wishes("r2cc-allreduce", pieces=5, partial=Fraction(1, 4)), (Nic(0, 0),), LARGE)
    assert (chosen.pieces, chosen.partial, chosen.form) == (5, Fraction(1, 4), "chain")
    chosen = choose(3, 3, wishes("r2cc-allreduce", form="helper"), (Nic(0, 0),), LARGE)
    assert (chosen.partial, chosen.form) == (Fraction(1, 3), "helper")
    assert chosen.pieces is not None


def test_slow_rail_carries_less():
    """A rail that is slow from the start gets its share: at half the rate, half of the others'."""
    slow = slow_from_the_start({Nic(1, 0): Fraction(1, 2), Nic(0, 1): Fraction(1)})
    assert slow == ((Nic(1, 0), Fraction(1, 2)),)
    loads = choose(3, 3, wishes("balance", slow=slow), (), LARGE).stripes.rail_loads()
    assert loads[Nic(1, 0)][0] * 2 == loads[Nic(1, 1)][0] == loads[Nic(1, 2)][0]


def test_cut_off_nodes_are_left_to_the_protocol():
    """Where no plan can work the ring is tried: the protocol finds out who is cut off, and says so."""
    down = (Nic(0, 0), Nic(0, 1))
    assert choose(2, 2, wishes("balance"), down, LARGE).strategy is Strategy.HOT_REPAIR


@pytest.mark.parametrize("form", OPTCC_FORMS)
def test_forms_of_optcc(form):
    """Each form of OptCC that is asked for is the one that runs, proved right, off the dead NIC."""
    down = (Nic(3, 1),)
    chosen = choose(4, 4, wishes("optcc", form=form, pieces=4), down, LARGE)
    assert (chosen.strategy, chosen.form, chosen.pieces) == (Strategy.OPTCC, form, 4)
    verify.check(chosen.stripes.schedule)
    verify.check_stripes(chosen.stripes, down)


def test_nested_losses_run_nested_optcc():
    """Two nodes whose losses nest: nested OptCC runs; where they do not nest, Balance does."""
    nested = (Nic(0, 0), Nic(1, 0), Nic(1, 1))
    for name in ("optcc", "nested-optcc"):
        chosen = choose(4, 4, wishes(name), nested, LARGE)
        assert chosen.strategy is Strategy.NESTED_OPTCC
        verify.check(chosen.stripes.schedule)
        verify.check_stripes(chosen.stripes, nested)
        assert choose(4, 4, wishes(name), (Nic(0, 0), Nic(1, 1)), LARGE).strategy is Strategy.BALANCE


def test_one_straggler_is_plain_optcc():
    """Nested OptCC with one degraded node is OptCC; two nodes are balanced."""
    assert choose(3, 3, wishes("nested-optcc"), (Nic(0, 0),), LARGE).strategy is Strategy.OPTCC
    assert choose(2, 3, wishes("optcc"), (Nic(0, 0),), LARGE).strategy is Strategy.BALANCE


def test_equal_questions_have_one_answer():
    """A repeated call gets the very same stripes, so that nothing is computed again."""
    first = choose(3, 3, wishes(), (Nic(2, 2),), LARGE)
    assert choose(3, 3, wishes(), (Nic(2, 2),), LARGE).stripes is first.stripes


@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 5000), st.integers(1, 600), st.booleans())
def test_room_for_operations_is_what_the_busiest_node_needs(nodes, rails, count, chunk_elements, degraded):
    """All nodes reserve the same room in shared memory, enough for the one with most operations."""
    down = (Nic(0, 0),) if degraded and rails > 1 else ()
    stripes = choose(nodes, rails, wishes(), down, LARGE).stripes
    plans = [
        plan_node(stripes, node=node, rail=0, count=count, chunk_elements=chunk_elements).operations
        for node in range(nodes)
    ]
    assert most_operations(stripes, count, chunk_elements) == max(1, *plans)


@pytest.mark.parametrize(
    ("rate", "size", "parts", "window"),
    [(RATE, 1 << 20, 4, 8), (RATE, (1 << 20) + 1, 5, 8), (None, 1 << 20, 1, 4), (None, 0, 1, 4)],
)
def test_chunks_of_a_plan_are_those_that_ranks_send(rate, size, parts, window):
    """256 KiB at 20 MB/s, 1 MiB where the rate is not known: the data in equal parts that are no larger."""
    assert chunking_for(rate, size) == Chunking(Fraction(1, parts), window)
