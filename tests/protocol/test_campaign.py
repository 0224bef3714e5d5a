from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.protocol import campaign
from tests.protocol.cases import Case

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def broken(monkeypatch):
    """Let seed 2 fail."""
    failure = Case.failure
    monkeypatch.setattr(Case, "failure", lambda case: "planted" if case.seed == 2 else failure(case))


def test_passing_campaign(capsys):
    """A campaign whose runs all pass says so in its last line, and has exit status 0."""
    assert campaign.main(["--seeds", "3", "--first", "1", "--processes", "1"]) == 0
    assert capsys.readouterr().out == "3 passed, 0 failed\n"


@pytest.mark.parametrize(
    ("option", "kind"), [([], ""), (["--cut"], "--kind cut "), (["--kind", "slowed"], "--kind slowed ")]
)
@pytest.mark.usefixtures("broken")
def test_failing_campaign(capsys, option, kind):
    """A run that fails is named at once, and at the end with the command that replays it; status 1."""
    assert campaign.main([*option, "--seeds", "3", "--processes", "1"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "seed 2 failed: planted",
        f"seed 2: scripts/protocol-campaign {kind}--seed 2 --trace",
        "2 passed, 1 failed",
    ]


def test_campaign_in_several_processes(capsys):
    """Runs may be shared by processes; every one is counted."""
    assert campaign.main(["--every-instant", "--seeds", "25", "--processes", "2"]) == 0
    assert capsys.readouterr().out == "25 passed, 0 failed\n"


@pytest.mark.usefixtures("broken")
def test_log_is_resumed(capsys, tmp_path, monkeypatch):
    """Runs that have passed according to the log are not run again; those that failed are."""
    log = tmp_path / "log"
    assert campaign.main(["--seeds", "3", "--processes", "1", "--log", str(log)]) == 1
    assert log.read_text().splitlines() == ["random 0 passed", "random 1 passed", "random 2 failed: planted"]
    log.write_text(log.read_text() + "random 3 pas")
    monkeypatch.undo()
    ran = []
    monkeypatch.setattr(Case, "failure", lambda case: ran.append(case.seed))
    capsys.readouterr()
    assert campaign.main(["--seeds", "4", "--processes", "1", "--log", str(log)]) == 0
    assert ran == [2, 3]
    assert capsys.readouterr().out.splitlines()[-1] == "4 passed, 0 failed"
    assert campaign.passed_according_to(log) >= {Case("random", seed) for seed in (0, 1, 2)}


def test_progress_is_shown(capsys, monkeypatch):
    """A long campaign says now and then how far it is."""
    monkeypatch.setattr(campaign, "PROGRESS_S", -1.0)
    monkeypatch.setattr(Case, "failure", lambda _case: None)
    campaign.main(["--seeds", "2", "--processes", "1"])
    assert capsys.readouterr().out.splitlines() == [
        "1 of 2 runs, 0 failed",
        "2 of 2 runs, 0 failed",
        "2 passed, 0 failed",
    ]


def test_trace_shows_what_happens(capsys):
    """A replay with --trace prints a line for whatever happens, with the time, and the verdict last."""
    assert campaign.main(["--every-instant", "--seed", "60", "--trace"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for wanted in (
        "leads collective 1",
        "dies: Fault(",
        "sends DATA",
        "has completed collective 2",
        "leaves",
    ):
        assert any(wanted in line for line in lines), wanted
    assert lines[-1].startswith("seed 60 passed: ")
    campaign.main(["--every-instant", "--seed", "60"])
    assert capsys.readouterr().out.splitlines() == [lines[-1]]


def test_failing_replay(capsys, monkeypatch):
    """A replay that fails says why and has exit status 1."""
    monkeypatch.setattr("r2cc_mpi.protocol.channel.SendChannel.has_room", True)
    assert campaign.main(["--cut", "--seed", "0"]) == 1
    assert "seed 0 failed: node" in capsys.readouterr().out


def test_script_runs_from_anywhere(tmp_path):
    """The script finds the repository by itself, and passes its arguments and the exit status on."""
    script = str(ROOT / "scripts/protocol-campaign")
    done = subprocess.run(
        [script, "--seeds", "1", "--processes", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 passed, 0 failed\n", "")
    refused = subprocess.run(
        [script, "--nonsense"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
