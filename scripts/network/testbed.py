"""A test network that is there: cutting and healing its links, reading them, running jobs on it."""

from __future__ import annotations

import itertools
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import TracebackType

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from scripts.network import build, job
from scripts.network.job import Job, Mpi, Output
from scripts.network.kernel import Namespace
from scripts.network.links import How, Link, Moment, find_cut
from scripts.network.run_options import run_options
from scripts.network.shape import Shape

_numbers = itertools.count()


class Testbed:
    """A network of nodes and rails on this machine, and what can be done with it.

    It is in the kernel alone, so any process of root can find it by its name, and it stays until it is taken
    down: by ``down``, or at the end of a ``with``. Not for several threads at once.

    Args:
        name: Name of a network that was built.

    Attributes:
        name: Its name.
        nodes: How many nodes it has.
        rails: How many rails it has.
        nics: The NICs that exist, in the order of nodes.

    Raises:
        UsageError: If there is none with this name, or only parts of one.
    """

    __test__ = False  # for pytest, to which every name that begins with Test is a test

    def __init__(self, name: str) -> None:
        if name not in build.networks():
            there = ", ".join(build.networks()) or "none"
            raise UsageError(f"there is no testbed {name} (there: {there}): build it with scripts/testbed up")
        self.name = name
        try:
            self._switch = Namespace(build.switch_of(name))
        except FileNotFoundError:
            raise UsageError(
                f"only parts are left of testbed {name}: remove them with scripts/testbed down --name {name}"
            ) from None
        self._ends: dict[int, Namespace] = {}
        ports = self._switch.interfaces()
        self.nics = sorted(
            Nic(int(match[1]), int(match[2]))
            for port in ports
            if (match := re.fullmatch(r"n(\d+)-rail(\d+)", port))
        )
        self.nodes = sum(port.endswith(f"-{build.MANAGEMENT}") for port in ports)
        self.rails = sum(re.fullmatch(r"rail\d+", port) is not None for port in ports)

    @classmethod
    def build(
        cls,
        *,
        nodes: int,
        rails: int,
        rate_bytes_per_s: float = 12.5e6,
        name: str | None = None,
        slow: Mapping[Nic, Fraction] | None = None,
        without: Iterable[Nic] = (),
    ) -> Testbed:
        """Build a network; as root.

        Args:
            nodes: How many nodes.
            rails: How many rails.
            rate_bytes_per_s: Rate of each direction of a rail.
            name: Its name; by default one that no other process uses.
            slow: NICs that run at a fraction of the rate.
            without: NICs that do not exist.

        Raises:
            UsageError: If it makes no sense, or the name is taken.
            MachineError: If the kernel refuses.
        """
        name = f"p{os.getpid()}x{next(_numbers)}" if name is None else name
        build.build(Shape(name, nodes, rails, rate_bytes_per_s, dict(slow or {}), frozenset(without)))
        return cls(name)

    def down(self) -> None:
        """Remove the network, and end what runs in it."""
        self.close()
        build.take_apart(self.name)

    def close(self) -> None:
        """Let go of the network, which stays."""
        for namespace in (self._switch, *self._ends.values()):
            namespace.close()
        self._ends.clear()

    def __enter__(self) -> Testbed:  # noqa: PYI034  (typing.Self needs Python 3.11)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def cut(self, nic: Nic, how: How = How.LINK_DOWN) -> Moment:
        """Cut a link; nobody is told but by the kernel.

        Raises:
            UsageError: If there is no such NIC, or its link is cut already.
        """
        if cut := self.link(nic).cut:
            raise UsageError(f"{nic} is cut already ({cut.value}): heal it first")
        before_s = time.monotonic()
        if how is How.LINK_DOWN:
            self._node(nic.node).switch(build.rail_name(nic.rail), on=False)
        elif how is How.PORT_DOWN:
            self._switch.switch(_port(nic), on=False)
        else:
            self._switch.plug(_port(nic), None)
        return Moment(before_s, time.monotonic())

    def heal(self, nic: Nic) -> Moment:
        """Undo whatever cut a link; nothing happens to one that works.

        Raises:
            UsageError: If there is no such NIC.
        """
        self._check(nic)
        node = self._node(nic.node)
        before_s = time.monotonic()
        self._switch.plug(_port(nic), build.rail_name(nic.rail))
        self._switch.switch(_port(nic), on=True)
        node.switch(build.rail_name(nic.rail), on=True)
        return Moment(before_s, time.monotonic())

    def link(self, nic: Nic) -> Link:
        """Read one link.

        Raises:
            UsageError: If there is no such NIC.
        """
        self._check(nic)
        node, rail = self._node(nic.node), build.rail_name(nic.rail)
        end, port = node.interface(rail), self._switch.interface(_port(nic))
        return Link(nic, find_cut(end, port), node.limits()[end.index], end.tx_bytes, end.rx_bytes)

    def links(self) -> list[Link]:
        """Read all links, in the order of nodes."""
        return [self.link(nic) for nic in self.nics]

    def start(
        self,
        arguments: Sequence[str],
        *,
        mpi: Mpi = Mpi.MPICH,
        ranks_per_node: int | None = None,
        stdout: Output = None,
        stderr: Output = None,
    ) -> Job:
        """Start ``r2cc run`` across the nodes, and return while it runs.

        Args:
            arguments: The words behind ``r2cc run``. What describes the network is added (`run_options`).
            mpi: Whose MPI.
            ranks_per_node: Ranks of a node; by default one for each rail.
            stdout: Where its output goes, as for `subprocess.Popen`.
            stderr: The same for its complaints.

        Raises:
            MachineError: If this MPI is not installed.
            UsageError: If a link is cut: no MPI starts over it.
        """
        options = run_options(self.nodes, self.rails, self.links(), arguments)
        if ranks_per_node is not None:
            options += ["--ranks-per-node", str(ranks_per_node)]
        program = [sys.executable, "-m", "r2cc_mpi", "run", *arguments, *options]
        return self.start_program(
            program, mpi=mpi, ranks_per_node=ranks_per_node, stdout=stdout, stderr=stderr
        )

    def run(
        self,
        arguments: Sequence[str],
        *,
        timeout_s: float,
        mpi: Mpi = Mpi.MPICH,
        ranks_per_node: int | None = None,
        stdout: Output = None,
        stderr: Output = None,
    ) -> int:
        """Run ``r2cc run`` across the nodes to its end; see ``start``.

        Args:
            arguments: The words behind ``r2cc run``.
            timeout_s: Hard limit, in seconds.
            mpi: Whose MPI.
            ranks_per_node: Ranks of a node.
            stdout: Where its output goes.
            stderr: Where its complaints go.

        Returns:
            The exit status of the job.

        Raises:
            TimeLimitError: If it did not end in time; it has been ended.
        """
        with self.start(
            arguments, mpi=mpi, ranks_per_node=ranks_per_node, stdout=stdout, stderr=stderr
        ) as running:
            return running.wait(timeout_s)

    def start_program(
        self,
        program: Sequence[str],
        *,
        mpi: Mpi = Mpi.MPICH,
        ranks_per_node: int | None = None,
        stdout: Output = None,
        stderr: Output = None,
    ) -> Job:
        """Start any MPI program on all nodes; see ``start``. Its ranks are numbered node by node."""
        command = job.mpi_command(mpi, self.nodes, ranks_per_node or self.rails, program)
        command = job.on_node(0, command)
        return Job(command, job.environment(self.name, self.nodes, mpi), stdout, stderr)

    def start_on_node(
        self, node: int, command: Sequence[str], *, stdout: Output = None, stderr: Output = None
    ) -> Job:
        """Start a command on one node, which sees the node's network, name and files."""
        return Job(job.on_node(node, command), job.environment(self.name, self.nodes), stdout, stderr)

    def _check(self, nic: Nic) -> None:
        if nic not in self.nics:
            there = f"nodes are 0 to {self.nodes - 1}, rails 0 to {self.rails - 1}"
            if 0 <= nic.node < self.nodes and 0 <= nic.rail < self.rails:
                there = "this node was built without it"
            raise UsageError(f"testbed {self.name} has no {nic}: {there}")

    def _node(self, node: int) -> Namespace:
        if node not in self._ends:
            self._ends[node] = Namespace(build.node_of(self.name, node))
        return self._ends[node]


def _port(nic: Nic) -> str:
    return build.port_of(nic.node, build.rail_name(nic.rail))
