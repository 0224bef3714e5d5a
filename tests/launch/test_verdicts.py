"""How jobs end that do not pass: one code on every rank, and a line that says why."""

from __future__ import annotations

import re

import pytest

from tests.launch.launcher import launch_program
from tests.launch.reference_run import check_passed, run

SLOW_TWO_BY_TWO = ["--nodes", "2", "--rails", "2", "--rail-rate", "20MB/s", "-w", "0"]


def test_cut_ends_with_status_4():
    """When the live rails no longer connect the nodes the job ends soon, with 4, and names the node.

    The iteration that is hit takes at least 0.4 s, so both rails die inside it. Nobody waits for an answer
    longer than the isolation timeout; the limit below leaves five seconds for starting and ending the job.
    """
    cut = ["--fail", "1:0@20%", "--fail", "1:1@35%", "--isolation-timeout", "2"]
    ended = run(*SLOW_TWO_BY_TWO, "-b", "8M", "-n", "1", *cut)
    assert ended.answer.status == 4, str(ended.answer)
    assert ended.answer.seconds < 0.5 + 2 + 2 + 5
    assert ended.verdict.startswith("# verdict: FAIL (exit 4)")
    assert "no longer connect node 1 with node 0" in ended.verdict
    assert (ended.report["exit_code"], ended.report["verdict"]) == (4, "FAIL")
    assert ended.report["reason"] in ended.verdict


def test_cut_leaves_the_users_arrays_alone():
    """Every rank of both sides hears of the cut, in time, and its arrays are as they were before the call.

    An element that rank 3 then spoils itself shows that a change would be seen.
    """
    answer = launch_program("cut.py", ranks=6)
    assert answer.status == 0, str(answer)
    for rank in range(6):
        (line,) = [line for line in answer.stdout.splitlines() if line.startswith(f"rank {rank}:")]
        assert "IsolatedError after" in line
        assert "node 2" in line
        assert line.endswith("arrays as before")
        seconds = float(line.partition("after ")[2].split()[0])
        assert seconds < 1 + 2
    assert "spoiled: arrays WRITTEN TO" in answer.stdout.splitlines()


def test_ring_stops_at_a_dead_rail():
    """Strategy ring does what a fail-stop library does, and says what to use instead."""
    ended = run(*SLOW_TWO_BY_TWO, "-b", "2M", "-n", "2", "--strategy", "ring", "--fail", "1:0@iter=2,20%")
    assert ended.answer.status == 4, str(ended.answer)
    assert "node 1 rail 0 failed and strategy ring does not repair" in ended.verdict
    assert "use --strategy hot-repair or auto" in ended.verdict


def test_ring_without_failures_passes():
    """Strategy ring is a complete allreduce as long as nothing dies."""
    check_passed(run(*SLOW_TWO_BY_TWO, "-b", "1M", "-n", "1", "--strategy", "ring"), iterations=2)


def test_failure_that_hits_nothing():
    """A failure after the end proves nothing, and the job says so with status 3."""
    ended = run(*SLOW_TWO_BY_TWO, "-b", "64K", "-n", "2", "--fail", "1:0@500s")
    assert ended.answer.status == 3, str(ended.answer)
    assert "--fail 1:0@500s did not hit a running collective: the last one was over before" in ended.verdict
    assert [one["wrong"] for one in ended.iterations] == [0, 0]


def test_failures_that_change_nothing():
    """A rail that comes back before it dies, and one that sends too little: status 3, and each says why."""
    early = ["--fail", "1:0@iter=3,50%", "--recover", "1:0@iter=2,50%"]
    ended = run(*SLOW_TWO_BY_TWO, "-b", "64K", "-n", "3", *early, "--fail", "0:1@iter=2,chunk=9")
    assert ended.answer.status == 3, str(ended.answer)
    assert "node 1 rail 0 was not dead then" in ended.verdict
    assert re.search(r"chunk=9 did not hit .*: node 0 rail 1 sent [23] chunks in iteration 2;", ended.verdict)
    assert [one["wrong"] for one in ended.iterations] == [0, 0, 0]


def test_spoiled_element_is_found():
    """`--corrupt` proves that the check sees a single wrong element, and the iteration is named."""
    ended = run(*SLOW_TWO_BY_TWO, "-b", "1M", "-n", "3", "--corrupt", "2", "--fail", "1:0")
    assert ended.answer.status == 2, str(ended.answer)
    assert "1 wrong elements, in iteration 2" in ended.verdict
    assert [one["wrong"] for one in ended.iterations] == [0, 1, 0]
    assert "# Out of bounds values : 1 FAILED" in ended.answer.stdout


def test_check_of_a_pass_would_not_pass_these():
    """What these jobs report is no pass to the check that the other tests rely on."""
    spoiled = run(*SLOW_TWO_BY_TWO, "-b", "64K", "-n", "1", "--corrupt", "1")
    with pytest.raises(AssertionError):
        check_passed(spoiled, iterations=2)
