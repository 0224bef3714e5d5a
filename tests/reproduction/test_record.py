from __future__ import annotations

import json

from algorithms.nic import Nic
from scripts.reproduction.record import Carried, Learned, read_record


def rank(nic, times, strategy, kernel, learned=()):
    """Write what one rank gives back of two iterations."""
    iterations = [
        {
            "stage": "ring",
            "began_at": index + times[0],
            "ended_at": index + times[1],
            "network_s": times[1] - times[0],
            "strategy": one,
            "resent_bytes": 5,
            "wrong": index,
            "kernel": kernel[index],
        }
        for index, one in enumerate(strategy)
    ]
    plan = {"stage": "", "strategy": "ring", "agreed_s": times[0], "predicted_s": 0.5, "excluded": [[1, 0]]}
    return {
        "nic": nic,
        "iterations": iterations,
        "plans": [plan],
        "kernel": kernel[2],
        "learned": list(learned),
        "stall_s": 0.6,
        "probe_s": 0.3,
    }


def test_ranks_become_one_job(tmp_path):
    """Times span all ranks, errors and bytes add up, and counters become what an iteration carried."""
    first = rank([0, 0], (0.25, 0.75), ["ring", "ring"], [[10, 20], [110, 220], [111, 222]])
    change = [[1, 0], 1.5, False, "netlink event: set down"]
    second = rank([1, 0], (0.5, 1.0), ["ring", "hot-repair"], [[0, 0], [7, 8], [7, 8]], [change])
    file = tmp_path / "record.json"
    file.write_text(json.dumps([first, second]))

    job = read_record(file)

    one, two = job.iterations
    assert (one.began_at, one.ended_at, one.network_s, one.number) == (0.25, 1.0, 0.5, 1)
    assert (one.wrong, two.wrong, two.resent_bytes) == (0, 2, 10)
    assert job.wrong == ["iteration 2: 2 wrong elements"]
    assert one.kernel == {Nic(0, 0): Carried(100, 200), Nic(1, 0): Carried(7, 8)}
    assert two.kernel == {Nic(0, 0): Carried(1, 2), Nic(1, 0): Carried(0, 0)}
    assert (one.strategy, two.strategy) == ("ring", "hot-repair")
    assert job.plan_of("").agreed_s == 0.5
    assert job.plan_of("").excluded == (Nic(1, 0),)
    assert job.downs(Nic(1, 0), 1, 2) == [
        Learned(Nic(1, 0), Nic(1, 0), 1.5, False, "netlink event: set down")  # noqa: FBT003
    ]
    assert job.downs(Nic(1, 0), 2, 3) == []
