"""A link that is cut and comes back after a while, or never: is its rail used again, and does the job end?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.reports.report import Column, Form, Report, Row
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction.experiments import ITERATION_S, SILENT_SHARE, START_S, verdict
from scripts.reproduction.session import Action, Outcome, run_task
from scripts.reproduction.setting import VICTIM, Setting
from scripts.reproduction.table4 import MOST_WAITING
from scripts.reproduction.task import Stage, Until

OUTAGES_S = (2.0, 8.0, 20.0, None)
"""None: the link stays cut, with messages on it that never leave."""
PROMPT_S = 10.0
"""From the last iteration to the end of the job."""
BACK_WITHIN = 0.05
"""The bandwidth is back if an iteration takes as long as before and the rail carries as much, within this."""
BACKOFF = 2.0
"""TCP tries again after pauses that double, so it waits at most for about twice the outage (seen: 11.4 s
after 8 s, 16.4 s after 20 s)."""
HEALTHY, BACK = "healthy", "afterwards"
ITERATIONS = 3


@dataclass(frozen=True)
class Run:
    """One job.

    Attributes:
        how: How the link was cut.
        outage_s: For how long; None: for ever.
        outcome: How it went.
    """

    how: How
    outage_s: float | None
    outcome: Outcome

    @property
    def ending_s(self) -> float | None:
        """Seconds from the last result to the end of the job; None if it brought none."""
        record = self.outcome.record
        return None if record is None else self.outcome.ended_at - record.iterations[-1].ended_at

    @property
    def readmitted_s(self) -> float | None:
        """Seconds from the heal until the first iteration that all ranks agreed to start with the rail."""
        record, moment = self.outcome.record, self.outcome.moments.get("heal")
        if record is None or moment is None or not record.of("return"):
            return None
        return record.of("return")[-1].began_at - moment.after_s

    @property
    def ratio(self) -> float | None:
        """Time of an iteration afterwards over that before the cut."""
        record = self.outcome.record
        if record is None or not record.of(BACK):
            return None
        return record.median_s(BACK) / record.median_s(HEALTHY)

    @property
    def rail_share(self) -> float | None:
        """What the rail carried afterwards over what it did before the cut, by the kernel's counters."""
        record = self.outcome.record
        if record is None or not record.of(BACK):
            return None
        before, after = (
            sum(sum(one.kernel[VICTIM]) for one in record.of(stage)) for stage in (HEALTHY, BACK)
        )
        return after / before


def run(setting: Setting, mpi: Mpi, how: How, outage_s: float | None) -> Run:
    """Run one job on a network of its own."""
    stages = [Stage("warm-up", 1), Stage(HEALTHY, ITERATIONS)]
    stages.append(Stage("cut", MOST_WAITING, until=Until(VICTIM, is_up=False)))
    if outage_s is not None:
        stages.append(Stage("return", MOST_WAITING, until=Until(VICTIM, is_up=True)))
    stages.append(Stage(BACK, ITERATIONS, "balance"))
    delay_s = 0.4 * setting.healthy_s
    limit_s = START_S + 2 * (1 + BACKOFF) * (outage_s or 0) + 20 * (setting.hot_repair_s + ITERATION_S)
    with setting.build() as bed:
        actions = [Action("cut", "cut", 1, delay_s, lambda: bed.cut(VICTIM, how))]
        if outage_s is not None:
            actions.append(Action("heal", "cut", 1, delay_s + outage_s, lambda: bed.heal(VICTIM)))
        return Run(how, outage_s, run_task(bed, setting.task(stages), mpi, actions, limit_s))


def faults(job: Run) -> list[str]:
    """List what went wrong in one job."""
    outcome, record = job.outcome, job.outcome.record
    name = f"{job.how.value}, {_outage(job)}"
    if outcome.failure or record is None:
        return [f"{name}: {outcome.failure}"]
    found = [f"{name}: {text}" for text in record.wrong]
    if job.ending_s is not None and job.ending_s > PROMPT_S:
        found.append(f"{name}: the job took {job.ending_s:.1f} s to end")
    ratio, share = job.ratio, job.rail_share
    if ratio is None or share is None:
        return [*found, f"{name}: the stage after the failure did not run"]
    if job.outage_s is None:
        return found + [f"{name}: the dead link carried {share:.1%} of its share"] * (share > SILENT_SHARE)
    if record.plan_of(BACK).excluded:
        found.append(f"{name}: the rail was not admitted again")
    if ratio > 1 + BACK_WITHIN or share < 1 - BACK_WITHIN:
        found.append(
            f"{name}: its bandwidth is not back: time {ratio:.3f}, bytes {share:.3f} of those before"
        )
    return found


NOTE = (
    "used again after: from the heal to the first iteration that starts with the rail; iterations are its "
    "grain. time, bytes of the rail: afterwards, over those before the cut. end of job: from the last result "
    "until all processes are gone."
)
COLUMNS = (
    Column("how", "cut", form=Form.TEXT),
    Column("outage", "healed after", form=Form.TEXT),
    Column("readmitted_s", "used again after", "s", digits=2),
    Column("ratio", "time, over healthy"),
    Column("share", "bytes of the rail"),
    Column("wrong", "#wrong", form=Form.WHOLE),
    Column("ending_s", "end of job", "s", digits=2),
    Column("status", "status", form=Form.TEXT),
)


def report(setting: Setting, mpi: Mpi, jobs: Sequence[Run]) -> Report:
    """Make the table: a row for each job."""
    found = [fault for job in jobs for fault in faults(job)]
    return Report(
        name="heal",
        title=f"A link that is cut, and healed: {setting}, {mpi.value}, {VICTIM}",
        source="measured here",
        columns=COLUMNS,
        rows=tuple(map(_row, jobs)),
        notes=(
            NOTE,
            *verdict(found),
        ),
        ok=not found,
    )


def _row(job: Run) -> Row:
    record, status = job.outcome.record, job.outcome.status
    return (
        job.how.value,
        _outage(job),
        job.readmitted_s,
        job.ratio,
        job.rail_share,
        None if record is None else sum(one.wrong for one in record.iterations),
        job.ending_s,
        "hung" if status is None else str(status),
    )


def _outage(job: Run) -> str:
    return "never" if job.outage_s is None else f"{job.outage_s:g} s"
