from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from r2cc_mpi.layout import Layout

layouts = st.builds(Layout, st.integers(1, 9), st.integers(1, 9))


@given(layouts)
def test_ranks_and_nics_are_the_same_set(layout):
    """Every rank owns one NIC, and asking back gives the rank."""
    assert [layout.rank_of(nic) for nic in layout] == list(range(layout.ranks))
    assert len(set(layout)) == layout.ranks


def test_ranks_go_node_by_node():
    """Rank 5 of three nodes with two rails is rail 1 of node 2."""
    layout = Layout(3, 2)
    assert layout.nic_of(5) == Nic(2, 1)
    assert list(layout.ranks_of_node(1)) == [2, 3]
    assert str(layout) == "3 nodes x 2 rails"


@given(layouts)
def test_ranks_of_nodes_cover_all(layout):
    """The ranks of the nodes, one node after the other, are all ranks."""
    assert [rank for node in range(layout.nodes) for rank in layout.ranks_of_node(node)] == list(
        range(layout.ranks)
    )


@pytest.mark.parametrize("rank", [-1, 6])
def test_unknown_rank_is_refused(rank):
    """A rank outside the layout has no NIC."""
    with pytest.raises(ValueError, match=r"no rank .*0 to 5"):
        Layout(3, 2).nic_of(rank)


@pytest.mark.parametrize("nic", [Nic(3, 0), Nic(0, 2), Nic(-1, 0), Nic(0, -1)])
def test_unknown_nic_is_refused(nic):
    """A NIC outside the layout has no rank."""
    assert nic not in Layout(3, 2)
    with pytest.raises(ValueError, match=f"no {nic}"):
        Layout(3, 2).rank_of(nic)


@given(layouts)
def test_any_sufficient_hint_gives_the_layout(layout):
    """The number of ranks with rails, nodes or both gives the layout back."""
    assert Layout.from_ranks(layout.ranks, rails=layout.rails) == layout
    assert Layout.from_ranks(layout.ranks, nodes=layout.nodes) == layout
    assert Layout.from_ranks(layout.ranks, nodes=layout.nodes, rails=layout.rails) == layout


def test_ranks_without_hint_are_one_node():
    """Without any hint all ranks are one node."""
    assert Layout.from_ranks(4) == Layout(1, 4)


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (
            {"rails": 2},
            "9 ranks cannot be divided into nodes of 2 rails: use a multiple of 2 ranks, or --rails 3",
        ),
        (
            {"nodes": 4},
            "9 ranks cannot be divided into 4 nodes of equal size: use a multiple of 4 ranks, or --nodes 3",
        ),
        (
            {"nodes": 2, "rails": 3},
            "2 nodes of 3 rails need 6 ranks, but there are 9: start 6 ranks, or change --nodes or --rails",
        ),
        ({"rails": 0}, "0 rails: a node has at least 1, for example --rails 2"),
        ({"nodes": 0}, "0 nodes: a layout has at least 1, for example --nodes 2"),
    ],
)
def test_indivisible_ranks_are_refused(hint, message):
    """Ranks that cannot be divided as asked are refused, with a division that works."""
    with pytest.raises(UsageError) as error:
        Layout.from_ranks(9, **hint)
    assert str(error.value) == message


def test_prime_number_of_ranks_suggests_no_division():
    """For 7 ranks there is no other number of rails to suggest."""
    with pytest.raises(UsageError, match=r"use a multiple of 2 ranks$"):
        Layout.from_ranks(7, rails=2)


def test_nodes_with_more_ranks_than_rails():
    """The first ranks of a node own its rails, the others have an address that is no NIC."""
    layout = Layout(2, 2, 3)
    assert (layout.ranks, list(layout.ranks_of_node(1))) == (6, [3, 4, 5])
    assert list(layout) == [Nic(0, 0), Nic(0, 1), Nic(1, 0), Nic(1, 1)]
    assert [layout.nic_of(rank) in layout for rank in range(6)] == [True, True, False] * 2
    assert [layout.rank_of(layout.nic_of(rank)) for rank in range(6)] == list(range(6))
    assert layout.describe(4) == "rank 4 (node 1 rail 1)"
    assert layout.describe(5) == "rank 5 (node 1, owns no rail)"
    assert str(layout) == "2 nodes x 2 rails, 3 ranks per node"
    assert Layout.from_ranks(6, rails=2, ranks_per_node=3) == layout
    assert Layout.from_ranks(6, rails=2, nodes=2, ranks_per_node=3) == layout


def test_as_many_ranks_as_rails_need_not_be_said():
    """Saying that nodes have as many ranks as rails changes nothing."""
    assert Layout(3, 2, 2) == Layout(3, 2) == Layout.from_ranks(6, rails=2, ranks_per_node=2)


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ({"ranks_per_node": 3}, "--ranks-per-node 3: say how many of them own a rail, with --rails"),
        (
            {"ranks_per_node": 2, "rails": 3},
            "2 ranks per node cannot own 3 rails: each rail has a rank of its own, use --ranks-per-node 3",
        ),
        (
            {"ranks_per_node": 4, "rails": 2},
            "2 nodes of 4 ranks need 8 ranks, but there are 9: start 8 ranks",
        ),
        (
            {"ranks_per_node": 3, "rails": 2, "nodes": 2},
            "2 nodes of 3 ranks need 6 ranks, but there are 9: start 6 ranks",
        ),
    ],
)
def test_impossible_ranks_per_node_are_refused(hint, message):
    """Nodes that cannot have so many ranks are refused, with what would do."""
    with pytest.raises(UsageError) as error:
        Layout.from_ranks(9, **hint)
    assert str(error.value).startswith(message)
