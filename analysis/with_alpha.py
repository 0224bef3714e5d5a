"""The closed forms with latency: every message costs alpha on top of its bytes. For choosing K, and by size.

A message of b bytes occupies its port for alpha + b/rate. So a scheme takes what its closed form says plus
alpha times the messages that follow each other on its slowest path; a free choice of K then has a best value.
alpha is in units of D/B, as the times are: alpha_s * B / D, so it grows as the data shrink.

Where the closed forms take "finely pipelined" for granted, infinitely many messages would cost infinitely
much. Here it means: as many pieces as are best for this alpha. That tends to the closed form as alpha
vanishes, and is the closed form at alpha = 0.

The counts of messages are derived here, assuming that all rails of a node work in parallel as one port, and
one message stands for its stripes. Not handled here: the cost of starting a collective at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from analysis import cost_model, rail_costs, straggler, two_stage
from analysis.exact import Exact
from analysis.inputs import not_negative, one_of, whole
from analysis.rail_rates import RailRates
from analysis.repaired_ring import repaired_ring


def ring(n: int, alpha: Exact) -> Fraction:
    """Time of the healthy ring: 2 (n-1)/n + 2 (n-1) alpha. Source: its 2 (n-1) steps follow each other.

    Args:
        n: Number of nodes, at least 1.
        alpha: Cost of a message, in D/B.

    Raises:
        ModelError: An argument is out of range.
    """
    return cost_model.ring(n) + 2 * (n - 1) * not_negative(alpha, "alpha")


def hot_repair(rates: RailRates, alpha: Exact) -> Fraction | None:
    """Time of the ring after HotRepair; None if the live rails do not connect all nodes.

    Source: derived here. In each of the 2 (n-1) steps a NIC passes on one message for each share it serves,
        and a share passes one NIC after the other on its route. So a step costs a NIC the time of its bytes
        plus alpha for each of its shares, or for each hop of the longest route if that has more. Without
        relays this is what a simulation of the messages takes; with relays it is a lower bound, since the
        first share has to fill the longer route.

    Args:
        rates: What every NIC can carry.
        alpha: Cost of a message, in D/B.

    Raises:
        ModelError: `alpha` is below zero.
    """
    alpha = not_negative(alpha, "alpha")
    if len(rates.groups()) > 1:
        return None
    n = rates.nodes
    shares = repaired_ring(n, rates.rails, rates.dead())
    messages = shares.busier()
    per_step = [
        times / n + max(messages[nic], shares.longest) * alpha
        for nic, times in rail_costs.share_times(rates, shares).items()
    ]
    return 2 * (n - 1) * max(per_step, default=Fraction(0))


def balance(rates: RailRates, alpha: Exact, order: Sequence[int] | None = None) -> Fraction | None:
    """Time of the ring after Balance: that of `rail_costs.balance` plus 2 (n-1) alpha, one for each step.

    Args:
        rates: What every NIC can carry.
        alpha: Cost of a message, in D/B.
        order: The nodes in the order of the ring; None: 0, 1, ..., n-1.

    Returns:
        The time; None if some hop has no rail that is live at both ends.

    Raises:
        ModelError: `alpha` is below zero, or the order does not name every node once.
    """
    alpha = not_negative(alpha, "alpha")
    time = rail_costs.balance(rates, order)
    return None if time is None else time + 2 * (rates.nodes - 1) * alpha


def r2cc_allreduce(
    n: int,
    lost: Exact,
    alpha: Exact,
    partial: Exact | None = None,
    pieces: int | None = None,
    form: str = "chain",
    sub_pieces: int | None = None,
) -> Fraction:
    """Time of R2CC-AllReduce with one degraded node.

    Source: derived here. Stage 1: T1 + 2 (n-1) alpha and T2 + 2 (n-2) alpha side by side; a ring that has no
        data has no messages either. Stage 2, messages in sequence on the critical path:

        chain:  K + n-2        the degraded node sends K pieces, the last one passes n-2 more hops
        helper: 1 + n-2 + K S  the first piece gets in, its first part passes n-2 hops, and the degraded node,
                               last in the broadcast, gets K S parts one after the other

        A finely pipelined broadcast cuts the Y of data into the number of parts that is best for this alpha,
        but not fewer than K, and they stand for K S above.

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.
        alpha: Cost of a message, in D/B.
        partial: Y; None: Y = X.
        pieces: K; None: the best for this alpha.
        form: "chain" or "helper".
        sub_pieces: S, only for the helper; None: the broadcast is finely pipelined.

    Raises:
        ModelError: An argument is out of range, or there is a partial ring although nothing is lost.
    """
    alpha = not_negative(alpha, "alpha")
    n, _, y = two_stage.nodes_and_shares(n, lost, partial)
    bytes_only = two_stage.stages(n, lost, partial, pieces, form, sub_pieces)
    first = max(
        bytes_only.global_ring + (2 * (n - 1) * alpha if y < 1 else 0),
        bytes_only.partial_ring + (2 * (n - 2) * alpha if y > 0 else 0),
    )
    if y == 0 or alpha == 0:
        return first + bytes_only.return_trip
    if form == "chain":

        def second(k: int) -> Fraction:
            return two_stage.stages(n, lost, y, k).return_trip + (k + n - 2) * alpha

    else:
        head = (n - 2) * y  # a part of the broadcast passes n-2 hops before the degraded node gets it
        fine_parts = best_pieces(lambda parts: head / parts + parts * alpha, most=None)[0]

        def second(k: int) -> Fraction:
            parts = max(k, fine_parts) if sub_pieces is None else k * sub_pieces
            time = two_stage.stages(n, lost, y, k, form).return_trip + head / parts
            return time + (1 + n - 2 + parts) * alpha

    return first + (best_pieces(second, most=None)[1] if pieces is None else second(pieces))


def optcc(p: int, lost: Exact, alpha: Exact, segments: int | None = None, form: str = "simple") -> Fraction:
    """Time of OptCC with one straggler.

    Source: derived here. As `straggler.optcc`, with a body in which each port also pays its messages: the
        straggler m = p-1 (one for each section), a healthy node 2m-1 (2 (m-1) of the ring, one with the
        straggler). In the mixture each body also carries a K-th of the plain ring's data, in 2m messages at
        every port.

            (K + 2) max(l/K + m alpha, (2p-3)/((p-1) K) + (2m-1) alpha);    overlay: K + 1/2

    Args:
        p: Number of participants, at least 3.
        lost: X, from 0 to less than 1.
        alpha: Cost of a message, in D/B.
        segments: K; None: the best for this alpha.
        form: One of `straggler.FORMS`.

    Raises:
        ModelError: An argument is out of range.
    """
    alpha = not_negative(alpha, "alpha")
    one_of(form, "form of OptCC", straggler.FORMS)
    at_straggler, at_healthy = straggler.port_times(p, lost, form)
    m = p - 1
    of_ring = 2 * m if form == "mixture" and straggler.mixture_share(p, lost) > 0 else 0

    def cost(k: int) -> Fraction:
        body = max(
            at_straggler / k + (m + of_ring) * alpha,
            at_healthy / k + (2 * m - 1 + of_ring) * alpha,
        )
        return (k + straggler.BODIES_TO_FILL[form]) * body

    if segments is not None:
        return cost(whole(segments, "segments", 1))
    return best_pieces(cost, most=None)[1] if alpha else straggler.optcc(p, lost, form=form)


def best_pieces(cost: Callable[[int], Fraction], most: int | None = 1024) -> tuple[int, Fraction]:
    """Find the number of pieces with the least cost, the smallest one if there are several.

    Args:
        cost: Time with K pieces. It has to be convex in K, as all costs of this module are: fewer pieces cost
            bytes over K, more pieces cost alpha times K, and the larger of two convex costs is convex. So the
            first K at which one more piece does not help is the answer, found by bisection.
        most: The largest K allowed; None: no limit, and the cost must rise in the end.

    Returns:
        K and its cost.

    Raises:
        ModelError: `most` is below 1.

    >>> best_pieces(lambda k: Fraction(9, k) + k)
    (3, Fraction(6, 1))
    """

    def is_enough(k: int) -> bool:
        return cost(k + 1) >= cost(k)

    if most is None:
        high = 1
        while not is_enough(high):
            high *= 2
    else:
        high = whole(most, "most", 1)
    low = 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low, cost(low)
