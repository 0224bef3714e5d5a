from __future__ import annotations

from algorithms.nic import Nic
from scripts.reproduction.task import Stage, Task, Until, read_task


def test_tasks_survive_their_file(tmp_path):
    """The ranks read what was written, with NICs and stages of every kind."""
    stages = (
        Stage("healthy", 3),
        Stage("cut", 9, until=Until(Nic(1, 1), is_up=False)),
        Stage("pieces", 2, "r2cc-allreduce", 4, "helper"),
    )
    task = Task(2, 1000, 1.5e6, stages, "record.json", corrupt=2)
    task.write(tmp_path / "task.json")
    assert read_task(tmp_path / "task.json") == task
    assert (task.interfaces, task.size_bytes) == (["rail0", "rail1"], 4000)
