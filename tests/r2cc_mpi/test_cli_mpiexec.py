from __future__ import annotations

from pathlib import Path

import pytest

from r2cc_mpi.cli.mpiexec import Flavour, Mpiexec, find_mpiexec, flavour_of, identify
from r2cc_mpi.errors import MachineError, UsageError


def make_program(path, text="#!/bin/sh\n"):
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path):
    """A machine with a virtual environment and a system folder, both of which have an mpiexec."""
    make_program(tmp_path / "venv/bin/mpiexec")
    make_program(tmp_path / "system/mpiexec")
    (tmp_path / "venv/pyvenv.cfg").touch()
    return tmp_path


def find(machine, path, **environment):
    """Look for mpiexec with the virtual environment's Python."""
    return find_mpiexec({"PATH": path, **environment}, machine / "venv/bin/python")


def test_wheel_comes_before_the_system(machine):
    """The mpiexec beside Python is taken even if PATH has another one first."""
    assert find(machine, f"{machine}/system") == machine / "venv/bin/mpiexec"


def test_system_is_taken_when_asked_for(machine):
    """R2CC_MPI=system takes PATH's mpiexec, also when the virtual environment is active."""
    path = f"{machine}/venv/bin:{machine}/system"
    assert find(machine, path, R2CC_MPI="system") == machine / "system/mpiexec"


def test_system_python_beside_system_mpiexec(machine):
    """R2CC_MPI=system finds an mpiexec beside a Python that is the system's own."""
    environment = {"PATH": f"{machine}/system", "R2CC_MPI": "system"}
    assert find_mpiexec(environment, machine / "system/python") == machine / "system/mpiexec"


def test_mpirun_will_do(machine):
    """Where there is only an mpirun it is taken."""
    (machine / "system/mpiexec").rename(machine / "system/mpirun")
    assert find(machine, f"{machine}/system", R2CC_MPI="system") == machine / "system/mpirun"


@pytest.mark.parametrize(("choice", "remedy"), [("system", "apt install mpich"), ("wheel", "pip install")])
def test_no_mpi_found(tmp_path, choice, remedy):
    """Without any mpiexec the error is one line that says what to install."""
    with pytest.raises(MachineError, match=f"no MPI found.*{remedy}") as error:
        find_mpiexec({"PATH": str(tmp_path), "R2CC_MPI": choice}, tmp_path / "python")
    assert "\n" not in str(error.value)


def test_unknown_choice_is_refused(tmp_path):
    """A typo in R2CC_MPI is an error, not the default."""
    with pytest.raises(UsageError, match="R2CC_MPI=sytem"):
        find_mpiexec({"R2CC_MPI": "sytem"}, tmp_path / "python")


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("HYDRA build details:\n    Version:  5.0.2\n", Flavour.HYDRA),
        ("mpiexec (OpenRTE) 4.1.4\n", Flavour.OPEN_MPI),
        ("mpiexec (Open MPI) 5.0.11\n", Flavour.OPEN_MPI),
        ("prterun (PRRTE) 3.0.6\n", Flavour.OPEN_MPI),
        ("something else", Flavour.OTHER),
    ],
)
def test_flavour_by_version_text(text, flavour):
    """Each mpiexec is recognised by what --version prints."""
    assert flavour_of(text) is flavour


def test_identify_runs_the_program(tmp_path):
    """The program itself is asked."""
    path = make_program(
        tmp_path / "mpiexec", "#!/bin/sh\n[ $1 = --version ] && echo 'HYDRA build details:'\n"
    )
    assert identify(path) == Mpiexec(path, Flavour.HYDRA)


def test_broken_mpiexec_is_reported(tmp_path):
    """An mpiexec that cannot run is an error that names it."""
    path = make_program(tmp_path / "mpiexec", "#!/no/such/shell\n")
    with pytest.raises(MachineError, match=str(path)):
        identify(path)


@pytest.mark.parametrize(
    ("flavour", "as_root", "flags"),
    [
        (Flavour.HYDRA, True, []),
        (Flavour.OTHER, True, []),
        (Flavour.OPEN_MPI, False, ["--oversubscribe"]),
        (Flavour.OPEN_MPI, True, ["--oversubscribe", "--allow-run-as-root"]),
    ],
)
def test_command_line(flavour, as_root, flags):
    """Only Open MPI is told that root and many ranks are intended."""
    command = Mpiexec(Path("/bin/mpiexec"), flavour).command(9, ["python", "-m", "x"], as_root=as_root)
    assert command == ["/bin/mpiexec", "-n", "9", *flags, "python", "-m", "x"]
