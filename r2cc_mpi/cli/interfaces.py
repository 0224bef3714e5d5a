"""Which network interfaces are the rails, and what a user can ask of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from r2cc_mpi.cli.values import one_of
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Declared, Fault
from r2cc_mpi.layout import Layout
from r2cc_mpi.netdev.rails import check_interfaces
from r2cc_mpi.pinning import Place

BACKENDS = ("auto", "virtual", "netdev")
LATER_BACKENDS = ("verbs",)


def read_interfaces(words: Namespace, layout: Layout, place: Place | None) -> tuple[str, ...]:
    """Read `--backend` and `--interfaces`.

    Args:
        words: What the parser found.
        layout: Nodes and rails.
        place: Where this process stands in the job of a launcher; None outside one.

    Returns:
        Names of the interfaces, by rail; none for virtual rails.

    Raises:
        UsageError: Naming the option.
    """
    backend = one_of("--backend", words.backend, BACKENDS, LATER_BACKENDS)
    if words.interfaces is None:
        if backend == "netdev":
            raise UsageError("--backend netdev: say which interfaces, for example --interfaces eth0,eth1")
        return ()
    if backend == "virtual":
        raise UsageError("--interfaces are real rails, --backend virtual has none: leave one of them out")
    names = tuple(words.interfaces.split(","))
    if not all(names):
        raise UsageError(f"--interfaces {words.interfaces}: write names with commas between, as in eth0,eth1")
    try:
        check_interfaces(names, layout)
    except UsageError as error:
        raise UsageError(f"--{error}") from None
    if place is None and layout.nodes > 1:
        raise UsageError(
            "--interfaces: alone, r2cc run starts all nodes on this host, and nothing would cross them; "
            "start it with mpiexec on a host for each node, or on a test network with scripts/testbed run"
        )
    return names


def refuse_virtual(faults: Sequence[Fault]) -> None:
    """Refuse failures that only a rail in software can have. What is so from the start can be declared.

    Raises:
        UsageError: Naming the option.
    """
    for fault in faults:
        if fault.trigger != Declared() or fault.silent or fault.late:
            option = next(
                (name for name, given in (("--silent", fault.silent), ("--late", fault.late)) if given),
                fault.option,
            )
            raise UsageError(
                f"{option}: an interface fails when its link does; cut that from outside (on a test network "
                "with scripts/testbed cut) and give --iteration-table, or leave out --interfaces"
            )
