from __future__ import annotations

import json
from fractions import Fraction

import pytest

from algorithms import catalogue
from algorithms.catalogue import Case
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.stripes import healthy_mapping
from analysis.rail_rates import RailRates
from r2cc_mpi import cli
from r2cc_mpi.cli import verify as verify_command
from r2cc_mpi.cli.verify_matrix import matrix
from r2cc_mpi.cli.verify_report import prove, to_json, to_lines
from tests.algorithms.mutants import drop

pytestmark = pytest.mark.usefixtures("no_launcher")

FIGURE_6 = ["verify", "r2cc-allreduce", "--nodes", "4", "--rails", "4", "--fail", "0:3"]


@pytest.fixture
def broken_ring(monkeypatch):
    """Let the ring forget its last transfer."""

    def ring(case):
        right = catalogue.ring(case)
        if not len(right.schedule):
            return right
        return healthy_mapping(drop(right.schedule, len(right.schedule) - 1, 0), case.rails)

    monkeypatch.setattr(verify_command, "ALGORITHMS", {**catalogue.ALGORITHMS, "ring": ring})


def test_figure_6_is_printed(capsys):
    """Steps of each stage, the load of every node and NIC, and the busiest one stand in the output."""
    assert cli.main([*FIGURE_6, "--pieces", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "dead 0:3" in lines[0]
    assert lines[1].startswith("# correct: 44 transfers in ")
    assert lines[3] == "# busiest: node 0 rail 0, 11/6 = 1.833 D/B; in a healthy ring 3/2 = 1.5 D/B"
    words = [line.split() for line in lines if line.startswith("  ")]
    assert ["global", "reduce-scatter", "12", "3"] in words
    assert ["full", "sum", "along", "the", "chain", "4", "2"] in words
    assert ["0", "11/8", "11/24", "11/24", "11/24", "0"] in words
    assert ["1", "41/24", "7/16|11/24", "7/16|11/24", "7/16|11/24", "19/48|1/3"] in words


def test_json_has_the_same(capsys):
    """`--json -` sends the document to standard output, the lines elsewhere; loads are exact fractions."""
    assert cli.main([*FIGURE_6, "--partial", "0.5", "--json", "-"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert "# correct" in captured.err
    schedule = r2cc_allreduce(4, 4, 0, [3], partial=Fraction(1, 2))
    assert (document["correct"], document["transfers"]) == (True, len(schedule))
    assert document["layout"] == {"nodes": 4, "rails": 4}
    assert [(one["sent"], one["received"]) for one in document["loads"]] == [
        (str(sent), str(received)) for sent, received in schedule.loads()
    ]
    rail_loads = healthy_mapping(schedule, 4).rail_loads()
    assert [
        (Fraction(rail["sent"]), Fraction(rail["received"]))
        for one in document["loads"]
        for rail in one["rails"]
    ] == list(rail_loads.values())


def test_options_describe_the_case(capsys):
    """Order, form, pieces and slow rails reach the algorithm."""
    assert cli.main(["verify", "balance", "--fail", "0:0", "--fail", "1:1", "--re-rank"]) == 0
    assert "order 0 2 1 3" in (text := capsys.readouterr().out)
    assert "# busiest: node 0 rail 1, 2 D/B" in text
    assert cli.main(["verify", "balance", "--nodes", "2", "--rails", "2", "--slow", "0:1=1/2"]) == 0
    assert ["0", "1", "2/3", "1/3"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert cli.main([*FIGURE_6, "--form", "helper", "--sub-pieces", "3", "--pieces", "2"]) == 0
    assert "K = 2; form = helper; S = 3" in (text := capsys.readouterr().out)
    assert ["full", "sum", "back", "6", "1"] in [line.split() for line in text.splitlines()]


def test_a_ring_over_a_dead_rail_is_status_2(capsys):
    """The baseline cannot do without the dead NIC: the stripe that would use it is named."""
    assert cli.main(["verify", "ring", "--nodes", "3", "--rails", "2", "--fail", "1:0", "--json", "-"]) == 2
    captured = capsys.readouterr()
    assert "stripe 0 of transfer 0 (reduce-scatter): node 0 -> node 1" in captured.err
    assert "node 1 rail 0, which is dead" in captured.err
    document = json.loads(captured.out)
    assert document["correct"] is False
    assert "node 1 rail 0" in document["fault"]


def test_a_wrong_schedule_is_status_2(broken_ring, capsys):
    """A ring without its last transfer ends with status 2 and the transfer that wrote last where it lacks."""
    assert cli.main(["verify", "ring", "--nodes", "3", "--rails", "1"]) == 2
    error = capsys.readouterr().err
    assert "allreduce: node 0 region [2, 3) lacks the contributions of nodes 1" in error
    assert "last written by transfer 2 (reduce-scatter): node 2 -> node 0" in error
    assert error.count("\n") == 1


def test_all_prints_a_line_for_every_case(capsys):
    """`--all` of one algorithm: every case is right, and the last line counts them."""
    assert cli.main(["verify", "r2cc-allreduce", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cases = list(matrix(["r2cc-allreduce"]))
    assert len(cases) > 200
    assert len(lines) == len(cases) + 1
    assert all(line.startswith("ok    r2cc-allreduce ") for line in lines[:-1])
    assert lines[-1] == f"# {len(cases)} cases, 0 wrong"


def test_all_goes_on_after_a_wrong_case(broken_ring, monkeypatch, capsys):
    """A wrong algorithm among others: its lines say so, the others are still proved, and the status is 2."""
    monkeypatch.setattr("r2cc_mpi.cli.verify_matrix.NODES", range(1, 4))
    assert cli.main(["verify", "--all", "--json", "-"]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    found = [(one["algorithm"], one["correct"]) for one in document["cases"]]
    wrong = [name for name, correct in found if not correct]
    # A ring of one node has no transfer that could be forgotten; five numbers of rails for two and three.
    assert wrong == ["ring"] * 10
    assert document["wrong"] == 10
    assert {name for name, _ in found} == set(catalogue.ALGORITHMS)
    assert captured.err.count("WRONG ring") == 10
    assert "10 of " in captured.err.splitlines()[-1]


def test_the_matrix_has_every_sort_of_failure():
    """Healthy, one and two dead rails, no common rail, and other orders all occur; none is cut off."""
    cases = [case for _, case in matrix(["balance"])]
    dead = {(case.nodes, case.rails, tuple(case.dead()), case.order is not None) for case in cases}
    assert (4, 4, (), False) in dead
    assert (4, 4, ((0, 0),), False) in dead
    assert (4, 4, ((0, 0), (1, 3)), False) in dead
    assert (4, 4, ((0, 0), (1, 3)), True) in dead
    assert (3, 2, ((0, 0), (1, 1)), False) in dead
    for case in cases:
        assert len(RailRates.of(case.nodes, case.rails, case.dead()).groups()) == 1


def test_large_cases_are_shown_in_part():
    """Of 20 nodes the first 16 are listed, and the lines say so; JSON has all."""
    for nodes, is_cut in ((16, False), (20, True)):
        case = Case(RailRates.of(nodes, 2).rates)
        proof = prove("ring", case, catalogue.ring(case))
        lines = to_lines(proof)
        assert lines[-1].startswith("# only 16 nodes and rails are shown") == is_cut
        assert sum(line.split()[0].isdigit() for line in lines) == 16
        loads = to_json(proof)["loads"]
        assert isinstance(loads, list)
        assert len(loads) == nodes


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "say what to verify: ring, hot-repair"),
        (["rings"], "ALGORITHM 'rings' is unknown: it has ring, hot-repair"),
        (["--all", "--nodes", "3"], "--all brings its own cases: leave out --nodes"),
        (["ring", "--all", "--re-rank"], "leave out --re-rank"),
        (["r2cc-allreduce"], "needs exactly one node with dead rails, none has"),
        (["r2cc-allreduce", "--fail", "0:0", "--nodes", "2"], "a partial allreduce needs two healthy nodes"),
        (["r2cc-allreduce", "--fail", "0:0", "--form", "tree"], "no form 'tree': use chain or helper"),
        (["r2cc-allreduce", "--fail", "0:0", "--pieces", "0"], "--pieces '0' is not a whole number from 1"),
        (["r2cc-allreduce", "--fail", "0:0", "--partial", "3/2"], "--partial '3/2' is no share"),
        (["r2cc-allreduce", "--fail", "0:0", "--partial", "1/0"], "--partial '1/0' is no share"),
        (["r2cc-allreduce", "--fail", "0:0", "--sub-pieces", "x"], "--sub-pieces 'x' is not a whole number"),
        (["ring", "--fail", "0:0@50%"], "leave out what follows the @"),
        (["ring", "--rails", "0"], "--rails '0' is not a whole number from 1"),
        (["balance", "--nodes", "2", "--rails", "2", "--fail", "0:0", "--fail", "1:1"], "into 0 | 1"),
    ],
)
def test_mistakes_get_a_line(words, complaint, capsys):
    """What does not fit is named in one line and ends with status 1."""
    assert cli.main(["verify", *words]) == 1
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
