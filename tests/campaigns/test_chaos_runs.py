from __future__ import annotations

import pytest

from algorithms.catalogue import OPTCC_FORMS
from algorithms.nic import Nic
from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.faults import Declared
from r2cc_mpi.layout import Layout
from r2cc_mpi.planning import choose
from r2cc_mpi.strategy import Strategy
from tests.campaigns.chaos_runs import (
    MOST_NODES,
    MOST_RAILS,
    MOST_RANKS,
    ChaosRun,
    draw,
    draw_optcc,
    is_fine,
    verdict,
)

SEEDS = range(300)


def make_run(nodes, rails, mortal, *, silent=False, strategy=Strategy.AUTO):
    """Make a run by hand."""
    mortal = frozenset(Nic(*nic) for nic in mortal)
    return ChaosRun(0, Layout(nodes, rails), (), mortal, silent, strategy)


@pytest.mark.parametrize("drawn", [draw, draw_optcc])
def test_drawn_runs_make_sense_to_the_command_line(drawn):
    """No drawn run is refused as a mistake, and each is about the layout and the deaths that it says."""
    for seed in SEEDS:
        run = drawn(seed)
        options = read_options(build_parser().parse_args(["run", "allreduce", *run.words]), None)
        assert options.layout == run.layout
        fails = {fault.nic for fault in options.faults if fault.kind.value == "fail"}
        assert fails == run.mortal
        assert any(fault.silent for fault in options.faults) == run.silent
        assert options.wishes.strategy is run.strategy


def test_seed_is_all_there_is():
    """The same seed gives the same run, and others differ."""
    assert [draw(seed) for seed in SEEDS] == [draw(seed) for seed in SEEDS]
    assert len({draw(seed).words for seed in SEEDS}) == len(SEEDS)


def test_optcc_runs_are_hit_while_optcc_runs():
    """In every drawn run OptCC works around the dead rails, and one more rail dies."""
    kinds = set()
    for seed in SEEDS:
        run = draw_optcc(seed)
        options = read_options(build_parser().parse_args(["run", "allreduce", *run.words]), None)
        dead = tuple(sorted(fault.nic for fault in options.faults if fault.trigger == Declared()))
        choice = choose(run.layout.nodes, run.layout.rails, options.wishes, dead, 2**20)
        assert choice.strategy is run.strategy
        assert len(run.mortal - set(dead)) == 1
        assert not run.may_cut
        kinds.add((run.layout.nodes, choice.strategy, choice.form))
    assert len(kinds) == 2 * (len(OPTCC_FORMS) + 1)


def test_runs_are_of_many_kinds():
    """All layouts up to 4 x 4 come up, with deaths, returns, second deaths and slow rails; few can cut."""
    runs = [draw(seed) for seed in SEEDS]
    layouts = {(run.layout.nodes, run.layout.rails) for run in runs}
    assert layouts == {(n, g) for n in range(2, MOST_NODES + 1) for g in range(1, MOST_RAILS + 1)}
    for option in ("--fail", "--recover", "--slow", "--silent", "--late", "--rail-rate", "--form"):
        assert 30 < sum(option in run.words for run in runs) < 290, option
    assert {run.strategy for run in runs} == set(Strategy)
    assert 30 < sum(any(word.endswith("s") and "@0." in word for word in run.words) for run in runs) < 200
    crowded = [run.layout for run in runs if run.layout.ranks_per_node > run.layout.rails]
    assert 30 < len(crowded) < 100
    assert max(layout.ranks for layout in crowded) <= MOST_RANKS
    assert any(run.words.count("--fail") > len(run.mortal) for run in runs)
    assert 0 < sum(run.may_cut for run in runs) < 30


@pytest.mark.parametrize(
    ("run", "may_cut"),
    [
        (make_run(2, 2, [(0, 0)]), False),
        (make_run(2, 2, [(0, 0), (1, 0)]), False),
        (make_run(2, 2, [(0, 0), (1, 1)]), True),
        (make_run(3, 2, [(0, 0), (1, 1)]), False),
        (make_run(3, 2, [(1, 0), (1, 1)]), True),
        (make_run(2, 1, []), False),
    ],
)
def test_cuts_are_foreseen(run, may_cut):
    """Nodes lose each other without a common rail, unless a third one can relay."""
    assert run.may_cut is may_cut


@pytest.mark.parametrize(
    ("run", "nic", "may_be"),
    [
        (make_run(3, 2, [(0, 0)], silent=True), Nic(0, 0), True),
        (make_run(3, 2, [(0, 0)], silent=True), Nic(1, 0), False),
        (make_run(2, 2, [(0, 0)], silent=True), Nic(1, 0), True),
        (make_run(2, 2, [(0, 0)], silent=True), Nic(1, 1), False),
        (make_run(2, 2, [(0, 0)], silent=False), Nic(1, 0), False),
    ],
)
def test_who_may_be_blamed(run, nic, may_be):
    """The dead; and who is left alone with them on a rail, if nothing was announced."""
    assert run.may_be_blamed(nic) is may_be


SAFE, CUTTING = make_run(3, 2, [(0, 0)]), make_run(2, 1, [(0, 0)])
RING, HEALTHY_RING = (make_run(3, 2, mortal, strategy=Strategy.RING) for mortal in ([(0, 0)], []))


@pytest.mark.parametrize(
    ("run", "status", "blamed", "word", "fine"),
    [
        (SAFE, 0, [Nic(0, 0)], "passed", True),
        (SAFE, 3, [], "missed", True),
        (CUTTING, 4, [], "cut", True),
        (RING, 4, [], "stopped", True),
        (RING, 0, [], "passed", True),
        (HEALTHY_RING, 4, [], "gave up", False),
        (SAFE, 4, [], "gave up", False),
        (SAFE, 2, [], "wrong", False),
        (SAFE, 1, [], "refused", False),
        (SAFE, None, [], "hung", False),
        (SAFE, 139, [], "crashed", False),
        (SAFE, 0, [Nic(0, 0), Nic(1, 0)], "blamed node 1 rail 0", False),
    ],
)
def test_verdicts(run, status, blamed, word, fine):
    """Every way to end has its word, and only four of them are fine."""
    assert verdict(run, status, blamed) == word
    assert is_fine(word) is fine
