from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from r2cc_mpi.cli.launch import job_environment, launch_job, run_to_end
from r2cc_mpi.cli.mpiexec import find_mpiexec, identify
from r2cc_mpi.layout import Layout

pytestmark = pytest.mark.usefixtures("no_launcher")

ROOT = Path(__file__).resolve().parents[2]

# Stands for mpiexec: starts a rank in a session of its own, as launchers do, says so, and waits for ever.
STARTER = """
import signal, subprocess, sys
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: (rank.kill(), sys.exit(0)))
rank = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("started", flush=True)
rank.wait()
signal.pause()
"""

WAIT_FOR_IT = """
import os, sys
from r2cc_mpi.cli import launch
launch.GRACE_S = 0.2
sys.exit(launch.run_to_end([sys.executable, "-c", *sys.argv[1:]], os.environ))
"""

# A background job of a script inherits that signals are ignored; these tests want them heard.
HEAR_SIGNALS = """
import signal
for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)
"""


# Writes its words into the file "words" beside it, one a line.
FAKE_MPIEXEC = """#!/bin/sh
[ "$1" = --version ] && exit
printf '%s\\n' "$@" > "${0%/*}/words"
exit 5
"""


def start(*arguments):
    """Run the starter through `run_to_end` in a process of its own, up to where its rank runs.

    All of its processes hold the pipe that is its output, so the pipe ends when the last of them does.
    """
    command = [sys.executable, "-c", HEAR_SIGNALS + WAIT_FOR_IT, STARTER, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.parametrize("status", [0, 3])
def test_exit_status_comes_back(status):
    """The status of the command is the status of the whole."""
    assert run_to_end([sys.executable, "-c", f"raise SystemExit({status})"], os.environ) == status


def test_death_by_signal_comes_back_as_a_shell_would_say_it():
    """A command that a signal ends gives 128 + its number."""
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_to_end([sys.executable, "-c", code], os.environ) == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("manner", ["polite", "stubborn"])
def test_signal_ends_the_whole_job(number, manner):
    """A signal to us ends the command and its ranks, also if the command will not listen."""
    with start(manner) as process:
        process.send_signal(number)
        assert process.stdout.read() == ""
        assert process.wait() == 128 + number


def test_job_ends_when_we_are_killed():
    """If we are killed the command is told to end."""
    with start("polite") as process:
        process.kill()
        assert process.stdout.read() == ""


def test_ignored_signal_stays_ignored():
    """Under nohup a hangup ends nothing."""
    code = "import os, signal; os.kill(os.getppid(), signal.SIGHUP)"
    ignore = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", ignore + WAIT_FOR_IT, code]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_handlers_are_put_back():
    """After the job Ctrl-C means what it meant before."""
    before = signal.getsignal(signal.SIGINT)
    run_to_end([sys.executable, "-c", ""], os.environ)
    assert signal.getsignal(signal.SIGINT) is before


def test_users_settings_win(tmp_path):
    """What the user has set for the transport stays."""
    environment = job_environment({"FI_PROVIDER": "verbs", "HOME": "/"}, tmp_path)
    assert (environment["FI_PROVIDER"], environment["HOME"]) == ("verbs", "/")


def test_folders_of_the_user_do_not_hide_ours(tmp_path):
    """Ranks do not import from the current folder, except where our packages are only found there."""
    assert job_environment({}, tmp_path)["PYTHONSAFEPATH"] == "1"
    assert "PYTHONSAFEPATH" not in job_environment({}, ROOT)


def test_command_line_reaches_mpiexec(tmp_path):
    """The launcher is told the ranks, the same words, and the layout, and its status comes back."""
    fake = tmp_path / "mpiexec"
    fake.write_text(FAKE_MPIEXEC)
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "R2CC_MPI": "system"}
    assert launch_job(["run", "allreduce", "-n", "3"], Layout(3, 2), environment) == 5
    words = (tmp_path / "words").read_text().split()
    assert words == f"-n 6 {sys.executable} -m r2cc_mpi run allreduce -n 3 --nodes 3 --rails 2".split()


def test_usage_error_inside_a_real_job():
    """Under the real mpiexec a mistake is one line of rank 0, and the job ends with status 1."""
    mpiexec = identify(find_mpiexec(os.environ, Path(sys.executable)))
    program = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", "--rails", "3"]
    command = mpiexec.command(4, program, as_root=os.geteuid() == 0)
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 1
    assert answer.stdout == ""
    (line,) = [line for line in answer.stderr.splitlines() if "r2cc" in line]
    assert line.startswith("r2cc: error: 4 ranks cannot be divided into nodes of 3 rails")
