"""What a test network looks like: how many nodes and rails, how fast, and what is missing or slow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError

MOST = 250
"""Nodes and rails are numbered by one byte each of an address 10.77.RAIL.NODE."""
FASTEST_BYTES_PER_S = 4e9
"""The kernel's token bucket takes its rate as 32 bits."""
SLOWEST_BYTES_PER_S = 1e3


@dataclass(frozen=True)
class Shape:
    """A test network that is to be built.

    Attributes:
        name: Small letters and digits; tells networks on one machine apart.
        nodes: How many nodes there are.
        rails: How many rails there are.
        rate_bytes_per_s: Rate of each direction of a rail.
        slow: NICs that are slower, each with the fraction of the rate, above 0 and at most 1.
        without: NICs that do not exist.

    Raises:
        UsageError: If it makes no sense.
    """

    name: str
    nodes: int
    rails: int
    rate_bytes_per_s: float
    slow: Mapping[Nic, Fraction] = field(default_factory=dict)
    without: frozenset[Nic] = frozenset()

    def __post_init__(self) -> None:
        check_name(self.name)
        for what, number in {"nodes": self.nodes, "rails": self.rails}.items():
            if not 1 <= number <= MOST:
                raise UsageError(f"{number} {what}: a testbed has 1 to {MOST}, for example --{what} 3")
        if not SLOWEST_BYTES_PER_S <= self.rate_bytes_per_s <= FASTEST_BYTES_PER_S:
            raise UsageError(
                f"a rail at {self.rate_bytes_per_s:g} B/s: the kernel shapes from 8kbit/s to 32Gbit/s, "
                "use for example --rate 100Mbit/s"
            )
        for nic in (*self.slow, *self.without):
            if not (0 <= nic.node < self.nodes and 0 <= nic.rail < self.rails):
                raise UsageError(
                    f"there is no {nic}: nodes are 0 to {self.nodes - 1}, rails 0 to {self.rails - 1}"
                )
        for nic, fraction in self.slow.items():
            if not 0 < fraction <= 1:
                raise UsageError(f"{nic} at {fraction} of the rate: use a fraction from 0 to 1, not 0")
            if nic in self.without:
                raise UsageError(f"{nic} is to be slow and missing: leave one of the two out")

    def nics(self) -> Iterator[Nic]:
        """List the NICs that exist."""
        for node in range(self.nodes):
            for rail in range(self.rails):
                if Nic(node, rail) not in self.without:
                    yield Nic(node, rail)

    def rate_of(self, nic: Nic) -> float:
        """Give the rate of a NIC, bytes per second each way."""
        return self.rate_bytes_per_s * float(self.slow.get(nic, 1))


def check_name(name: str) -> None:
    """Refuse a name that cannot be part of the names of namespaces.

    Raises:
        UsageError: If it is anything but small letters and digits.
    """
    if not re.fullmatch(r"[a-z0-9]{1,40}", name):
        raise UsageError(f"--name {name!r}: use up to 40 small letters and digits, for example --name bed2")
