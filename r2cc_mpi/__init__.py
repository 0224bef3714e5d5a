"""Collectives that survive the death of a NIC, on mpi4py.

R2CC is arXiv 2512.25059, OptCC arXiv 2606.01680. ``Communicator`` is the door; :mod:`r2cc_mpi.errors` has
everything it raises. Importing this package does not start MPI.
"""

from algorithms.nic import Nic
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.errors import (
    FailStopError,
    FailureMissedError,
    IncompleteCollectiveError,
    IsolatedError,
    MachineError,
    R2ccError,
    SignatureMismatchError,
    TimeLimitError,
    UsageError,
    WrongResultError,
)
from r2cc_mpi.nic_health import NicHealth
from r2cc_mpi.persistent import PersistentRequest, PlanReport
from r2cc_mpi.pinning import pin
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.request import Request

__all__ = [
    "CallReport",
    "Communicator",
    "FailStopError",
    "FailureMissedError",
    "IncompleteCollectiveError",
    "IsolatedError",
    "MachineError",
    "Nic",
    "NicHealth",
    "PersistentRequest",
    "PlanReport",
    "R2ccError",
    "Reduction",
    "Request",
    "SignatureMismatchError",
    "TimeLimitError",
    "UsageError",
    "WrongResultError",
    "pin",
]
