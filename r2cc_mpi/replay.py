"""The planners of persistent collectives: one makes all ranks agree on a plan, the other gives it again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from r2cc_mpi.agreed_plan import AgreedPlan, FreshPlanner
from r2cc_mpi.arrays import Arrays
from r2cc_mpi.driver import clock
from r2cc_mpi.planning import Wishes
from r2cc_mpi.protocol.news import Signature, Start
from r2cc_mpi.strategy import FORMS, Collective, Strategy, dtype_code


class Replay:
    """The planner that gives the same plan to every call.

    Args:
        plan: The plan.
        number: Number of the collective in which it was agreed.
        wishes: What it was made from.
    """

    def __init__(self, plan: AgreedPlan, number: int, wishes: Wishes) -> None:
        self.agreed, self.number, self._wishes = plan, number, wishes

    @property
    def is_fail_stop(self) -> bool:
        """Whether strategy ring was asked for."""
        return self._wishes.strategy is Strategy.RING

    def stamp(self, signature: Signature) -> Signature:
        """Write which plan this is."""
        return signature._replace(strategy=self._wishes.strategy, plan=self.number)

    def plan(self, _start: Start) -> AgreedPlan:
        """Return the plan, whatever has failed since."""
        return self.agreed


class Agreement:
    """The planner of the collective in which all ranks agree on the plan of another one.

    That collective itself is a barrier: a ring over one element. It makes room for the other one.

    Args:
        planner: Makes the plan that is wanted.
        replaced: Number of the plan that this one replaces; 0: none.

    Attributes:
        made: The plan; from :meth:`plan` on.
        planning_s: Seconds that took.
    """

    def __init__(self, planner: FreshPlanner, replaced: int) -> None:
        self._planner, self._replaced = planner, replaced
        self._barrier = planner.with_wishes(Wishes(Strategy.HOT_REPAIR))
        self.made: AgreedPlan | None = None
        self.planning_s = 0.0

    @property
    def is_fail_stop(self) -> bool:
        """Whether strategy ring is asked for."""
        return self._planner.is_fail_stop

    def stamp(self, signature: Signature) -> Signature:
        """Write the strategy, and what a rank asks for by itself: ranks might ask for different things."""
        wishes = self._planner.wishes
        return self._planner.stamp(signature)._replace(
            collective=Collective.PLAN,
            plan=self._replaced,
            pieces=wishes.pieces or 0,
            form=FORMS.index(wishes.form),
        )

    def plan(self, start: Start) -> AgreedPlan:
        """Make the plan from START's health, and return that of the barrier."""
        began_at = clock()
        made = self.made = self._planner.plan(start)
        self.planning_s = clock() - began_at
        signature = start.signature._replace(elements=1, dtype=dtype_code(token().send.dtype))
        barrier = self._barrier.plan(start._replace(signature=signature))
        return replace(
            barrier,
            buffer_bytes=max(barrier.buffer_bytes, made.buffer_bytes),
            operations=max(barrier.operations, made.operations),
        )


def token() -> Arrays:
    """Make what a barrier reduces, of a type that every operation can reduce."""
    one = np.zeros(1, np.float64)
    return Arrays(one, one)
