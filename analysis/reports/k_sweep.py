"""The authors' sweep over K, the pieces of R2CC-AllReduce's second stage, beside the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from analysis import cost_model, loads, papers
from analysis.reports.degraded import Degraded
from analysis.reports.report import Cell, Column, Fact, Form, Report

AS_MEASURED = Degraded(papers.TABLE_4_MEMBERS, papers.TABLE_4_RAILS, dead=(1,))
"""The authors' run: a ring of six members, two GPUs on each of three servers with three NICs, one NIC dead.
They do not say which one, and no formula depends on it."""

WITHIN = Fraction(8, 1000)
"""How far a measured ratio may be from the helper model (the authors' notes: all are within 0.8 %)."""


def is_as_measured(case: Degraded) -> bool:
    """Whether a case is the authors' run, so that their times mean something beside it."""
    return (case.nodes, case.rails, case.lost) == (AS_MEASURED.nodes, AS_MEASURED.rails, AS_MEASURED.lost)


def build(case: Degraded = AS_MEASURED, measured: Mapping[int, Decimal] = papers.K_SWEEP) -> Report:
    """Make the report: a row for each K, and a last one without end.

    Args:
        case: The degraded cluster.
        measured: Times by K, over the healthy ring's. They are shown only if the case is that of their run.

    Returns:
        The report. It is not ok if a measured ratio is further from the helper model than WITHIN.
    """
    shown = measured if is_as_measured(case) else {}
    rows = [_row(case, pieces, shown) for pieces in (*sorted(measured), None)]
    ok = all(abs(row[-1]) <= WITHIN for row in rows if isinstance(row[-1], Fraction))
    columns = [
        Column("pieces", "K", form=Form.TEXT),
        Column("helper", "helper"),
        Column("chain", "chain"),
        Column("measured", "measured"),
        Column("off", "off helper", form=Form.PERCENT, digits=2, signed=True),
    ]
    width = len(columns) if shown else len(columns) - 2
    return Report(
        name="k-sweep",
        title=(
            f"R2CC-AllReduce with K pieces: time over the healthy ring of {case.nodes}, X = {case.lost}, Y = "
            "X"
        ),
        source="helper: the authors' notes; chain: derived here; both from cost_model"
        + (
            "; measured: the authors' notes on the run of table 4 of paper 1 (R2CC, arXiv 2512.25059)"
            if shown
            else ""
        ),
        columns=tuple(columns[:width]),
        rows=tuple(row[:width] for row in rows),
        facts=_facts(case, is_measured=bool(shown)),
        notes=(
            (
                "helper: each piece is reduced to one healthy node, which broadcasts it in a fine pipeline. "
                "chain: pieces run down a chain of the healthy nodes. K = fine: infinitely many pieces."
            ),
            *_remarks(case, is_measured=bool(shown), ok=ok),
        ),
        ok=ok,
    )


def _row(case: Degraded, pieces: int | None, measured: Mapping[int, Decimal]) -> tuple[Cell, ...]:
    healthy = cost_model.ring(case.nodes)
    helper = cost_model.r2cc_allreduce(case.nodes, case.lost, pieces=pieces, form="helper") / healthy
    chain = cost_model.r2cc_allreduce(case.nodes, case.lost, pieces=pieces) / healthy
    ratio = None if pieces is None else measured.get(pieces)
    off = None if ratio is None else Fraction(ratio) / helper - 1
    return "fine" if pieces is None else str(pieces), helper, chain, ratio, off


def _facts(case: Degraded, *, is_measured: bool) -> tuple[Fact, ...]:
    def number(key: str, title: str, value: Cell) -> Fact:
        return Fact(Column(key, title), value)

    healthy = cost_model.ring(case.nodes)
    facts = [number("balance", "Balance", cost_model.balance(case.nodes, case.lost) / healthy)]
    if is_measured:
        facts.append(number("balance_measured", "Balance, measured", papers.BALANCE_RATIO))
    for form in ("helper", "chain"):
        least = cost_model.threshold(case.nodes, case.lost, form)
        facts.append(number(f"threshold_{form}", f"the {form} beats Balance above K", least))
    received = loads.received_ratio(case.nodes, case.lost)
    facts.append(number("received", "bytes the degraded node receives, over Balance", received))
    if is_measured:
        facts.append(number("received_authors", "the same, authors' notes", papers.RECEIVED_RATIO))
    return tuple(facts)


def _remarks(case: Degraded, *, is_measured: bool, ok: bool) -> list[str]:
    if not is_measured:
        return [
            "The authors measured another layout, so nothing is compared here.",
            *(["With two nodes there is no partial ring to gain by."] if case.nodes == 2 else []),
        ]
    return [
        "n = 6 since the ring had a member for each GPU, two on each of three servers.",
        f"All measured ratios are within {float(WITHIN):.1%} of the helper model."
        if ok
        else f"A measured ratio is FURTHER than {float(WITHIN):.1%} from the helper model.",
    ]
