"""The least time any allreduce takes on nodes of given bandwidth, and the mixture of rings that reaches it.

Bandwidths are in units of B, times in units of D/B. A node sends and receives at its bandwidth at the same
time, and any two nodes may use all that both have: links and rails do not exist here. So this is a bound for
a cluster with rails too, and `analysis.rail_bound` has the exact optimum there.

Two counts bound the time (derived here; what paper 2, OptCC, arXiv 2606.01680, says about its bound agrees):

*slowest node*: node i must send its own contribution and receive the result, D each: `T >= D / b_i`.

*total traffic*: any scheme of point-to-point messages moves at least 2 (p-1) D. Watch one byte of the data,
and stop when the first node knows its full sum. By then p-1 messages or more have arrived, since each other
node must have sent one. Each of those p-1 nodes has yet to receive the sum: p-1 more. Together the nodes
receive at most `T sum b`.

A switch that adds or copies would break the second count.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from analysis.errors import ModelError
from analysis.exact import Exact, positive_bandwidths
from analysis.inputs import lost_fraction

BindingTerm = Literal["slowest node", "total traffic", "both"]
"""Which of the two counts is the larger one."""


def allreduce(bandwidths: Sequence[Exact]) -> Fraction:
    """Least time of an allreduce: max(1 / b_min, 2 (p-1) / sum of b).

    No scheme is faster (see the head of this file), and for any bandwidths one is as fast
    (`nested_mixture`). Source: derived here.

    Args:
        bandwidths: b, of each of the p nodes, in units of B: integers, Fractions or text such as "3/4";
            floats are refused.

    Returns:
        The time in units of D/B; 0 for a single node.

    Raises:
        ModelError: There is no node, or a bandwidth is not above zero, or it is a float.

    >>> allreduce([1, 1, 1, "1/2"])
    Fraction(2, 1)
    """
    slowest, traffic = _terms(positive_bandwidths(bandwidths))
    return max(slowest, traffic)


def binding_term(bandwidths: Sequence[Exact]) -> BindingTerm:
    """Tell which count makes the bound of `allreduce` what it is.

    Args:
        bandwidths: As for `allreduce`, of two nodes or more.

    Raises:
        ModelError: As for `allreduce`, or there is a single node, for which neither binds.
    """
    nodes = positive_bandwidths(bandwidths)
    if len(nodes) == 1:
        raise ModelError("a single node exchanges nothing, so nothing binds: give two bandwidths or more")
    slowest, traffic = _terms(nodes)
    if slowest == traffic:
        return "both"
    return "slowest node" if slowest > traffic else "total traffic"


def one_straggler(p: int, lost: Exact) -> Fraction:
    """Bound for p nodes of which one is degraded: max(l, 2 (p-1) / (p-1 + 1/l)), with l = 1/(1-X).

    The traffic of all binds below `l = (2p-3)/(p-1)`, the straggler itself above.

    Args:
        p: Participants, at least 1.
        lost: X, the part of its bandwidth that the straggler lost: from 0, below 1.

    Returns:
        The time in units of D/B; 0 for a single node.

    Raises:
        ModelError: There is no participant, or X is out of range, or it is a float.
    """
    if p < 1:
        raise ModelError(f"{p} participants: give at least 1")
    return allreduce([1] * (p - 1) + [1 - lost_fraction(lost)])


def unavoidable_overhead(p: int, lost: Exact) -> Fraction:
    """Overhead that no scheme avoids: `one_straggler` over the healthy ring's 2 (p-1)/p, minus 1.

    Divide the two terms by 2 (p-1)/p. Traffic gives p/(p-X) - 1 = `X/(p-X)`, since 1/l = 1-X; the straggler
    gives `l p / (2 (p-1)) - 1`. Both grow with X. At l = 2 they are 1/(2p-1) and 1/(p-1), so

        overhead <= 1/(p-1)    for l <= 2, with equality at l = 2.

    This is the O(1/p) that paper 2 claims. As c/p the best constants are: c = 2 for all p >= 2 (equality at
    p = 2), c = 3/2 for all p >= 3 (equality at p = 3), and c -> 1. Beyond l = 2 the straggler's term tends to
    l/2 - 1 and does not vanish, however many participants there are. Source of the constants: derived here.

    Args:
        p: Participants, at least 2.
        lost: X, from 0, below 1.

    Raises:
        ModelError: As for `one_straggler`, or there are fewer than 2 participants.

    >>> unavoidable_overhead(8, "1/2")
    Fraction(1, 7)
    """
    if p < 2:
        raise ModelError(f"{p} participants exchange nothing, so there is no overhead: give at least 2")
    return one_straggler(p, lost) / Fraction(2 * (p - 1), p) - 1


def water_filling(bandwidths: Sequence[Exact]) -> list[Fraction]:
    """Part of the data that each node should own so that none is busy longer than the bound.

    The owner of a part w reduces and distributes it. Its load in each direction is then `1 + (p-2) w`: every
    node moves D, and the owner moves its part p-2 times more. Within T that allows `w_i = (T b_i - 1)/(p-2)`,
    none of them negative as T >= 1/b_min, and with a sum of at least 1 as T >= 2 (p-1) / sum b. Divided by
    their sum they are the weights. Source: derived here.

    Args:
        bandwidths: As for `allreduce`.

    Returns:
        The weights, in the order of the nodes; their sum is 1. Equal ones for one or two nodes, whose loads
        do not depend on them.

    Raises:
        ModelError: As for `allreduce`.
    """
    nodes = positive_bandwidths(bandwidths)
    p = len(nodes)
    if p <= 2:
        return [Fraction(1, p)] * p
    time = allreduce(nodes)
    room = [(time * bandwidth - 1) / (p - 2) for bandwidth in nodes]
    total = sum(room, Fraction(0))
    return [part / total for part in room]


class NestedRing(NamedTuple):
    """One part of a mixture: some nodes form a ring, all others are its leaves."""

    size: int
    """k, the number of nodes in the ring."""
    share: Fraction
    """f_k, the part of the data that this ring reduces."""
    members: tuple[int, ...]
    """The nodes in the ring, fastest first."""


def nested_mixture(bandwidths: Sequence[Exact]) -> list[NestedRing]:
    """Split the data over rings of the k fastest nodes such that each node owns its water-filling weight.

    In a ring of k each member owns 1/k of the ring's data; a leaf gives its contribution to the owners and
    gets their results. With the weights in falling order, w_(1) to w_(p), and w_(p+1) = 0, the shares are
    `f_k = k (w_(k) - w_(k+1))`. k = p is the plain ring; k = p-1 with one straggler is OptCC (paper 2); k = 1
    is a star. Source: derived here.

    Args:
        bandwidths: As for `allreduce`.

    Returns:
        The rings with a share above zero, smallest first; the shares sum up to 1.

    Raises:
        ModelError: As for `allreduce`.

    >>> for ring in nested_mixture([1, 1, "3/4", "1/2"]):
    ...     print(ring.size, ring.share, ring.members)
    2 2/5 (0, 1)
    3 3/5 (0, 1, 2)
    """
    weights = water_filling(bandwidths)
    order = sorted(range(len(weights)), key=lambda node: (-weights[node], node))
    falling = [weights[node] for node in order] + [Fraction(0)]
    shares = [(k, k * (falling[k - 1] - falling[k])) for k in range(1, len(weights) + 1)]
    return [NestedRing(k, share, tuple(order[:k])) for k, share in shares if share > 0]


def _terms(bandwidths: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the times that the slowest node and the total traffic need; both 0 for a single node."""
    p = len(bandwidths)
    if p == 1:
        return Fraction(0), Fraction(0)
    return 1 / min(bandwidths), 2 * (p - 1) / sum(bandwidths, Fraction(0))
