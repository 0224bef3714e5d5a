"""After a failure the next collective is planned anew, in whole jobs."""

from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from tests.launch.reference_run import check_passed, check_rail_bytes, run, stripes_of

SIZE = ["--rail-rate", "50MB/s", "-b", "2M", "-w", "0"]
COUNT = (2 << 20) // 4
THREE = Layout(3, 3)


@pytest.mark.parametrize(
    ("words", "algorithm", "options"),
    [
        (["--strategy", "balance"], "balance", {}),
        (["--strategy", "r2cc-allreduce", "--pieces", "2"], "r2cc-allreduce", {"pieces": 2}),
        (
            ["--strategy", "r2cc-allreduce", "--pieces", "3", "--form", "helper"],
            "r2cc-allreduce",
            {"pieces": 3, "form": "helper"},
        ),
        (["--strategy", "optcc", "--pieces", "2", "--form", "simple"], "optcc", {"pieces": 2}),
        (
            ["--strategy", "optcc", "--pieces", "4", "--form", "overlay"],
            "optcc",
            {"pieces": 4, "form": "overlay"},
        ),
    ],
    ids=["balance", "chain", "helper", "optcc", "overlay"],
)
def test_repair_then_plan(words, algorithm, options):
    """HotRepair saves the collective that is hit; the next ones carry to the byte what the new plan says."""
    fault = ["--fail", "1:1@iter=2,30%"]
    ended = run("--nodes", "3", "--rails", "3", *SIZE, "-n", "3", *fault, *words)
    check_passed(ended, iterations=3)
    assert [one["strategy"] for one in ended.iterations] == ["ring", "hot-repair", algorithm]
    check_rail_bytes(ended.iterations[0], THREE, stripes_of(THREE, [], "ring"), COUNT, 4)
    planned = stripes_of(THREE, [Nic(1, 1)], algorithm, **options)
    check_rail_bytes(ended.iterations[2], THREE, planned, COUNT, 4)


def test_persistent_plan_is_not_planned_anew():
    """Replays go on under HotRepair, to the byte, where calls would be planned anew."""
    words = ["--persistent", "--strategy", "balance", "--fail", "1:1@iter=2,30%"]
    ended = run("--nodes", "3", "--rails", "3", *SIZE, "-n", "3", *words)
    check_passed(ended, iterations=3)
    assert [one["strategy"] for one in ended.iterations] == ["ring", "hot-repair", "hot-repair"]
    repaired = stripes_of(THREE, [Nic(1, 1)], "hot-repair")
    check_rail_bytes(ended.iterations[2], THREE, repaired, COUNT, 4)


def test_second_failure_under_a_plan():
    """A NIC that dies while R2CC-AllReduce runs is repaired too; two degraded nodes are balanced."""
    faults = ["--fail", "1:1", "--fail", "2:0@iter=2,30%"]
    words = ["--strategy", "r2cc-allreduce", "--pieces", "2"]
    ended = run("--nodes", "3", "--rails", "3", *SIZE, "-n", "3", *faults, *words)
    check_passed(ended, iterations=3)
    assert [one["strategy"] for one in ended.iterations] == ["r2cc-allreduce", "hot-repair", "balance"]
    planned = stripes_of(THREE, [Nic(1, 1), Nic(2, 0)], "balance")
    check_rail_bytes(ended.iterations[2], THREE, planned, COUNT, 4)


def test_neighbours_without_a_common_rail_are_put_apart():
    """Two neighbours that share no rail: the ring is re-ranked, and no NIC carries anything for others."""
    layout = Layout(4, 2)
    dead = ["--fail", "0:0", "--fail", "1:1"]
    ended = run("--nodes", "4", "--rails", "2", *SIZE, "-n", "1", *dead, "--strategy", "balance")
    check_passed(ended, iterations=1)
    planned = stripes_of(layout, [Nic(0, 0), Nic(1, 1)], "balance", order=(0, 2, 1, 3))
    check_rail_bytes(ended.iterations[0], layout, planned, COUNT, 4)


def test_auto_leaves_hot_repair_behind():
    """`auto` runs the ring, is saved by HotRepair, and then runs what the planner finds to be faster."""
    ended = run("--nodes", "3", "--rails", "3", *SIZE, "-n", "3", "--fail", "1:1@iter=2,30%")
    check_passed(ended, iterations=3)
    assert [one["strategy"] for one in ended.iterations[:2]] == ["ring", "hot-repair"]
    assert ended.iterations[2]["strategy"] in {"balance", "r2cc-allreduce", "optcc"}
    assert ended.iterations[2]["predicted_s"] < 1.6 * ended.iterations[0]["predicted_s"]
