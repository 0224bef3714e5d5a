"""What is checked when a communicator is created, on all ranks alike; otherwise some would wait for ever."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING

from algorithms.catalogue import OPTCC_FORMS
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import FORMS
from r2cc_mpi.errors import SignatureMismatchError, UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.planning import Wishes
from r2cc_mpi.strategy import Strategy

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_PIECES = 4096
"""More would be smaller than a chunk for any array there is room for."""


def check_alike(comm: MPI.Intracomm, arguments: Mapping[str, object]) -> None:
    """Compare the arguments of all ranks, before anything depends on them.

    Args:
        comm: All ranks; they call this together.
        arguments: This rank's arguments by name, in the same order on every rank; also impossible ones.

    Raises:
        SignatureMismatchError: They differ; every rank raises the same.
    """
    gathered = comm.allgather({name: as_text(value) for name, value in arguments.items()})
    problem = difference(gathered)
    if problem:
        raise SignatureMismatchError(problem)


def difference(gathered: list[dict[str, str]]) -> str:
    """Describe the first difference between a rank's arguments and rank 0's; empty if there is none."""
    for rank, theirs in enumerate(gathered):
        for name, value in theirs.items():
            if value != gathered[0][name]:
                return (
                    f"rank {rank} creates the communicator with {name}={value}, rank 0 with "
                    f"{name}={gathered[0][name]}; give the same on every rank"
                )
    return ""


def as_text(value: object) -> str:
    """Write an argument so that equal ones give equal texts, whatever their types."""
    if isinstance(value, Real):
        return repr(float(value)).removesuffix(".0")
    if isinstance(value, Mapping):
        return as_text([f"{key}={as_text(one)}" for key, one in value.items()])
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"[{', '.join(sorted(map(str, value)))}]"
    return str(value)


def contributors_of(contribute: Sequence[bool], layout: Layout) -> list[int]:
    """List the ranks that bring data.

    Args:
        contribute: Of each rank, whether it does.
        layout: Nodes and ranks.

    Raises:
        UsageError: A node has none; every rank raises.
    """
    for node in range(layout.nodes):
        if not any(contribute[rank] for rank in layout.ranks_of_node(node)):
            raise UsageError(
                f"no rank of node {node} contributes: leave out contribute=False on at least one of each node"
            )
    return [rank for rank, does in enumerate(contribute) if does]


def check_numbers(
    layout: Layout, rail_rate: float | None, isolation_timeout: float, failed: Collection[Nic]
) -> None:
    """Make sure that numbers and NICs make sense; the arguments are those of the communicator.

    Raises:
        UsageError: Naming the argument.
    """
    if rail_rate is not None and not rail_rate > 0:
        raise UsageError(f"rail_rate is {rail_rate}; give bytes per second above zero, or None for no pacing")
    if not isolation_timeout > 0:
        raise UsageError(f"isolation_timeout is {isolation_timeout}; give seconds above zero")
    for nic in failed:
        if nic not in layout:
            raise UsageError(f"failed names {nic}, but the layout has {layout}")


def check_wishes(wishes: Wishes, layout: Layout) -> None:
    """Make sure that what the user asks of the plan makes sense.

    Raises:
        UsageError: Naming the argument.
    """
    if wishes.pieces is not None and not 1 <= wishes.pieces <= MOST_PIECES:
        raise UsageError(
            f"pieces is {wishes.pieces}; give 1 to {MOST_PIECES}, or None for the planner's choice"
        )
    if wishes.partial is not None and not 0 <= wishes.partial <= 1:
        raise UsageError(
            f"partial is {wishes.partial}; give a share from 0 to 1, or None for the paper's Y = X"
        )
    forms = {Strategy.R2CC_ALLREDUCE: FORMS, Strategy.OPTCC: OPTCC_FORMS}.get(wishes.strategy, ())
    if wishes.form is not None and wishes.form not in forms:
        known = f"one of {', '.join(forms)}" if forms else "none: this strategy has no forms"
        raise UsageError(f"form is {wishes.form!r}; give {known}")
    for nic, share in wishes.slow:
        if nic not in layout:
            raise UsageError(f"slow names {nic}, but the layout has {layout}")
        if not 0 < share <= 1:
            raise UsageError(f"slow lets {nic} run at {share} of its rate; give more than 0, at most 1")
