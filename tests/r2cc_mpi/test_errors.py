from __future__ import annotations

import pickle

import pytest

import r2cc_mpi
from r2cc_mpi import errors

EXAMPLES = [
    (errors.UsageError("-b 1X"), 1),
    (errors.MachineError("no MPI found"), 1),
    (errors.SignatureMismatchError("rank 1 called with another count"), 1),
    (errors.WrongResultError("element 3"), 2),
    (errors.FailureMissedError("--fail 1:1"), 3),
    (errors.IncompleteCollectiveError("gone"), 4),
    (errors.IsolatedError("no answer from node 1"), 4),
    (errors.FailStopError("node 1 rail 2 failed"), 4),
]


@pytest.mark.parametrize(("error", "status"), EXAMPLES)
def test_error_has_its_exit_status(error, status):
    """Every error is one of ours, one line, with the exit status of its kind."""
    assert isinstance(error, errors.R2ccError)
    assert error.exit_code == status
    assert "\n" not in str(error)


@pytest.mark.parametrize("error", [error for error, _ in EXAMPLES])
def test_error_can_travel(error):
    """An error can be sent to another rank and says the same there."""
    received = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(received), str(received)) == (type(error), str(error))


def test_errors_can_be_caught_by_the_package_s_name():
    """Every error class is a public name of the package itself."""
    classes = [one for one in vars(errors).values() if isinstance(one, type)]
    assert errors.IsolatedError in classes
    assert [one for one in classes if getattr(r2cc_mpi, one.__name__, None) is not one] == []
    assert {one.__name__ for one in classes} <= set(r2cc_mpi.__all__)
