from __future__ import annotations

import pytest

from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction.experiments import Run, faults, run
from scripts.reproduction.setting import Setting

pytestmark = pytest.mark.usefixtures("namespaces")


def test_cut_under_a_job():
    """A link that is cut from outside under the third AllReduce costs no element; a spoiled one is found."""
    setting = Setting(nodes=2, rails=2, link_bytes_per_s=12.5e6, size_bytes=2 * 2**20)
    job: Run = run(setting, 1, iterations=5, mpi=Mpi.MPICH, how=How.LINK_DOWN, corrupt=5)
    assert faults(job) == ["iteration 5: 1 wrong elements"]
    assert job.outcome.record is not None
    assert [one.strategy for one in job.outcome.record.iterations[2:]] == ["hot-repair", "balance", "balance"]
