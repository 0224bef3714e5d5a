"""Every number of the papers and of the authors' notes that we compare with, each with its source.

Paper 1 is R2CC (arXiv 2512.25059), paper 2 is OptCC (arXiv 2606.01680). Exacts that are printed with some
digits are `Decimal`s, which keep those digits: 0.470 stays 0.470. `rounded_like` brings an exact value of
ours to the digits of a printed one. Not here: anything computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from analysis.exact import Exact, exact


def rounded_like(value: Exact, printed: Decimal) -> Decimal:
    """Round a value to as many decimals as a printed number has, halves up.

    Args:
        value: In the unit of the printed number.
        printed: Gives the number of decimals.

    Raises:
        ModelError: The value is no number.

    >>> rounded_like(Fraction(100, 120), TABLE_1[4, Fraction(1, 4)])
    Decimal('0.833')
    """
    exponent = int(printed.as_tuple().exponent)
    units = exact(value, "value") / Fraction(10) ** exponent
    return Decimal(math.floor(units + Fraction(1, 2))).scaleb(exponent)


TABLE_1: Mapping[tuple[int, Fraction], Decimal] = MappingProxyType(
    {
        (4, Fraction(1, 8)): Decimal("0.470"),
        (4, Fraction(1, 4)): Decimal("0.833"),
        (4, Fraction(1, 2)): Decimal("1.190"),
        (16, Fraction(1, 8)): Decimal("0.02419"),
        (16, Fraction(1, 4)): Decimal("0.04419"),
        (16, Fraction(1, 2)): Decimal("0.06783"),
        (64, Fraction(1, 8)): Decimal("0.00145"),
        (64, Fraction(1, 4)): Decimal("0.00265"),
        (64, Fraction(1, 2)): Decimal("0.00411"),
    }
)
"""Relative approximation gap g(n, X) in percent, by (n, X). Paper 1, table 1; figure 17 has the same n."""

FIGURE_6_NODES = 4
"""n of the example in figure 6 of paper 1."""

FIGURE_6_LOST = Fraction(1, 4)
"""X, and the part of the data that goes to the partial AllReduce, of that example."""

FIGURE_6_LOAD = Fraction(7, 4)
"""What the degraded node of that example carries with R2CC-AllReduce, in D. Paper 1, caption of figure 6."""

FIGURE_6_RING_LOAD = Fraction(2)
"""What it carries in a plain ring, in D, as that caption counts."""

TABLE_4_SERVERS = 3
"""Servers of the run of table 4 and of the K sweep; each has two GPUs. Paper 1, caption of table 4."""

TABLE_4_RAILS = 3
"""NIC ports of each server. Same caption."""

TABLE_4_RAIL_BITS_PER_S = 10**10
"""Limit of each port: 10 Gb/s. Same caption."""

TABLE_4_MEMBERS = 6
"""Members of the ring: one for each GPU. Authors' notes."""

TABLE_4_LOST = Fraction(1, 3)
"""X: one of three ports failed. Authors' notes."""

TABLE_4_DATA_BYTES = 4 * 2**30
"""D: 4 GiB. Paper 1, table 4."""


class ReplayedGraph(NamedTuple):
    """A row of table 4: seconds per iteration, and what the re-capture cost (None: there was none)."""

    name: str
    time_s: Decimal
    recapture_s: Decimal | None


TABLE_4 = (
    ReplayedGraph("pre-failure graph, healthy", Decimal("2.03"), None),
    ReplayedGraph("pre-failure graph, HotRepair", Decimal("4.07"), None),
    ReplayedGraph("re-captured as Balance", Decimal("3.04"), Decimal("0.0017")),
    ReplayedGraph("re-captured as R2CC-AllReduce", Decimal("2.79"), Decimal("0.33")),
)
"""AllReduce of 4 GiB replayed from a CUDA graph. Paper 1, table 4; the re-capture took 1.7 ms and 0.33 s."""

K_SWEEP: Mapping[int, Decimal] = MappingProxyType(
    {
        1: Decimal("1.599"),
        2: Decimal("1.458"),
        4: Decimal("1.376"),
        8: Decimal("1.341"),
        16: Decimal("1.329"),
    }
)
"""Measured time of R2CC-AllReduce over the healthy ring's, by K, servers as in table 4. Authors' notes."""

BALANCE_RATIO = Decimal("1.498")
"""Measured time of Balance over the healthy ring's in the same run. Authors' notes."""

RECEIVED_RATIO = Decimal("0.867")
"""Bytes the degraded node receives, R2CC-AllReduce over Balance, in the same run. Authors' notes."""

FAILING_ITERATION_RATIOS = (Decimal("1.46"), Decimal("1.74"))
"""Least and most time of the iteration that the failure hits, over a healthy one. Authors' notes."""

TRAINING_OVERHEAD = Fraction(11, 1000)
"""Training overhead under failures stays below 1.1 %. Paper 1, abstract: four servers of 8 GPUs, and
simulations."""

TRAINING_OVERHEAD_BY_FAILURES: Mapping[int, Fraction] = MappingProxyType(
    {1: Fraction(15, 1000), 10: Fraction(43, 1000)}
)
"""Training overhead by number of failed NICs: 1.5 % with one, 4.3 % with ten, as reported for the large-scale
simulations of paper 1; the exact setting is not known."""

INFERENCE_OVERHEAD = Fraction(3, 100)
"""Inference overhead under failures stays below 3 %. Paper 1, abstract."""

TRAINING_SERVERS = 4
"""Servers of the measurements behind the abstract of paper 1."""

TRAINING_RAILS = 8
"""NICs of each of them: one for each of 8 GPUs."""

OPTCC_OVERHEADS = (Fraction(2, 100), Fraction(6, 100))
"""OptCC is within 2 to 6 % of the fault-free ring at up to 50 % bandwidth loss. Paper 2, abstract."""

STATE_OF_THE_ART_OVERHEAD = Fraction(57, 100)
"""The state of the art has up to 57 % there. Paper 2, abstract."""

OPTCC_MAX_LOST = Fraction(1, 2)
"""The largest bandwidth loss those two numbers are about. Paper 2, abstract."""
