"""Which rank sits where: nodes of equally many ranks, each rank the owner of one rail's NIC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """A grid of nodes and rails with one rank at every crossing.

    Ranks are numbered node by node: rank = node * rails + rail.

    Attributes:
        nodes: How many nodes there are, at least 1.
        rails: How many rails each node has, at least 1; also its number of ranks.

    Raises:
        UsageError: If one of them is smaller than 1.
    """

    nodes: int
    rails: int

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise UsageError(f"{self.nodes} nodes: a layout has at least 1, for example --nodes 2")
        if self.rails < 1:
            raise UsageError(f"{self.rails} rails: a node has at least 1, for example --rails 2")

    @classmethod
    def from_ranks(cls, ranks: int, *, rails: int | None = None, nodes: int | None = None) -> Layout:
        """Divide a number of ranks into nodes.

        Args:
            ranks: How many ranks there are.
            rails: Ranks of one node, if the user said it.
            nodes: Number of nodes, if the user said it.

        Returns:
            The layout that uses every rank. With neither `rails` nor `nodes` all ranks are one node.

        Raises:
            UsageError: If the ranks cannot be divided that way.
        """
        if nodes is not None and rails is not None:
            layout = cls(nodes, rails)
            if layout.ranks != ranks:
                raise UsageError(
                    f"{nodes} nodes of {rails} rails need {layout.ranks} ranks, but there are {ranks}: "
                    f"start {layout.ranks} ranks, or change --nodes or --rails"
                )
            return layout
        if nodes is not None:
            Layout(nodes, 1)  # refuses a number below 1 before it divides
            if ranks % nodes:
                raise UsageError(
                    f"{ranks} ranks cannot be divided into {nodes} nodes of equal size: "
                    f"use a multiple of {nodes} ranks{_other_way('--nodes', ranks, nodes)}"
                )
            return cls(nodes, ranks // nodes)
        rails = ranks if rails is None else rails
        Layout(1, rails)
        if ranks % rails:
            raise UsageError(
                f"{ranks} ranks cannot be divided into nodes of {rails} rails: "
                f"use a multiple of {rails} ranks{_other_way('--rails', ranks, rails)}"
            )
        return cls(ranks // rails, rails)

    @property
    def ranks(self) -> int:
        """Number of ranks in all nodes."""
        return self.nodes * self.rails

    def nic_of(self, rank: int) -> Nic:
        """Give the NIC that a rank owns.

        Args:
            rank: World rank, 0 to `ranks` - 1.

        Raises:
            ValueError: If there is no such rank.
        """
        if not 0 <= rank < self.ranks:
            raise ValueError(f"there is no rank {rank} (ranks are 0 to {self.ranks - 1})")
        return Nic(*divmod(rank, self.rails))

    def rank_of(self, nic: Nic) -> int:
        """Give the world rank that owns a NIC.

        Args:
            nic: A NIC of this layout.

        Raises:
            ValueError: If the layout has no such NIC.
        """
        if nic not in self:
            raise ValueError(
                f"there is no {nic} (nodes are 0 to {self.nodes - 1}, rails 0 to {self.rails - 1})"
            )
        return nic.node * self.rails + nic.rail

    def ranks_of_node(self, node: int) -> range:
        """Give the world ranks of one node, in the order of their rails."""
        return range(self.rank_of(Nic(node, 0)), self.rank_of(Nic(node, self.rails - 1)) + 1)

    def __contains__(self, nic: object) -> bool:
        return isinstance(nic, Nic) and 0 <= nic.node < self.nodes and 0 <= nic.rail < self.rails

    def __iter__(self) -> Iterator[Nic]:
        """Give every NIC, in the order of the ranks that own them."""
        return (self.nic_of(rank) for rank in range(self.ranks))

    def __str__(self) -> str:
        return f"{self.nodes} nodes x {self.rails} rails"


def _other_way(option: str, ranks: int, asked: int) -> str:
    """Suggest the divisor of `ranks` nearest to what was asked, unless only the trivial ones are left."""
    divisors = [d for d in range(2, ranks) if ranks % d == 0]
    if not divisors:
        return ""
    return f", or {option} {min(divisors, key=lambda divisor: abs(divisor - asked))}"
