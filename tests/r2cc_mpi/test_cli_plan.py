from __future__ import annotations

import json
from fractions import Fraction

import pytest

from algorithms.nic import Nic
from analysis import planner
from analysis.rail_rates import RailRates
from r2cc_mpi import cli
from r2cc_mpi.planning import chunking_for

pytestmark = pytest.mark.usefixtures("no_launcher")

CLUSTER = ["plan", "allreduce", "--nodes", "3", "--rails", "3", "--rail-rate", "20MB/s", "-b", "60000000"]


def test_plan_is_printed(capsys):
    """D/B is a second here: the bound, every scheme with its time, and the choice stand in the output."""
    assert cli.main([*CLUSTER, "--fail", "1:1", "--alpha", "0"]) == 0
    text = capsys.readouterr().out
    assert "bandwidths of the nodes / B: 1, 2/3, 1" in text
    assert "# bound T* = 1.5000 D/B = 1500 ms, bound by 0 | 1 | 2" in text
    lines = {line.split("  ")[1]: line.split() for line in text.splitlines() if line.startswith("  ")}
    assert lines["hot-repair"][3:] == ["2667", "2.000", "+77.8%", "yes"]
    assert lines["balance"][3:] == ["2000", "1.500", "+33.3%", "yes"]
    assert lines["ring"][3:] == ["-", "stops", "at", "a", "dead", "rail", "(node", "1", "rail", "1)"]
    assert text.splitlines()[-1].startswith("# chosen: optcc (overlay): ")


def test_json_holds_the_same_plan(capsys):
    """`--json -` sends the document to standard output, the table elsewhere; numbers are the planner's."""
    assert cli.main([*CLUSTER, "--slow", "0:0=1/2", "--alpha", "1ms", "--json", "-"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert "# chosen" in captured.err
    rates = RailRates.of(3, 3, slow={Nic(0, 0): Fraction(1, 2)})
    chunking = chunking_for(Fraction(20_000_000), 60_000_000)
    plan = planner.plan(rates, alpha=Fraction(1, 1000), chunking=chunking)
    assert document["chosen"] == plan.chosen.name
    assert plan.bound.time is not None
    assert document["bound_s"] == pytest.approx(float(plan.bound.time))
    assert [one["scheme"] for one in document["candidates"]] == [one.scheme for one in plan.candidates]
    assert [one["predicted_s"] for one in document["candidates"]] == [
        None if one.time is None else pytest.approx(float(one.time)) for one in plan.candidates
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--fail", "1:1@40%"], "leave out what follows the @"),
        (["--fail", "3:0"], "there is no node 3"),
        (["--fail", "1:1", "--fail", "1:0", "--fail", "1:2"], "all rails of node 1"),
        (["-b", "0"], "-b 0: there is nothing to reduce"),
        (["--alpha", "10"], None),
        (["--alpha", "ten"], "--alpha 'ten' is not a time"),
        (["--nodes", "100000"], "the models take up to"),
    ],
)
def test_mistakes_get_a_line(words, complaint, capsys):
    """What does not fit is named in one line and ends with status 1; a number alone is in seconds."""
    status = cli.main([*CLUSTER, *words])
    error = capsys.readouterr().err
    assert status == (0 if complaint is None else 1)
    assert complaint is None or complaint in error
    assert error.count("\n") == status


def test_cluster_that_is_cut_off_is_refused(capsys):
    """Every node has a rail, but they do not connect: one line names the groups."""
    words = ["plan", "allreduce", "--nodes", "2", "--rails", "2", "--fail", "0:0", "--fail", "1:1"]
    assert cli.main(words) == 1
    assert "live rails do not connect all nodes: 0 | 1" in capsys.readouterr().err
