"""OptCC: the time of the four-stage pipelined AllReduce with one straggler (paper 2), and of its variants.

There are p participants; the straggler needs l = 1/(1-X) times as long for a byte, m = p-1 are healthy. The
data is cut into K segments of m sections, and each segment goes through four stages: reduce-scatter on the
healthy ring, owners to the straggler, straggler to the owners, all-gather on the healthy ring. A *body* is
the time in which the ports move one segment; a pipeline takes K bodies plus what filling it costs.

Forms, all of them offered because each has its use:

- "simple": one order of the stages for all segments; two bodies to fill. What a first schedule does.
- "overlay": four patterns laid over each other, half a body to fill (derived here; the paper states one).
- "mixture": where four stages alone miss the lower bound, part of the data takes the plain ring of all p.
- "equal-stripes": "simple", but every transfer striped evenly over its rails. Misses the bound for l < 2,
  which is why rail shares have to be planned.

Not handled here: latency (`analysis.with_alpha`), several stragglers.
"""

from __future__ import annotations

from fractions import Fraction

from analysis.exact import Exact
from analysis.inputs import lost_fraction, one_of, whole

FORMS = ("simple", "overlay", "mixture", "equal-stripes")
"""The variants of OptCC that have a closed form."""

BODIES_TO_FILL = {
    "simple": Fraction(2),
    "overlay": Fraction(1, 2),
    "mixture": Fraction(2),
    "equal-stripes": Fraction(2),
}
"""Bodies beyond K that a form takes to fill and drain its pipeline."""


def optcc(p: int, lost: Exact, segments: int | None = None, form: str = "simple") -> Fraction:
    """Time of OptCC with one straggler, in D/B.

    Source: the four stages and the factor (K+1)/K of the overlay are paper 2's, as third parties report them;
        the rest is derived here and agrees with simulation. The steady pipeline takes

        simple, overlay:  max(l, (2p-3)/(p-1))        straggler: D each way; healthy: (2p-3)/(p-1) D each way
        mixture:          l (1 + lambda (p-2)/p), lambda of `mixture_share`: the lower bound
        equal-stripes:    max(l, (2(p-2) + l)/(p-1))  the common rails of a healthy node carry g/(g-f) = l
                                                      times their even part of the straggler's traffic

        and filling it multiplies that by (K+2)/K, for the overlay by (K + 1/2)/K (measured in our
        simulation; the paper's own (K+1)/K is the safer promise).

    Args:
        p: Number of participants, at least 3.
        lost: X, the part of its bandwidth that the straggler lost, from 0 to less than 1.
        segments: K; None: so many that filling the pipeline costs nothing.
        form: One of `FORMS`.

    Returns:
        The time in D/B.

    Raises:
        ModelError: An argument is out of range.

    >>> optcc(8, Fraction(1, 2)), optcc(8, Fraction(1, 2), segments=16)
    (Fraction(2, 1), Fraction(9, 4))
    """
    one_of(form, "form of OptCC", FORMS)
    steady = max(port_times(p, lost, form))
    if segments is None:
        return steady
    k = whole(segments, "segments", 1)
    return steady * (k + BODIES_TO_FILL[form]) / k


def port_times(p: int, lost: Exact, form: str = "simple") -> tuple[Fraction, Fraction]:
    """Times that the straggler and a healthy participant need to move their bytes, one direction, in D/B.

    The arguments, the source and the errors are those of `optcc`. In "equal-stripes" the healthy time is that
    of the rails it has in common with the straggler, which are the busier ones.
    """
    slowdown = 1 / (1 - lost_fraction(lost))
    p = whole(p, "p", 3)
    if form == "equal-stripes":
        return slowdown, (2 * (p - 2) + slowdown) / (p - 1)
    by_ring = mixture_share(p, lost) if form == "mixture" else Fraction(0)
    ring = Fraction(2 * (p - 1), p)
    return (
        slowdown * (by_ring * ring + (1 - by_ring)),
        by_ring * ring + (1 - by_ring) * Fraction(2 * p - 3, p - 1),
    )


def mixture_share(p: int, lost: Exact) -> Fraction:
    """The part of the data, lambda, that the mixture sends by the plain ring over all p participants.

    Source: derived here. Four stages alone leave the straggler idle where l < (2p-3)/(p-1). The plain ring
        loads it with 2(p-1)/p per byte instead of 1, so lambda is chosen such that it becomes as busy as the
        healthy ones: lambda = p/(p-2) (2p-3 - l(p-1)) / (l(p-1) + 1). Then everybody is busy all the time and
        the total is the least possible, so the lower bound is met.

    Args:
        p: Number of participants, at least 3.
        lost: X, from 0 to less than 1.

    Returns:
        From 1 (nothing lost: the plain ring alone) down to 0 (four stages alone meet the bound).

    Raises:
        ModelError: An argument is out of range.
    """
    slowdown = 1 / (1 - lost_fraction(lost))
    p = whole(p, "p", 3)
    idle = 2 * p - 3 - slowdown * (p - 1)
    return max(Fraction(0), Fraction(p, p - 2) * idle / (slowdown * (p - 1) + 1))
