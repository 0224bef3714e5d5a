"""Which ranks make a part of a communicator, and when parts may be made.

A part must be a grid of nodes and rails itself: some nodes, and of each of them the same rails. MPI makes a
communicator by calls that touch all its ranks over MPI's own connections, which nothing here protects; so
parts are made at the start, and no longer once a NIC has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.nic_health import NicHealth

DECLARED = "declared"
"""How a rank knows of a NIC that was said to be down when the communicator was created; parts inherit it."""


class Choice(NamedTuple):
    """What one rank asks for.

    Attributes:
        color: Ranks with the same color make a part; None: this rank is in no part.
        key: Orders the ranks of a part; equal keys keep the order of before.
        failed: NICs that this rank knows to have failed, as texts.
        problem: What is wrong with its arguments; empty if nothing is.
    """

    color: int | None
    key: int
    failed: Sequence[str]
    problem: str


class Part(NamedTuple):
    """One part.

    Attributes:
        ranks: Its ranks, by their numbers of before, in their new order: node by node.
        rails: Rails of each of its nodes.
        ranks_per_node: Ranks of each of its nodes.
    """

    ranks: tuple[int, ...]
    rails: int
    ranks_per_node: int


def choice_of(color: object, key: object, undefined: int, health: Mapping[Nic, NicHealth]) -> Choice:
    """Put together what this rank asks for.

    Args:
        color: As the user gave it.
        key: As the user gave it.
        undefined: The color of a rank that is to be in no part.
        health: What this rank knows of all NICs.
    """
    failed = [str(nic) for nic, known in health.items() if not known.is_up and known.cause != DECLARED]
    if not isinstance(color, int) or not isinstance(key, int) or (color < 0 and color != undefined):
        problem = f"color {color!r}, key {key!r}: give whole numbers, color from 0 on"
        return Choice(None, 0, failed, problem)
    return Choice(None if color == undefined else color, key, failed, "")


def renumbered(part: Part, layout: Layout) -> dict[Nic, Nic]:
    """Give the NICs of a part, by their names of before, with the part's own names for them."""
    return {
        nic: Nic(*divmod(number, part.ranks_per_node))
        for number, nic in enumerate(map(layout.nic_of, part.ranks))
        if nic in layout
    }


def declared_in(health: Mapping[Nic, NicHealth]) -> list[Nic]:
    """List the NICs that were declared to be down."""
    return [nic for nic, known in health.items() if not known.is_up and known.cause == DECLARED]


def check_choices(choices: Sequence[Choice]) -> None:
    """Make sure that parts can be made.

    Args:
        choices: What each rank asks for; every rank has the same list.

    Raises:
        UsageError: A rank's arguments are wrong, or a NIC has failed; every rank raises the same.
    """
    for rank, choice in enumerate(choices):
        if choice.problem:
            raise UsageError(f"rank {rank}: {choice.problem}")
    failed = sorted({nic for choice in choices for nic in choice.failed})
    if failed:
        raise UsageError(
            f"{failed[0]} has failed, and MPI makes communicators by calls over every rail; "
            "use Dup and Split at the start, before anything fails"
        )


def parts_of(layout: Layout, choices: Sequence[Choice]) -> dict[int, Part]:
    """Divide a communicator's ranks.

    Args:
        layout: The communicator's.
        choices: What each rank asks for.

    Returns:
        The parts by color.

    Raises:
        UsageError: A color's ranks are no grid; the message says which and what would do.
    """
    members: dict[int, list[tuple[int, int]]] = {}
    for rank, choice in enumerate(choices):
        if choice.color is not None:
            members.setdefault(choice.color, []).append((choice.key, rank))
    return {color: _part(layout, color, sorted(members[color])) for color in sorted(members)}


def _part(layout: Layout, color: int, members: list[tuple[int, int]]) -> Part:
    ranks = [rank for _, rank in members]
    nics = [layout.nic_of(rank) for rank in ranks]
    rails: dict[int, list[int]] = {}
    for nic in nics:
        rails.setdefault(nic.node, []).append(nic.rail)
    first = nics[0].node
    for node, theirs in rails.items():
        if sorted(theirs) != sorted(rails[first]):
            raise UsageError(
                f"color {color} has {_names(rails[first])} of node {first} but {_names(theirs)} of node "
                f"{node}; a part has the same rails of each of its nodes: choose colors by node, or by rail"
            )
    in_order = [Nic(node, rail) for node in rails for rail in rails[first]]
    for nic, expected in zip(nics, in_order, strict=True):
        if nic != expected:
            raise UsageError(
                f"color {color}: the keys put {nic} where {expected} should be; ranks go node by node, "
                "with the rails of each node in the same order: leave out key to keep the order"
            )
    owners = [rail for rail in rails[first] if rail < layout.rails]
    if not owners or rails[first][: len(owners)] != owners:
        raise UsageError(
            f"color {color}: the first ranks of each node must own its rails, and at least one rank must; "
            "choose colors by node, or leave out key"
        )
    return Part(tuple(ranks), len(owners), len(rails[first]))


def _names(rails: list[int]) -> str:
    return f"rail{'s' if len(rails) > 1 else ''} {', '.join(map(str, sorted(rails)))}"
