"""What is known of every NIC: one growing number each, so that news can be merged in any order.

A NIC's *health version* starts at 0. Even means up, odd means down. Anyone may report a NIC down (even to
odd: a peer's verdict); only its owner brings it back (odd to even). The larger version always wins, hence
merging is the maximum: commutative, idempotent, and a late rumour can never undo a newer one.

A NIC that came back is *up* at once but *admitted* to routes only at the next START, when all ranks agree on
it, so that a flapping rail cannot disturb the collective that just survived it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from algorithms.nic import Nic


class Change(NamedTuple):
    """A NIC's health version rose from ``before`` to ``after``."""

    nic: Nic
    before: int
    after: int


class HealthTable:
    """Health versions of all NICs of a job.

    Args:
        nodes: Number of nodes.
        rails: Rails per node.
    """

    def __init__(self, nodes: int, rails: int) -> None:
        self.nodes, self.rails = nodes, rails
        self.versions = [0] * (nodes * rails)
        self._admitted = [True] * (nodes * rails)

    def _index(self, nic: Nic) -> int:
        return nic.node * self.rails + nic.rail

    def nics(self) -> Iterable[Nic]:
        """All NICs, node by node."""
        return (Nic(node, rail) for node in range(self.nodes) for rail in range(self.rails))

    def version(self, nic: Nic) -> int:
        """Return the NIC's health version."""
        return self.versions[self._index(nic)]

    def is_up(self, nic: Nic) -> bool:
        """Say whether the NIC is up as far as this rank knows."""
        return self.versions[self._index(nic)] % 2 == 0

    def is_admitted(self, nic: Nic) -> bool:
        """Say whether routes may use the NIC: up, and not newly recovered."""
        return self._admitted[self._index(nic)]

    def down(self) -> list[Nic]:
        """NICs that are down."""
        return [nic for nic in self.nics() if not self.is_up(nic)]

    def excluded(self) -> list[Nic]:
        """NICs that routes avoid: down, or not yet admitted again."""
        if all(self._admitted):
            return []
        return [nic for nic, admitted in zip(self.nics(), self._admitted, strict=True) if not admitted]

    def merge(self, versions: Sequence[int]) -> list[Change]:
        """Take over every version larger than ours.

        Returns:
            What changed. A version that skipped a number (up, down and up again unseen) is a change like any
            other: what was in flight on that NIC may be lost.
        """
        if versions == self.versions:
            return []
        changes = []
        for nic, before, after in zip(self.nics(), tuple(self.versions), versions, strict=True):
            if after > before:
                self.versions[self._index(nic)] = after
                self._admitted[self._index(nic)] = False
                changes.append(Change(nic, before, after))
        return changes

    def raised(self, nic: Nic, *, up: bool) -> list[int]:
        """Return the versions with one NIC's raised to the next that says ``up``; or no change."""
        versions = list(self.versions)
        if self.is_up(nic) is not up:
            versions[self._index(nic)] += 1
        return versions

    def admit(self, agreed: Sequence[int]) -> list[Nic]:
        """Admit the NICs that are up in the agreed vector and have not changed since.

        Returns:
            NICs that are newly admitted.
        """
        if all(self._admitted):
            return []
        admitted = []
        for index, nic in enumerate(self.nics()):
            if not self._admitted[index] and agreed[index] % 2 == 0 and agreed[index] == self.versions[index]:
                self._admitted[index] = True
                admitted.append(nic)
        return admitted
