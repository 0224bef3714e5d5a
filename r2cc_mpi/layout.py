"""Which rank sits where: nodes of equally many ranks, of which the first ones own a rail's NIC each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """A grid of nodes and rails with one rank at every crossing, and perhaps more ranks on each node.

    Ranks are numbered node by node: rank = node * ranks_per_node + place. A rank whose place is a rail's
    number owns that NIC; the others own none. Also these have an address of the form of a NIC, ``Nic(node,
    place)``, which is then not in the layout.

    Attributes:
        nodes: How many nodes there are, at least 1.
        rails: How many rails each node has, at least 1.
        ranks_per_node: How many ranks each node has, at least as many as rails; by default that many.

    Raises:
        UsageError: If one of them is too small.
    """

    nodes: int
    rails: int
    ranks_per_node: int = 0

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise UsageError(f"{self.nodes} nodes: a layout has at least 1, for example --nodes 2")
        if self.rails < 1:
            raise UsageError(f"{self.rails} rails: a node has at least 1, for example --rails 2")
        if self.ranks_per_node == 0:
            object.__setattr__(self, "ranks_per_node", self.rails)
        if self.ranks_per_node < self.rails:
            raise UsageError(
                f"{self.ranks_per_node} ranks per node cannot own {self.rails} rails: each rail has a rank "
                f"of its own, use --ranks-per-node {self.rails} or fewer --rails"
            )

    @classmethod
    def from_ranks(
        cls,
        ranks: int,
        *,
        rails: int | None = None,
        nodes: int | None = None,
        ranks_per_node: int | None = None,
    ) -> Layout:
        """Divide a number of ranks into nodes.

        Args:
            ranks: How many ranks there are.
            rails: Rails of one node, if the user said it.
            nodes: Number of nodes, if the user said it.
            ranks_per_node: Ranks of one node, if they are not as many as its rails.

        Returns:
            The layout that uses every rank. With neither `rails` nor `nodes` all ranks are one node.

        Raises:
            UsageError: If the ranks cannot be divided that way.
        """
        if ranks_per_node is not None:
            return cls._of_larger_nodes(ranks, rails, nodes, ranks_per_node)
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

    @classmethod
    def _of_larger_nodes(
        cls, ranks: int, rails: int | None, nodes: int | None, ranks_per_node: int
    ) -> Layout:
        if rails is None:
            raise UsageError(
                f"--ranks-per-node {ranks_per_node}: say how many of them own a rail, with --rails"
            )
        layout = cls(nodes or max(1, ranks // max(1, ranks_per_node)), rails, ranks_per_node or -1)
        if layout.ranks != ranks:
            raise UsageError(
                f"{layout.nodes} nodes of {ranks_per_node} ranks need {layout.ranks} ranks, but there are "
                f"{ranks}: start {layout.ranks} ranks, or change --nodes or --ranks-per-node"
            )
        return layout

    @property
    def ranks(self) -> int:
        """Number of ranks in all nodes."""
        return self.nodes * self.ranks_per_node

    def nic_of(self, rank: int) -> Nic:
        """Give a rank's address: the NIC that it owns, or what stands for one and is not in the layout.

        Args:
            rank: World rank, 0 to `ranks` - 1.

        Raises:
            ValueError: If there is no such rank.
        """
        if not 0 <= rank < self.ranks:
            raise ValueError(f"there is no rank {rank} (ranks are 0 to {self.ranks - 1})")
        return Nic(*divmod(rank, self.ranks_per_node))

    def describe(self, rank: int) -> str:
        """Name a rank for a message, for example "rank 3 (node 1 rail 0)"."""
        nic = self.nic_of(rank)
        return f"rank {rank} ({nic if nic in self else f'node {nic.node}, owns no rail'})"

    def rank_of(self, nic: Nic) -> int:
        """Give the world rank that owns a NIC, or has an address.

        Args:
            nic: A NIC of this layout, or what :meth:`nic_of` gave.

        Raises:
            ValueError: If the layout has no such NIC or rank.
        """
        if not (0 <= nic.node < self.nodes and 0 <= nic.rail < self.ranks_per_node):
            raise ValueError(
                f"there is no {nic} (nodes are 0 to {self.nodes - 1}, rails 0 to {self.rails - 1})"
            )
        return nic.node * self.ranks_per_node + nic.rail

    def ranks_of_node(self, node: int) -> range:
        """Give the world ranks of one node, in the order of their rails, those without a rail last."""
        return range(self.rank_of(Nic(node, 0)), self.rank_of(Nic(node, self.ranks_per_node - 1)) + 1)

    def __contains__(self, nic: object) -> bool:
        return isinstance(nic, Nic) and 0 <= nic.node < self.nodes and 0 <= nic.rail < self.rails

    def __iter__(self) -> Iterator[Nic]:
        """Give every NIC, in the order of the ranks that own them."""
        return (Nic(node, rail) for node in range(self.nodes) for rail in range(self.rails))

    def __str__(self) -> str:
        more = "" if self.ranks_per_node == self.rails else f", {self.ranks_per_node} ranks per node"
        return f"{self.nodes} nodes x {self.rails} rails{more}"


def _other_way(option: str, ranks: int, asked: int) -> str:
    """Suggest the divisor of `ranks` nearest to what was asked, unless only the trivial ones are left."""
    divisors = [d for d in range(2, ranks) if ranks % d == 0]
    if not divisors:
        return ""
    return f", or {option} {min(divisors, key=lambda divisor: abs(divisor - asked))}"
