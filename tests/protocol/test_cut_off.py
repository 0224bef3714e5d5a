from __future__ import annotations

from dataclasses import replace

import pytest

from r2cc_mpi import executor
from tests.protocol.cases import KINDS, failures
from tests.protocol.drawing import LAYOUTS, cutting_scenario
from tests.protocol.invariants import check_cut_off
from tests.protocol.world import World

SEEDS = 48
BLOCK = 8


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_cut_off_node_ends_the_collective_on_both_sides(first):
    """Ranks give up in time, name the node that is cut off, and leave the user's arrays alone."""
    assert failures("cut", range(first, first + BLOCK)) == []


def test_sample_covers_all_layouts():
    """The sample cuts off nodes in all layouts, at least one of which is the leader's."""
    sample = [cutting_scenario(seed) for seed in range(SEEDS)]
    assert {(one.nodes, one.rails) for one in sample} == set(LAYOUTS)
    assert {one.faults[0].nic.node for one in sample} >= {0, 1, 2}
    assert all(len({fault.nic for fault in one.faults}) == one.rails for one in sample)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_result_that_is_being_copied_out_is_copied_to_the_end(first, monkeypatch):
    """An error that arrives while the result is copied out, piece by piece, leaves no array half written."""
    monkeypatch.setattr(executor, "COPY_BYTES", 8)
    assert failures("cut", range(first, first + BLOCK)) == []


def test_all_ranks_of_both_sides_give_up_when_a_collective_is_under_way():
    """When no rank has finished, all fail, and the two sides name each other."""
    scenario = replace(
        cutting_scenario(0),
        faults=tuple(
            replace(fault, at_event=40 + place) for place, fault in enumerate(cutting_scenario(0).faults)
        ),
    )
    victim = scenario.faults[0].nic.node
    world = World(scenario, 0)
    world.run()
    check_cut_off(world, victim)
    assert all(rank.error is not None and rank.completed == 0 for rank in world.ranks.values())
    others = ", ".join(str(node) for node in range(scenario.nodes) if node != victim)
    for nic, rank in world.ranks.items():
        named = others if nic.node == victim else str(victim)
        assert rank.error is not None
        assert f"from node{'s' if ',' in named else ''} {named};" in rank.error.text


def test_check_belongs_to_the_kind():
    """Runs in which a node is cut off are not expected to complete."""
    assert KINDS["cut"].check is not KINDS["random"].check
