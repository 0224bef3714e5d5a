"""R2CC-AllReduce: the time of its two stages, and when they gain over Balance (paper 1, figure 6 and text).

One node lost the fraction X of its bandwidth and keeps 1-X. The data is cut in two: Y for the partial ring,
1-Y for the global one.

- Stage 1. Two rings run at once: all n nodes on the bandwidth the degraded node still has (global, 1-Y), and
  the n-1 healthy nodes on the bandwidth only they have (partial, Y).
- Stage 2. The degraded node's own Y gets in, and the full sum gets out to everybody, in K pieces. Two forms:
  the *chain* (default; derived here) sends pieces to the first healthy node and on down a chain, while the
  last healthy node returns the partial sum, which completes at the degraded node. The *helper* form (the
  authors' code) reduces each piece to one helper, which then broadcasts it to all.

The paper's rule is Y = X. `analysis.approximation_gap` has the best Y. Not handled here: latency
(`analysis.with_alpha`), more than one degraded node.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from analysis.errors import ModelError
from analysis.exact import Exact
from analysis.inputs import lost_fraction, one_of, share, whole

FORMS = ("chain", "helper")
"""What stage 2 can look like."""


class Stages(NamedTuple):
    """Times in D/B: the two rings of stage 1, which run at once, and stage 2, which follows them."""

    global_ring: Fraction
    partial_ring: Fraction
    return_trip: Fraction

    @property
    def total(self) -> Fraction:
        """max(T1, T2) + T3."""
        return max(self.global_ring, self.partial_ring) + self.return_trip


def stages(
    n: int,
    lost: Exact,
    partial: Exact | None = None,
    pieces: int | None = None,
    form: str = "chain",
    sub_pieces: int | None = None,
) -> Stages:
    """Times of the stages of R2CC-AllReduce, T1, T2 and T3.

    Source: stage 1 from the text and figure 6 of paper 1; the helper's stage 2 from the authors' notes, its
        sub-pieces and the chain derived here:

        T1 = 2 (n-1)/n (1-Y)/(1-X)
        T2 = 2 (n-2)/(n-1) Y/X
        T3 = Y/(1-X) + (n-2) Y/K                        chain: n-2 hops that use all rails
        T3 = (1 + 1/K) Y/(1-X) + (n-2) Y/(K S)          helper

    Args:
        n: Number of nodes, at least 2.
        lost: X, the part of its bandwidth that the degraded node lost, from 0 to less than 1.
        partial: Y, the part of the data the partial ring takes; None: Y = X, the paper's rule.
        pieces: K, into how many pieces stage 2 is cut; None: so many that 1/K vanishes.
        form: "chain" or "helper".
        sub_pieces: S, only for the helper: into how many parts its broadcast cuts a piece; None: so many
            that 1/S vanishes, as in a broadcast that is itself finely pipelined (the authors' model).

    Returns:
        The three times in D/B. If nothing is lost they are the ring's time, 0 and 0.

    Raises:
        ModelError: An argument is out of range, or there is a partial ring although nothing is lost.

    >>> stages(3, Fraction(1, 3), pieces=4)
    Stages(global_ring=Fraction(4, 3), partial_ring=Fraction(1, 1), return_trip=Fraction(7, 12))
    """
    n, x, y = nodes_and_shares(n, lost, partial)
    _check_form(form, sub_pieces)
    piece = Fraction(0) if pieces is None else y / whole(pieces, "pieces", 1)
    sub_piece = piece if form == "chain" else _sub_piece(piece, sub_pieces)
    heads = (n - 2) * sub_piece + (piece / (1 - x) if form == "helper" else 0)
    return Stages(
        global_ring=Fraction(2 * (n - 1), n) * (1 - y) / (1 - x),
        partial_ring=Fraction(2 * (n - 2), n - 1) * y / x if x else Fraction(0),
        return_trip=y / (1 - x) + heads,
    )


def r2cc_allreduce(
    n: int,
    lost: Exact,
    partial: Exact | None = None,
    pieces: int | None = None,
    form: str = "chain",
    sub_pieces: int | None = None,
) -> Fraction:
    """Time of R2CC-AllReduce with one degraded node: max(T1, T2) + T3, in D/B.

    Arguments, sources and errors are those of `stages`. Finely pipelined with Y = X the overhead over the
    healthy ring is n X / (2 (n-1) (1-X)).

    >>> r2cc_allreduce(8, Fraction(1, 2)) / Fraction(7, 4) - 1   # the 57 % of paper 2's abstract
    Fraction(4, 7)
    """
    return stages(n, lost, partial, pieces, form, sub_pieces).total


def threshold(n: int, lost: Exact, form: str = "chain", sub_pieces: int | None = None) -> Fraction | None:
    """Tell how many pieces it takes to gain over Balance: more than this number.

    Source: derived here. Up to the best Y the time is T1 + T3, linear in Y, and Balance at Y = 0. So whether
        a partial ring pays does not depend on how much it takes: the slope of T3 in Y has to be below that of
        T1, (2 - 2/n) / (1-X). Solved for K:

        chain:  K > n (1-X)
        helper: K > n/(n-2) (1 + (n-2)(1-X)/S); finely pipelined n/(n-2)

    Below it Y = 0 is best, that is: use Balance. Above it the best Y is that of
    `approximation_gap.best_partial`, whatever K is, since beyond it T2 alone already grows faster.

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.
        form: "chain" or "helper".
        sub_pieces: S, as in `stages`.

    Returns:
        The number K has to exceed, or None if no K gains: two nodes, or nothing lost.

    Raises:
        ModelError: An argument is out of range.

    >>> threshold(8, Fraction(1, 8))
    Fraction(7, 1)
    """
    n, x, _ = nodes_and_shares(n, lost, None)
    _check_form(form, sub_pieces)
    if n == 2 or x == 0:
        return None
    if form == "chain":
        return n * (1 - x)
    return Fraction(n, n - 2) * (1 + _sub_piece((n - 2) * (1 - x), sub_pieces))


def least_pieces(n: int, lost: Exact, form: str = "chain", sub_pieces: int | None = None) -> int | None:
    """Smallest K with which R2CC-AllReduce is faster than Balance; None if there is none.

    Arguments, source and errors are those of `threshold`.
    """
    bound = threshold(n, lost, form, sub_pieces)
    return None if bound is None else math.floor(bound) + 1


def nodes_and_shares(n: int, lost: Exact, partial: Exact | None) -> tuple[int, Fraction, Fraction]:
    """Check n, X and Y, which defaults to X.

    Raises:
        ModelError: One of them is out of range, or Y is above zero although nothing is lost.
    """
    x = lost_fraction(lost)
    y = x if partial is None else share(partial, "partial")
    if y > 0 and x == 0:
        raise ModelError(
            f"partial = {partial}: nothing is lost, so no bandwidth is free for a partial ring; give 0"
        )
    return whole(n, "n", 2), x, y


def _check_form(form: str, sub_pieces: int | None) -> None:
    one_of(form, "form of stage 2", FORMS)
    if form == "chain" and sub_pieces is not None:
        raise ModelError(f"sub_pieces = {sub_pieces}: only form 'helper' has them, leave it out for 'chain'")


def _sub_piece(piece: Fraction, sub_pieces: int | None) -> Fraction:
    return Fraction(0) if sub_pieces is None else piece / whole(sub_pieces, "sub_pieces", 1)
