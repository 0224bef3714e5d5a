"""One rank's collective calls, in order: one runs at a time, those behind it wait.

MPI lets non-blocking collectives overlap. Here they run one after the other, in the order of the calls: the
rails are what they all wait for, and one START, one node buffer and one word per operation serve them all.
"""

from __future__ import annotations

from collections import deque

from r2cc_mpi.agreed_plan import FreshPlanner, Planner
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.driver import clock
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.errors import IncompleteCollectiveError, R2ccError
from r2cc_mpi.pending_call import Arguments, PendingCall
from r2cc_mpi.planning import Wishes


class Caller:
    """Makes one rank's calls.

    Args:
        endpoint: What the rank owns.
        wishes: What the user asks of the plan.

    Attributes:
        calls: Number of calls made.
        planner: Plans the calls that bring no planner of their own.
        last_report: What the collective did that completed last; None before the first.
    """

    def __init__(self, endpoint: Endpoint, wishes: Wishes) -> None:
        self._endpoint, self._driver = endpoint, endpoint.driver
        self.planner = FreshPlanner(endpoint.layout, endpoint.nic, endpoint.settings.chunk_bytes, wishes)
        self._queue: deque[PendingCall] = deque()
        self.calls = 0
        self.last_report: CallReport | None = None
        self._driver.work = self._advance

    @property
    def progress(self) -> float:
        """Share of the node's operations in the running collective that are done; 0 if none runs."""
        return self._queue[0].progress if self._queue else 0.0

    def run(self, arguments: Arguments, planner: Planner | None = None) -> PendingCall:
        """Make a call and wait for its result.

        Args:
            arguments: What it is made with.
            planner: Makes its plan; None: :attr:`planner`.

        Raises:
            R2ccError: What ended the job.
        """
        with self._driver.held():
            call = self._enqueue(arguments, planner)
            self._drive(call)
        self._tell(call)
        return call

    def start(self, arguments: Arguments, planner: Planner | None = None) -> PendingCall:
        """Make a call and return before its result is there; see :meth:`run` for the arguments."""
        with self._driver.held():
            call = self._enqueue(arguments, planner)
            self._driver.look(self._advance)  # so that START is on its way at once
        self._driver.wake()
        return call

    def test(self, call: PendingCall) -> bool:
        """Say whether a call is done, after a look at the network; raise what ended it."""
        if not call.is_done and self._driver.try_hold():
            try:
                self._driver.look(self._advance)
            finally:
                self._driver.let_go()
        if call.is_done:
            self._tell(call)
        return call.is_done

    def wait(self, call: PendingCall) -> bool:
        """Wait until a call is done; raise what ended it. Returns True."""
        if not call.is_done:
            with self._driver.held():
                self._drive(call)
        self._tell(call)
        return True

    def finish(self) -> None:
        """Wait until every call is done; what ended one is for its own request to say."""
        with self._driver.held():
            self._driver.run_until(self._advance)

    def settle(self) -> None:
        """Wait until every call is done and the receivers have applied all chunks of this rank.

        Raises:
            R2ccError: What ended the job.
        """
        self.finish()
        liveness, senders = self._endpoint.engine.liveness, self._endpoint.engine.senders

        def is_settled(_now: float) -> bool:
            self._endpoint.raise_error()
            return all(channel.is_consumed for channel in senders.values())

        with self._driver.held():
            liveness.progress(clock())
            try:
                self._driver.run_until(is_settled)
            except R2ccError:
                self._endpoint.has_raised = True
                raise
            finally:
                liveness.rest()

    def drop(self) -> None:
        """Give up the calls that are not done."""
        with self._driver.held():
            while self._queue:
                call = self._queue.popleft()
                call.drop(
                    IncompleteCollectiveError(
                        f"collective {call.number} was given up with its communicator, after an earlier error"
                    )
                )

    def _enqueue(self, arguments: Arguments, planner: Planner | None) -> PendingCall:
        self.calls += 1
        call = PendingCall(self._endpoint, self.calls, arguments, planner or self.planner)
        self._queue.append(call)
        return call

    def _drive(self, call: PendingCall) -> None:
        self._driver.run_until(lambda now: self._advance(now) or call.is_done)

    def _advance(self, now: float) -> bool:
        """Take a step of the first call, and begin the next ones; say whether all are done."""
        while self._queue:
            call = self._queue[0]
            try:
                if not call.step(now):
                    return False
            finally:
                if call.is_done:
                    self._queue.popleft()
            self.last_report = call.report or self.last_report
        return True

    def _tell(self, call: PendingCall) -> None:
        if call.error is not None:
            self._endpoint.has_raised |= isinstance(call.error, R2ccError)
            raise call.error
