from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from analysis import cost_model
from scripts.network.job import Mpi
from scripts.reproduction import table4
from scripts.reproduction.played import played_s
from scripts.reproduction.setting import VICTIM
from scripts.reproduction.table4 import AGAIN, BALANCE, HEALTHY, REPLAY, Line, authors, faults, lines, stages
from tests.reproduction.jobs import SETTING, at, iteration, outcome, plan

LISTED = [
    Line(REPLAY),
    Line(BALANCE, "balance"),
    Line("R2CC-AllReduce chain K=4", "r2cc-allreduce", 4, "chain"),
]

CHAIN = cost_model.r2cc_allreduce(3, Fraction(1, 3), pieces=4) / cost_model.ring(3)
CHAIN_PLAYED = played_s(SETTING, "r2cc-allreduce", 4, "chain", dead=[VICTIM]) / SETTING.healthy_s


def job(**ratios):
    """Make a job in which every row takes what its chunks take, times a factor."""
    healthy_s = SETTING.healthy_s
    exact = {HEALTHY: 1, REPLAY: 2, BALANCE: 1.5, LISTED[2].label: CHAIN_PLAYED, AGAIN: 1}
    rows = [
        iteration(number, stage, network_s=ratio * healthy_s * ratios.get(stage, 1))
        for number, (stage, ratio) in enumerate(exact.items(), 1)
    ]
    plans = [
        plan("", "ring", excluded=()),
        plan(BALANCE, "", 1.5 * healthy_s),
        plan(LISTED[2].label, "", float(CHAIN) * healthy_s),
        plan(AGAIN, "ring", healthy_s, excluded=()),
    ]
    return outcome(rows, plans, (), {"cut": at(15), "heal": at(45)})


def test_rows_that_take_what_is_played():
    """The aim is met in every row; the authors' ratios stand where they mean something."""
    found = table4.report(SETTING, LISTED, Mpi.MPICH, job())
    assert found.ok
    assert found.numbers("ratio") == pytest.approx([1, 2, 1.5, CHAIN_PLAYED, 1])
    assert found.numbers("played") == pytest.approx([1, 2, 1.5, CHAIN_PLAYED, 1], rel=1e-5)
    assert found.numbers("off") == pytest.approx([0] * 5, abs=1e-5)
    assert found.numbers("formula") == pytest.approx([1, 2, 1.5, 1.4375, 1])
    assert found.values("aim") == ["met"] * 5
    assert found.numbers("authors")[:3] == pytest.approx([1, 4.07 / 2.03, 1.498])
    assert found.values("authors")[3:] == [None, None]
    assert found.values("fine") == [None, None, None, Fraction(11, 8), None]
    assert found.values("replan_s") == [None, None, 0.01, 0.01, 0.01]
    assert found.fact("off") == pytest.approx(0)


def test_row_off_what_is_played():
    """A row more than 2 % off is said to miss the aim, and is no fault."""
    found = table4.report(SETTING, LISTED, Mpi.MPICH, job(**{BALANCE: 1.03}))
    assert found.values("aim") == ["met", "met", "slower", "met", "met"]
    assert found.ok
    assert found.notes[0].endswith("of 5 rows 1 slower, 0 faster.")
    quick = table4.report(SETTING, LISTED, Mpi.MPICH, job(**{BALANCE: 0.97}))
    assert quick.values("aim") == ["met", "met", "faster", "met", "met"]


def test_planted_faults():
    """A wrong element, a plan with the dead rail, one without the healed rail, and a cut that never came."""
    done = job()
    record = done.record
    wrong = replace(record, iterations=(replace(record.iterations[0], wrong=1), *record.iterations[1:]))
    assert "iteration 1: 1 wrong" in faults(replace(done, record=wrong))[0]
    stale = tuple(replace(one, excluded=()) if one.stage == BALANCE else one for one in record.plans)
    assert faults(replace(done, record=replace(record, plans=stale)))[0].startswith("Balance was planned")
    left_out = tuple(replace(one, excluded=(VICTIM,)) if one.stage == AGAIN else one for one in record.plans)
    assert faults(replace(done, record=replace(record, plans=left_out)))[0].startswith("healthy again was")
    assert faults(replace(done, moments={"cut": at(15)})) == ["there was no heal"]
    assert "hung" in faults(replace(done, status=None))[0]


def test_rings_of_the_authors_size():
    """With six members the authors' sweep over K is comparable, whatever the form."""
    six = replace(SETTING, nodes=6)
    line = Line("R2CC-AllReduce helper K=8", "r2cc-allreduce", 8, "helper")
    assert authors(six, line) == Decimal("1.341")
    assert authors(SETTING, line) is None
    assert authors(replace(SETTING, rails=2), Line(REPLAY)) is None


def test_lines_and_stages():
    """All forms and K are there; with two nodes only what two nodes can do. Stage labels are unique."""
    listed = lines(3, [1, 8])
    assert [one.label for one in listed] == [
        REPLAY,
        BALANCE,
        "R2CC-AllReduce chain K=1",
        "R2CC-AllReduce chain K=8",
        "R2CC-AllReduce helper K=1",
        "R2CC-AllReduce helper K=8",
        "OptCC simple K=8",
        "OptCC overlay K=8",
    ]
    assert [one.label for one in lines(2, [1, 8])] == [REPLAY, BALANCE]
    labels = [stage.label for stage in stages(listed, 3)]
    assert len(set(labels)) == len(labels)
    assert labels[:3] == ["warm-up", HEALTHY, "cut"]
    assert labels[-2:] == ["heal", AGAIN]
