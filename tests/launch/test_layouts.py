"""Layouts and sizes at the edges, and jobs that another launcher starts."""

from __future__ import annotations

import json

import pytest

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from tests.launch.launcher import launch, mpi_command
from tests.launch.reference_run import check_passed, check_rail_bytes, run, stripes_of

HOT_REPAIR = ["--fail", "0:1", "--strategy", "hot-repair"]


@pytest.mark.parametrize(
    ("nodes", "rails"), [(1, 3), (3, 1), (1, 1)], ids=["one node", "one rail", "one rank"]
)
def test_smallest_layouts(nodes, rails):
    """One node, one rail and a single rank are layouts like any other; what crosses a rail is exact."""
    ended = run("--nodes", str(nodes), "--rails", str(rails), "-b", "1M", "-n", "2")
    check_passed(ended, iterations=4)
    for one in ended.iterations:
        check_rail_bytes(one, Layout(nodes, rails), stripes_of(Layout(nodes, rails), []), 1 << 18, 4)


def test_more_ranks_than_rails():
    """Ranks without a rail take part, what crosses the rails is as without them, and a rail may die."""
    layout = Layout(2, 2, 3)
    ended = run("--nodes", "2", "--rails", "2", "--ranks-per-node", "3", "-b", "1M", "-n", "2", *HOT_REPAIR)
    check_passed(ended, iterations=2)
    for one in ended.iterations:
        check_rail_bytes(one, layout, stripes_of(layout, [Nic(0, 1)]), 1 << 18, 4)
    assert ended.answer.stdout.count("owns no rail") == layout.nodes


def test_single_elements():
    """One element, of any type, on more rails than elements, and around a failure."""
    for datatype, size in (("int32", 4), ("double", 8)):
        ended = run("--nodes", "2", "--rails", "3", "-b", str(size), "-d", datatype, "-n", "2", *HOT_REPAIR)
        check_passed(ended, iterations=2)
        for one in ended.iterations:
            check_rail_bytes(one, Layout(2, 3), stripes_of(Layout(2, 3), [Nic(0, 1)]), 1, size)


def test_several_sizes():
    """Sizes that grow use the same communicator, one row each."""
    ended = run("--nodes", "2", "--rails", "2", "-b", "1K", "-e", "4M", "-f", "16", "-n", "2")
    check_passed(ended, iterations=4 * 4)
    rows = [line.split() for line in ended.answer.stdout.splitlines() if not line.startswith("#")]
    assert [int(row[0]) for row in rows] == [1 << 10, 1 << 14, 1 << 18, 1 << 22]
    assert [(row[8], row[12]) for row in rows] == [("0", "0")] * 4


def test_started_by_mpiexec():
    """Under somebody else's mpiexec `--rails` is enough, and the report is alone on standard output, once."""
    words = ["-m", "r2cc_mpi", "run", "allreduce", "--rails", "2", "-b", "64K", "-n", "1", "--json", "-"]
    answer = launch(mpi_command(4, words))
    assert answer.status == 0, str(answer)
    report = json.loads(answer.stdout)["r2cc"]
    assert report["layout"] == {"nodes": 2, "rails": 2}
    assert answer.stderr.count("# verdict: PASS") == 1
