"""How a test network is put together, and taken apart again, also when only parts of it are there.

Every node is a network namespace with a link `mgmt` and a link `rail0`, `rail1`, ... for each rail; one more
namespace holds the switches, a bridge for each rail and one for `mgmt`. A cable goes from each link of a node
to a port of its bridge. Token buckets shape both directions of a rail: what the node sends at the node's end,
what it receives at the port. Networks on one machine share nothing, so all use the same addresses.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from pyroute2.netlink.exceptions import NetlinkError

from algorithms.nic import Nic
from r2cc_mpi.errors import MachineError, UsageError
from scripts.network import kernel
from scripts.network.kernel import Namespace
from scripts.network.shape import Shape

PREFIX = "r2cc-"
MANAGEMENT = "mgmt"
CONGESTION_CONTROL = "reno"
"""Goes by acknowledgements and losses alone, and every kernel has it. The machine's own may be BBR, which
takes the 10 microseconds of an idle link for its round trip and sends far too little once packets queue."""


def switch_of(name: str) -> str:
    """Name the namespace that holds the bridges of a network."""
    return f"{PREFIX}{name}-switch"


def node_of(name: str, node: int) -> str:
    """Name the namespace that is a node of a network."""
    return f"{PREFIX}{name}-n{node}"


def rail_name(rail: int) -> str:
    """Name the link of a node, and the bridge, that belong to a rail."""
    return f"rail{rail}"


def port_of(node: int, link: str) -> str:
    """Name the port of a bridge to which a link of a node leads."""
    return f"n{node}-{link}"


def address_of(node: int, rail: int | None = None) -> str:
    """Give the address of a node on a rail, or on the management network."""
    return f"10.77.{0 if rail is None else rail + 1}.{node + 1}"


def build(shape: Shape) -> None:
    """Make a network; if that fails half-way, nothing of it stays.

    Raises:
        UsageError: If there is one with this name.
        MachineError: If the kernel refuses.
    """
    if parts_of(shape.name):
        raise UsageError(
            f"testbed {shape.name} is there already: take it down with "
            f"scripts/testbed down --name {shape.name}, or build this one with another --name"
        )
    try:
        _build(shape)
    except (OSError, NetlinkError) as error:
        take_apart(shape.name)
        raise MachineError(f"the kernel refused a part of testbed {shape.name}: {error}") from error
    except BaseException:
        take_apart(shape.name)
        raise


def take_apart(name: str) -> None:
    """Remove all that there is of a network, and what runs in it."""
    for part in parts_of(name):
        kernel.remove(part)


def parts_of(name: str) -> list[str]:
    """List the namespaces that belong to a network."""
    return [part for part in kernel.namespaces() if network_of(part) == name]


def networks() -> list[str]:
    """Name the networks of which there is anything."""
    return sorted({name for part in kernel.namespaces() if (name := network_of(part))})


def network_of(namespace: str) -> str:
    """Say to which network a namespace belongs; empty if to none."""
    name, dash, part = namespace.removeprefix(PREFIX).rpartition("-")
    is_part = part == "switch" or (part[:1] == "n" and part[1:].isdigit())
    return name if namespace.startswith(PREFIX) and dash and is_part else ""


def _build(shape: Shape) -> None:
    with ExitStack() as stack:
        switch = stack.enter_context(closing(Namespace(switch_of(shape.name), create=True)))
        for link in (MANAGEMENT, *map(rail_name, range(shape.rails))):
            switch.add_bridge(link)
        for number in range(shape.nodes):
            node = stack.enter_context(closing(Namespace(node_of(shape.name, number), create=True)))
            node.control_congestion(CONGESTION_CONTROL)
            _connect(node, MANAGEMENT, switch, number, address_of(number))
            for nic in shape.nics():
                if nic.node == number:
                    link = rail_name(nic.rail)
                    _connect(node, link, switch, number, address_of(*nic))
                    node.limit(link, shape.rate_of(nic))
                    switch.limit(port_of(number, link), shape.rate_of(nic))
            for nic in shape.without:
                if nic.node == number:
                    _bypass(node, nic.rail, shape)


def _bypass(node: Namespace, rail: int, shape: Shape) -> None:
    """Let a node without a rail reach the others' addresses there over `mgmt`.

    MPI connects every rank with every other one when it starts, and some of these are tied to that rail.
    """
    for other in range(shape.nodes):
        if Nic(other, rail) not in shape.without:
            node.add_route(address_of(other, rail), gateway=address_of(other))


def _connect(node: Namespace, link: str, switch: Namespace, number: int, address: str) -> None:
    port = port_of(number, link)
    node.add_cable(link, switch, port)
    switch.plug(port, link)
    switch.switch(port, on=True)
    node.add_address(link, address)
    node.switch(link, on=True)
