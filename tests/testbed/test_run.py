from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from algorithms.nic import Nic
from scripts.network import build, kernel
from scripts.network.job import Mpi
from scripts.network.testbed import Testbed
from tests.launch.test_open_mpi import OPEN_MPI, why_not

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60
HEARING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a script ignores
runpy.run_module("scripts.network", run_name="__main__", alter_sys=True)
"""
SIZE = ["allreduce", "-b", "1M", "-w", "0"]


@pytest.mark.usefixtures("no_launcher")
@pytest.mark.parametrize("mpi", Mpi, ids=lambda mpi: mpi.value)
def test_reduction_across_nodes(bed, tmp_path, mpi):
    """Every element is exact, each rank is on its node, and the data went over both rails of both nodes."""
    if mpi is Mpi.OPEN_MPI and (reason := why_not({**os.environ, **OPEN_MPI})):
        pytest.skip(f"no Open MPI: {reason}")
    report, log = tmp_path / "report.json", tmp_path / "log"
    with log.open("w") as file:
        status = bed.run(
            [*SIZE, "-n", "2", "--json", str(report)], mpi=mpi, timeout_s=LIMIT_S, stdout=file, stderr=file
        )
    assert status == 0, log.read_text()
    run = json.loads(report.read_text())
    assert [one["wrong"] for one in run["r2cc"]["iterations"]] == [0] * 4
    assert run["r2cc"]["iterations"][0]["kernel_bytes"] is not None
    # Two nodes send each other half of the data on each of two rails, out of place and in place.
    for link in bed.links():
        assert link.tx_bytes > 4 * 2**20 / 2
        assert link.rx_bytes > 4 * 2**20 / 2


@pytest.mark.usefixtures("no_launcher")
def test_status_of_the_job(bed, tmp_path):
    """A job that finds a wrong element gives its status to whoever started it."""
    with (tmp_path / "log").open("w") as file:
        status = bed.run([*SIZE, "-n", "1", "--corrupt", "1"], timeout_s=LIMIT_S, stdout=file, stderr=file)
    assert status == 2, (tmp_path / "log").read_text()


@pytest.mark.usefixtures("no_launcher")
def test_ctrl_c(bed):
    """A signal to `scripts/testbed run` ends all ranks before it ends itself; the network stays."""
    words = ["run", "--name", bed.name, "--", *SIZE, "-n", "100000"]
    with subprocess.Popen(
        [sys.executable, "-c", HEARING, *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as run:
        _wait_for_traffic(bed)
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT_S) == 128 + signal.SIGINT
        assert run.stderr is not None
        assert run.stderr.read() == b""
    assert [kernel.inhabitants(part) for part in build.parts_of(bed.name)] == [[], [], []]
    assert bed.nodes == 2


@pytest.mark.usefixtures("namespaces", "no_launcher")
def test_missing_and_slow_links(tmp_path):
    """A job on a network with a missing and a slow NIC runs on what there is."""
    report, log = tmp_path / "report.json", tmp_path / "log"
    missing, slow = Nic(1, 1), Nic(0, 0)
    with (
        Testbed.build(nodes=3, rails=2, without=[missing], slow={slow: Fraction(1, 2)}) as bed,
        log.open("w") as file,
    ):
        words = [*SIZE, "-n", "2", "--json", str(report)]
        assert bed.run(words, timeout_s=LIMIT_S, stdout=file, stderr=file) == 0, log.read_text()
    run = json.loads(report.read_text())["r2cc"]
    assert [one["wrong"] for one in run["iterations"]] == [0] * 2
    assert run["iterations"][0]["rail_bytes"]["1:1"] == {"tx": 0, "rx": 0}


def _wait_for_traffic(bed):
    """Wait until ranks of all nodes are in the middle of it."""
    until = time.monotonic() + LIMIT_S
    while any(link.tx_bytes < 2**20 for link in bed.links()):
        assert time.monotonic() < until, "no rank has sent anything"
        time.sleep(0.05)
