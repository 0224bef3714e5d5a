"""Python, cores, and the shared memory that a job needs."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass

from r2cc_mpi import shared_memory
from r2cc_mpi.doctor.findings import Finding, Status
from r2cc_mpi.layout import Layout
from r2cc_mpi.protocol.news import News
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.shared_node import SharedNode

MIB = 1 << 20
LEAST_PYTHON = (3, 10)


@dataclass(frozen=True)
class Machine:
    """What was seen of the machine.

    Attributes:
        system: `Linux`, or another system.
        python: Version of Python, its first three numbers.
        cores: Cores that this process may use.
        shared_free_bytes: What is free in /dev/shm; None if there is no such folder.
    """

    system: str
    python: tuple[int, ...]
    cores: int
    shared_free_bytes: int | None


def look() -> Machine:
    """Look at the machine that this runs on."""
    free_bytes = None
    if shared_memory.DIRECTORY.is_dir():
        space = os.statvfs(shared_memory.DIRECTORY)
        free_bytes = space.f_bavail * space.f_frsize
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return Machine(platform.system(), sys.version_info[:3], cores, free_bytes)


def needed_bytes(layout: Layout, size_bytes: int) -> int:
    """Say how much shared memory a job takes on one host: mailboxes, node buffers, and MPI's own.

    Args:
        layout: Nodes and rails.
        size_bytes: Array of one rank.
    """
    settings = Settings.for_rate(None)
    mailboxes = SharedNode.fixed_bytes(layout.rails, settings, News.capacity(layout.nodes, layout.rails))
    return layout.nodes * (mailboxes + size_bytes) + layout.ranks * shared_memory.MPI_BYTES_PER_RANK


def judge(seen: Machine, layout: Layout, size_bytes: int) -> list[Finding]:
    """Say whether a job of that layout and size fits.

    Args:
        seen: The machine.
        layout: Nodes and rails of the job.
        size_bytes: Its array, for each rank.
    """
    return [_judge_python(seen), _judge_memory(seen, layout, size_bytes), _judge_cores(seen, layout)]


def _judge_python(seen: Machine) -> Finding:
    text = f"{'.'.join(map(str, seen.python))} on {seen.system}"
    if seen.python < LEAST_PYTHON:
        return Finding("Python", Status.PROBLEM, text, "install Python 3.10 or newer")
    if seen.system != "Linux":
        remedy = "analytic commands work; run jobs on Linux, for example in a container"
        return Finding("Python", Status.PROBLEM, f"{text}; jobs were only ever run on Linux", remedy)
    return Finding("Python", Status.OK, text)


def _judge_memory(seen: Machine, layout: Layout, size_bytes: int) -> Finding:
    name, folder = "shared memory", shared_memory.DIRECTORY
    if seen.shared_free_bytes is None:
        return Finding(
            name, Status.NOTE, f"no {folder}: whether a job has room is not checked before it starts"
        )
    needed = needed_bytes(layout, size_bytes)
    text = f"{folder} has {seen.shared_free_bytes // MIB} MiB free, a job of {layout} with arrays of "
    text += f"{size_bytes / MIB:g} MiB needs about {-(-needed // MIB)} MiB"
    if seen.shared_free_bytes >= needed:
        return Finding(name, Status.OK, text)
    remedy = f"mount -o remount,size=1g {folder}, docker run --shm-size=1g, or a smaller job"
    return Finding(name, Status.PROBLEM, text, remedy)


def _judge_cores(seen: Machine, layout: Layout) -> Finding:
    text = f"{seen.cores} for {layout.ranks} ranks"
    if seen.cores >= layout.ranks:
        return Finding("cores", Status.OK, text)
    remedy = "a lower --rail-rate leaves each rank more time, if measured times matter"
    return Finding("cores", Status.NOTE, f"{text}: they take turns, which makes ratios larger", remedy)
