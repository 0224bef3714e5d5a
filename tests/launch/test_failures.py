"""Every way to let a rail fail, in whole jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from tests.launch.launcher import Answer
from tests.launch.reference_run import (
    Failover,
    Run,
    check_passed,
    check_rail_bytes,
    check_resent,
    expected_bytes,
    run,
    stripes_of,
)

SIZE = ["--rail-rate", "50MB/s", "-b", "2M", "-w", "0", "--strategy", "hot-repair"]
TWO_BY_TWO = ["--nodes", "2", "--rails", "2", *SIZE]
THREE_BY_TWO = ["--nodes", "3", "--rails", "2", *SIZE]
RATE = 50e6
COUNT = (2 << 20) // 4


@pytest.mark.parametrize(
    "fault", ["1:0@iter=2,20%", "1:0@iter=2,chunk=3", "1:0@iter=2,0%"], ids=["share", "chunk", "at once"]
)
def test_announced_failure(fault):
    """A rail that dies and says so is repaired in the iteration it died in, at both ends, within a window."""
    ended = run(*TWO_BY_TWO, "-n", "3", "--fail", fault)
    check_passed(ended, iterations=3)
    (failover,) = ended.failovers
    assert (failover.iteration, failover.nic, failover.cause) == (2, Nic(1, 0), "announced")
    assert failover.path == "node 0 -(rail 1)-> node 1; node 1 -(rail 1)-> node 0"
    assert failover.detected_s is not None
    assert failover.detected_s >= 0
    check_resent(ended, rate_bytes_per_s=RATE, most_channels=2)
    assert [one["strategy"] for one in ended.iterations] == ["hot-repair"] * 3
    check_rail_bytes(ended.iterations[0], Layout(2, 2), stripes_of(Layout(2, 2), []), COUNT, 4)
    check_rail_bytes(ended.iterations[2], Layout(2, 2), stripes_of(Layout(2, 2), [Nic(1, 0)]), COUNT, 4)


def test_failure_at_a_time():
    """A rail that dies at a time is repaired in the iteration that runs then, here one of at least 0.4 s."""
    size = ["--nodes", "2", "--rails", "2", "--rail-rate", "10MB/s", "-b", "4M", "--strategy", "hot-repair"]
    ended = run(*size, "-n", "2", "--fail", "1:0@0.1s")
    check_passed(ended, iterations=2)
    assert [(one.iteration, one.nic, one.cause) for one in ended.failovers] == [(1, Nic(1, 0), "announced")]
    check_resent(ended, rate_bytes_per_s=10e6, most_channels=2)
    check_rail_bytes(ended.iterations[1], Layout(2, 2), stripes_of(Layout(2, 2), [Nic(1, 0)]), 1 << 20, 4)


def test_healthy_run_and_declared_failure_carry_exact_bytes():
    """Without failures, and with a rail that was never there, each NIC carries what the mapping says."""
    healthy = run(*TWO_BY_TWO, "-n", "2")
    check_passed(healthy, iterations=4)
    declared = run(*TWO_BY_TWO, "-n", "2", "--fail", "1:0")
    check_passed(declared, iterations=2)
    for ended, dead in ((healthy, []), (declared, [Nic(1, 0)])):
        assert ended.failovers == []
        for one in ended.iterations:
            check_rail_bytes(one, Layout(2, 2), stripes_of(Layout(2, 2), dead), COUNT, 4)


def test_silent_failure_is_found_by_probing():
    """A black hole is found and repaired, though nothing announced it; the third node tells which end."""
    ended = run(*THREE_BY_TWO, "-n", "3", "--fail", "1:0@iter=2,20%", "--silent")
    check_passed(ended, iterations=3)
    (failover,) = ended.failovers
    assert (failover.iteration, failover.nic, failover.cause) == (2, Nic(1, 0), "stalled, probed")
    assert failover.detected_s is not None
    check_resent(ended, rate_bytes_per_s=RATE, most_channels=2)
    check_rail_bytes(ended.iterations[2], Layout(3, 2), stripes_of(Layout(3, 2), [Nic(1, 0)]), COUNT, 4)


@pytest.mark.parametrize(
    "how", [["--late"], ["--late", "--silent"], []], ids=["late", "late, silent", "lossy"]
)
def test_rail_that_comes_back_is_used_again(how):
    """What was in flight arrives late without harm, and the rail carries its share again in the end."""
    ended = run(*THREE_BY_TWO, "-n", "40", "--fail", "1:0@iter=2,20%", "--recover", "1:0@iter=4,10%", *how)
    check_passed(ended, iterations=40)
    assert [failover.nic for failover in ended.failovers] == [Nic(1, 0)]
    check_rail_bytes(ended.iterations[2], Layout(3, 2), stripes_of(Layout(3, 2), [Nic(1, 0)]), COUNT, 4)
    check_rail_bytes(ended.iterations[-1], Layout(3, 2), stripes_of(Layout(3, 2), []), COUNT, 4)


def test_chain_of_failures_on_one_node():
    """A node of four rails loses three of them in one collective, one after the other, and goes on."""
    faults = ["--fail", "1:0@iter=2,20%", "--fail", "1:1@iter=2,35%", "--fail", "1:2@iter=2,50%"]
    size = ["--nodes", "2", "--rails", "4", "--rail-rate", "50MB/s", "-b", "4M", "-w", "0"]
    size += ["--strategy", "hot-repair"]
    ended = run(*size, "-n", "3", *faults)
    check_passed(ended, iterations=3)
    dead = [Nic(1, 0), Nic(1, 1), Nic(1, 2)]
    assert sorted((one.iteration, one.nic) for one in ended.failovers) == [(2, nic) for nic in dead]
    check_resent(ended, rate_bytes_per_s=RATE, most_channels=6)
    check_rail_bytes(ended.iterations[2], Layout(2, 4), stripes_of(Layout(2, 4), dead), 1 << 20, 4)


def test_relay_through_a_third_node():
    """Two nodes that have no rail in common any more reach each other through the third one."""
    faults = ["--fail", "0:0@iter=2,20%", "--fail", "1:1@iter=2,35%"]
    ended = run(*THREE_BY_TWO, "-n", "3", *faults)
    check_passed(ended, iterations=3)
    assert "node 0 -(rail 1)-> node 2 -(rail 0)-> node 1" in "; ".join(one.path for one in ended.failovers)
    check_resent(ended, rate_bytes_per_s=RATE, most_channels=4)
    check_rail_bytes(
        ended.iterations[2], Layout(3, 2), stripes_of(Layout(3, 2), [Nic(0, 0), Nic(1, 1)]), COUNT, 4
    )


def test_slow_rail_is_not_a_dead_rail():
    """A rail at a tenth of its rate is waited for: it fails nowhere, and carries all that is its own."""
    ended = run(*TWO_BY_TWO, "-n", "2", "--slow", "1:0=0.1@iter=1,20%")
    check_passed(ended, iterations=2)
    assert ended.failovers == []
    check_rail_bytes(ended.iterations[1], Layout(2, 2), stripes_of(Layout(2, 2), []), COUNT, 4)


# The checks themselves.

FAILOVER = Failover(1, Nic(1, 0), "announced", 0.1, 0, "")


def fake_run(wrong=0, resent_bytes=0, stdout="# Out of bounds values : 0 OK\n", status=0):
    """Make a run that was never made."""
    failover = {"node": 1, "rail": 0, "cause": "", "detected_s": 0, "resent_bytes": resent_bytes, "path": ""}
    stdout += "# verdict: PASS every element exact on every rank"
    return Run(
        Answer(status, stdout, "", 1.0),
        {"iterations": [{"wrong": wrong, "failovers": [failover]}]},
    )


def test_check_of_a_pass_sees_what_is_wrong():
    """A bad status, a complaint, a wrong element and an iteration too few are all seen."""
    good = fake_run()
    check_passed(good, iterations=1)
    bad = [fake_run(wrong=1), fake_run(wrong=None), fake_run(status=2), fake_run(stdout="")]
    bad.append(Run(replace(good.answer, stderr="a warning"), good.report))
    for one in bad:
        with pytest.raises(AssertionError):
            check_passed(one, iterations=1)
    with pytest.raises(AssertionError):
        check_passed(good, iterations=2)


def test_check_of_resent_bytes_sees_one_too_many():
    """Eight chunks of 262,144 bytes for each of two channels are allowed, a byte more is not."""
    limit = 2 * 8 * 262_144
    check_resent(fake_run(resent_bytes=limit), rate_bytes_per_s=RATE, most_channels=2)
    with pytest.raises(AssertionError):
        check_resent(fake_run(resent_bytes=limit + 1), rate_bytes_per_s=RATE, most_channels=2)


@pytest.mark.parametrize("key", ["tx", "rx"])
def test_check_of_rail_bytes_sees_one_element(key):
    """One element too few on one NIC is seen."""
    layout = Layout(3, 2)
    stripes = stripes_of(layout, [Nic(0, 0), Nic(1, 1)])
    carried_by_stripes = expected_bytes(layout, stripes, 1009, 4)
    carried = {f"{nic.node}:{nic.rail}": both for nic, both in carried_by_stripes.items()}
    check_rail_bytes({"rail_bytes": carried}, layout, stripes, 1009, 4)
    carried["2:1"][key] -= 4
    with pytest.raises(AssertionError, match="node 2 rail 1"):
        check_rail_bytes({"rail_bytes": carried}, layout, stripes, 1009, 4)


def test_expected_bytes_of_a_small_case():
    """Two nodes, one rail, five elements: each node sends and receives its section and the other's."""
    carried = expected_bytes(Layout(2, 1), stripes_of(Layout(2, 1), []), 5, 8)
    assert carried == {Nic(0, 0): {"tx": 40, "rx": 40}, Nic(1, 0): {"tx": 40, "rx": 40}}
