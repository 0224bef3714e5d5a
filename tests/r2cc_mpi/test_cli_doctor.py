from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from r2cc_mpi.cli import doctor, main
from r2cc_mpi.doctor.findings import Finding, Status, verdict

ROOT = Path(__file__).resolve().parents[2]
GOOD = Finding("MPI library", Status.OK, "MPICH 5.0.2")
NOTED = Finding("cupy", Status.MISSING, "not installed", "pip install cupy")
BAD = Finding("launcher", Status.PROBLEM, "of another MPI", "take the other")
WORSE = Finding("shared memory", Status.PROBLEM, "too small")


@pytest.fixture
def machine(monkeypatch, no_launcher):
    """A machine on which the doctor finds what the test wants."""

    def set_up(*findings):
        monkeypatch.setattr(doctor, "examine", lambda layout, size: [("all", list(findings))])

    return set_up


@pytest.mark.parametrize(
    ("findings", "status", "last_line"),
    [
        ([GOOD, NOTED], 0, "# verdict: OK reference runs work here"),
        ([GOOD, BAD], 1, "# verdict: NOT YET 1 problem to solve first: launcher (exit 1)"),
        ([BAD, WORSE], 1, "# verdict: NOT YET 2 problems to solve first: launcher, shared memory (exit 1)"),
    ],
)
def test_verdict_and_status(machine, capsys, findings, status, last_line):
    """Only problems make the exit status 1, and the last line names them."""
    machine(*findings)
    assert main(["doctor"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last_line


def test_every_finding_and_remedy_is_printed(machine, capsys):
    """Each finding has its line, and each remedy the line after."""
    machine(NOTED, WORSE)
    main(["doctor"])
    assert capsys.readouterr().out.splitlines()[2:6] == [
        "# all",
        "  missing   cupy           not installed",
        "                           -> pip install cupy",
        "  PROBLEM   shared memory  too small",
    ]


def test_json(machine, capsys, tmp_path):
    """The findings come as JSON too, to a file or to standard output with the table elsewhere."""
    machine(GOOD, BAD)
    main(["doctor", "--json", str(tmp_path / "doctor.json")])
    assert "# r2cc doctor" in capsys.readouterr().out
    main(["doctor", "--json", "-"])
    printed = capsys.readouterr()
    assert "# r2cc doctor" in printed.err
    document = json.loads(printed.out)
    assert document == json.loads((tmp_path / "doctor.json").read_text())
    assert document["doctor"] == {
        "verdict": verdict([GOOD, BAD]),
        "exit_code": 1,
        "findings": [
            {"name": "MPI library", "status": "ok", "text": "MPICH 5.0.2", "remedy": ""},
            {"name": "launcher", "status": "problem", "text": "of another MPI", "remedy": "take the other"},
        ],
    }


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--nodes", "0"], "--nodes '0' is not a whole number from 1 on"),
        (["--rails", "x"], "--rails 'x' is not a whole number from 1 on"),
        (["-b", "1X"], "-b '1X' is not a size"),
    ],
)
def test_bad_words(machine, capsys, words, error):
    """A bad number or size is a usage error that names the option."""
    machine()
    assert main(["doctor", *words]) == 1
    assert error in capsys.readouterr().err


def test_rank_of_a_job_is_sent_away(machine, monkeypatch, capsys):
    """Inside a job the doctor does not start another one, but says so."""
    machine()
    monkeypatch.setenv("PMI_RANK", "0")
    assert main(["doctor"]) == 1
    assert "run it outside of mpiexec" in capsys.readouterr().err


def test_layout_and_size_reach_the_examination(machine, monkeypatch):
    """The job that should fit is the one that was asked for."""
    asked = []

    def examine(layout, size):
        asked.append((str(layout), size))
        return []

    machine()
    monkeypatch.setattr(doctor, "examine", examine)
    main(["doctor", "--nodes", "3", "--rails", "4", "-b", "1K"])
    assert asked == [("3 nodes x 4 rails", 1024)]


@pytest.mark.usefixtures("no_launcher")
def test_this_machine(tmp_path):
    """On the machine of these tests, which runs jobs, the doctor finds nothing in the way.

    Two ranks have met, and yet MPI was not started in the doctor's own process.
    """
    code = (
        "import sys\nfrom r2cc_mpi.cli import main\n"
        "status = main(sys.argv[1:])\nassert 'mpi4py.MPI' not in sys.modules\nsys.exit(status)"
    )
    report = tmp_path / "doctor.json"
    command = [sys.executable, "-c", code, "doctor", "--nodes", "2", "-b", "1M", "--json", str(report)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout
    found = {one["name"]: one for one in json.loads(report.read_text())["doctor"]["findings"]}
    assert {"Python", "shared memory", "MPI library", "threads", "launcher", "numpy", "cupy", "RDMA"} <= set(
        found
    )
    assert found["job"]["text"].startswith("2 ranks met")
    assert found["threads"]["text"] == "MPI_THREAD_MULTIPLE"
