"""The part of Linux that a test network is made of: named network namespaces, and links in them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, netns

FOLDER = Path("/run/netns")
"""Where named network namespaces are, by the convention of `ip netns`."""
BURST_S = 0.005
LEAST_BURST_BYTES = 16 * 1024
"""What a token bucket lets through at once: 5 ms of its rate, so that a processor that comes late loses none
of it, and not much less than the two packets below."""
LARGEST_PACKET_BYTES = 64 * 1024
"""What the kernel hands to a link in one piece, if nobody tells it otherwise."""
QUEUE_S = 1.0
"""How long a packet may wait in front of a token bucket. What would wait longer is dropped, and nothing
should be, also where several nodes send whole windows to one: fabrics for collectives lose nothing."""

CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""Of the namespace of whoever opens it."""

_UP = 1  # IFF_UP
_NO_IPV6_ADDRESS = 1  # IN6_ADDR_GEN_MODE_NONE: without one a link sends nothing by itself


@dataclass(frozen=True)
class Interface:
    """What the kernel says about a link.

    Attributes:
        index: Its number in its namespace.
        is_up: Whether it is switched on.
        has_carrier: Whether it is switched on and so is the other end.
        master: Number of the bridge it is a port of; None if of none.
        tx_bytes: Bytes sent since it was made.
        rx_bytes: Bytes received since then.
    """

    index: int
    is_up: bool
    has_carrier: bool
    master: int | None
    tx_bytes: int
    rx_bytes: int


class Namespace:
    """A named network namespace, with a netlink socket in it.

    Args:
        name: Its name.
        create: Whether to make it now.

    Raises:
        OSError: If there is none with this name (or one already), or we are not root.
    """

    def __init__(self, name: str, *, create: bool = False) -> None:
        self.name = name
        with _inside(name, os.O_CREAT | os.O_EXCL if create else 0):
            self._netlink = IPRoute()
        self._indices: dict[str, int] = {}
        if create:
            self.switch("lo", on=True)

    @property
    def path(self) -> Path:
        """The file that stands for it."""
        return FOLDER / self.name

    def add_bridge(self, name: str) -> None:
        """Add a bridge, switched on."""
        self._netlink.link("add", ifname=name, kind="bridge")
        self._silence(name)
        self.switch(name, on=True)

    def add_cable(self, name: str, far: Namespace, far_name: str) -> None:
        """Add a pair of links, one here and one in another namespace: what enters one leaves the other."""
        self._netlink.link(
            "add", ifname=name, kind="veth", peer={"ifname": far_name, "net_ns_fd": str(far.path)}
        )
        self._silence(name)
        far._silence(far_name)

    def add_address(self, name: str, address: str) -> None:
        """Give a link an IPv4 address in a network of 24 bits."""
        self._netlink.addr("add", index=self._index(name), address=address, prefixlen=24)

    def add_route(self, address: str, gateway: str) -> None:
        """Send what is for one address by way of another one, which is in reach."""
        self._netlink.route("add", dst=f"{address}/32", gateway=gateway)

    def limit(self, name: str, rate_bytes_per_s: float) -> None:
        """Shape what leaves through a link.

        TCP hands many frames to a link as one packet. One that is larger than the bucket is taken apart
        there, frame by frame, which costs processor time and acknowledgements; and TCP keeps two waiting,
        behind which everything else stands in line. So a packet is half a bucket at most.
        """
        burst = max(LEAST_BURST_BYTES, int(rate_bytes_per_s * BURST_S))
        self._netlink.link("set", index=self._index(name), gso_max_size=min(burst // 2, LARGEST_PACKET_BYTES))
        self._netlink.tc(
            "add",
            "tbf",
            self._index(name),
            handle="1:",
            rate=int(rate_bytes_per_s),
            burst=burst,
            limit=int(rate_bytes_per_s * QUEUE_S) + burst,
        )

    def control_congestion(self, algorithm: str) -> None:
        """Choose how TCP adapts to congestion, for all connections that are made here from now on."""
        with _inside(self.name, 0):
            CONGESTION_CONTROL.write_text(algorithm, encoding="ascii")

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a link on or off."""
        self._netlink.link("set", index=self._index(name), state="up" if on else "down")

    def plug(self, name: str, bridge: str | None) -> None:
        """Make a link a port of a bridge, or of none."""
        self._netlink.link(
            "set", index=self._index(name), master=0 if bridge is None else self._index(bridge)
        )

    def interfaces(self) -> dict[str, Interface]:
        """Describe all links by name."""
        found = {link.get_attr("IFLA_IFNAME"): _interface(link) for link in self._netlink.get_links()}
        self._indices = {name: interface.index for name, interface in found.items()}
        return found

    def interface(self, name: str) -> Interface:
        """Describe one link, which is quicker."""
        (link,) = self._netlink.link("get", index=self._index(name))
        return _interface(link)

    def limits(self) -> dict[int, float]:
        """Give the rates of the links that are shaped, bytes per second, by number."""
        shaped = [one for one in self._netlink.get_qdiscs() if one.get_attr("TCA_KIND") == "tbf"]
        return {
            one["index"]: float(one.get_attr("TCA_OPTIONS").get_attr("TCA_TBF_PARMS")["rate"])
            for one in shaped
        }

    def close(self) -> None:
        """Close the socket; the namespace stays."""
        self._netlink.close()

    def _index(self, name: str) -> int:
        if name not in self._indices:  # a question less when the moment of a change matters
            self._indices[name] = self._netlink.link_lookup(ifname=name)[0]
        return self._indices[name]

    def _silence(self, name: str) -> None:
        """Keep IPv6 from sending router solicitations, which would count as traffic of a rail."""
        mode = {"attrs": [["IFLA_INET6_ADDR_GEN_MODE", _NO_IPV6_ADDRESS]]}
        self._netlink.link("set", index=self._index(name), IFLA_AF_SPEC={"attrs": [["AF_INET6", mode]]})


def namespaces() -> list[str]:
    """List the named network namespaces of this machine."""
    return sorted(netns.listnetns())


def remove(name: str) -> None:
    """Remove a namespace with all links in it, and end the processes that live there."""
    for pid in inhabitants(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(FileNotFoundError):
        netns.remove(name)


def inhabitants(name: str) -> list[int]:
    """List the processes that live in a namespace."""
    return list(netns.ns_pids().get(name, []))


def _interface(link: Any) -> Interface:  # noqa: ANN401  (pyroute2 has no types)
    counters = link.get_attr("IFLA_STATS64")
    return Interface(
        index=link["index"],
        is_up=bool(link["flags"] & _UP),
        has_carrier=bool(link.get_attr("IFLA_CARRIER")),
        master=link.get_attr("IFLA_MASTER"),
        tx_bytes=counters["tx_bytes"],
        rx_bytes=counters["rx_bytes"],
    )


@contextmanager
def _inside(name: str, flags: int) -> Iterator[None]:
    """Move this thread to a namespace and back.

    pyroute2 would rather fork for a socket somewhere else, and ends that process by a signal: in a program
    that has a handler for it, the copy would go on and do the program's own clean-up.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        netns.setns(name, flags=flags, fork=False)
        yield
    finally:
        netns.setns(home)
        os.close(home)
