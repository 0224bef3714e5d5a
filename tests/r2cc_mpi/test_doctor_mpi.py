from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from r2cc_mpi.cli.mpiexec import Flavour, Mpiexec
from r2cc_mpi.doctor import mpi
from r2cc_mpi.doctor.asking import MARK, Reply
from r2cc_mpi.doctor.findings import Status, problems
from r2cc_mpi.doctor.mpi import Job, Library, Mpi, library_of
from r2cc_mpi.doctor.mpi_findings import judge

MPICH = Library("MPICH Version:      5.0.2", "5.0", "THREAD_MULTIPLE", cuda=False, file="/v/lib/libmpi.so.12")
OPEN_MPI = Library(
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "3.1", "THREAD_MULTIPLE", cuda=True, file="/l"
)
HYDRA = Mpiexec(Path("/v/bin/mpiexec"), Flavour.HYDRA)
ORTE = Mpiexec(Path("/usr/bin/mpiexec"), Flavour.OPEN_MPI)

HEALTHY = Mpi(library=MPICH, mpich_wheel=True, launcher=HYDRA, job=Job((2, 2), 0.5), netmod="ofi")
DEBIAN = Mpi(library=OPEN_MPI, launcher=ORTE, job=Job((2, 2), 0.5))


def findings_by_name(seen):
    """Judge, and give the findings by their names, each of which comes once."""
    found = judge(seen)
    by_name = {finding.name: finding for finding in found}
    assert len(by_name) == len(found)
    return by_name


def test_healthy_mpich():
    """PyPI's MPICH with its own launcher is fine, but for CUDA."""
    found = findings_by_name(HEALTHY)
    assert [(name, one.status) for name, one in found.items()] == [
        ("MPI library", Status.OK),
        ("threads", Status.OK),
        ("CUDA-aware", Status.MISSING),
        ("launcher", Status.OK),
        ("job", Status.OK),
    ]
    assert found["MPI library"].text == "MPICH 5.0.2, standard 5.0, PyPI's wheel"
    assert found["launcher"].text == "/v/bin/mpiexec, of MPICH"
    assert found["job"].text == "2 ranks met, 0.5 s from start to end"


def test_healthy_open_mpi():
    """Debian's Open MPI with its own launcher is fine, and this one takes arrays in GPU memory."""
    found = findings_by_name(DEBIAN)
    assert {one.status for one in found.values()} == {Status.OK}
    assert found["MPI library"].text == "Open MPI v4.1.4, standard 3.1, /l"


def test_no_mpi():
    """Where MPI does not start the reason is given, and how to get one; nothing else is claimed of it."""
    found = findings_by_name(Mpi(library_error="libmpi.so: cannot open", launcher=ORTE))
    assert list(found) == ["MPI library", "launcher"]
    assert found["MPI library"].status is Status.PROBLEM
    assert found["MPI library"].text == "MPI does not start: libmpi.so: cannot open"
    assert "pip install 'r2cc-mpi[mpich]'" in found["MPI library"].remedy
    assert found["launcher"].status is Status.NOTE


def test_no_launcher():
    """A library without a launcher is a problem, with the words of `r2cc run` for it."""
    error = "no MPI found: neither mpiexec nor mpirun is on PATH; install one"
    finding = findings_by_name(replace(HEALTHY, launcher=None, launcher_error=error, job=None))["launcher"]
    assert (finding.status, finding.remedy) == (Status.PROBLEM, "install one")
    assert finding.text == "no MPI found: neither mpiexec nor mpirun is on PATH"


@pytest.mark.parametrize(
    ("library", "launcher", "wheel", "remedy"),
    [
        (MPICH, ORTE, True, "unset R2CC_MPI"),
        (MPICH, ORTE, False, "the mpiexec that belongs to /v/lib/libmpi.so.12"),
        (OPEN_MPI, HYDRA, True, "R2CC_MPI=system"),
    ],
)
def test_launcher_of_another_mpi(library, launcher, wheel, remedy):
    """A launcher of one MPI and a library of another are a problem, and each case has its way out."""
    seen = Mpi(library=library, launcher=launcher, mpich_wheel=wheel, netmod="ofi")
    (problem,) = problems(judge(seen))
    assert problem.name == "launcher"
    assert f"{launcher.path}, of {launcher.flavour.value}, but mpi4py loads" in problem.text
    assert remedy in problem.remedy


def test_unknown_launcher_may_fit():
    """A launcher of unknown make is not blamed for that; the job decides."""
    seen = replace(HEALTHY, launcher=Mpiexec(Path("/srun"), Flavour.OTHER))
    assert problems(judge(seen)) == []


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (Job((1, 1), 0.5), "2 ranks did not find each other, they counted: 1, 1"),
        (Job((), 0.5), "2 ranks did not find each other, they counted: nothing"),
        (Job((2,), 0.5), "2 ranks did not find each other, they counted: 2"),
        (Job((), 30.0, "no answer within 30 s"), "2 ranks did not start: no answer within 30 s"),
    ],
)
def test_job_that_fails(job, text):
    """Ranks that are alone, say nothing or hang are a problem."""
    (problem,) = problems(judge(replace(HEALTHY, job=job)))
    assert (problem.name, problem.text) == ("job", text)
    assert problem.remedy


def test_too_few_threads():
    """An MPI that offers less than THREAD_MULTIPLE is a problem, named by what it offers."""
    library = replace(MPICH, thread_level="THREAD_SERIALIZED")
    (problem,) = problems(judge(replace(HEALTHY, library=library)))
    assert problem.name == "threads"
    assert problem.text.startswith("MPI_THREAD_SERIALIZED, but")


@pytest.mark.parametrize(
    ("cuda", "status", "text"),
    [
        (True, Status.OK, "takes arrays in GPU memory"),
        (False, Status.MISSING, "no: arrays in GPU memory go through host memory"),
        (None, Status.MISSING, "does not say whether"),
    ],
)
def test_cuda(cuda, status, text):
    """Whether MPI is CUDA-aware is told, and never stands in the way."""
    finding = findings_by_name(replace(HEALTHY, library=replace(MPICH, cuda=cuda)))["CUDA-aware"]
    assert finding.status is status
    assert text in finding.text


@pytest.mark.parametrize(
    ("version", "is_told"),
    [
        ("Open MPI v5.0.11, package: x", True),
        ("Open MPI v6.0.0", True),
        ("Open MPI v4.1.4", False),
        ("MPICH Version: 5.0.2", False),
    ],
)
def test_open_mpi_that_spins(version, is_told):
    """Open MPI from 5 on is noted for its MPI_Finalize; nothing else is."""
    assert ("Finalize" in findings_by_name(Mpi(library=replace(OPEN_MPI, version=version)))) is is_told


@pytest.mark.parametrize(
    ("wheel", "netmod", "text"),
    [
        (True, "", "prefers UCX"),
        (True, "ucx", "MPIR_CVAR_CH4_NETMOD=ucx is set"),
        (True, "ofi", None),
        (False, "ucx", None),
    ],
)
def test_transport_of_the_wheel(wheel, netmod, text):
    """The wheel's preference for UCX is told, and a setting against ours; other MPIs are left alone."""
    finding = findings_by_name(replace(HEALTHY, mpich_wheel=wheel, netmod=netmod)).get("transport")
    assert (finding is None) is (text is None)
    if finding is not None:
        assert finding.status is Status.NOTE
        assert text in finding.text


ANSWER = (
    f'some noise\n{MARK}{{"version": "MPICH Version: 5", "standard": "5.0", '
    '"thread_level": "THREAD_MULTIPLE", "cuda": null, "file": "", "size": 2}'
)


def test_probe_is_read():
    """What a probe prints becomes a library; of a probe that failed nothing is believed."""
    expected = Library("MPICH Version: 5", "5.0", "THREAD_MULTIPLE", cuda=None, file="")
    assert library_of(Reply(0, ANSWER, "")) == expected
    assert library_of(Reply(1, ANSWER, "abort")) is None
    assert library_of(Reply(0, "noise", "")) is None


@pytest.fixture
def machine(monkeypatch):
    """A machine whose processes answer as the test wants; yields the commands that were tried."""
    commands = []

    def set_up(launcher, *replies):
        left = list(replies)

        def answer(command, environment):
            commands.append(command)
            return left.pop(0)

        monkeypatch.setattr(mpi, "ask", answer)
        monkeypatch.setattr(mpi, "find_mpiexec", lambda *_: launcher.path)
        monkeypatch.setattr(mpi, "identify", lambda _: launcher)
        return commands

    return set_up


def test_look_tries_a_job(machine):
    """With library and launcher that fit, two ranks are started, and what they counted is kept."""
    commands = machine(HYDRA, Reply(0, ANSWER, ""), Reply(0, f"{ANSWER}\n{ANSWER}", ""))
    seen = mpi.look({})
    assert seen.job is not None
    assert (seen.job.world_sizes, seen.job.error) == ((2, 2), "")
    assert commands[1][:3] == ["/v/bin/mpiexec", "-n", "2"]


def test_look_tries_no_job_that_must_fail(machine):
    """With a launcher of another MPI, or without a library, no job is tried."""
    for alone in (Reply(0, ANSWER, ""), Reply(1, "", "ImportError: no MPI")):
        commands = machine(ORTE, alone)
        before = len(commands)
        seen = mpi.look({})
        assert seen.job is None
        assert len(commands) == before + 1
    assert seen.library_error == "ImportError: no MPI"


def test_look_reports_a_job_that_hangs(machine):
    """A job without an answer is an error of the job, and the library is still told."""
    machine(HYDRA, Reply(0, ANSWER, ""), Reply(None, "", "no answer within 30 s"))
    seen = mpi.look({})
    assert seen.library is not None
    assert seen.job is not None
    assert seen.job.error == "no answer within 30 s"


def test_job_without_words():
    """A process that failed without a word is described by its status."""
    assert mpi._why(Reply(16, "", "")) == "it ended with status 16"
