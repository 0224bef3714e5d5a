from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.campaigns import chaos
from tests.campaigns.chaos import main
from tests.campaigns.chaos_runs import draw
from tests.campaigns.jobs import Ended

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def jobs(monkeypatch):
    """Jobs that only pretend to run; a test says how those of some seeds end."""

    class Jobs:
        def __init__(self):
            self.ran = []
            self.endings = {}
            self.reports = {}
            self.environments = []

        def run_job(self, command, *, timeout_s, **environment):
            self.environments.append(environment)
            (seed,) = [seed for seed in range(9) if tuple(command[5:-2]) == draw(seed).words]
            self.ran.append(seed)
            if seed in self.reports:
                Path(command[-1]).write_text(json.dumps({"r2cc": {"iterations": [self.reports[seed]]}}))
            return self.endings.get(seed, Ended(0, "table\n# verdict: PASS 2 iterations\n", 1.5))

    jobs = Jobs()
    monkeypatch.setattr(chaos, "run_job", jobs.run_job)
    return jobs


def test_passing_campaign(jobs, capsys, tmp_path):
    """Every run has a line with its command, on the screen and in the log; the last line counts; status 0."""
    log = tmp_path / "log"
    jobs.endings = {1: Ended(3, "# verdict: FAIL (exit 3) missed", 1.0)}
    assert main(["--runs", "3", "--log", str(log)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"seed 0: passed (1.5 s) r2cc run allreduce {' '.join(draw(0).words)}"
    assert out[-1] == "2 passed, 1 missed"
    lines = log.read_text().splitlines()
    assert lines[0] == f"passed\t0\t{draw(0).command}\t1.5 s: # verdict: PASS 2 iterations"
    assert [line.split("\t")[0] for line in lines] == ["passed", "missed", "passed"]


@pytest.mark.parametrize(
    ("ending", "word", "said"),
    [
        (Ended(2, "# verdict: FAIL (exit 2) 1 wrong elements", 1.0), "wrong", "1 wrong elements"),
        (Ended(None, "x did not end within 180 s; ranks still alive: 0, 3\nmore", 180.0), "hung", "0, 3"),
        (Ended(1, "\nr2cc: error: no such thing", 1.0), "refused", "no such thing"),
        (Ended(139, "", 1.0), "crashed", "nothing was said"),
    ],
)
def test_failing_campaign(jobs, capsys, tmp_path, ending, word, said):
    """A bad run is named again at the end with its command, its output is shown, and it is repeated later."""
    log = tmp_path / "log"
    jobs.endings = {4: ending}
    assert main(["--runs", "2", "--seed", "3", "--log", str(log)]) == 1
    out = capsys.readouterr().out
    assert ending.text in out
    assert out.splitlines()[-2:] == [f"seed 4: {word}: {draw(4).command}", f"1 passed, 1 {word}"]
    assert said in log.read_text().splitlines()[1]
    jobs.endings.clear()
    jobs.ran.clear()
    assert main(["--runs", "3", "--seed", "3", "--log", str(log)]) == 0
    assert jobs.ran == [4, 5]


def test_innocent_nic_in_the_report_is_noticed(jobs, capsys):
    """A run that passed and yet took a healthy NIC for dead is bad."""
    (mortal,) = (seed for seed in range(9) if len(draw(seed).mortal) == 1 and draw(seed).layout.nodes > 2)
    (innocent, *_) = (nic for nic in draw(mortal).layout if nic not in draw(mortal).mortal)
    jobs.reports[mortal] = {"failovers": [{"node": innocent.node, "rail": innocent.rail}]}
    assert main(["--runs", "1", "--seed", str(mortal)]) == 1
    assert f"1 blamed {innocent}" in capsys.readouterr().out


def test_other_mpi(jobs, capsys, tmp_path):
    """Under Open MPI its variables go to the job and into the command that repeats it."""
    log = tmp_path / "log"
    assert main(["--runs", "1", "--open-mpi", "--log", str(log)]) == 0
    assert jobs.environments == [{"R2CC_MPI": "system", "MPI4PY_LIBMPI": "libmpi.so.40"}]
    repeated = f"R2CC_MPI=system MPI4PY_LIBMPI=libmpi.so.40 {draw(0).command}"
    assert log.read_text().split("\t")[2] == repeated
    assert repeated in capsys.readouterr().out
    assert main(["--runs", "1"]) == 0
    assert jobs.environments[1] == {}


def test_no_run_is_no_pass(jobs, capsys):
    """A campaign without runs proves nothing."""
    assert main(["--runs", "0"]) == 1
    assert capsys.readouterr().out == "no runs\n"


def test_sample_on_real_ranks(capsys):
    """Two of the runs, on real ranks: nothing wrong, and the words of the log are those of `r2cc run`."""
    assert main(["--runs", "2", "--seed", "13"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["seed", "13:"], ["seed", "14:"]]
    assert "2 passed" in lines[-1] or "missed" in lines[-1]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_runs_on_real_ranks():
    """A hundred runs, about ten minutes."""
    assert main(["--runs", "100"]) == 0


def test_script_runs_from_anywhere(tmp_path):
    """The script finds the repository by itself, and passes its arguments and the exit status on."""
    command = [str(ROOT / "scripts/chaos"), "--runs", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "no runs\n", "")
