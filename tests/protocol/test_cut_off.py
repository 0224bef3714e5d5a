from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi import executor
from tests.protocol.cases import KINDS, failures
from tests.protocol.drawing import LAYOUTS, cutting_scenario
from tests.protocol.invariants import check_cut_off
from tests.protocol.scenarios import Fault, Scenario, is_connected
from tests.protocol.world import World

SEEDS = 48
BLOCK = 8


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_cut_off_node_ends_the_collective_on_both_sides(first):
    """Ranks give up in time, name nodes of the other side, and leave the user's arrays alone."""
    assert failures("cut", range(first, first + BLOCK)) == []


def test_sample_covers_all_layouts():
    """The sample separates nodes in all layouts, by cutting one off or into groups with different rails."""
    sample = [cutting_scenario(seed) for seed in range(SEEDS)]
    assert {(one.nodes, one.rails) for one in sample} == set(LAYOUTS)
    victims = [{fault.nic.node for fault in one.faults} for one in sample]
    assert {node for nodes in victims if len(nodes) == 1 for node in nodes} >= {0, 1, 2}
    assert sum(len(nodes) > 1 for nodes in victims) > 10
    assert not any(is_connected(one.nodes, one.rails, {fault.nic for fault in one.faults}) for one in sample)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_result_that_is_being_copied_out_is_copied_to_the_end(first, monkeypatch):
    """An error that arrives while the result is copied out, piece by piece, leaves no array half written."""
    monkeypatch.setattr(executor, "COPY_BYTES", 8)
    assert failures("cut", range(first, first + BLOCK)) == []


@pytest.mark.parametrize("victim", [0, 2])
def test_both_sides_name_each_other(victim):
    """When a node is cut off under way, every rank fails and names the nodes it misses."""
    faults = tuple(Fault(Nic(victim, rail), 40, announced=rail == 0, late=False) for rail in range(2))
    world = World(Scenario(3, 2, (30,), faults), 0)
    world.run()
    check_cut_off(world)
    others = ", ".join(str(node) for node in range(3) if node != victim)
    for nic, rank in world.ranks.items():
        assert rank.error is not None
        assert rank.completed == 0
        named = f"nodes {others}" if nic.node == victim else f"node {victim}"
        assert f"from {named}; the live rails no longer connect {named} with" in rank.error.text


@pytest.mark.parametrize("layout", [(2, 1), (3, 1)])
def test_without_a_second_rail_any_death_separates(layout):
    """With one rail the first NIC that dies ends the collective, announced or not."""
    nodes, rails = layout
    for announced in (True, False):
        fault = Fault(Nic(1, 0), 30, announced, late=False)
        world = World(Scenario(nodes, rails, (20,), (fault,)), 0)
        world.run()
        check_cut_off(world)
        assert all(rank.error is not None for rank in world.ranks.values())


def test_check_belongs_to_the_kind():
    """Runs in which a node is cut off are not expected to complete."""
    assert KINDS["cut"].check is not KINDS["random"].check
