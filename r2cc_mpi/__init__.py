"""Collectives that survive the death of a NIC, on mpi4py.

R2CC is arXiv 2512.25059, OptCC arXiv 2606.01680. ``Communicator`` is the door; :mod:`r2cc_mpi.errors` has
everything it raises. Importing this package does not start MPI.
"""

from r2cc_mpi.caller import CallReport
from r2cc_mpi.communicator import Communicator, NicHealth
from r2cc_mpi.errors import (
    FailStopError,
    FailureMissedError,
    IncompleteCollectiveError,
    IsolatedError,
    MachineError,
    R2ccError,
    SignatureMismatchError,
    UsageError,
    WrongResultError,
)

__all__ = [
    "CallReport",
    "Communicator",
    "FailStopError",
    "FailureMissedError",
    "IncompleteCollectiveError",
    "IsolatedError",
    "MachineError",
    "NicHealth",
    "R2ccError",
    "SignatureMismatchError",
    "UsageError",
    "WrongResultError",
]
