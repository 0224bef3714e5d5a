"""Table 4 of paper 1 and the authors' sweep over K, on our links: plans made before the failure and after.

All rows are medians of one job on the same ranks, so that what they have in common cancels in their ratios:
headers, the time of additions, the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from analysis import cost_model, papers
from analysis.reports.report import Cell, Column, Fact, Form, Report, Row
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction.experiments import ITERATION_S, START_S, verdict
from scripts.reproduction.played import played_s
from scripts.reproduction.record import JobRecord
from scripts.reproduction.session import Action, Outcome, run_task
from scripts.reproduction.setting import VICTIM, Setting
from scripts.reproduction.task import Stage, Until

WITHIN = 0.02
"""How far a ratio may be from what its chunks take, played."""
MOST_WAITING = 200
"""Iterations within which a cut, or a heal, has to be known."""
HEALTHY, REPLAY, BALANCE, AGAIN = "healthy", "HotRepair replay", "Balance", "healthy again"
AUTHORS_ANY_RING: dict[str, Cell] = {
    HEALTHY: Decimal(1),
    REPLAY: Fraction(papers.TABLE_4[1].time_s) / Fraction(papers.TABLE_4[0].time_s),
    BALANCE: papers.BALANCE_RATIO,
}
"""The authors' ratios that depend on X alone."""


@dataclass(frozen=True)
class Line:
    """A row: a plan and its name.

    Attributes:
        label: Its name.
        strategy: What to plan by; None: the plan before.
        pieces: K.
        form: Its form.
    """

    label: str
    strategy: str | None = None
    pieces: int | None = None
    form: str | None = None


def lines(nodes: int, pieces: Sequence[int]) -> list[Line]:
    """List the rows between the first and the last, in which the link is cut."""
    listed = [Line(REPLAY), Line(BALANCE, "balance")]
    if nodes > 2:
        for form in ("chain", "helper"):
            listed += [Line(f"R2CC-AllReduce {form} K={k}", "r2cc-allreduce", k, form) for k in pieces]
        for form in ("simple", "overlay"):
            listed += [Line(f"OptCC {form} K={k}", "optcc", k, form) for k in pieces if k > 4]
    return listed


def stages(listed: Sequence[Line], iterations: int) -> list[Stage]:
    """List what the ranks do."""
    return [
        Stage("warm-up", 1),
        Stage(HEALTHY, iterations),
        Stage("cut", MOST_WAITING, until=Until(VICTIM, is_up=False)),
        *(Stage(one.label, iterations, one.strategy, one.pieces, one.form) for one in listed),
        Stage("heal", MOST_WAITING, until=Until(VICTIM, is_up=True)),
        Stage(AGAIN, iterations, "balance"),
    ]


def run(setting: Setting, listed: Sequence[Line], iterations: int, mpi: Mpi) -> Outcome:
    """Run the job on a network of its own."""
    work = stages(listed, iterations)
    planned = sum(stage.iterations for stage in work if stage.until is None) + 30
    limit_s = START_S + planned * (setting.hot_repair_s + ITERATION_S)
    with setting.build() as bed:
        actions = [
            Action("cut", "cut", 1, 0.4 * setting.healthy_s, lambda: bed.cut(VICTIM, How.LINK_DOWN)),
            Action("heal", "heal", 1, 0.0, lambda: bed.heal(VICTIM)),
        ]
        return run_task(bed, setting.task(work), mpi, actions, limit_s)


def formula(setting: Setting, record: JobRecord, line: Line) -> float | None:
    """Give a row's ratio by the closed forms; None where there is none."""
    if line.label in {HEALTHY, AGAIN}:
        return 1.0
    if line.label == REPLAY:
        return setting.hot_repair_s / setting.healthy_s
    predicted_s = record.plan_of(line.label).predicted_s
    return None if predicted_s is None else predicted_s / setting.healthy_s


def played(setting: Setting, line: Line) -> float:
    """Give the ratio of the very chunks that the ranks send."""
    if line.label in {HEALTHY, AGAIN}:
        return 1.0
    one_s = played_s(setting, line.strategy or "hot-repair", line.pieces, line.form, dead=[VICTIM])
    return one_s / played_s(setting, "ring")


def fine(setting: Setting, line: Line) -> Cell:
    """Give R2CC-AllReduce's ratio for pieces without end, as if chunks never waited for their piece."""
    if line.strategy != "r2cc-allreduce" or line.form is None:
        return None
    lost = Fraction(1, setting.rails)
    time = cost_model.r2cc_allreduce(setting.nodes, lost, form=line.form)
    return time / cost_model.ring(setting.nodes)


def aim(off: float) -> str:
    """Say in a word how far a ratio is from what was played."""
    return "met" if abs(off) <= WITHIN else "slower" if off > 0 else "faster"


def authors(setting: Setting, line: Line) -> Cell:
    """Give the authors' measured ratio where it is about the same: X = 1/3; R2CC-AllReduce: a ring of 6."""
    if Fraction(1, setting.rails) != papers.TABLE_4_LOST:
        return None
    if (
        line.strategy == "r2cc-allreduce"
        and setting.nodes == papers.TABLE_4_MEMBERS
        and line.pieces is not None
    ):
        return papers.K_SWEEP.get(line.pieces)
    return AUTHORS_ANY_RING.get(line.label)


def faults(outcome: Outcome) -> list[str]:
    """List what went wrong; a ratio off its formula is none, the table says it."""
    record = outcome.record
    if outcome.failure or record is None:
        return [outcome.failure]
    found = record.wrong
    found += [f"there was no {name}" for name in ("cut", "heal") if name not in outcome.moments]
    for plan in record.plans[1:]:
        expected = () if plan.stage == AGAIN else (VICTIM,)
        if plan.excluded != expected:
            found.append(f"{plan.stage} was planned without {plan.excluded}, not without {expected}")
    return found


NOTE = (
    "played: the chunks that the ranks send, played on links that carry their rate, over the same of the "
    "healthy ring; off and aim are judged by it. formula: the closed form, in which a piece goes on when it "
    "is complete; chunks go on before, which makes few pieces faster, and K fine is where that ends. The "
    "authors' ring had six members, and their helper a finely pipelined broadcast; ours sends a piece as a "
    "whole from node to node, and its formula says so. spread: slowest over fastest iteration of the row, "
    "less one. replanned in: until all ranks had the new plan."
)
COLUMNS = (
    Column("plan", "plan", form=Form.TEXT),
    Column("time_s", "median", "s"),
    Column("ratio", "ratio"),
    Column("played", "played"),
    Column("off", "off", form=Form.PERCENT, digits=2, signed=True),
    Column("aim", "aim", form=Form.TEXT),
    Column("formula", "formula"),
    Column("fine", "K fine"),
    Column("authors", "authors"),
    Column("spread", "spread", form=Form.PERCENT, digits=1),
    Column("replan_s", "replanned in", "s"),
)


def report(setting: Setting, listed: Sequence[Line], mpi: Mpi, outcome: Outcome) -> Report:
    """Make the table."""
    found, record = faults(outcome), outcome.record
    rows: list[Row] = []
    facts: list[Fact] = []
    if record is not None and record.of(AGAIN):
        every = [Line(HEALTHY), *listed, Line(AGAIN, "balance")]
        rows = [_row(setting, record, line) for line in every]
        off = record.median_s(HEALTHY) / setting.healthy_s - 1
        facts.append(
            Fact(
                Column(
                    "off", "healthy, over the formula's seconds", form=Form.PERCENT, digits=2, signed=True
                ),
                off,
            )
        )
    slower, faster = (sum(row[5] == word for row in rows) for word in ("slower", "faster"))
    return Report(
        name="table4",
        title=f"Plans before and after a failure: {setting}, {mpi.value}, {VICTIM} cut; times over healthy",
        source="authors: table 4 of paper 1 (R2CC, arXiv 2512.25059) and the notes on their sweep over K; "
        "formula: analysis.cost_model; played: analysis.simulation.executor",
        columns=COLUMNS,
        rows=tuple(rows),
        facts=tuple(facts),
        notes=(
            f"aim: within {WITHIN:.0%} of played; of {len(rows)} rows {slower} slower, {faster} faster.",
            NOTE,
            *verdict(found),
        ),
        ok=not found,
    )


def _row(setting: Setting, record: JobRecord, line: Line) -> Row:
    times = [one.network_s for one in record.of(line.label)]
    ratio = record.median_s(line.label) / record.median_s(HEALTHY)
    expected = played(setting, line)
    off = ratio / expected - 1
    return (
        line.label,
        record.median_s(line.label),
        ratio,
        expected,
        off,
        aim(off),
        formula(setting, record, line),
        fine(setting, line),
        authors(setting, line),
        max(times) / min(times) - 1,
        None if line.strategy is None else record.plan_of(line.label).agreed_s,
    )
