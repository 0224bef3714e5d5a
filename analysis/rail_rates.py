"""What every NIC of a cluster can carry: the input of every model that knows rails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from algorithms.hot_repair import connected_groups
from algorithms.nic import Nic
from algorithms.transfer import ScheduleError


@dataclass(frozen=True)
class RailRates:
    """Rates of all NICs in each direction, as fractions of B, the bandwidth of a healthy node.

    Attributes:
        rates: `rates[node][rail]`; 1/g for a healthy NIC of g, 0 for a dead one.

    Raises:
        ScheduleError: There is no node, no rail, nodes differ in their rails, or a rate is negative.
    """

    rates: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        widths = {len(of_node) for of_node in self.rates}
        if len(widths) != 1 or 0 in widths:
            raise ScheduleError(
                "rates: need at least one node, and as many rails at every node, at least one"
            )
        for node, of_node in enumerate(self.rates):
            for rail, rate in enumerate(of_node):
                if rate < 0:
                    raise ScheduleError(f"{Nic(node, rail)}: a rate of {rate} is below zero")

    @classmethod
    def of(
        cls,
        nodes: int,
        rails: int,
        dead: Collection[Nic] = (),
        slow: Mapping[Nic, Fraction] | None = None,
    ) -> RailRates:
        """Describe a cluster of equal NICs, some of which are dead or slow.

        Args:
            nodes: Number of nodes.
            rails: g, rails of each node.
            dead: NICs that carry nothing.
            slow: NICs that run at a fraction of their rate, from 0 to 1.

        Raises:
            ScheduleError: A NIC does not exist, or a fraction is not one.

        >>> RailRates.of(2, 2, dead=[Nic(1, 0)]).bandwidths()
        [Fraction(1, 1), Fraction(1, 2)]
        """
        fraction = {nic: Fraction(1) for nic in (Nic(i, r) for i in range(nodes) for r in range(rails))}
        for nic, share in [*(slow or {}).items(), *((nic, Fraction(0)) for nic in dead)]:
            if nic not in fraction:
                raise ScheduleError(f"there is no {Nic(*nic)} among {nodes} nodes with {rails} rails")
            if not 0 <= share <= 1:
                raise ScheduleError(f"{Nic(*nic)}: {share} is no fraction of a rate, give one from 0 to 1")
            fraction[Nic(*nic)] = share
        return cls(
            tuple(tuple(fraction[Nic(i, r)] / rails for r in range(rails)) for i in range(nodes)),
        )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.rates)

    @property
    def rails(self) -> int:
        """g, the number of rails of each node."""
        return len(self.rates[0])

    def rate(self, nic: Nic) -> Fraction:
        """Rate of one NIC in each direction, as a fraction of B."""
        return self.rates[nic.node][nic.rail]

    def is_live(self, nic: Nic) -> bool:
        """Whether a NIC carries anything at all."""
        return self.rate(nic) > 0

    def bandwidths(self) -> list[Fraction]:
        """Bandwidth of each node in each direction, all rails together, as a fraction of B."""
        return [sum(of_node, Fraction(0)) for of_node in self.rates]

    def dead(self) -> list[Nic]:
        """List the NICs that carry nothing, in order."""
        nics = (Nic(node, rail) for node in range(self.nodes) for rail in range(self.rails))
        return [nic for nic in nics if not self.is_live(nic)]

    def groups(self) -> list[list[int]]:
        """Group the nodes that live rails connect, directly or through others."""
        return connected_groups(self.nodes, self.rails, self.is_live)
