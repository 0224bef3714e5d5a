from __future__ import annotations

import pytest

from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import parse_faults
from r2cc_mpi.layout import Layout


def check(fail=(), slow=(), recover=(), *, layout=(3, 2), iterations=10, sizes=1):
    """Read and check the options of one command line."""
    faults = parse_faults(fail, slow, recover)
    check_faults(faults, Layout(*layout), iterations=iterations, sizes=sizes)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fail": ["2:1@iter=10,100%"]},
        {"fail": ["0:0", "1:1", "2:0"]},
        {"fail": ["0:0@1s", "0:1@1s"]},
        {"fail": ["0:0@1s", "0:0@3s"], "recover": ["0:0@2s"]},
        {"slow": ["0:0=0.5", "0:0=1@iter=4,0%"]},
        {"slow": ["0:0=0.5"], "sizes": 3},
    ],
)
def test_sensible_failures_pass(options):
    """Failures inside the job are accepted, also several of one rail in turn."""
    check(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fail": ["7:0"]}, "--fail 7:0: there is no node 7 (nodes are 0 to 2)"),
        (
            {"fail": ["0:0"], "recover": ["0:0@chunk=3"]},
            "--recover 0:0@iter=1,chunk=3: a dead rail sends no chunks, give P% of the iteration or Ts",
        ),
        ({"fail": ["0:2@3s"]}, "--fail 0:2@3s: there is no rail 2 (rails are 0 to 1)"),
        ({"slow": ["0:2=0.5"]}, "--slow 0:2=0.5: there is no rail 2 (rails are 0 to 1)"),
        (
            {"fail": ["0:1"], "layout": (2, 1)},
            "--fail 0:1: there is no rail 1 (there is only number 0 of the rails)",
        ),
        (
            {"fail": ["0:0@iter=5,4%"], "iterations": 4},
            "--fail 0:0@iter=5,4%: there is no iteration 5 (iterations are 1 to 4), take one of them",
        ),
        (
            {"fail": ["0:0@4%"], "sizes": 17},
            "--fail 0:0@iter=1,4% needs a job of one size, this one has 17: leave out -e",
        ),
        ({"fail": ["0:0"], "sizes": 2}, "--fail 0:0 needs a job of one size, this one has 2: leave out -e"),
        (
            {"fail": ["1:0", "0:1", "1:1"]},
            "--fail declares all rails of node 1 failed from the start: leave it at least one",
        ),
        ({"fail": ["1:0", "1:0"]}, "--fail 1:0 is given 2 times: once is enough"),
        (
            {"fail": ["1:0@1s", "1:0@2s"]},
            "--fail 1:0@1s: 1:0 can fail again only after a --recover 1:0@WHEN",
        ),
        ({"recover": ["1:0@1s"]}, "--recover 1:0@1s: nothing to recover from, add a --fail 1:0"),
    ],
)
def test_impossible_failures_are_refused(options, message):
    """A failure that cannot happen in the job is refused, naming the option and what it collides with."""
    with pytest.raises(UsageError) as error:
        check(**options)
    assert str(error.value) == message
