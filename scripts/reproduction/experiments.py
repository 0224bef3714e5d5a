"""The authors' two experiments: a link is cut in iteration 3 of a series of AllReduces, which goes on.

In experiment 1 Balance takes over from iteration 4 on, in experiment 2 R2CC-AllReduce and then OptCC. Until
then the plan made before the failure runs, so iteration 3 ends under HotRepair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.reports.report import Column, Fact, Form, Report, Row
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction.record import Carried, Iteration, JobRecord
from scripts.reproduction.session import Action, Outcome, run_task
from scripts.reproduction.setting import VICTIM, Setting
from scripts.reproduction.task import Stage

HIT = 3
"""The iteration that is hit."""
CUT_AT = 0.4
"""Where in that iteration the link is cut, as a share of a healthy one."""
SLACK = 1.1
"""The iteration that is hit may take a tenth longer than HotRepair's time for what is left."""
SILENT_SHARE = 0.01
"""A dead link's counters have stopped if they grow by less than this share of what it carries when healthy:
what still goes out of the node's own end of a black hole are single retransmissions and probes."""
START_S, ITERATION_S = 30.0, 3.0
"""What a job may take besides its bytes: to start and end, and in each iteration to make and check data."""


def stages_after(experiment: int, iterations: int) -> list[Stage]:
    """List the stages after the one that is hit."""
    left = iterations - HIT
    if experiment == 1:
        return [Stage("Balance", left, "balance")]
    return [
        Stage("R2CC-AllReduce", left - left // 2, "r2cc-allreduce"),
        Stage("OptCC", left // 2, "optcc"),
    ]


@dataclass(frozen=True)
class Run:
    """One job of an experiment.

    Attributes:
        setting: Where it ran.
        mpi: Under whose MPI.
        how: How the link was cut.
        stages: What the ranks were to do.
        outcome: How it went.
    """

    setting: Setting
    mpi: Mpi
    how: How
    stages: tuple[Stage, ...]
    outcome: Outcome

    @property
    def cut_at(self) -> float | None:
        """When the kernel was asked to cut the link; None if it was not."""
        moment = self.outcome.moments.get("cut")
        return None if moment is None else moment.before_s

    @property
    def healthy_s(self) -> float:
        """What an iteration took before the cut."""
        record = self.outcome.record
        assert record is not None
        return median(one.network_s for one in record.iterations[: HIT - 1])

    @property
    def known_s(self) -> float | None:
        """Seconds from the cut until every rank on that rail knew; None if one never did."""
        record, cut_at = self.outcome.record, self.cut_at
        if record is None or cut_at is None:
            return None
        times = {
            one.rank: one.at - cut_at
            for one in reversed(record.downs(VICTIM, cut_at - 1, float("inf")))
            if one.rank.rail == VICTIM.rail
        }
        return max(times.values()) if len(times) == self.setting.nodes else None


def run(setting: Setting, experiment: int, iterations: int, mpi: Mpi, how: How, corrupt: int = 0) -> Run:
    """Run one job on a network of its own."""
    stages = (Stage("ring", HIT), *stages_after(experiment, iterations))
    limit_s = START_S + iterations * (2 * setting.hot_repair_s + ITERATION_S)
    with setting.build() as bed:
        cut = Action("cut", "ring", HIT, CUT_AT * setting.healthy_s, lambda: bed.cut(VICTIM, how))
        outcome = run_task(bed, setting.task(stages, corrupt), mpi, [cut], limit_s)
    return Run(setting, mpi, how, stages, outcome)


def allowed_s(setting: Setting, elapsed_s: float, known_s: float, healthy_s: float) -> float:
    """Give what an iteration that is hit may take: detection, HotRepair for what is left, a tenth more.

    Args:
        setting: Whose formulas say how much slower HotRepair is.
        elapsed_s: Seconds from its beginning to the cut, in which it went on as a healthy one.
        known_s: Seconds from the cut until the ranks of that rail knew.
        healthy_s: What a healthy iteration took in the same job.
    """
    left_s = max(healthy_s - elapsed_s, 0)
    return SLACK * (elapsed_s + known_s + left_s * setting.hot_repair_s / setting.healthy_s)


def predicted_s(job: Run, one: Iteration) -> float | None:
    """Say what the formulas expect of an iteration; of the one that is hit, the most it may take."""
    record, cut_at = job.outcome.record, job.cut_at
    assert record is not None
    if one.number < HIT:
        return job.setting.healthy_s
    if one.number > HIT:
        return record.plan_of(one.stage).predicted_s
    known_s = job.known_s
    if cut_at is None or known_s is None:
        return None
    return allowed_s(job.setting, cut_at - one.began_at, known_s, job.healthy_s)


def faults(job: Run) -> list[str]:
    """List what went wrong; nothing if all is as it must be."""
    outcome, record = job.outcome, job.outcome.record
    if outcome.failure or record is None:
        return [outcome.failure]
    planned = sum(stage.iterations for stage in job.stages)
    if len(record.iterations) != planned:
        return [f"{len(record.iterations)} iterations instead of {planned}"]
    found = record.wrong
    hit = record.iterations[HIT - 1]
    if job.cut_at is None or not hit.began_at < job.cut_at < hit.ended_at:
        found.append(f"the cut did not fall into iteration {HIT}, so nothing is proved")
    elif job.known_s is None:
        found.append("not every rank of the rail learned of the failure")
    blamed = {one.nic for one in record.learned if not one.is_up} - {VICTIM}
    found += [f"{nic} was blamed, whose link was never cut" for nic in sorted(blamed)]
    return found + _strategy_faults(record) + _counter_faults(record)


def _strategy_faults(record: JobRecord) -> list[str]:
    planned = {plan.stage: plan.strategy for plan in record.plans}
    expected = [
        planned[""] if one.number < HIT else "hot-repair" if one.number == HIT else planned[one.stage]
        for one in record.iterations
    ]
    return [
        f"iteration {one.number} ended under {one.strategy}, not {strategy}"
        for one, strategy in zip(record.iterations, expected, strict=True)
        if one.strategy != strategy
    ]


def _counter_faults(record: JobRecord) -> list[str]:
    healthy = sum(record.iterations[0].kernel[VICTIM])
    return [
        f"iteration {one.number}: the link that is cut carried {sum(one.kernel[VICTIM])} bytes"
        for one in record.iterations[HIT:]
        if sum(one.kernel[VICTIM]) > SILENT_SHARE * healthy
    ]


COLUMNS = (
    Column("iteration", "iter", form=Form.WHOLE),
    Column("time_s", "network", "s"),
    Column("predicted_s", "predicted", "s"),
    Column("ratio", "ratio"),
    Column("strategy", "strategy", form=Form.TEXT),
    Column("tx", "cut rail tx", "MB", digits=3),
    Column("rx", "rx", "MB", digits=3),
    Column("other_tx", "another rail tx", "MB", digits=3),
    Column("other_rx", "rx", "MB", digits=3),
    Column("resent_bytes", "resent", "B", form=Form.WHOLE),
    Column("wrong", "#wrong", form=Form.WHOLE),
)


def report(experiment: int, job: Run) -> Report:
    """Make the table of one job."""
    record, found = job.outcome.record, faults(job)
    rows = () if record is None else tuple(_row(job, one) for one in record.iterations)
    facts = (
        []
        if job.known_s is None
        else [Fact(Column("known_s", "known on the whole rail after", "s", digits=4), job.known_s)]
    )
    return Report(
        name=f"experiment{experiment}",
        title=f"Experiment {experiment}: {job.setting}, {job.mpi.value}, {job.how.value} of {VICTIM}",
        source="the authors' experiments with R2CC (arXiv 2512.25059); predicted: analysis.cost_model",
        columns=COLUMNS,
        rows=rows,
        facts=tuple(facts),
        notes=(_note(job), *verdict(found)),
        ok=not found,
    )


def verdict(found: Sequence[str]) -> tuple[str, ...]:
    """Write the last line."""
    return (f"verdict: FAIL {'; '.join(found)}",) if found else ("verdict: PASS every element exact",)


def _note(job: Run) -> str:
    rate = job.setting.rail_bytes_per_s / 1e6
    return (
        f"network: the slowest rank's seconds between nodes. predicted: the formula at {rate:.3f} MB/s of "
        f"payload a rail; of iteration {HIT}, which is hit, detection + HotRepair's time for what is left + "
        "10 %, from the median before it. tx, rx: the kernel's counters at node "
        f"{VICTIM.node}, with all headers, until the next iteration began."
    )


def _row(job: Run, one: Iteration) -> Row:
    predicted = predicted_s(job, one)
    cut, other = one.kernel[VICTIM], one.kernel[VICTIM._replace(rail=0)]
    return (
        one.number,
        one.network_s,
        predicted,
        None if predicted is None else one.network_s / predicted,
        one.strategy,
        *_megabytes(cut),
        *_megabytes(other),
        one.resent_bytes,
        one.wrong,
    )


def _megabytes(carried: Carried) -> tuple[float, float]:
    return carried.tx / 1e6, carried.rx / 1e6
