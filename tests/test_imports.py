"""The direction of imports: algorithms <- analysis <- r2cc_mpi, and MPI only where a job runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("algorithms", "analysis", "r2cc_mpi")
PROTOCOL = "r2cc_mpi/protocol"

# What a folder's files may import besides the standard library. The longest matching folder counts.
ALLOWED = {
    "algorithms": {"algorithms", "numpy"},
    "analysis": {"algorithms", "analysis", "numpy", "matplotlib", "numba", "scipy"},
    PROTOCOL: {"algorithms", "analysis", "r2cc_mpi", "numpy"},
    "r2cc_mpi": {"algorithms", "analysis", "r2cc_mpi", "numpy", "mpi4py", "cupy", "pyverbs", "matplotlib"},
}


def imported(source: str) -> set[str]:
    """List the modules that a file imports by absolute name, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module))
    return found


def violations(root: Path) -> list[str]:
    """Name every file under `root` that imports what its folder may not, with the module."""
    found = []
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            place = file.relative_to(root).as_posix()
            folder = max((one for one in ALLOWED if place.startswith(f"{one}/")), key=len)
            for module in sorted(imported(file.read_text(encoding="utf-8"))):
                top = module.partition(".")[0]
                if top not in ALLOWED[folder] and top not in sys.stdlib_module_names:
                    found.append(f"{place} imports {module}")
    return found


def test_no_import_points_up():
    """No file imports a package above its own, and the protocol imports no MPI."""
    assert violations(ROOT) == []


def test_checker_reads_files():
    """The check sees the packages of this repository, so that an empty answer means something."""
    assert "numpy" in imported((ROOT / "algorithms/schedule.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("place", "line", "module"),
    [
        ("algorithms/ring.py", "import analysis.cost_model", "analysis.cost_model"),
        ("algorithms/deep/ring.py", "from r2cc_mpi import errors", "r2cc_mpi"),
        ("analysis/cost_model.py", "def f():\n    from r2cc_mpi.errors import UsageError", "r2cc_mpi.errors"),
        ("r2cc_mpi/protocol/engine.py", "def f():\n    from mpi4py import MPI", "mpi4py"),
        ("r2cc_mpi/cli/run_job.py", "import pytest", "pytest"),
    ],
)
def test_checker_catches_planted_violation(tmp_path, place, line, module):
    """A planted import that points up is found, also inside a function or a subfolder."""
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text(f"import os\nfrom algorithms import ring\n{line}\n")
    assert violations(tmp_path) == [f"{place} imports {module}"]


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, in the repository."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


TELL = "import sys; print('mpi4py.MPI' in sys.modules)"


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_starts_no_mpi(package):
    """`import` of each package leaves mpi4py.MPI, which starts MPI, alone."""
    answer = run_python(f"import {package}\n{TELL}")
    assert (answer.stdout, answer.stderr) == ("False\n", "")


def test_importing_every_protocol_module_imports_no_mpi4py():
    """All of the protocol together does not even import mpi4py, also not through what it imports."""
    names = [file.stem for file in (ROOT / PROTOCOL).glob("*.py") if file.stem != "__init__"]
    code = "".join(f"import r2cc_mpi.protocol.{name}\n" for name in names)
    answer = run_python(f"{code}import sys; print('mpi4py' in sys.modules)")
    assert (answer.stdout, answer.stderr) == ("False\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_starts_no_mpi(arguments):
    """`r2cc --help` and its like print and end without MPI."""
    code = f"""
import sys
from r2cc_mpi.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print("status", end.code)
{TELL}
"""
    answer = run_python(code, *arguments)
    assert answer.stdout.endswith("status 0\nFalse\n")
    assert answer.stderr == ""


def test_starting_mpi_would_be_seen():
    """The way these tests look for MPI does find it once it is imported."""
    answer = run_python(f"import mpi4py; mpi4py.rc.initialize = False\nfrom mpi4py import MPI\n{TELL}")
    assert answer.stdout == "True\n"


@pytest.mark.parametrize("package", ["algorithms", "analysis", "r2cc_mpi.protocol"])
def test_works_without_mpi4py(package):
    """The packages without MPI import where mpi4py is not installed."""
    answer = run_python(f"import sys\nsys.modules['mpi4py'] = None\nimport {package}\nprint('ok')")
    assert (answer.stdout, answer.stderr) == ("ok\n", "")
