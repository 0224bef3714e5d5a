"""What a non-blocking collective returns."""

from __future__ import annotations

from collections.abc import Iterable

from r2cc_mpi.call_report import CallReport
from r2cc_mpi.caller import Caller
from r2cc_mpi.pending_call import PendingCall


class Request:
    """A collective that has been started and may not have completed; mpi4py's conventions.

    Until it has, its arrays must not be touched. It gets on by itself, driven by the service thread, and
    faster while somebody waits for it.
    """

    def __init__(self, caller: Caller, call: PendingCall) -> None:
        self._caller, self._call = caller, call

    def Test(self) -> bool:
        """Say whether the collective has completed, and help it on a little.

        Raises:
            R2ccError: What ended it, as :meth:`Communicator.Allreduce` would raise it.
        """
        return self._caller.test(self._call)

    def Wait(self) -> bool:
        """Wait until the collective has completed; returns True.

        Raises:
            R2ccError: What ended it, as :meth:`Communicator.Allreduce` would raise it.
        """
        return self._caller.wait(self._call)

    test, wait = Test, Wait

    @staticmethod
    def Waitall(requests: Iterable[Request]) -> bool:
        """Wait until all of these collectives have completed; returns True.

        Raises:
            R2ccError: What ended the first that did not complete.
        """
        for request in requests:
            request.Wait()
        return True

    @property
    def report(self) -> CallReport | None:
        """What the collective did; None until it has completed."""
        return self._call.report
