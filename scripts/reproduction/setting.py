"""The network that an experiment runs on, and what the formulas say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from algorithms.nic import Nic
from analysis import cost_model
from r2cc_mpi.errors import MachineError, UsageError
from scripts.network.job import Mpi, mpi_command
from scripts.network.run_options import PAYLOAD
from scripts.network.testbed import Testbed
from scripts.reproduction.task import Stage, Task

VICTIM = Nic(node=1, rail=1)
"""The NIC that dies where the experiment does not say another."""


@dataclass(frozen=True)
class Setting:
    """A network and a size.

    Attributes:
        nodes: Nodes.
        rails: Rails of a node.
        link_bytes_per_s: What a link is shaped to, each way.
        size_bytes: Bytes of a rank's array, and so of a node's.

    Raises:
        UsageError: The victim is not there, or the size is no whole number of elements.
    """

    nodes: int
    rails: int
    link_bytes_per_s: float
    size_bytes: int

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.rails < 2:
            raise UsageError(
                f"{self.nodes} nodes x {self.rails} rails: rail 1 of node 1 is to be cut and another one to "
                "be left, so --nodes and --rails are at least 2"
            )
        if self.size_bytes <= 0 or self.size_bytes % 4:
            raise UsageError(f"--size {self.size_bytes}: give a multiple of 4 bytes, for example 32M")

    def __str__(self) -> str:
        return (
            f"{self.nodes} x {self.rails} at {self.link_bytes_per_s * 8e-6:g} Mbit/s, "
            f"{self.size_bytes / 2**20:g} MiB"
        )

    @property
    def rail_bytes_per_s(self) -> float:
        """Payload that a rail carries each way, under the headers that token buckets count."""
        return self.link_bytes_per_s * float(PAYLOAD)

    def seconds(self, time: Fraction) -> float:
        """Turn a time in D/B into seconds."""
        return cost_model.seconds(time, self.size_bytes, self.rails * self.rail_bytes_per_s)

    @property
    def healthy_s(self) -> float:
        """What the formula says for the healthy ring."""
        return self.seconds(cost_model.ring(self.nodes))

    @property
    def hot_repair_s(self) -> float:
        """What it says for that ring after HotRepair of one NIC."""
        return self.seconds(cost_model.hot_repair(self.nodes, self.rails, [VICTIM]))

    def build(self) -> Testbed:
        """Build the network."""
        return Testbed.build(nodes=self.nodes, rails=self.rails, rate_bytes_per_s=self.link_bytes_per_s)

    def task(self, stages: Sequence[Stage], corrupt: int = 0) -> Task:
        """Write a task for it; its output is the session's business."""
        elements = self.size_bytes // 4
        return Task(self.rails, elements, self.rail_bytes_per_s, tuple(stages), "", corrupt)


def missing(mpi: Mpi) -> str:
    """Say what a job under an MPI lacks here; empty if nothing."""
    try:
        mpi_command(mpi, 1, 1, [])
    except MachineError as error:
        return str(error)
    return ""
