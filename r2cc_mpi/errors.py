"""The errors that end a run, each with the exit status the command line gives for it.

Every message is one line that names the culprit (an option, a node, a rail, a file) and says what to do about
it. Exit statuses: 1 usage or environment, 2 wrong result, 3 an asked-for failure hit nothing, 4 the
collective could not complete.
"""

from __future__ import annotations

from typing import ClassVar


class R2ccError(Exception):
    """The base of all errors of this project.

    Attributes:
        exit_code: Status with which the command line ends when this error reaches it.
    """

    exit_code: ClassVar[int] = 1


class UsageError(R2ccError):
    """What the user asked for makes no sense: an option, a layout, a file, a call."""

    exit_code = 1


class MachineError(R2ccError):
    """The machine lacks what the run needs: no MPI, too little shared memory."""

    exit_code = 1


class SignatureMismatchError(UsageError):
    """Ranks called different collectives, or the same one with another count, type or operation.

    Or they created a communicator with different arguments. The network is healthy and every rank learns of
    it, so this is a mistake in the calling program (status 1), not a collective that failed (status 4).
    """


class WrongResultError(R2ccError):
    """A collective completed, and the check of its elements found a wrong one."""

    exit_code = 2


class FailureMissedError(R2ccError):
    """A failure that was asked for hit no running collective, so the run proves nothing about it."""

    exit_code = 3


class IncompleteCollectiveError(R2ccError):
    """The collective could not complete. The user's own arrays are as they were before it."""

    exit_code = 4


class IsolatedError(IncompleteCollectiveError):
    """Some rank gave no answer by any route; the message names the nodes on both sides."""


class FailStopError(IncompleteCollectiveError):
    """A rail died under strategy `ring`, the baseline that does not repair; the message names the NIC."""


class TimeLimitError(IncompleteCollectiveError):
    """A collective took longer than the user allows (`-T`); the message names who has not finished."""
