"""What real ranks make of stripes: small schedules by hand, and what is known of the ring and of OptCC."""

from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.balance import balance_mapping
from algorithms.catalogue import ALGORITHMS, Case
from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis import cost_model
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulation.executor import executed_time
from analysis.simulator import simulate
from tests.analysis.schedules import schedule_of


def rows_of(nodes, grid, transfers):
    """Map rows (source, target, lo, hi, reduce) to one rail."""
    return healthy_mapping(schedule_of(nodes, grid, transfers), 1)


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_closed_forms_hold(nodes):
    """Where nothing meets, real ranks take what everybody says: ring, Balance, the chain's first stage."""
    rates = RailRates.of(nodes, 2, [Nic(0, 1)])
    assert executed_time(
        healthy_mapping(ring_allreduce(nodes), 2), RailRates.of(nodes, 2)
    ) == cost_model.ring(nodes)
    assert executed_time(balance_mapping(ring_allreduce(nodes), rates.rates), rates) == cost_model.balance(
        nodes, Fraction(1, 2)
    )


def test_chunks_flow_through_steps():
    """Of R2CC-AllReduce whole pieces take the closed form, chunks follow each other down its chain."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])
    stripes = balance_mapping(r2cc_allreduce(3, 3, 0, [2], 4), rates.rates)
    assert executed_time(stripes, rates) == cost_model.r2cc_allreduce(3, Fraction(1, 3), pieces=4)
    assert executed_time(chunked(stripes, Fraction(1, 288)), rates) < simulate(stripes, rates).completion


def test_a_sender_does_not_look_at_the_other_end():
    """Nodes 0 and 1 have a half for node 2; node 1 has another one for node 3, which passes it on to node 4.

    With pairs of ports node 1 sees that node 2 is busy and serves node 3 first. A real port goes by program
    order: its half for node 2 leaves at 1/2 and waits there, that for node 3 leaves at 1, and is in at 3/2.
    """
    rows = [(0, 2, 0, 1, False), (1, 2, 1, 2, False), (1, 3, 0, 1, False), (3, 4, 0, 1, False)]
    assert simulate(rows_of(5, 2, rows)).completion == 1
    assert executed_time(rows_of(5, 2, rows), RailRates.of(5, 1)) == Fraction(3, 2)


def test_who_comes_first_is_received_first():
    """Node 1's quarter is at node 2 before node 0's half is, though later in program order, and delays it.

    The half is in at 3/4, and 1/2 later at node 3. Pairs of ports let the quarter wait.
    """
    rows = [(0, 2, 0, 2, False), (1, 2, 2, 3, False), (2, 3, 0, 2, False)]
    assert simulate(rows_of(4, 4, rows)).completion == 1
    assert executed_time(rows_of(4, 4, rows), RailRates.of(4, 1)) == Fraction(5, 4)


def test_urgent_chunks_pass_those_that_were_captured_before():
    """Node 0 has two quarters for node 3; then one comes in that goes on, by node 1 to node 4.

    It is earlier in program order, so it leaves second, at 1/2, and is at node 4 at 3/4. In the order of
    capture it would take until 1.
    """
    rows = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (1, 4, 0, 1, False)]
    rows += [(0, 3, 1, 2, False), (0, 3, 2, 3, False)]
    assert executed_time(rows_of(5, 4, rows), RailRates.of(5, 1)) == Fraction(3, 4)


@pytest.mark.parametrize(("window", "expected"), [(3, 1), (2, Fraction(5, 4)), (1, Fraction(3, 2))])
def test_a_window_holds_a_channel_back(window, expected):
    """Node 3 takes until 1 for a quarter that node 1 needs before it may apply the first of three of node 0.

    Of these only a window leaves before; the others leave from then on, a quarter each.
    """
    rows = [(3, 1, 0, 1, False), *((0, 1, place, place + 1, False) for place in range(3))]
    rates = RailRates.of(4, 1, slow={Nic(3, 0): Fraction(1, 4)})
    assert executed_time(rows_of(4, 4, rows), rates, window) == expected


def test_slow_receivers_and_senders_set_the_pace():
    """Over a NIC at half its rate all takes twice as long, whichever end it is."""
    for nic in (Nic(0, 0), Nic(1, 0)):
        rates = RailRates.of(2, 1, slow={nic: Fraction(1, 2)})
        assert executed_time(rows_of(2, 1, [(0, 1, 0, 1, False)]), rates) == 2


def test_an_order_for_pairs_of_ports_is_none_for_ports_that_queue():
    """4 x 3, one NIC dead: what list scheduling gains for pairs of ports it loses on ranks.

    On the ranks the order of planned times keeps all forms far below R2CC-AllReduce and Balance.
    """
    rates = RailRates.of(4, 3, [Nic(1, 1)])
    times = {}
    for form in ("overlay", "mixture"):
        for pairs in (True, False):
            stripes = ALGORITHMS["optcc"](Case(rates.rates, pieces=16, form=form, pairs_of_ports=pairs))
            times[form, pairs] = executed_time(stripes, rates), simulate(stripes, rates).completion
        assert times[form, False][0] < times[form, True][0]
        assert times[form, True][1] < times[form, False][1]
        assert times[form, False][0] < Fraction(5, 4) * cost_model.ring(4)
    assert times["mixture", True][0] > Fraction(13, 10) * cost_model.ring(4)


@pytest.mark.parametrize(("nodes", "rails"), [(3, 2), (3, 3), (6, 3)])
def test_a_backup_rail_serves_two(nodes, rails):
    """After HotRepair the backup's ports carry two channels, and the ring takes twice as long."""
    dead = [Nic(1, 1)]
    stripes = chunked(hot_repair_mapping(ring_allreduce(nodes), rails, dead), Fraction(1, 36 * rails))
    assert executed_time(stripes, RailRates.of(nodes, rails, dead)) == cost_model.hot_repair(
        nodes, rails, dead
    )


def test_detours_and_dead_nics_are_refused():
    """A stripe that another node relays, and one through a dead NIC, are named."""
    dead = [Nic(0, 0), Nic(1, 1)]
    relayed = hot_repair_mapping(ring_allreduce(3), 2, dead)
    with pytest.raises(ScheduleError, match="takes a detour"):
        executed_time(relayed, RailRates.of(3, 2))
    with pytest.raises(ScheduleError, match="goes through a dead NIC"):
        executed_time(healthy_mapping(ring_allreduce(3), 2), RailRates.of(3, 2, dead[:1]))
