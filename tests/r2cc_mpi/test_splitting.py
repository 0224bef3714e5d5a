from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.nic_health import NicHealth
from r2cc_mpi.splitting import Choice, Part, check_choices, choice_of, declared_in, parts_of, renumbered

LAYOUT = Layout(3, 2)  # ranks 0 1 | 2 3 | 4 5


def choose(colors, keys=(0,) * 6):
    """Make the choices of six ranks."""
    return [Choice(color, key, [], "") for color, key in zip(colors, keys, strict=True)]


@pytest.mark.parametrize(
    ("colors", "parts"),
    [
        ([0, 0, 0, 0, 0, 0], {0: Part((0, 1, 2, 3, 4, 5), 2, 2)}),
        ([5, 5, 2, 2, 2, 2], {2: Part((2, 3, 4, 5), 2, 2), 5: Part((0, 1), 2, 2)}),
        ([0, 1, 0, 1, 0, 1], {0: Part((0, 2, 4), 1, 1), 1: Part((1, 3, 5), 1, 1)}),
        ([None, 1, None, None, None, 1], {1: Part((1, 5), 1, 1)}),
        ([None] * 6, {}),
        ([0, 1, 2, 3, 4, 5], {color: Part((color,), 1, 1) for color in range(6)}),
    ],
)
def test_grids_are_parts(colors, parts):
    """Whole nodes, the same rails of some nodes, and single ranks make parts."""
    assert parts_of(LAYOUT, choose(colors)) == parts


@pytest.mark.parametrize(
    ("keys", "ranks"),
    [
        ([9, 9, 9, 9, 9, 9], (0, 1, 2, 3, 4, 5)),
        ([1, 2, 3, 4, -2, -1], (4, 5, 0, 1, 2, 3)),
        ([1, 0, 3, 2, 5, 4], (1, 0, 3, 2, 5, 4)),
    ],
)
def test_keys_order_nodes_and_rails(keys, ranks):
    """Keys may order the nodes, and the rails of all nodes alike."""
    assert parts_of(LAYOUT, choose([0] * 6, keys)) == {0: Part(ranks, 2, 2)}


@pytest.mark.parametrize(
    ("colors", "keys", "problem"),
    [
        ([0, 0, 0, 1, 1, 1], None, "color 0 has rails 0, 1 of node 0 but rail 0 of node 1"),
        ([1, 0, 0, 1, 0, 1], None, "color 0 has rail 1 of node 0 but rail 0 of node 1"),
        ([0] * 6, [0, 3, 1, 4, 2, 5], "color 0: the keys put node 1 rail 0 where node 0 rail 1 should be"),
        ([0] * 6, [0, 1, 3, 2, 4, 5], "color 0: the keys put node 1 rail 1 where node 1 rail 0 should be"),
    ],
)
def test_no_grid_is_refused(colors, keys, problem):
    """What is no grid of nodes and rails is refused, with the color and the place."""
    with pytest.raises(UsageError, match=problem):
        parts_of(LAYOUT, choose(colors, keys or [0] * 6))


def test_one_rank_speaks_for_all():
    """A single rank that knows of a failure, or was given nonsense, keeps all from going on."""
    fine = Choice(0, 0, [], "")
    check_choices([fine, fine])
    with pytest.raises(
        UsageError, match="node 1 rail 0 has failed, and MPI makes communicators by calls over"
    ):
        check_choices([fine, Choice(0, 0, ["node 1 rail 0"], "")])
    with pytest.raises(UsageError, match="rank 1: color is -3"):
        check_choices([fine, Choice(None, 0, [], "color is -3")])


def test_parts_of_nodes_with_more_ranks_than_rails():
    """Ranks without a rail may be in a part, behind those that own one, but not by themselves."""
    sparse = Layout(2, 1, 3)  # ranks 0 1 2 | 3 4 5, of which 0 and 3 own a rail
    assert parts_of(sparse, choose([0, 0, 0, 1, 1, 1])) == {
        0: Part((0, 1, 2), 1, 3),
        1: Part((3, 4, 5), 1, 3),
    }
    assert parts_of(sparse, choose([0, None, 0, 0, None, 0])) == {0: Part((0, 2, 3, 5), 1, 2)}
    for colors, keys in (([0, 1, 1, 0, 1, 1], [0] * 6), ([0] * 6, [1, 0, 2, 4, 3, 5])):
        with pytest.raises(UsageError, match="the first ranks of each node must own its rails"):
            parts_of(sparse, choose(colors, keys))


@pytest.mark.parametrize(
    ("color", "key", "expected"),
    [
        (3, -1, Choice(3, -1, [], "")),
        (-7, 0, Choice(None, 0, [], "")),
        (-3, 0, Choice(None, 0, [], "color -3, key 0: give whole numbers, color from 0 on")),
        ("red", 0, Choice(None, 0, [], "color 'red', key 0: give whole numbers, color from 0 on")),
        (1, 0.5, Choice(None, 0, [], "color 1, key 0.5: give whole numbers, color from 0 on")),
    ],
)
def test_arguments_are_judged_for_all(color, key, expected):
    """Wrong arguments become part of what all ranks are told, so that all refuse."""
    assert choice_of(color, key, -7, {}) == expected


def test_failures_are_told_and_declared_ones_inherited():
    """A NIC that failed stands in the way of parts; one that was declared to be down is passed on."""
    health = {nic: NicHealth(nic, is_up=True, since=None, cause="") for nic in LAYOUT}
    health[Nic(1, 1)] = NicHealth(Nic(1, 1), is_up=False, since=0.0, cause="declared")
    health[Nic(2, 0)] = NicHealth(Nic(2, 0), is_up=False, since=1.0, cause="probe")
    health[Nic(2, 1)] = NicHealth(Nic(2, 1), is_up=True, since=2.0, cause="news")
    assert choice_of(0, 0, -7, health).failed == ["node 2 rail 0"]
    assert declared_in(health) == [Nic(1, 1)]


def test_parts_have_names_of_their_own():
    """A part's NICs are numbered from 0, in the order of its ranks; ranks without a rail have none."""
    assert renumbered(Part((3, 5), 1, 1), LAYOUT) == {Nic(1, 1): Nic(0, 0), Nic(2, 1): Nic(1, 0)}
    assert renumbered(Part((3, 4), 1, 2), Layout(2, 1, 3)) == {Nic(1, 0): Nic(0, 0)}
