from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from r2cc_mpi.doctor import packages
from r2cc_mpi.doctor.asking import MARK, Reply, ask
from r2cc_mpi.doctor.findings import Status, problems
from r2cc_mpi.doctor.packages import Library, Packages, judge, library, look, numbers

VERSIONS = {
    "numpy": "2.4.6",
    "mpi4py": "4.1.2",
    "scipy": "1.17.1",
    "matplotlib": "3.11.2",
    "numba": "0.68.1",
}
FULL = Packages(VERSIONS, Library("14.0", 8), Library("59", 2))


def finding_of(name, seen):
    """Judge, and give the one finding of that name."""
    (finding,) = [one for one in judge(seen) if one.name == name]
    return finding


def test_everything_is_there():
    """Versions are told, and how many devices there are."""
    assert {finding.name: finding.text for finding in judge(FULL)} == {
        **VERSIONS,
        "cupy": "14.0, 8 GPUs",
        "pyverbs": "59, 2 RDMA devices",
    }
    assert {finding.status for finding in judge(FULL)} == {Status.OK}


@pytest.mark.parametrize("name", VERSIONS)
def test_missing_package(name):
    """NumPy and mpi4py are needed, the others add something; how to get each is told."""
    finding = finding_of(name, replace(FULL, versions={**VERSIONS, name: None}))
    needed = name in {"numpy", "mpi4py"}
    assert finding.status is (Status.PROBLEM if needed else Status.MISSING)
    assert finding.text.startswith("not installed")
    assert finding.remedy == f"pip install {name}"


@pytest.mark.parametrize(("version", "problems_count"), [("4.0.3", 1), ("4.1.0", 0), ("4.10", 0), ("5", 0)])
def test_old_package(version, problems_count):
    """A version below the oldest that will do is a problem; versions are compared as numbers."""
    found = problems(judge(replace(FULL, versions={**VERSIONS, "mpi4py": version})))
    assert len(found) == problems_count
    for problem in found:
        assert problem.text == f"{version} is too old, 4.1 is needed"


@pytest.mark.parametrize(
    ("cupy", "status", "text"),
    [
        (Library(), Status.MISSING, "not installed, for arrays in GPU memory"),
        (Library(error="ImportError: libcuda"), Status.MISSING, "does not import: ImportError: libcuda"),
        (Library("14.0", 0), Status.NOTE, "14.0, but it sees no GPU"),
        (Library("14.0", 0, "no driver"), Status.NOTE, "14.0, but it sees no GPU: no driver"),
        (Library("14.0", 1), Status.OK, "14.0, 1 GPU"),
    ],
)
def test_library_with_devices(cupy, status, text):
    """A library that is missing, broken or sees no device is told apart."""
    finding = finding_of("cupy", replace(FULL, cupy=cupy))
    assert finding.status is status
    assert finding.text.startswith(text)
    assert ("pip install" in finding.remedy) is (status is Status.MISSING)


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (Reply(0, f'{MARK}{{"version": "1", "devices": 2, "error": ""}}', ""), Library("1", 2)),
        (Reply(1, "", "ModuleNotFoundError: No module named 'cupy'"), Library()),
        (Reply(1, "", "ImportError: libcuda.so.1"), Library(error="ImportError: libcuda.so.1")),
        (Reply(-11, "", ""), Library(error="it ended with status -11")),
        (Reply(None, "", "no answer within 30 s"), Library(error="no answer within 30 s")),
    ],
)
def test_probe_is_read(reply, seen):
    """A probe that answers, one without the package, one that crashes and one that hangs."""
    assert library(reply) == seen


MODULES = {
    "cupy": """
__version__ = "14.0"
class cuda:
    class runtime:
        class CUDARuntimeError(RuntimeError):
            pass
        def getDeviceCount():
            {body}
""",
    "pyverbs.device": "def get_device_list():\n    {body}\n",
}


@pytest.mark.parametrize(
    ("module", "body", "devices", "error"),
    [
        ("cupy", "return 3", 3, ""),
        ("cupy", "raise cuda.runtime.CUDARuntimeError('no driver')", 0, "no driver"),
        ("pyverbs.device", "return ['rxe0']", 1, ""),
        (
            "pyverbs.device",
            "raise OSError('no InfiniBand in this kernel')",
            0,
            "no InfiniBand in this kernel",
        ),
    ],
)
def test_probe_programs(tmp_path, monkeypatch, module, body, devices, error):
    """The probes' own programs say how many devices there are, or why none, on a package made for this."""
    file = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(exist_ok=True)
    file.write_text(MODULES[module].format(body=body))
    program = {"cupy": packages.CUPY_PROGRAM, "pyverbs.device": packages.PYVERBS_PROGRAM}[module]
    path = {"PYTHONPATH": f"{tmp_path}:{':'.join(one for one in sys.path if one)}"}
    seen = library(ask([sys.executable, "-c", program], path))
    assert (seen.devices, seen.error) == (devices, error)
    assert seen.version


def test_look_at_this_python(monkeypatch):
    """The packages of this very Python are found, and one that cannot be there is not."""
    monkeypatch.setattr(packages, "ask", lambda *_: Reply(1, "", "ModuleNotFoundError"))
    monkeypatch.setattr(
        packages, "PACKAGES", (*packages.PACKAGES, packages.Package("no-such-package", "", ""))
    )
    seen = look({})
    assert numbers(seen.versions["numpy"] or "") >= (1, 26)
    assert seen.versions["no-such-package"] is None
    assert seen.cupy == seen.pyverbs == Library()


@pytest.mark.parametrize(("version", "expected"), [("2.1rc1", (2, 1)), ("59", (59,)), ("unknown", ())])
def test_numbers(version, expected):
    """Versions are compared by their leading numbers."""
    assert numbers(version) == expected
