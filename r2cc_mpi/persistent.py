"""Persistent collectives: planned once, started many times; MPI-4's, with mpi4py's names.

They stand for what paper 1 calls a captured CUDA graph (its table 4): a plan made before a failure keeps
replaying, and HotRepair carries it over dead rails, until :meth:`PersistentRequest.replan` makes another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from algorithms.nic import Nic
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.caller import Caller
from r2cc_mpi.creation import check_wishes
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.errors import UsageError
from r2cc_mpi.expected_time import predicted_s
from r2cc_mpi.pending_call import Arguments, PendingCall
from r2cc_mpi.planning import Wishes
from r2cc_mpi.replay import Agreement, Replay, token
from r2cc_mpi.request import Request
from r2cc_mpi.strategy import Strategy


@dataclass(frozen=True)
class PlanReport:
    """What a persistent collective's plan is, and what making it cost at this rank.

    Attributes:
        planning_s: Seconds in which this rank made the plan: nearly none if it has made the same before.
        agreed_s: Seconds from the call until all ranks had the plan and room for it, with the planning.
        strategy_before: Strategy that the old plan would have had in force; None: there was none.
        strategy: Strategy of the plan.
        pieces: K of the plan; None where there is none.
        form: Form of the strategy; None where there is only one.
        excluded: NICs that all ranks agreed are down, and planned without.
        predicted_before_s: Seconds between nodes that the models expect of the old plan without these NICs;
            None: there is no old plan, rails are not paced, or no model fits.
        predicted_s: The same of the new plan.
    """

    planning_s: float
    agreed_s: float
    strategy_before: str | None
    strategy: str
    pieces: int | None
    form: str | None
    excluded: tuple[Nic, ...]
    predicted_before_s: float | None
    predicted_s: float | None


class PersistentRequest(Request):
    """A collective that can be started any number of times; :meth:`Communicator.Allreduce_init` makes it.

    It is *active* from :meth:`Start` until :meth:`Wait` or :meth:`Test` has said that it has completed, or
    has raised. Its arrays must not be touched meanwhile.

    Args:
        endpoint: What the rank owns.
        caller: Its calls.
        arguments: What every start is made with.

    Raises:
        R2ccError: The ranks could not agree on a plan.
    """

    def __init__(self, endpoint: Endpoint, caller: Caller, arguments: Arguments) -> None:
        self._endpoint, self._caller, self._arguments = endpoint, caller, arguments
        self._active: PendingCall | None = None
        self._is_freed = False
        self._report: CallReport | None = None
        self._replay: Replay | None = None
        self.plan_report = self._make_plan(caller.planner.wishes)
        """What the plan in use is, and what it cost."""

    def Start(self) -> None:
        """Start the collective and return at once; order and progress are those of ``Iallreduce``.

        Raises:
            UsageError: It is active or freed, or the communicator is closed.
        """
        self._check_inactive("Start")
        self._active = self._caller.start(self._arguments, self._replay)

    @staticmethod
    def Startall(requests: Iterable[PersistentRequest]) -> None:
        """Start several, in their order, which must be the same on every rank.

        Raises:
            UsageError: As of the first that cannot be started; those before it have been.
        """
        for request in requests:
            request.Start()

    def Test(self) -> bool:
        """Say whether the collective has completed, and help it on a little; True if it is not active.

        Raises:
            R2ccError: What ended it, as :meth:`Communicator.Allreduce` would raise it.
        """
        return self._complete(self._caller.test)

    def Wait(self) -> bool:
        """Wait until the collective has completed; at once if it is not active. Returns True.

        Raises:
            R2ccError: What ended it, as :meth:`Communicator.Allreduce` would raise it.
        """
        return self._complete(self._caller.wait)

    test, wait = Test, Wait

    @property
    def report(self) -> CallReport | None:
        """What the collective did that was waited for last; None before the first."""
        return self._report

    @property
    def is_outdated(self) -> bool:
        """Whether other NICs were down at the last start waited for than the plan was made for.

        All ranks agreed on both, so all get the same answer at the same place of the program. A NIC that
        failed under way counts from the next start on.
        """
        assert self._replay is not None
        if self._report is None or self._report.number < self._replay.number:
            return False
        down = {nic for nic, version in self._report.health_versions.items() if version % 2}
        return down != set(self.plan_report.excluded)

    def replan(
        self, strategy: str | None = None, pieces: int | None = None, form: str | None = None
    ) -> PlanReport:
        """Make a new plan, for the NICs that are up now; collective, and the same arguments at every rank.

        Args:
            strategy: As of :class:`Communicator`: 'auto' is the planner's choice. None: the communicator's.
            pieces: As there.
            form: As there. Where none of the three is given they are the communicator's.

        Returns:
            The plan, and what it cost.

        Raises:
            UsageError: It is active or freed, the communicator is closed, or an argument makes no sense.
            SignatureMismatchError: Another rank asked for something else.
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._check_inactive("replan")
        wishes = self._caller.planner.wishes
        if (strategy, pieces, form) != (None, None, None):
            asked = wishes.strategy if strategy is None else Strategy.parse(strategy)
            wishes = replace(wishes, strategy=asked, pieces=pieces, form=form)
            check_wishes(wishes, self._endpoint.layout)
        self.plan_report = self._make_plan(wishes)
        return self.plan_report

    def Free(self) -> None:
        """Give the request up; it cannot be started any more. Local, as in MPI.

        Raises:
            UsageError: It is active or freed.
        """
        self._check_usable("Free")
        self._is_freed = True

    def _check_usable(self, what: str) -> None:
        if self._is_freed:
            raise UsageError(f"{what}: this persistent request is freed; make a new one by Allreduce_init")
        if self._active is not None:
            raise UsageError(f"{what}: this persistent request is active; Wait for it first")

    def _check_inactive(self, what: str) -> None:
        self._endpoint.check_open()
        self._check_usable(what)

    def _complete(self, is_done: Callable[[PendingCall], bool]) -> bool:
        call, self._active = self._active, None  # not active any more also if this raises
        if call is None:
            return True
        if not is_done(call):
            self._active = call
            return False
        self._report = call.report
        return True

    def _make_plan(self, wishes: Wishes) -> PlanReport:
        old = self._replay
        planner = self._caller.planner.with_wishes(wishes)
        agreement = Agreement(planner, 0 if old is None else old.number)
        call = self._caller.run(Arguments(self._arguments.signature, token()), agreement)
        made = agreement.made
        assert made is not None
        assert call.report is not None
        self._replay = Replay(made, call.number, wishes)
        layout = self._endpoint.layout
        return PlanReport(
            planning_s=agreement.planning_s,
            agreed_s=call.report.time_s,
            strategy_before=None if old is None else old.agreed.in_force(made.down).label,
            strategy=made.choice.strategy.label,
            pieces=made.choice.pieces,
            form=made.choice.form,
            excluded=made.down,
            predicted_before_s=None if old is None else predicted_s(layout, wishes, old.agreed, made.down),
            predicted_s=predicted_s(layout, wishes, made, made.down),
        )
