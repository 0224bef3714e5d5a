"""Whether the failures that a user asked for fit the job and each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import AtChunk, Declared, Fault, FaultKind
from r2cc_mpi.layout import Layout


def check_faults(faults: Sequence[Fault], layout: Layout, *, iterations: int, sizes: int) -> None:
    """Refuse failures that cannot happen in this job.

    Declared failures that leave every node a rail but no common one are not refused: whether other nodes can
    relay is found when the job starts.

    Args:
        faults: What the user asked for.
        layout: Nodes and rails of the job.
        iterations: Timed iterations (`-n`).
        sizes: How many data sizes the job runs.

    Raises:
        UsageError: Naming the option and what it collides with.
    """
    for fault in faults:
        _check_place(fault, layout)
        _check_iteration(fault, iterations)
        if fault.kind is FaultKind.RECOVER and isinstance(fault.trigger, AtChunk):
            raise UsageError(f"{fault.option}: a dead rail sends no chunks, give P% of the iteration or Ts")
        if sizes > 1 and (fault.kind is not FaultKind.SLOW or fault.trigger != Declared()):
            raise UsageError(f"{fault.option} needs a job of one size, this one has {sizes}: leave out -e")
    for fault, times in Counter(faults).items():
        if times > 1:
            raise UsageError(f"{fault.option} is given {times} times: once is enough")
    _check_returns(faults)
    _check_survivors(faults, layout)


def _check_place(fault: Fault, layout: Layout) -> None:
    if fault.nic.node >= layout.nodes:
        raise UsageError(f"{fault.option}: there is no node {fault.nic.node} {_range('nodes', layout.nodes)}")
    if fault.nic.rail >= layout.rails:
        raise UsageError(f"{fault.option}: there is no rail {fault.nic.rail} {_range('rails', layout.rails)}")


def _check_iteration(fault: Fault, iterations: int) -> None:
    if fault.iteration is not None and fault.iteration > iterations:
        raise UsageError(
            f"{fault.option}: there is no iteration {fault.iteration} (iterations are 1 to {iterations}), "
            "take one of them"
        )


def _check_returns(faults: Sequence[Fault]) -> None:
    """A rail that never fails cannot come back, and one that failed must come back before it fails again."""
    fails = Counter(fault.nic for fault in faults if fault.kind is FaultKind.FAIL)
    recoveries = Counter(fault.nic for fault in faults if fault.kind is FaultKind.RECOVER)
    for fault in faults:
        place = f"{fault.nic.node}:{fault.nic.rail}"
        if fault.kind is FaultKind.RECOVER and recoveries[fault.nic] > fails[fault.nic]:
            raise UsageError(f"{fault.option}: nothing to recover from, add a --fail {place}")
        if fault.kind is FaultKind.FAIL and fails[fault.nic] > recoveries[fault.nic] + 1:
            raise UsageError(f"{fault.option}: {place} can fail again only after a --recover {place}@WHEN")


def _check_survivors(faults: Sequence[Fault], layout: Layout) -> None:
    """A node that starts without any rail can never take part."""
    dead = {fault.nic for fault in faults if fault.kind is FaultKind.FAIL and fault.trigger == Declared()}
    for node in range(layout.nodes):
        if all(nic in dead for nic in layout if nic.node == node):
            raise UsageError(
                f"--fail declares all rails of node {node} failed from the start: leave it at least one"
            )


def _range(what: str, count: int) -> str:
    return f"({what} are 0 to {count - 1})" if count > 1 else f"(there is only number 0 of the {what})"
