from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Nic
from analysis.reports.text import to_text
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction import experiments
from scripts.reproduction.experiments import Run, allowed_s, faults, stages_after
from scripts.reproduction.record import Carried
from scripts.reproduction.setting import VICTIM
from scripts.reproduction.task import Stage
from tests.reproduction.jobs import SETTING, at, iteration, learned, outcome, plan

HIT_AT = 30.5


def run(**changes):
    """Make a run of experiment 1 with 5 iterations in which all is as it must be."""
    rows = [
        iteration(1, "ring"),
        iteration(2, "ring"),
        iteration(3, "ring", "hot-repair", network_s=1.8),
        *(iteration(number, "Balance", "balance", network_s=1.5, carried=0) for number in (4, 5)),
    ]
    plans = [plan("", "ring", excluded=()), plan("Balance", "balance", 1.5)]
    done = outcome(rows, plans, learned(HIT_AT + 0.004), {"cut": at(HIT_AT)}, **changes)
    stages = (Stage("ring", 3), *stages_after(1, 5))
    return Run(SETTING, Mpi.MPICH, How.LINK_DOWN, stages, done)


def spoiled(job, number, **changes):
    """Change one iteration."""
    record = job.outcome.record
    rows = [replace(one, **changes) if one.number == number else one for one in record.iterations]
    return with_record(job, iterations=tuple(rows))


def with_record(job, **changes):
    """Change the record."""
    return replace(job, outcome=replace(job.outcome, record=replace(job.outcome.record, **changes)))


def test_run_without_fault():
    """Nothing is found in a run that is as it must be, and the table has its rows and its verdict."""
    job = run()
    assert faults(job) == []
    assert job.known_s == pytest.approx(0.0061)
    found = experiments.report(1, job)
    assert found.ok
    assert found.values("strategy") == ["ring", "ring", "hot-repair", "balance", "balance"]
    assert found.values("tx")[3:] == [0, 0]
    assert to_text(found)[-1] == "# verdict: PASS every element exact"


def test_prediction_of_each_iteration():
    """Before the cut it is the ring's formula, after it the plan's, and between what the hit one may take."""
    hit_s = allowed_s(SETTING, 0.4999, 0.0061, 1.0)
    predicted = experiments.report(1, run()).numbers("predicted_s")
    assert predicted == pytest.approx([SETTING.healthy_s] * 2 + [hit_s, 1.5, 1.5])


def test_allowance_by_hand():
    """Half of a second's iteration is left and takes a second, 0.1 s are lost, and a tenth is added."""
    assert allowed_s(SETTING, 0.5, 0.1, 1.0) == pytest.approx(1.1 * (0.5 + 0.1 + 1.0))
    assert allowed_s(SETTING, 1.5, 0.1, 1.0) == pytest.approx(1.1 * 1.6)


PLANTED = {
    "3 wrong elements": lambda job: spoiled(job, 4, wrong=3),
    "not hot-repair": lambda job: spoiled(job, 3, strategy="ring"),
    "iteration 5 ended under ring, not balance": lambda job: spoiled(job, 5, strategy="ring"),
    "carried 400000 bytes": lambda job: spoiled(
        job, 4, kernel={**job.outcome.record.iterations[3].kernel, VICTIM: Carried(200_000, 200_000)}
    ),
    "4 iterations instead of 5": lambda job: with_record(job, iterations=job.outcome.record.iterations[:4]),
    "did not fall into iteration 3": lambda job: replace(
        job, outcome=replace(job.outcome, moments={"cut": at(29.9)})
    ),
    "the cut did not": lambda job: replace(job, outcome=replace(job.outcome, moments={})),
    "not every rank of the rail": lambda job: with_record(job, learned=job.outcome.record.learned[:2]),
    "node 0 rail 1 was blamed": lambda job: with_record(
        job, learned=(*job.outcome.record.learned, *learned(HIT_AT + 1, Nic(0, 1)))
    ),
    "hung": lambda job: replace(job, outcome=replace(job.outcome, status=None)),
    "status 4": lambda job: replace(job, outcome=replace(job.outcome, status=4)),
    "status 0": lambda job: replace(job, outcome=replace(job.outcome, record=None)),
}


@pytest.mark.parametrize("text", PLANTED)
def test_planted_faults(text):
    """Each thing that can go wrong is found and told."""
    job = PLANTED[text](run())
    assert any(text in fault for fault in faults(job)), faults(job)
    found = experiments.report(1, job)
    assert not found.ok
    assert "verdict: FAIL" in " ".join(to_text(found))


def test_stages_of_both_experiments():
    """After the third of ten iterations come seven of Balance, or four and three of the other two."""
    assert stages_after(1, 10) == [Stage("Balance", 7, "balance")]
    assert stages_after(2, 10) == [Stage("R2CC-AllReduce", 4, "r2cc-allreduce"), Stage("OptCC", 3, "optcc")]
