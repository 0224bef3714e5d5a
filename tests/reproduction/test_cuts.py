from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Nic
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction.cuts import Cut, CutRun, Ended, draw, verdict

RUN = CutRun(1, 2, 2, Mpi.MPICH, (), 1000, (Cut(Nic(1, 0), How.LINK_DOWN, 0.0, None),))


VICTIM = Nic(1, 0)


def ended(status=0, *, blamed=(VICTIM,), wrong=0, left=(), report=True):
    """Make an end of a run of two iterations."""
    failovers = [{"node": nic.node, "rail": nic.rail} for nic in blamed]
    iterations = [{"wrong": 0, "failovers": []}, {"wrong": wrong, "failovers": failovers}]
    return Ended(status, 1.0, {"iterations": iterations} if report else None, tuple(left), "")


@pytest.mark.parametrize(
    ("word", "end"),
    [
        ("passed", ended()),
        ("missed", ended(blamed=())),
        ("wrong", ended(wrong=1)),
        ("wrong", ended(wrong=None)),
        ("wrong", ended(2)),
        ("hung", ended(None)),
        ("gave up", ended(4)),
        ("refused", ended(1)),
        ("status 139", ended(139)),
        ("status 0", ended(report=False)),
        ("blamed node 0 rail 0", ended(blamed=(Nic(1, 0), Nic(0, 0)))),
        ("left r2cc-cuts1-n0", ended(left=["r2cc-cuts1-n0"])),
    ],
)
def test_verdicts(word, end):
    """Each end has its word."""
    assert verdict(RUN, end) == word


def test_nodes_that_lose_each_other():
    """Both rails cut between two nodes: giving up is right then, and only then."""
    both = replace(RUN, cuts=(*RUN.cuts, Cut(Nic(0, 1), How.PORT_DOWN, 0.7, None)))
    assert (RUN.may_cut_off, both.may_cut_off) == (False, True)
    assert verdict(both, ended(4)) == "cut off"


def test_black_hole_between_two_nodes():
    """Nobody can tell which end it is, so either may be blamed; of another rail's NICs none may."""
    hole = replace(RUN, cuts=(Cut(Nic(1, 0), How.BLACK_HOLE, 0.0, None),))
    assert verdict(hole, ended(blamed=(Nic(0, 0),))) == "passed"
    assert verdict(hole, ended(blamed=(Nic(0, 1),))) == "blamed node 0 rail 1"


def test_black_hole_that_was_healed():
    """Of three nodes too either end may then be blamed, which has its own word; no NIC of another rail."""
    healed = replace(RUN, nodes=3, cuts=(Cut(Nic(1, 0), How.BLACK_HOLE, 0.0, 0.9),))
    assert verdict(healed, ended()) == "passed"
    assert verdict(healed, ended(blamed=(VICTIM, Nic(2, 0)))) == "other end"
    assert verdict(healed, ended(blamed=(VICTIM, Nic(2, 1)))) == "blamed node 2 rail 1"
    for cut in (Cut(VICTIM, How.BLACK_HOLE, 0.0, None), Cut(VICTIM, How.PORT_DOWN, 0.0, 0.9)):
        assert verdict(replace(healed, cuts=(cut,)), ended(blamed=(Nic(2, 0),))) == "blamed node 2 rail 0"


def healthy_bytes(run):
    """Say what each NIC of a ring sends in all iterations of a run."""
    size, iterations = (int(run.words[run.words.index(option) + 1]) for option in ("-b", "-n"))
    return iterations * 2 * (run.nodes - 1) * size / (run.nodes * run.rails)


def test_draws():
    """A run follows from its seed; a hundred of them have every MPI, kind of cut, layout, and both ends."""
    runs = [draw(seed, tuple(Mpi)) for seed in range(100)]
    assert runs == [draw(seed, tuple(Mpi)) for seed in range(100)]
    assert {run.mpi for run in runs} == set(Mpi)
    assert {(run.nodes, run.rails) for run in runs} == {(2, 2), (2, 3), (3, 2), (3, 3)}
    cuts = [cut for run in runs for cut in run.cuts]
    assert {cut.how for cut in cuts} == set(How)
    assert {cut.outage_s is None for cut in cuts} == {True, False}
    assert {len(run.cuts) for run in runs} == {1, 2}
    assert any(run.may_cut_off for run in runs)
    shares = [run.begin_bytes / healthy_bytes(run) for run in runs]
    assert all(0 <= share < 1 for share in shares)
    assert (min(shares) < 0.05, max(shares) > 0.95) == (True, True)
    assert all((cut.at_s == 0) is (cut is run.cuts[0]) for run in runs for cut in run.cuts)
