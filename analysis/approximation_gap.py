"""How much the rule Y = X gives away: paper 1's relative approximation gap (table 1, figure 17).

R2CC-AllReduce gives the partial ring the part Y of the data. The paper sets Y = X, the lost part of the
bandwidth. The best Y makes the two rings of stage 1 end together. Everything here is for a finely pipelined
stage 2 and one degraded node.
"""

from __future__ import annotations

from fractions import Fraction

from analysis.exact import Exact
from analysis.inputs import lost_fraction, whole
from analysis.two_stage import r2cc_allreduce


def best_partial(n: int, lost: Exact) -> Fraction:
    """The Y* that makes R2CC-AllReduce fastest: X (n-1)^2 / (n (n-2) + X).

    Source: derived here by solving T1 = T2. Up to Y* the time T1 + T3 falls with slope -(n-2) / (n (1-X));
        from there on T2 + T3 rises. With two nodes every Y is as good. It is also the best Y with finite K,
        if K gains anything at all (`two_stage.threshold`).

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.

    Returns:
        From X to 1.

    Raises:
        ModelError: An argument is out of range.

    >>> best_partial(4, Fraction(1, 4))
    Fraction(3, 11)
    """
    n, x = whole(n, "n", 2), lost_fraction(lost)
    return x * (n - 1) ** 2 / (n * (n - 2) + x) if x else x


def gap(n: int, lost: Exact) -> Fraction:
    """The relative approximation gap by its definition: (T(X) - T(Y*)) / T(Y*).

    Source: caption of table 1 of paper 1, with T of `two_stage.r2cc_allreduce`. The nine numbers of that
        table follow from it.

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.

    Raises:
        ModelError: An argument is out of range.

    >>> gap(4, Fraction(1, 4))   # table 1: 0.833 %
    Fraction(1, 120)
    """
    best = r2cc_allreduce(n, lost, partial=best_partial(n, lost))
    return (r2cc_allreduce(n, lost, partial=lost) - best) / best


def gap_closed_form(n: int, lost: Exact) -> Fraction:
    """The same gap, simplified: (n-2) X (1-X) / (n (n-1) (2 (n-2) - (n-3) X)).

    Source: derived here. Y* - X = X (1-X) / (n (n-2) + X), so T(X) - T(Y*) is (n-2)/n X / (n (n-2) + X),
        and T(Y*) = (n-1) (2 (n-2) - (n-3) X) / ((1-X) (n (n-2) + X)). For many nodes it falls as 1/n^2. With
        two nodes it is 0.

    Args:
        n: Number of nodes, at least 2.
        lost: X, from 0 to less than 1.

    Raises:
        ModelError: An argument is out of range.
    """
    n, x = whole(n, "n", 2), lost_fraction(lost)
    return (n - 2) * x * (1 - x) / (n * (n - 1) * (2 * (n - 2) - (n - 3) * x)) if x else x
