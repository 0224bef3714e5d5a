from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

from r2cc_mpi import cli
from r2cc_mpi.cli.options import RunOptions
from r2cc_mpi.errors import FailureMissedError
from r2cc_mpi.layout import Layout

pytestmark = pytest.mark.usefixtures("no_launcher")


@pytest.fixture
def job(monkeypatch):
    """Replace what runs inside MPI by a list of the options that it gets; it ends with status 0."""
    seen: list[RunOptions] = []

    def run(options):
        seen.append(options)
        return 0

    module = types.ModuleType("r2cc_mpi.cli.run_job")
    vars(module)["run"] = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli, "run_job", module, raising=False)
    return seen


@pytest.fixture
def launched(monkeypatch):
    """Replace the start of mpiexec by a list of what it gets; it ends with status 7."""
    seen: list[tuple[object, ...]] = []

    def launch(*arguments):
        seen.append(arguments)
        return 7

    monkeypatch.setattr(cli, "launch_job", launch)
    return seen


def become_rank(monkeypatch, rank, size):
    """Make this process look like a rank that Hydra started, three to a host."""
    for name, value in {"PMI_RANK": rank, "PMI_SIZE": size, "MPI_LOCALNRANKS": 3}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(cli, "LAST_WORDS_S", 0)


def test_alone_it_starts_mpiexec(launched):
    """Outside a launcher the command line goes to mpiexec with its layout, and its status comes back."""
    words = ["run", "allreduce", "--rails", "3"]
    assert cli.main(words) == 7
    assert launched[0][:2] == (words, Layout(2, 3))


def test_inside_a_job_it_runs(monkeypatch, job):
    """Inside a launcher the job runs right here, with the place of this rank."""
    become_rank(monkeypatch, 4, 9)
    assert cli.main(["run", "allreduce"]) == 0
    assert (job[0].layout, job[0].place.rank) == (Layout(3, 3), 4)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "allreduce", "-b", "nonsense"],
        ["run", "nonsense"],
        ["run"],
        ["nonsense"],
        [],
        ["run", "allreduce", "--fail", "nonsense"],
    ],
)
def test_usage_error_is_one_line_and_status_1(words, launched, capsys):
    """A mistake is one line on standard error with status 1, and nothing is started."""
    assert cli.main(words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("r2cc: error: ")
    assert printed.err.count("\n") == 1
    assert launched == []


def test_only_rank_0_speaks(monkeypatch, job, capsys):
    """Inside a job every rank ends with status 1, and rank 0 alone says why."""
    errors = []
    for rank in range(3):
        become_rank(monkeypatch, rank, 9)
        assert cli.main(["run", "allreduce", "--rails", "2"]) == 1
        errors.append(capsys.readouterr().err)
    assert errors[0].startswith("r2cc: error: 9 ranks cannot be divided into nodes of 2 rails")
    assert errors[1:] == ["", ""]
    assert job == []


def test_error_of_the_job_decides_the_status(monkeypatch, job, capsys):
    """An error that the job raises ends with its own status, in one line even if its text has more."""

    def fail(_options):
        raise FailureMissedError("--fail 1:1@9s\ncame too late")

    become_rank(monkeypatch, 0, 9)
    monkeypatch.setattr("r2cc_mpi.cli.run_job.run", fail)
    assert cli.main(["run", "allreduce"]) == 3
    assert capsys.readouterr().err == "r2cc: error: --fail 1:1@9s came too late\n"
    assert job == []


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"]])
def test_help_ends_with_status_0(words, capsys):
    """Help and version are printed on standard output, and that is no error."""
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    assert end.value.code == 0
    assert "r2cc" in capsys.readouterr().out


def test_reader_may_leave():
    """`r2cc analyze table1 | head` ends as other programs do: no traceback, 128 + SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "r2cc_mpi", "analyze", "table1"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
