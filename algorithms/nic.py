"""Names for the places data travels through: a node's NIC on a rail, a hop over a rail, a route of hops."""

from __future__ import annotations

from typing import NamedTuple


class Nic(NamedTuple):
    """The one NIC that `node` has on rail `rail`."""

    node: int
    rail: int

    def __str__(self) -> str:
        return f"node {self.node} rail {self.rail}"


class Hop(NamedTuple):
    """One step of a route: travel over `rail` and arrive at `node`."""

    rail: int
    node: int

    def __str__(self) -> str:
        return f"rail {self.rail} to node {self.node}"


Route = tuple[Hop, ...]
"""The hops from a source to a target. The source itself is not part of it; the last hop names the target."""


def nics_of(source: int, route: Route) -> list[tuple[Nic, Nic]]:
    """List the NICs a route uses, hop by hop.

    Args:
        source: The node the route starts from.
        route: The hops.

    Returns:
        For each hop the NIC it leaves through and the NIC it arrives at (both on the hop's rail).
    """
    nics = []
    here = source
    for hop in route:
        nics.append((Nic(here, hop.rail), Nic(hop.node, hop.rail)))
        here = hop.node
    return nics


def describe_route(source: int, route: Route) -> str:
    """Write a route for people: `node 0 -(rail 1)-> node 2 -(rail 0)-> node 3`."""
    return f"node {source}" + "".join(f" -(rail {hop.rail})-> node {hop.node}" for hop in route)
