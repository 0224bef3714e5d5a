"""What each node has to send and receive, in units of the data: what the closed forms count.

One degraded node, or none. A load divided by the bandwidth the node has is the least time that the scheme
takes. Exact; independent of K. NIC by NIC: `analysis.rail_loads`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from analysis.exact import Exact
from analysis.inputs import one_of, share, whole
from analysis.straggler import FORMS, mixture_share
from analysis.two_stage import nodes_and_shares


class Loads(NamedTuple):
    """Loads of the degraded node and of each healthy one, in D. The same in both directions."""

    degraded: Fraction
    healthy: Fraction

    def total(self, n: int) -> Fraction:
        """What all n nodes send, which is what they receive; an allreduce needs at least 2 (n-1)."""
        return self.degraded + (n - 1) * self.healthy


def ring(n: int) -> Loads:
    """Loads of the ring: 2 (n-1)/n for everybody. HotRepair without relays and Balance change no node's load.

    Source: counting, 2 (n-1) steps of 1/n.

    Raises:
        ModelError: There is no node.
    """
    load = Fraction(2 * (whole(n, "n", 1) - 1), n)
    return Loads(load, load)


def r2cc_allreduce(n: int, lost: Exact, partial: Exact | None = None) -> Loads:
    """Loads of R2CC-AllReduce, the chain and the helper form alike.

    Source: counting; figure 6 of paper 1. Degraded: the global ring 2 (n-1)/n (1-Y), then its Y out and the
        result in. Healthy: the same global ring, the partial ring 2 (n-2)/(n-1) Y, then Y in and Y out, since
        each is either a link of the chain or one of its ends. Together Y (n-2) more than the least possible:
        the price of a second stage.

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.
        partial: Y; None: Y = X.

    Raises:
        ModelError: An argument is out of range, or there is a partial ring although nothing is lost.

    >>> r2cc_allreduce(4, Fraction(1, 4)).degraded   # figure 6; it prints 7/4, see the next function
    Fraction(11, 8)
    """
    n, _, y = nodes_and_shares(n, lost, partial)
    global_ring = Fraction(2 * (n - 1), n) * (1 - y)
    return Loads(global_ring + y, global_ring + Fraction(2 * (n - 2), n - 1) * y + y)


def r2cc_allreduce_degraded_large_n(partial: Exact) -> Fraction:
    """Load of the degraded node as figure 6 of paper 1 counts it: 2 (1-Y) + Y.

    It takes 2 for a ring's 2 (n-1)/n, which holds for many nodes. Compare with 2, that of Balance counted in
    the same way, never with an exact load.

    Raises:
        ModelError: `partial` is not from 0 to 1.

    >>> r2cc_allreduce_degraded_large_n(Fraction(1, 4))
    Fraction(7, 4)
    """
    y = share(partial, "partial")
    return 2 * (1 - y) + y


def received_ratio(n: int, lost: Exact, partial: Exact | None = None) -> Fraction:
    """Bytes the degraded node receives with R2CC-AllReduce, over those with Balance.

    Source: the authors' notes; they measure it to prove that the second stage does run. Arguments and errors
        are those of `r2cc_allreduce`.

    >>> received_ratio(6, Fraction(1, 3))   # 0.867 in the authors' notes
    Fraction(13, 15)
    """
    return r2cc_allreduce(n, lost, partial).degraded / ring(n).degraded


def optcc(p: int, lost: Exact = 0, form: str = "simple") -> Loads:
    """Loads of OptCC: straggler 1, healthy (2p-3)/(p-1). Together 2 (p-1), the least possible.

    Source: counting (paper 2's four stages). The straggler gets each section once and gives it once; a
        healthy node has 2 (m-1)/m from the two halves of the ring of m = p-1, and one section, 1/m, to and
        from the straggler. The mixture adds the plain ring's loads in proportion to the data that takes it.

    Args:
        p: Number of participants, at least 3.
        lost: X; matters for the mixture only.
        form: "mixture", or any other form of `straggler.FORMS`.

    Raises:
        ModelError: An argument is out of range.
    """
    p = whole(p, "p", 3)
    by_ring = mixture_share(p, lost) if one_of(form, "form of OptCC", FORMS) == "mixture" else Fraction(0)
    of_ring = by_ring * ring(p).degraded
    return Loads(of_ring + 1 - by_ring, of_ring + (1 - by_ring) * Fraction(2 * p - 3, p - 1))
