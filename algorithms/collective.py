"""What a collective promises: who holds whose contributions before it and after it.

A node's *contribution* is its own input. Holding the contributions {0, 2} of a region means holding the
reduction, over that region, of the inputs of nodes 0 and 2. This is all the oracle knows about a collective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from algorithms.transfer import Region, ScheduleError


class Holding(NamedTuple):
    """`node` holds, in `region` of its buffer, the reduction of the inputs of `contributors`."""

    node: int
    region: Region
    contributors: frozenset[int]


@dataclass(frozen=True)
class Collective:
    """A collective operation as a precondition and a postcondition.

    Attributes:
        name: As people know it, e.g. "allreduce".
        precondition: What is held before the first transfer. A place no holding mentions has no defined
            content and must be copied into before anybody reads it. The regions of one node must not overlap.
        postcondition: What must be held after the last transfer. Other places may contain anything.
    """

    name: str
    precondition: tuple[Holding, ...]
    postcondition: tuple[Holding, ...]


def allreduce(nodes: int, grid: int) -> Collective:
    """Everybody has an input of the whole grid; everybody gets the reduction of all of them."""
    everybody = frozenset(range(nodes))
    wanted = tuple(Holding(node, (0, grid), everybody) for node in range(nodes))
    return Collective("allreduce", _own_input(nodes, grid), wanted)


def reduce_scatter(nodes: int, grid: int) -> Collective:
    """Everybody has an input of the whole grid; node i gets section i of the reduction of all of them.

    Raises:
        ScheduleError: The grid does not divide into one section per node.
    """
    everybody = frozenset(range(nodes))
    sections = _sections(nodes, grid)
    wanted = tuple(Holding(node, section, everybody) for node, section in enumerate(sections))
    return Collective("reduce-scatter", _own_input(nodes, grid), wanted)


def all_gather(nodes: int, grid: int) -> Collective:
    """Node i has section i; everybody gets all sections.

    Raises:
        ScheduleError: The grid does not divide into one section per node.
    """
    sections = _sections(nodes, grid)
    owned = tuple(Holding(node, section, frozenset({node})) for node, section in enumerate(sections))
    wanted = tuple(Holding(node, one.region, one.contributors) for node in range(nodes) for one in owned)
    return Collective("all-gather", owned, wanted)


def _own_input(nodes: int, grid: int) -> tuple[Holding, ...]:
    return tuple(Holding(node, (0, grid), frozenset({node})) for node in range(nodes))


def _sections(nodes: int, grid: int) -> list[Region]:
    if grid % nodes:
        raise ScheduleError(f"grid {grid} does not divide into {nodes} sections; use a multiple of {nodes}")
    length = grid // nodes
    return [(section * length, (section + 1) * length) for section in range(nodes)]
