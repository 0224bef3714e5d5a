"""Random dead rails on a cluster: a Monte Carlo study of what they cost, repeatable by its seed.

Each sample kills k NICs, every set of k being as likely as any other, and looks at the permanent state after
the failures (`analysis.placement`), exactly. Only the summary over many samples is statistics. Where there
are no more sets than samples asked for, every set is looked at once, and nothing is random.

Not handled here: the collective that a failure hits, failures that come in groups (a switch, a cable duct),
and latency.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from algorithms.nic import Nic
from analysis import cost_model
from analysis.errors import ModelError
from analysis.inputs import whole
from analysis.placement import Placement, Times, times


class Summary(NamedTuple):
    """Overheads of one scheme over the fault-free ring; None where that is infinite.

    Attributes:
        mean: The average; infinite if one sample is.
        median: The least overhead that half of the samples do not exceed.
        p95: The same for 95 of 100.
        worst: The largest.
    """

    mean: Fraction | None
    median: Fraction | None
    p95: Fraction | None
    worst: Fraction | None


class Study(NamedTuple):
    """What k dead rails do.

    Attributes:
        samples: Placements looked at.
        is_complete: Whether these are all there are.
        cut_off: Share of them in which live rails do not connect the nodes.
        schemes: For each field of `placement.Times` the overheads.
    """

    samples: int
    is_complete: bool
    cut_off: Fraction
    schemes: dict[str, Summary]


def study(nodes: int, rails: int, dead: int, *, samples: int, seed: int) -> Study:
    """Look at clusters with k random dead rails.

    Args:
        nodes: n, at least 2.
        rails: g, rails of each node.
        dead: k, from 1 to n g.
        samples: How many placements to draw.
        seed: Two studies with equal arguments are equal. Each k has draws of its own.

    Raises:
        ModelError: An argument is out of range.

    >>> study(2, 2, 2, samples=100, seed=1).cut_off   # only 0:0, 1:0 and 0:1, 1:1 leave a common rail
    Fraction(2, 3)
    """
    nics = whole(nodes, "nodes", 2) * whole(rails, "rails", 1)
    if whole(dead, "dead", 1) > nics:
        raise ModelError(f"{dead} dead rails: {nodes} nodes of {rails} have only {nics}")
    whole(samples, "samples", 1)
    is_complete = math.comb(nics, dead) <= samples
    drawn = combinations(range(nics), dead) if is_complete else _draw(nics, dead, samples, seed)
    placements = (Placement.of(nodes, rails, (Nic(*divmod(nic, rails)) for nic in one)) for one in drawn)
    found = Counter(map(times, placements))  # few of them differ
    healthy = cost_model.ring(nodes)
    schemes: dict[str, Counter[Fraction | None]] = {scheme: Counter() for scheme in Times._fields}
    for one, count in found.items():
        for scheme, time in zip(Times._fields, one, strict=True):
            schemes[scheme][None if time is None else time / healthy - 1] += count
    return Study(
        found.total(),
        is_complete,
        Fraction(schemes["bound"][None], found.total()),
        {scheme: summarise(overheads) for scheme, overheads in schemes.items()},
    )


def summarise(overheads: Mapping[Fraction | None, int]) -> Summary:
    """Summarise overheads; percentiles are values that occur, never between two.

    Args:
        overheads: How often each occurred, at least one; None: infinite.

    >>> summarise({Fraction(1): 1, Fraction(3): 1, None: 1})
    Summary(mean=None, median=Fraction(3, 1), p95=None, worst=None)
    """
    finite = sorted((one, count) for one, count in overheads.items() if one is not None)
    total = sum(overheads.values())

    def at(share: Fraction) -> Fraction | None:
        reached = 0
        for overhead, count in finite:
            reached += count
            if reached >= share * total:
                return overhead
        return None

    mean = sum((one * count for one, count in finite), Fraction(0)) / total
    return Summary(
        None if overheads.get(None) else mean, at(Fraction(1, 2)), at(Fraction(95, 100)), at(Fraction(1))
    )


def cut_off_probability(nodes: int, rails: int, dead: int) -> Fraction | None:
    """Probability that k random dead rails leave the nodes unconnected, exactly.

    Source: derived here. With fewer dead rails than nodes some node is healthy and reaches every node that
        has a live rail. So the nodes are connected unless one has lost all g rails. Of the sets of k NICs,
        those that hold all of j given nodes are C((n-j) g, k - j g); inclusion and exclusion counts the sets
        that hold all of any node.

    Args:
        nodes: n.
        rails: g.
        dead: k.

    Returns:
        The probability; None if there may be no healthy node, k >= n.

    >>> cut_off_probability(3, 2, 2)   # 3 of the 15 pairs of NICs are those of one node
    Fraction(1, 5)
    """
    if dead >= nodes:
        return None
    sets = sum(
        (-1) ** (j + 1) * math.comb(nodes, j) * math.comb((nodes - j) * rails, dead - j * rails)
        for j in range(1, dead // rails + 1)
    )
    return Fraction(sets, math.comb(nodes * rails, dead))


def _draw(nics: int, dead: int, samples: int, seed: int) -> Iterator[Sequence[int]]:
    generator = random.Random(f"{seed} {nics} {dead}")
    for _ in range(samples):
        yield generator.sample(range(nics), dead)
