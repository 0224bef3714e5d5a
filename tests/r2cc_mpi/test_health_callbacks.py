from __future__ import annotations

import threading

import pytest

from algorithms.nic import Nic
from r2cc_mpi.health_callbacks import HealthCallbacks
from r2cc_mpi.nic_health import NicHealth
from r2cc_mpi.protocol.engine import Detection

BROKEN, OTHER = Nic(1, 0), Nic(0, 1)
DIED = Detection(BROKEN, 1, 10.0, "probe")
BACK = Detection(BROKEN, 2, 12.0, "echo")


def refuse(error):
    """Stand for the end of the job where none is expected."""
    raise AssertionError(error)


def test_changes_come_in_order_and_once():
    """Every function is told each change since it was added, with what was known then, and once."""
    detections, first, second = [Detection(OTHER, 1, 1.0, "declared")], [], []
    callbacks = HealthCallbacks(detections, refuse)
    callbacks.add(lambda *told: first.append(told))
    detections.append(DIED)
    callbacks.look()
    callbacks.look()
    callbacks.add(lambda *told: second.append(told))
    detections.append(BACK)
    callbacks.stop()
    died = NicHealth(BROKEN, is_up=False, since=10.0, cause="probe")
    back = NicHealth(BROKEN, is_up=True, since=12.0, cause="echo")
    assert first == [(BROKEN, died), (BROKEN, back)]
    assert second[-1] == (BROKEN, back)


def test_they_run_elsewhere():
    """A function runs on a thread of its own, so that looking never waits for it."""
    detections: list[Detection] = []
    go, where = threading.Event(), []
    callbacks = HealthCallbacks(detections, refuse)

    def slow(_nic, _health):
        where.append(threading.current_thread().name)
        assert go.wait(10)

    callbacks.add(slow)
    detections.append(DIED)
    callbacks.look()
    detections.append(BACK)
    callbacks.look()
    go.set()
    callbacks.stop()
    assert where == ["r2cc-health"] * 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exception_ends_the_job():
    """What a function raises is handed to whoever ends the job."""
    detections: list[Detection] = []
    seen: list[BaseException] = []
    callbacks = HealthCallbacks(detections, seen.append)
    callbacks.add(lambda _nic, _health: 1 / 0)
    detections.append(DIED)
    callbacks.stop()
    assert [type(error) for error in seen] == [ZeroDivisionError]


def test_nothing_runs_without_functions():
    """Without a function there is no thread, and what happened before the first is not told."""
    detections, told = [DIED], []
    callbacks = HealthCallbacks(detections, refuse)
    callbacks.look()
    callbacks.stop()
    callbacks.add(lambda *one: told.append(one))
    callbacks.stop()
    assert told == []
