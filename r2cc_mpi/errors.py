"""The errors that end a run, each with the exit status the command line gives for it.

Every message is one line that names the culprit (an option, a node, a rail, a file) and says what to do about
it. Exit statuses: 1 usage or environment, 2 wrong result, 3 an asked-for failure hit nothing, 4 the
collective could not complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from algorithms.nic import Nic


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

    The network is healthy and every rank learns of it, so this is a mistake in the calling program (status
    1), not a collective that failed (status 4).
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
    """The live rails no longer connect all nodes.

    Attributes:
        parts: The groups of nodes that are still connected among themselves, each sorted, in order of first
            node.
    """

    def __init__(self, parts: Collection[Collection[int]], detail: str = "") -> None:
        """Name the nodes that are cut off from each other.

        Args:
            parts: Groups of nodes; within a group live rails still connect them, between groups they do not.
            detail: What was seen, if there is more to say (for instance how long nobody answered).
        """
        super().__init__(parts, detail)
        self.parts: tuple[tuple[int, ...], ...] = tuple(sorted(tuple(sorted(part)) for part in parts))
        self.detail = detail

    def __str__(self) -> str:
        groups = " with ".join(_name_nodes(part) for part in self.parts)
        detail = f" ({self.detail})" if self.detail else ""
        return (
            f"the collective cannot complete: no live rails connect {groups}{detail}; "
            "bring a rail between them back, or run without the nodes that are cut off"
        )


class FailStopError(IncompleteCollectiveError):
    """A rail died under strategy `ring`, the baseline that does not repair.

    Attributes:
        nic: The NIC that died.
    """

    def __init__(self, nic: Nic) -> None:
        super().__init__(nic)
        self.nic = nic

    def __str__(self) -> str:
        return (
            f"strategy ring stops at the first dead rail, and rail {self.nic.rail} of node {self.nic.node} "
            "failed; use --strategy hot-repair to go on without it"
        )


def _name_nodes(nodes: Sequence[int]) -> str:
    """Write `node 3` or `nodes 0, 2`."""
    return f"node{'s' if len(nodes) != 1 else ''} {', '.join(map(str, nodes))}"
