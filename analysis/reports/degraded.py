"""One degraded node: the case that both papers' figures are about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from algorithms.nic import Nic
from analysis import cost_model
from analysis.errors import ModelError


@dataclass(frozen=True)
class Degraded:
    """A cluster in which one node has lost some of its rails for good.

    Attributes:
        nodes: n, all nodes.
        rails: g, rails of each node.
        dead: The degraded node's dead rails, at least one and not all, ascending.

    Raises:
        ModelError: There are fewer than two nodes, no dead rail, no live one, or one that is not there.
    """

    nodes: int
    rails: int
    dead: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.nodes < 2:
            raise ModelError(f"{self.nodes} nodes exchange nothing: give at least 2")
        if not self.dead or len(self.dead) >= self.rails:
            raise ModelError(
                f"{len(self.dead)} of {self.rails} rails lost: a degraded node has lost at least one "
                "rail and keeps at least one"
            )
        if not set(self.dead) <= set(range(self.rails)):
            raise ModelError(f"there is no rail {max(self.dead)} (rails are 0 to {self.rails - 1})")

    @classmethod
    def by_share(cls, nodes: int, lost: Fraction, rails: int | None = None) -> Degraded:
        """Describe a node that lost a share of its bandwidth, its dead rails spread as evenly as can be.

        Args:
            nodes: n, all nodes.
            lost: X, above 0 and below 1.
            rails: g; None takes the smallest that allows X.

        Raises:
            ModelError: X is out of range or no whole number of rails.
        """
        if not 0 < lost < 1:
            raise ModelError(
                f"a degraded node has not lost {lost} of its bandwidth: give more than 0, less than 1"
            )
        rails = lost.denominator if rails is None else rails
        if rails < 1 or (lost * rails).denominator > 1:
            raise ModelError(
                f"{lost} of {rails} rails is no whole number of rails: give a multiple of "
                f"{lost.denominator} rails"
            )
        return cls(nodes, rails, spread(rails, int(lost * rails)))

    @property
    def lost(self) -> Fraction:
        """X, the lost share of the node's bandwidth."""
        return Fraction(len(self.dead), self.rails)

    def hot_repair(self) -> Fraction:
        """Time after HotRepair over that of the healthy ring: the most shares on one NIC.

        The degraded node and its two neighbours decide it, so three nodes are enough to count.
        """
        few = min(self.nodes, 3)
        return cost_model.hot_repair(few, self.rails, _nics(self.dead)) / cost_model.ring(few)


def spread(rails: int, dead: int) -> tuple[int, ...]:
    """Choose dead rails as far apart as they can be: HotRepair's best case.

    Its backup is the next live rail, so with live rails evenly spaced none serves more than g/(g-f) shares,
    rounded up. Fewer are impossible: g shares go over g-f rails (derived here).

    Args:
        rails: g.
        dead: f, fewer than g.

    >>> spread(8, 3)
    (2, 5, 7)
    """
    live = {index * rails // (rails - dead) for index in range(rails - dead)}
    return tuple(rail for rail in range(rails) if rail not in live)


def _nics(dead: Collection[int]) -> list[Nic]:
    return [Nic(0, rail) for rail in dead]
