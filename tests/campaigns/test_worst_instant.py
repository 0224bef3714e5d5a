from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaigns import worst_instant
from tests.campaigns.instants import Instant, Outcome
from tests.campaigns.jobs import Ended
from tests.campaigns.worst_instant import main

ROOT = Path(__file__).resolve().parents[2]
SOME = ["--layout", "3x2", "--manner", "announced", "--sample", "6", "--per-launch", "4"]

# Spoils an element of every result on rank 2, but for the first collective, which checks the program itself.
SPOILING = """
import sys
from tests.campaigns import instant_program

class Spoiling(instant_program.Communicator):
    def Allreduce(self, mine, received):
        super().Allreduce(mine, received)
        if self.last_report.number > 1 and self.nic == (1, 0):
            received[-1] += 1

instant_program.Communicator = Spoiling
instant_program.main(*sys.argv[1:])
"""


def good(case):
    """Give an outcome that nobody can complain of."""
    return Outcome(0, died=True, blamed=(case.nic,), known_s=0.002, resent=(0,), time_s=0.1)


@pytest.fixture
def jobs(monkeypatch):
    """Jobs that only pretend to run; yields what they ran. `end_at` names a case that ends its job."""

    class Jobs:
        batches: list[list[str]] = []  # noqa: RUF012 - the fixture makes a class for each test
        outcome = staticmethod(good)
        end_at = ""
        ended = Ended(None, "mpiexec did not end within 9 s; ranks still alive: 2\nmore", 9.0)
        last = Ended(0, "", 1.0)

        @classmethod
        def launch(cls, batch):
            cls.batches.append([case.name for case in batch])
            names = cls.batches[-1]
            if cls.end_at in names:
                return [cls.outcome(case) for case in batch[: names.index(cls.end_at)]], cls.ended
            return [cls.outcome(case) for case in batch], cls.last

    monkeypatch.setattr(worst_instant, "launch", Jobs.launch)
    return Jobs


def test_passing_campaign(jobs, capsys):
    """Cases are put into jobs of so many, and the summary counts them; status 0."""
    assert main(SOME) == 0
    assert [len(batch) for batch in jobs.batches] == [4, 2]
    *progress, summary, last = capsys.readouterr().out.splitlines()
    assert progress == ["3x2 announced: 4 of 6 (1 s)", "3x2 announced: 6 of 6 (1 s)"]
    assert summary.startswith(
        "3x2 announced: 6 of 6 passed, 6 noticed, known everywhere after 2.0 ms (median)"
    )
    assert last == "6 passed, 0 failed"


def test_seed_decides_the_order(jobs):
    """The same seed gives the same sample, another one another."""
    for seed in ("0", "0", "1"):
        main([*SOME, "--seed", seed])
    first, again, other = (jobs.batches[i] + jobs.batches[i + 1] for i in (0, 2, 4))
    assert first == again != other


def test_everything_by_default(jobs):
    """Without options every instant of both layouts dies in all four manners."""
    assert main([]) == 0
    names = [name for batch in jobs.batches for name in batch]
    assert len(names) == len(set(names)) == 2 * 4 * 6 * 21


def test_hang_is_named_and_the_rest_goes_on(jobs, capsys, tmp_path):
    """A case that hangs its job has failed and is named, and the cases behind it still run."""
    main(SOME)
    third = jobs.batches[0][2]
    jobs.batches.clear()
    jobs.end_at = third
    capsys.readouterr()
    log = tmp_path / "log"
    assert main([*SOME, "--log", str(log)]) == 1
    assert [len(batch) for batch in jobs.batches] == [4, 3]
    out = capsys.readouterr().out
    assert f"FAILED {third}: hung: mpiexec did not end within 9 s; ranks still alive: 2" in out
    assert Instant.parse(third).command in out
    assert out.splitlines()[-1] == "5 passed, 1 failed"
    jobs.batches.clear()
    jobs.end_at = ""
    assert main([*SOME, "--log", str(log)]) == 0
    assert jobs.batches == [[third]]
    assert "5 cases have passed before" in capsys.readouterr().out


def test_job_that_fails_in_the_end(jobs, capsys):
    """If all cases are over and the job then ends badly, that is not forgotten."""
    jobs.last = Ended(1, "Abort\n", 1.0)
    assert main(SOME) == 1
    last_of_first_job = jobs.batches[0][-1]
    failure = f"FAILED {last_of_first_job}: all cases over, then the job ended with status 1: Abort"
    assert failure in capsys.readouterr().out


def test_bad_outcome_is_told(jobs, capsys):
    """An outcome that must not be is a failure, with its measurements kept in the summary."""
    jobs.outcome = staticmethod(lambda case: replace(good(case), wrong=3))
    assert main([*SOME, "--nic", "1:1", "--chunk", "20"]) == 1
    out = capsys.readouterr().out
    assert "FAILED 3x2 announced 1:1 20: 3 wrong elements" in out
    assert out.splitlines()[-1] == "0 passed, 1 failed"


def test_no_case_is_no_pass(jobs, capsys):
    """A campaign that ran nothing proves nothing."""
    assert main(["--nic", "9:9"]) == 1
    assert capsys.readouterr().out == "0 passed, 0 failed\n"


def test_sample_on_real_ranks(capsys):
    """Some instants of every manner, on real ranks: every element right, and only the dead rail blamed."""
    assert main(["--layout", "3x2", "--manner", "announced", "--manner", "late-silent", "--sample", "3"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "6 passed, 0 failed"
    assert "3x2 announced: 3 of 3 passed, 3 noticed" in out


def test_spoiled_element_is_found_on_real_ranks(monkeypatch, capsys):
    """One element that one rank spoils in its result is seen by the program, and the case fails."""
    monkeypatch.setattr(worst_instant, "PROGRAM", ("-c", SPOILING))
    assert main(["--layout", "2x3", "--manner", "announced", "--nic", "0:1", "--chunk", "3"]) == 1
    assert "FAILED 2x3 announced 0:1 3: 1 wrong elements" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_everything_on_real_ranks():
    """Every instant of both layouts in all four manners: 1008 collectives, about twenty minutes."""
    assert main([]) == 0


def test_script_runs_from_anywhere(tmp_path):
    """The script finds the repository by itself, and passes its arguments and the exit status on."""
    command = [str(ROOT / "scripts/worst-instant"), "--nic", "9:9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "0 passed, 0 failed\n", "")
