"""Random dead rails on large clusters: what each scheme loses, and what a training iteration loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from analysis import papers, random_failures, training
from analysis.errors import ModelError
from analysis.random_failures import Study, Summary
from analysis.reports.report import Cell, Column, Fact, Form, Report, Row
from analysis.reports.training import EXPOSED

CLUSTERS = ((64, 8), (128, 8))
"""Nodes and rails: 512 GPUs, and the 1,024 up to which paper 1 simulated; a NIC for each of 8 GPUs."""

DEAD = (1, 2, 4, 8, 10, 16)
SAMPLES = 5000
SEED = 1

SCHEMES = {
    "hot_repair": "HotRepair",
    "balance": "Balance",
    "re_ranked": "Balance, re-ranked",
    "r2cc": "best of paper 1",
    "best": "best of all",
    "bound": "T*, rail bound",
}
"""Fields of `placement.Times` and their names here."""


def build(
    clusters: Sequence[tuple[int, int]] = CLUSTERS,
    dead: Sequence[int] = DEAD,
    exposed: Sequence[Fraction] = EXPOSED,
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Report:
    """Make the report: a row for each cluster, number of dead rails and scheme.

    Args:
        clusters: Nodes, at least 2, and rails of each.
        dead: Numbers of dead rails.
        exposed: Shares of the healthy iteration in which compute waits for AllReduce, from 0 to 1.
        samples: Placements to draw for each number.
        seed: Equal seeds draw equal placements.

    Raises:
        ModelError: A number is out of range, or there are fewer NICs than are to die.
    """
    counts, shares = sorted(set(dead)), sorted(set(exposed))
    if not counts:
        raise ModelError("no number of dead rails: give at least one")
    studies = {
        (nodes, rails, count): random_failures.study(nodes, rails, count, samples=samples, seed=seed)
        for nodes, rails in clusters
        for count in counts
    }
    rows = tuple(
        _row(nodes, count, found, scheme, shares)
        for (nodes, _, count), found in studies.items()
        for scheme in SCHEMES
    )
    return Report(
        name="failures",
        title=(
            f"Overhead over the fault-free ring with k random dead rails: {_written(clusters)} nodes x rails"
        ),
        source=(
            "derived here (analysis.placement, analysis.training); 1.5 % and 4.3 %: as reported for the "
            "large-scale simulations of paper 1 (R2CC, arXiv 2512.25059); the exact setting is not known"
        ),
        columns=_columns(shares),
        rows=rows,
        facts=(
            Fact(Column("seed", "seed", form=Form.WHOLE), seed),
            *(_cut_off_fact(nodes, rails, counts[-1]) for nodes, rails in clusters),
        ),
        notes=_notes(clusters, studies),
    )


def _columns(shares: Sequence[Fraction]) -> tuple[Column, ...]:
    def percent(key: str, title: str, digits: int = 1) -> Column:
        return Column(key, title, form=Form.PERCENT, digits=digits)

    return (
        Column("nodes", "n", form=Form.WHOLE),
        Column("dead_rails", "k", form=Form.WHOLE),
        Column("scheme", "scheme", form=Form.TEXT),
        percent("mean", "mean"),
        percent("median", "p50"),
        percent("p95", "p95"),
        percent("worst", "max"),
        *(percent(f"iteration_at_{share}", f"at {_percent(share)}", 2) for share in shares),
        percent("exposed_for_paper", "paper at"),
        percent("cut_off", "cut off"),
        Column("samples", "cases", form=Form.WHOLE),
    )


def _row(nodes: int, count: int, found: Study, scheme: str, shares: Sequence[Fraction]) -> Row:
    summary = found.schemes[scheme]
    return (
        nodes,
        count,
        SCHEMES[scheme],
        *map(_cell, summary),
        *(_iteration(summary.mean, share) for share in shares),
        _exposed_for_paper(count, summary),
        found.cut_off,
        found.samples,
    )


def _iteration(overhead: Fraction | None, share: Fraction) -> Cell:
    """Overhead of an iteration; one that exposes nothing does not end either if its AllReduce does not."""
    return math.inf if overhead is None else training.iteration_overhead(overhead, share)


def _exposed_for_paper(count: int, summary: Summary) -> Fraction | None:
    """The exposed share at which the mean becomes the overhead that paper 1 reports for so many failures."""
    target = papers.TRAINING_OVERHEAD_BY_FAILURES.get(count)
    if target is None or summary.mean is None:
        return None
    return training.exposed_share_for(target, summary.mean)


def _cell(overhead: Fraction | None) -> Cell:
    return math.inf if overhead is None else overhead


def _cut_off_fact(nodes: int, rails: int, count: int) -> Fact:
    probability = random_failures.cut_off_probability(nodes, rails, count)
    title = f"{nodes} x {rails}: probability that {count} random dead rails cut off a node, exactly"
    column = Column(f"cut_off_{nodes}x{rails}", title, form=Form.TEXT)
    if probability is None:
        return Fact(column, "not known where every node may be degraded")
    return Fact(column, f"{float(probability):.2g}")


def _notes(
    clusters: Sequence[tuple[int, int]], studies: dict[tuple[int, int, int], Study]
) -> tuple[str, ...]:
    return (
        (
            "mean, p50, p95, max over the cases drawn, each exact: bytes only, no alpha, after all failures. "
            "A percentile is a value that occurs. HotRepair and Balance: the ring 0, 1, ...; "
            "re-ranked: the order whose weakest hop is strongest."
        ),
        (
            "best of paper 1: the fastest of these and of R2CC-AllReduce, which serves one degraded node, "
            "recursively those whose live rails nest; best of all: OptCC and nested OptCC too. Random "
            "failures on many servers hardly ever nest, so both soon are re-ranked Balance, far above T*."
        ),
        (
            "at S %: overhead of a training iteration that exposes S % of its time to AllReduce, by the "
            "mean. paper at: the share at which that is the 1.5 % (k = 1) or 4.3 % (k = 10) of paper 1; a "
            "scheme fits both where its shares agree; the exposed share of those simulations is not known."
        ),
        "cut off: share of the cases whose live rails do not connect all nodes; nothing completes there.",
        *(_fit(nodes, rails, studies) for nodes, rails in clusters if _has_papers(nodes, rails, studies)),
    )


def _has_papers(nodes: int, rails: int, studies: dict[tuple[int, int, int], Study]) -> bool:
    return all((nodes, rails, count) in studies for count in papers.TRAINING_OVERHEAD_BY_FAILURES)


def _fit(nodes: int, rails: int, studies: dict[tuple[int, int, int], Study]) -> str:
    """Say which scheme explains the paper's two numbers best with one exposed share, and which do not."""
    written = []
    for scheme, name in SCHEMES.items():
        shares = [
            _exposed_for_paper(count, studies[nodes, rails, count].schemes[scheme])
            for count in papers.TRAINING_OVERHEAD_BY_FAILURES
        ]
        found = ["none" if share is None else _percent(share) for share in shares]
        written.append((_apart(shares), f"{name} {' and '.join(found)}"))
    written.sort(key=lambda one: one[0])
    return f"{nodes} x {rails}: shares for paper 1's two numbers, the closest first: " + "; ".join(
        text for _, text in written
    )


def _apart(shares: Sequence[Fraction | None]) -> float:
    """How many times the largest share is the smallest."""
    found = [share for share in shares if share is not None]
    return float(max(found) / min(found)) if len(found) == len(shares) else math.inf


def _written(clusters: Sequence[tuple[int, int]]) -> str:
    return " and ".join(f"{nodes} x {rails}" for nodes, rails in clusters)


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.3g} %"
