from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.campaigns import jobs
from tests.campaigns.jobs import last_line, run_job, tidy_shared_memory

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = """
import sys
from tests.campaigns.jobs import end_politely, run_job
end_politely()
run_job([sys.executable, "-c", sys.argv[1]], timeout_s=60)
"""
SLEEPER = "import os, sys, time; open({pid_file!r}, 'w').write(str(os.getpid())); time.sleep(600)"


def test_job_that_ends():
    """Status and all output come back."""
    ended = run_job([sys.executable, "-c", "print('out'); raise SystemExit('complaint')"], timeout_s=30)
    assert ended.status == 1
    assert ended.text.split() == ["out", "complaint"]


def test_job_that_hangs():
    """A job that does not end is killed, and there is no status."""
    ended = run_job([sys.executable, "-c", "import time; time.sleep(600)"], timeout_s=0.5)
    assert ended.status is None
    assert "did not end within 0.5 s; ranks still alive: none" in ended.text
    assert ended.seconds < 30


def test_campaign_that_is_ended_ends_its_job(tmp_path):
    """When the campaign is asked to end, it takes the running job with it."""
    pid_file = tmp_path / "pid"
    command = [sys.executable, "-c", INTERRUPTED, SLEEPER.format(pid_file=str(pid_file))]
    with subprocess.Popen(command, cwd=ROOT) as campaign:
        while not pid_file.exists() or not pid_file.read_text():
            time.sleep(0.01)
        campaign.send_signal(signal.SIGTERM)
        assert campaign.wait(30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_shared_memory_of_a_killed_job_is_removed(tmp_path, monkeypatch):
    """What a killed job left is removed; a file of another job that goes away meanwhile does no harm."""
    left = tmp_path / "mpich_shm_1"
    left.touch()
    monkeypatch.setattr(jobs, "forgotten_files", lambda _folder, _since: [left, tmp_path / "gone"])
    tidy_shared_memory(0.0)
    assert not left.exists()


@pytest.mark.parametrize(("text", "line"), [("a\nb \n\n", "b"), ("\n", "nothing was said")])
def test_last_line(text, line):
    """The last line with something on it is found."""
    assert last_line(text) == line
