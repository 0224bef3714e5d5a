from __future__ import annotations

from dataclasses import replace

import pytest

from r2cc_mpi import shared_memory
from r2cc_mpi.doctor import machine
from r2cc_mpi.doctor.findings import Status, problems
from r2cc_mpi.doctor.machine import MIB, Machine, judge, needed_bytes
from r2cc_mpi.layout import Layout

LAYOUT = Layout(3, 3)
SIZE = 16 * MIB
GOOD = Machine("Linux", (3, 11, 7), 16, 1024 * MIB)


def test_good_machine():
    """Linux, a recent Python, room and a core for each rank: nothing to say."""
    assert [finding.status for finding in judge(GOOD, LAYOUT, SIZE)] == [Status.OK] * 3


def test_room_that_a_job_needs():
    """Three nodes of three rails on 16 MiB: an array each, mailboxes (4.2 MB x 3 x 2 each), and MPI's own."""
    arrays, mpi = 3 * 16 * MIB, 9 * 1100 * 1024
    mailboxes = needed_bytes(LAYOUT, SIZE) - arrays - mpi
    assert mailboxes == pytest.approx(3 * 6 * 4.2e6, rel=0.05)


@pytest.mark.parametrize(("missing_bytes", "problems_count"), [(0, 0), (1, 1)])
def test_shared_memory_to_the_byte(missing_bytes, problems_count):
    """Exactly enough is enough; a byte less is a problem that names what would help."""
    seen = replace(GOOD, shared_free_bytes=needed_bytes(LAYOUT, SIZE) - missing_bytes)
    found = problems(judge(seen, LAYOUT, SIZE))
    assert len(found) == problems_count
    for problem in found:
        assert problem.name == "shared memory"
        assert "a job of 3 nodes x 3 rails with arrays of 16 MiB needs about 131" in problem.text
        assert "--shm-size" in problem.remedy


def test_dockers_default_is_too_small():
    """64 MiB, which Docker gives, do not do for the README's job."""
    assert problems(judge(replace(GOOD, shared_free_bytes=64 * MIB), LAYOUT, SIZE))


def test_no_shared_memory_folder():
    """Without /dev/shm nothing can be said about room, which is told."""
    finding = judge(replace(GOOD, shared_free_bytes=None), LAYOUT, SIZE)[1]
    assert finding.status is Status.NOTE


@pytest.mark.parametrize(
    ("change", "text"),
    [({"python": (3, 9, 2)}, "3.9.2 on Linux"), ({"system": "Darwin"}, "only ever run on Linux")],
)
def test_python_and_system(change, text):
    """An old Python and another system are problems."""
    (problem,) = problems(judge(replace(GOOD, **change), LAYOUT, SIZE))
    assert problem.name == "Python"
    assert text in problem.text


@pytest.mark.parametrize(("cores", "status"), [(9, Status.OK), (8, Status.NOTE)])
def test_cores(cores, status):
    """Fewer cores than ranks are noted."""
    finding = judge(replace(GOOD, cores=cores), LAYOUT, SIZE)[2]
    assert finding.status is status
    assert f"{cores} for 9 ranks" in finding.text


def test_look_at_this_machine(monkeypatch, tmp_path):
    """This very machine can be looked at, with and without /dev/shm."""
    monkeypatch.setattr(shared_memory, "DIRECTORY", tmp_path)
    seen = machine.look()
    assert seen.cores >= 1
    assert seen.python >= (3, 10)
    assert seen.shared_free_bytes is not None
    monkeypatch.setattr(shared_memory, "DIRECTORY", tmp_path / "none")
    assert machine.look().shared_free_bytes is None
