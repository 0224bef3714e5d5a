"""Interfaces as rails: what all ranks make sure of before they begin, and a rank's own one while they run."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from algorithms.nic import Nic
from r2cc_mpi.errors import MachineError, UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.netdev.ethtool import interface_rate
from r2cc_mpi.netdev.link_watch import LinkWatch
from r2cc_mpi.netdev.netlink import KernelBytes, look_up
from r2cc_mpi.pinning import rail_environment

if TYPE_CHECKING:
    from mpi4py import MPI

CAUSE = "netlink event"
"""How a rank knows of a change that the kernel told it; the trouble follows."""


class RailLink:
    """A rank's own interface, while its communicator is open.

    Args:
        interface: Its name.
        report: Called with whether the interface carries, how that is known, and the time.
    """

    def __init__(self, interface: str, report: Callable[[bool, str, float], None]) -> None:
        self._name, self._report = interface, report
        self._watch = LinkWatch(interface)

    def look(self, now: float) -> None:
        """Report what the kernel has said since; a hook of the driver."""
        for trouble in self._watch.poll():
            self._report(not trouble, f"{CAUSE}: {trouble or 'carries again'}", now)

    def carried(self) -> KernelBytes:
        """Say what the interface has carried since it exists; nothing if it was removed."""
        try:
            return look_up(self._name).carried
        except MachineError:
            return KernelBytes(0, 0)

    def close(self) -> None:
        """Stop listening."""
        self._watch.close()


def check_interfaces(interfaces: Sequence[str], layout: Layout) -> None:
    """Make sure that a list of names can be the rails of a layout.

    Raises:
        UsageError: If it is too short or too long, or has a name twice.
    """
    names = ", ".join(interfaces)
    if len(interfaces) != layout.rails:
        raise UsageError(
            f"interfaces {names}: one for each rail, and there are {layout.rails} rails; name as many"
        )
    if len(set(interfaces)) < len(interfaces):
        raise UsageError(f"interfaces {names}: each rail has its own, name each once")


def agree(
    world: MPI.Intracomm, layout: Layout, interfaces: Sequence[str], failed: Collection[Nic]
) -> float | None:
    """Make sure, on all ranks together, that interfaces can be rails, and ask how fast they are.

    Args:
        world: All ranks; they call this together.
        layout: Nodes and rails.
        interfaces: Their names, by rail, the same on every node.
        failed: NICs that are known to be down, which are not looked at.

    Returns:
        The rate in bytes per second that all interfaces have; None if one does not say, or they differ.

    Raises:
        MachineError: A rank's interface cannot be its rail; every rank raises the same.
    """
    nic = layout.nic_of(world.rank)
    is_used = nic in layout and nic not in failed
    problem = problem_with(nic, interfaces, os.environ) if is_used else ""
    rate = interface_rate(interfaces[nic.rail]) if is_used else None
    found = world.allgather((nic.node, socket.gethostname(), problem, is_used, rate))
    nodes: dict[str, int] = {}
    for node, host, _, _, _ in found:
        if nodes.setdefault(host, node) != node:
            raise MachineError(
                f"nodes {nodes[host]} and {node} are both on host {host}, and what they send each other "
                "crosses no interface: start the ranks of each node on a host of its own"
            )
    for _, _, problem, _, _ in found:
        if problem:
            raise MachineError(problem)
    rates = {rate for _, _, _, is_used, rate in found if is_used}
    return rates.pop() if len(rates) == 1 else None


def problem_with(nic: Nic, interfaces: Sequence[str], environment: Mapping[str, str]) -> str:
    """Say why an interface cannot be a NIC of the layout just now; empty if it can.

    Args:
        nic: The NIC.
        interfaces: The names of the node's interfaces, by rail.
        environment: That with which MPI was started.
    """
    name = interfaces[nic.rail]
    names = [one for _, one in socket.if_nameindex()]
    if name not in names:
        return (
            f"node {nic.node} ({socket.gethostname()}) has no interface {name}, only {', '.join(names)}: "
            f"correct the names, or declare the rail failed (--fail {nic.node}:{nic.rail})"
        )
    if trouble := look_up(name).trouble:
        return f"{name} of node {nic.node} ({socket.gethostname()}) is down ({trouble}): bring it up first"
    missing = {
        key: value
        for key, value in rail_environment(nic.rail, interfaces).items()
        if environment.get(key) != value
    }
    if missing:
        settings = " ".join(f"{key}={value}" for key, value in missing.items())
        return (
            f"the MPI of {nic} is not tied to {name}: call r2cc_mpi.pin(interfaces) before MPI starts, "
            f"or set {settings}"
        )
    return ""
