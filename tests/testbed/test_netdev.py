"""Rails that are real interfaces: cut by another process, while the software is told nothing."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from pyroute2 import netns

from algorithms.nic import Nic
from r2cc_mpi.netdev.link_watch import LinkWatch
from r2cc_mpi.netdev.netlink import NO_CARRIER, REMOVED, SET_DOWN, look_up
from scripts.network import build
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.network.testbed import Testbed
from tests.launch.test_open_mpi import OPEN_MPI, why_not
from tests.testbed.talk import LIMIT_S, on_node

pytestmark = pytest.mark.usefixtures("namespaces", "no_launcher")

CUT = Nic(1, 1)
JOB_S = 90
RATE = ["--rail-rate", "100Mbit/s"]


@pytest.fixture
def watch(bed):
    """Watch a link from inside its node."""
    netns.pushns(build.node_of(bed.name, CUT.node))
    try:
        watch = LinkWatch("rail1")
        yield watch
        watch.close()
    finally:
        netns.popns()


def changes(watch, *, wanted):
    """Give all changes until one is the wanted one."""
    seen: list[str] = []
    until = time.monotonic() + LIMIT_S
    while wanted not in seen and time.monotonic() < until:
        seen += watch.poll()
    return seen


def test_events(bed, watch):
    """Each cut that the kernel knows of is told, and so is its end; a black hole is nothing it knows of."""
    assert watch.poll() == []
    bed.cut(CUT, How.LINK_DOWN)
    assert watch.poll() == [SET_DOWN]  # told before the call that makes the cut has returned
    bed.heal(CUT)
    assert changes(watch, wanted="")[-1] == ""
    bed.cut(CUT, How.PORT_DOWN)
    assert changes(watch, wanted=NO_CARRIER) == [NO_CARRIER]
    bed.heal(CUT)
    assert changes(watch, wanted="") == [""]
    bed.cut(CUT, How.BLACK_HOLE)
    bed.heal(CUT)
    assert watch.poll() == []
    assert look_up("rail1").trouble == ""


def test_interface_that_is_removed(bed, watch):
    """An interface that is taken away has failed."""
    on_node(bed, CUT.node, "ip", "link", "del", "rail1")
    assert changes(watch, wanted=REMOVED)[-1] == REMOVED


@pytest.fixture(scope="module")
def three(reason):
    """Give a network of 3 nodes with 2 rails for all jobs."""
    if reason:
        pytest.skip(reason)
    with Testbed.build(nodes=3, rails=2) as bed:
        yield bed


def run(bed, tmp_path, *arguments, mpi=Mpi.MPICH, story=None):
    """Run an allreduce on interfaces; give its status, what it printed, and our part of its report.

    Args:
        bed: The network.
        tmp_path: Where the report goes.
        arguments: More words of the command line.
        mpi: Whose MPI.
        story: Called once the iterations run.
    """
    report = tmp_path / "report.json"
    words = ["allreduce", "--interfaces", "rail0,rail1", "-b", "4M", "--json", str(report), *arguments]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with bed.start(words, mpi=mpi, **output) as job:
        lines = []
        for line in job.process.stdout:
            lines.append(line)
            if story is not None and "(elements)" in line:  # the head of the table
                story()
        status = job.wait(JOB_S)
        job.process.stdout.close()
    ended = json.loads(report.read_text())["r2cc"] if report.exists() else {}
    return status, "".join(lines), ended


def losses(ended):
    """List what failed and how that became known, iteration by iteration."""
    return [
        (number, Nic(failover["node"], failover["rail"]), failover["cause"])
        for number, iteration in enumerate(ended["iterations"], start=1)
        for failover in iteration["failovers"]
    ]


@pytest.mark.parametrize(
    ("mpi", "how", "cause"),
    [
        (Mpi.MPICH, How.LINK_DOWN, "netlink event: set down"),
        (Mpi.MPICH, How.PORT_DOWN, "netlink event: no carrier"),
        (Mpi.MPICH, How.BLACK_HOLE, "stalled, probed"),
        (Mpi.OPEN_MPI, How.LINK_DOWN, "netlink event: set down"),
    ],
    ids=lambda value: getattr(value, "value", None),
)
def test_cut(three, tmp_path, mpi, how, cause):
    """A link that dies is repaired, only it is blamed, and by the kernel's count it carries no more."""
    if mpi is Mpi.OPEN_MPI and (reason := why_not({**os.environ, **OPEN_MPI})):
        pytest.skip(f"no Open MPI: {reason}")

    def cut():
        time.sleep(1.5)
        three.cut(CUT, how)

    try:
        words = [*RATE, "-n", "10", "--iteration-table"]
        status, text, ended = run(three, tmp_path, *words, mpi=mpi, story=cut)
    finally:
        three.heal(CUT)
    assert status == 0, text
    assert [one["wrong"] for one in ended["iterations"]] == [0] * 10
    ((number, nic, known_by),) = losses(ended)
    assert (nic, known_by) == (CUT, cause), text
    before, after = ended["iterations"][: number - 1], ended["iterations"][number:]
    assert after, text
    for one in before:
        ours, kernel = one["rail_bytes"]["1:1"], one["kernel_bytes"]["1:1"]
        assert ours["tx"] > 0
        assert kernel["tx"] > 0.9 * ours["tx"]
    for one in after:
        assert one["rail_bytes"]["1:1"] == {"tx": 0, "rx": 0}
        assert one["kernel_bytes"]["1:1"]["rx"] == 0
    assert f"failover in iteration {number}: rail 1 of node 1 failed ({cause})" in text


def test_heal(three, tmp_path):
    """A link that comes back is used again once MPI's own messages pass, and the job ends well."""

    def flap():
        time.sleep(1)
        three.cut(CUT)
        time.sleep(1)
        three.heal(CUT)

    status, text, ended = run(three, tmp_path, *RATE, "-n", "30", "--iteration-table", story=flap)
    assert status == 0, text
    assert [one["wrong"] for one in ended["iterations"]] == [0] * 30
    assert losses(ended)[0][1:] == (CUT, "netlink event: set down")
    last = ended["iterations"][-1]
    assert last["rail_bytes"]["1:1"]["tx"] == pytest.approx(last["rail_bytes"]["1:0"]["tx"], abs=100)
    assert last["kernel_bytes"]["1:1"]["tx"] > 0.9 * last["rail_bytes"]["1:1"]["tx"]


def test_interface_that_is_not_there(three, tmp_path):
    """A name that the hosts do not know ends the job with one line and status 1, on every rank."""
    status, text, _ = run(three, tmp_path, "--interfaces", "rail0,eth7")
    assert (status, text.count("r2cc: error:")) == (1, 1), text
    assert "node 0 (n0) has no interface eth7, only lo, mgmt, rail0, rail1" in text
