from __future__ import annotations

import os
import subprocess
import sys
import time

from scripts.network.job import Job
from scripts.network.links import Moment
from scripts.reproduction.session import Action, Session

BEGIN = """
import json, sys, time
for number, stage in enumerate(sys.argv[1:], 1):
    print(json.dumps({"stage": stage, "number": number, "at": time.monotonic()}), flush=True)
    time.sleep(0.2)
print("# done")
"""


def job(program, *words):
    """Start a program that speaks as rank 0 does."""
    command = [sys.executable, "-c", program, *words]
    return Job(command, dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def action(name, stage, iteration, delay_s=0.0):
    """Make an action that only looks at the clock."""
    return Action(name, stage, iteration, delay_s, lambda: Moment(time.monotonic(), time.monotonic()))


def test_actions_have_their_turn():
    """An action waits for the iteration of its stage and its delay; one whose stage never comes has none."""
    begun_at = time.monotonic()
    actions = [action("second", "b", 2, 0.05), action("first", "a", 1), action("never", "c", 1)]
    with job(BEGIN, "a", "b", "b") as running:
        session = Session(running, actions)
        assert session.follow(30) == 0
    assert set(session.moments) == {"first", "second"}
    assert session.moments["first"].before_s >= begun_at
    assert session.moments["second"].before_s - session.moments["first"].before_s > 0.4
    assert session.said == ["# done"]


def test_delay_beyond_the_job():
    """What is due after the end of the job is not done."""
    with job(BEGIN, "a") as running:
        session = Session(running, [action("late", "a", 1, 60)])
        assert session.follow(30) == 0
    assert session.moments == {}


def test_job_that_hangs():
    """After its time a job is ended, and says nothing more."""
    with job("import time; time.sleep(60)") as running:
        assert Session(running, []).follow(0.3) is None
        assert running.process.poll() is not None


def test_status_of_a_job_that_fails():
    """The status of the job is handed on, with what it said."""
    with job("print('UsageError: no'); raise SystemExit(4)") as running:
        session = Session(running, [])
        assert session.follow(30) == 4
    assert session.said == ["UsageError: no"]
