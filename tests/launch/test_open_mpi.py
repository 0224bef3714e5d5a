"""A few whole jobs under Open MPI, where this machine has one beside the MPI of the other tests.

mpi4py's wheels load whatever MPI they are told to, so both serve the same Python.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from algorithms.nic import Nic
from r2cc_mpi.cli.launch import job_environment
from r2cc_mpi.cli.mpiexec import MPI_CHOICE, Flavour, find_mpiexec, identify
from r2cc_mpi.doctor.asking import ask
from r2cc_mpi.doctor.mpi import PROGRAM, library_of
from r2cc_mpi.errors import MachineError
from tests.launch.launcher import ROOT, launch
from tests.launch.reference_run import check_passed, check_resent, run

OPEN_MPI = {MPI_CHOICE: "system", "MPI4PY_LIBMPI": "libmpi.so.40"}
SIZE = ["--nodes", "3", "--rails", "2", "--rail-rate", "50MB/s", "-b", "2M", "-w", "0"]
FAULT = ["--fail", "1:0@iter=2,20%"]


def why_not(environment):
    """Say why no job can run under Open MPI with this environment; empty if one can."""
    try:
        launcher = identify(find_mpiexec(environment, Path(sys.executable)))
    except MachineError as error:
        return str(error)
    if launcher.flavour is not Flavour.OPEN_MPI:
        return f"{launcher.path} is not Open MPI's (Debian: apt install openmpi-bin)"
    reply = ask([sys.executable, *PROGRAM], job_environment(environment, ROOT))
    library = library_of(reply)
    if library is None or library.flavour is not Flavour.OPEN_MPI:
        return f"mpi4py cannot load {environment['MPI4PY_LIBMPI']}: {reply.complaint}"
    return ""


@pytest.fixture(scope="module")
def reason():
    """Why there is no Open MPI here; empty if there is."""
    return why_not({**os.environ, **OPEN_MPI})


@pytest.fixture
def open_mpi(reason, monkeypatch, no_launcher):
    """Let jobs run under Open MPI, or skip the test with the reason."""
    if reason:
        pytest.skip(f"no Open MPI: {reason}")
    for name, value in OPEN_MPI.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("open_mpi")
def test_it_is_open_mpi(tmp_path):
    """With these variables the doctor sees Open MPI's library and launcher, and two ranks that met."""
    report = tmp_path / "doctor.json"
    answer = launch([sys.executable, "-m", "r2cc_mpi", "doctor", "-b", "1M", "--json", str(report)])
    assert answer.status == 0, str(answer)
    found = {one["name"]: one["text"] for one in json.loads(report.read_text())["doctor"]["findings"]}
    assert found["MPI library"].startswith("Open MPI v")
    assert found["launcher"].endswith("of Open MPI")
    assert found["job"].startswith("2 ranks met")


@pytest.mark.usefixtures("open_mpi")
def test_healthy():
    """Without failures every element is right, out of place and in place."""
    check_passed(run(*SIZE, "-n", "2"), iterations=4)


@pytest.mark.parametrize(
    ("how", "cause"), [([], "announced"), (["--silent"], "stalled, probed")], ids=["announced", "silent"]
)
@pytest.mark.usefixtures("open_mpi")
def test_failure(how, cause):
    """A rail that dies in the middle, announced or not, is repaired, and only that one is blamed."""
    ended = run(*SIZE, "-n", "3", *FAULT, *how)
    check_passed(ended, iterations=3)
    assert [(one.iteration, one.nic, one.cause) for one in ended.failovers] == [(2, Nic(1, 0), cause)]
    check_resent(ended, rate_bytes_per_s=50e6, most_channels=2)


@pytest.mark.usefixtures("open_mpi")
def test_rail_that_comes_back():
    """What was in flight may arrive late, and the rail may be used again."""
    come_back = ["--strategy", "hot-repair", "--late", "--recover", "1:0@iter=4,10%"]
    ended = run(*SIZE, "-n", "8", *FAULT, *come_back)
    check_passed(ended, iterations=8)


@pytest.mark.usefixtures("open_mpi")
def test_exit_status():
    """The ranks' common exit status is the launcher's, also with this launcher."""
    ended = run(*SIZE, "-n", "2", "--strategy", "ring", *FAULT)
    assert ended.answer.status == 4, str(ended.answer)
    assert "node 1 rail 0 failed and strategy ring does not repair" in ended.verdict


def test_reasons_to_skip(tmp_path):
    """Without any launcher, with another MPI's, and without the library, the reason says so."""
    nothing = {**OPEN_MPI, "PATH": str(tmp_path)}
    assert why_not(nothing).startswith("no MPI found")
    fake = tmp_path / "mpiexec"
    for flavour, reason in (("HYDRA", "is not Open MPI's"), ("Open MPI", "cannot load libmpi.so.none")):
        fake.write_text(f"#!/bin/sh\necho '{flavour} 4'\n")
        fake.chmod(0o755)
        assert reason in why_not({**os.environ, **nothing, "MPI4PY_LIBMPI": "libmpi.so.none"})
