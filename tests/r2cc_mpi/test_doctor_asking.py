from __future__ import annotations

import os
import sys

import pytest

from r2cc_mpi.doctor import asking
from r2cc_mpi.doctor.asking import MARK, Reply, ask, telling_line


def ask_python(code, limit_s=30.0):
    """Ask a Python program."""
    return ask([sys.executable, "-c", code], os.environ, limit_s)


def test_answer_comes_back():
    """Output, status and the telling line of the complaints come back."""
    reply = ask_python("import sys; print('hello'); print('some error', file=sys.stderr); sys.exit(3)")
    assert reply == Reply(3, "hello\n", "some error")


def test_marked_answers_are_found():
    """JSON behind marks is found among other output, also where two ranks share a line."""
    output = f'noise\n{MARK}{{"a": 1}}\nmore\n{MARK}{{"a": 2}}{MARK}{{"a": 3}}\n'
    assert Reply(0, output, "").answers == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert Reply(0, "noise", "").answers == []


def test_tell_and_answers_belong_together():
    """What a probe tells is what is read."""
    reply = ask_python("from r2cc_mpi.doctor.asking import tell; tell({'size': 2, 'text': 'a\\nb'})")
    assert reply.answers == [{"size": 2, "text": "a\nb"}]


@pytest.mark.parametrize("ignores", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN); "])
def test_process_that_hangs_is_ended(monkeypatch, tmp_path, ignores):
    """A process that does not answer is ended, also if it will not listen, with what it has started."""
    monkeypatch.setattr(asking, "ENDING_S", 0.2)
    pid_file = tmp_path / "pid"
    code = f"import os, signal, time; {ignores}open({str(pid_file)!r}, 'w').write(str(os.getpid())); "
    reply = ask_python(f"{code}time.sleep(600)", limit_s=1.0)
    assert reply == Reply(None, "", "no answer within 1 s")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_program_that_does_not_exist():
    """A program that is not there is an answer too."""
    assert ask(["/no/such/program"], {}) == Reply(
        None, "", "/no/such/program does not run: No such file or directory"
    )


@pytest.mark.parametrize(
    ("complaints", "line"),
    [
        ("Traceback\n  File x\nModuleNotFoundError: no cupy\n", "ModuleNotFoundError: no cupy"),
        ("Fatal error in init\n------\nExit code:    16\n-----\n", "Fatal error in init"),
        ("first\n second \n-----\n", "second"),
        ("", ""),
    ],
)
def test_telling_line(complaints, line):
    """The line that says most is picked, not the last frame that a launcher draws."""
    assert telling_line(complaints) == line
