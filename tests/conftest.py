"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

from r2cc_mpi import pinning

# No deadline: the machine may be busy, and no test here is about time. A failing example can be pasted.
settings.register_profile("r2cc", deadline=None, print_blob=True)
settings.load_profile("r2cc")


@pytest.fixture
def no_launcher(monkeypatch):
    """Hide that the tests may themselves run inside an MPI job."""
    for variables in (pinning._OPEN_MPI, pinning._PMI, pinning._SLURM, pinning._PMIX):
        for name in variables:
            monkeypatch.delenv(name, raising=False)
