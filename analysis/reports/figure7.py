"""Figure 7 of paper 1: overhead of each scheme over the lost share of one node's bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from analysis import cost_model, lower_bound
from analysis.errors import ModelError
from analysis.reports.degraded import Degraded
from analysis.reports.report import Cell, Column, Fact, Form, Report

NODES = 4
RAILS = 8
"""Paper 1's test bed: four servers with 8 GPUs each, and so 8 NICs."""

PIECES = 4


@dataclass(frozen=True)
class Overheads:
    """Overheads over the fault-free ring at one X, as fractions; see the columns of `build`."""

    balance: Fraction
    r2cc_pieces: Fraction
    r2cc: Fraction
    optcc: Fraction | None
    bound: Fraction


def overheads(nodes: int, lost: Fraction) -> Overheads:
    """Work out the schemes that depend on X alone, not on which rails are dead.

    Args:
        nodes: n, at least 2.
        lost: X, from 0 on and below 1.

    Returns:
        The overheads; OptCC has none for two nodes, as it needs two healthy ones.
    """
    return Overheads(
        cost_model.overhead(cost_model.balance(nodes, lost), nodes),
        cost_model.overhead(cost_model.r2cc_allreduce(nodes, lost, pieces=PIECES), nodes),
        cost_model.overhead(cost_model.r2cc_allreduce(nodes, lost), nodes),
        cost_model.overhead(cost_model.optcc(nodes, lost), nodes) if nodes > 2 else None,
        cost_model.overhead(lower_bound.one_straggler(nodes, lost), nodes),
    )


def build(nodes: int = NODES, rails: int = RAILS) -> Report:
    """Make the report: a row for each number of dead rails.

    Args:
        nodes: n.
        rails: g, at least 2.

    Raises:
        ModelError: There are fewer than two nodes or rails.
    """
    if rails < 2:
        raise ModelError("a node that loses its only rail is cut off: give at least 2 rails")

    def percent(key: str, title: str) -> Column:
        return Column(key, title, form=Form.PERCENT, digits=1)

    columns = (
        Column("dead_rails", "f", form=Form.WHOLE),
        Column("lost", "X", form=Form.EXACT),
        percent("hot_repair", "HotRepair"),
        percent("hot_repair_adjacent", "adjacent"),
        percent("balance", "Balance"),
        percent("r2cc_pieces", f"R2CC K={PIECES}"),
        percent("r2cc", "R2CC fine"),
        percent("optcc", "OptCC fine"),
        percent("bound", "bound"),
    )
    return Report(
        name="figure7",
        title=(
            f"Overhead over the fault-free ring, one of {nodes} nodes having lost f of {rails} rails, X = f/g"
        ),
        source="figure 7 of paper 1 (R2CC, arXiv 2512.25059) for what is drawn; closed forms of cost_model, "
        "bound of lower_bound (paper 2, OptCC, arXiv 2606.01680, states one; this form is derived here)",
        columns=columns,
        rows=tuple(_row(nodes, rails, dead) for dead in range(1, rails)),
        facts=(
            Fact(Column("nodes", "nodes", form=Form.WHOLE), nodes),
            Fact(Column("rails", "rails of a node", form=Form.WHOLE), rails),
            Fact(Column("pieces", "pieces of R2CC K", form=Form.WHOLE), PIECES),
        ),
        notes=(
            (
                "HotRepair moves whole shares to the next live rail: its best case is dead rails far apart, "
                "its worst (adjacent) dead rails side by side, whose shares all end on one rail."
            ),
            (
                "R2CC is R2CC-AllReduce by its chain with Y = X, fine means infinitely many pieces; OptCC "
                "is the pure four-stage form, fine likewise. At small X the bound needs OptCC's mixture "
                "with the plain ring."
            ),
            f"With K pieces the chain beats Balance only above K = n (1-X), here {nodes} (1-X).",
            "No numbers of the paper's figure are compared: it prints none.",
        ),
    )


def _row(nodes: int, rails: int, dead: int) -> tuple[Cell, ...]:
    lost = Fraction(dead, rails)
    at = overheads(nodes, lost)
    return (
        dead,
        lost,
        Degraded.by_share(nodes, lost, rails).hot_repair() - 1,
        Degraded(nodes, rails, tuple(range(dead))).hot_repair() - 1,
        at.balance,
        at.r2cc_pieces,
        at.r2cc,
        at.optcc,
        at.bound,
    )
