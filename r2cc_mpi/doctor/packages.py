"""Python packages: those that everything needs, and those that add something."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from r2cc_mpi.doctor.asking import Reply, ask
from r2cc_mpi.doctor.findings import Finding, Status

OURS = "r2cc-mpi"


@dataclass(frozen=True)
class Package:
    """A package of interest.

    Attributes:
        name: Its name on PyPI.
        use: What it is for.
        get: How to get it.
        least: Oldest version that will do, its first two numbers.
        is_needed: Whether reference runs need it.
    """

    name: str
    use: str
    get: str
    least: tuple[int, int] = (0, 0)
    is_needed: bool = False


PACKAGES = (
    Package("numpy", "arrays", "pip install numpy", (1, 26), is_needed=True),
    Package("mpi4py", "MPI from Python", "pip install mpi4py", (4, 1), is_needed=True),
    Package("scipy", "linear programs of r2cc analyze", "pip install scipy", (1, 11)),
    Package("matplotlib", "figures (--plot)", "pip install matplotlib"),
    Package("numba", "r2cc simulate of large clusters in a third of the time", "pip install numba", (0, 60)),
)

CUPY_PROGRAM = """
import cupy
from r2cc_mpi.doctor.asking import tell
try:
    tell({"version": cupy.__version__, "devices": cupy.cuda.runtime.getDeviceCount(), "error": ""})
except cupy.cuda.runtime.CUDARuntimeError as error:
    tell({"version": cupy.__version__, "devices": 0, "error": str(error)})
"""

PYVERBS_PROGRAM = """
from importlib import metadata
from pyverbs import device
from r2cc_mpi.doctor.asking import tell
try:
    version = metadata.version("pyverbs")
except metadata.PackageNotFoundError:
    version = "of the system"
try:
    tell({"version": version, "devices": len(device.get_device_list()), "error": ""})
except Exception as error:
    tell({"version": version, "devices": 0, "error": str(error)})
"""


@dataclass(frozen=True)
class Library:
    """A package that has devices.

    Attributes:
        version: Its version; None if it is not installed or does not import.
        devices: How many devices it sees.
        error: Why it sees none, or does not import.
    """

    version: str | None = None
    devices: int = 0
    error: str = ""


@dataclass(frozen=True)
class Packages:
    """What was seen: versions of PACKAGES by name (None: not installed), CuPy, pyverbs."""

    versions: Mapping[str, str | None]
    cupy: Library
    pyverbs: Library


def look(environment: Mapping[str, str]) -> Packages:
    """Look which packages there are; CuPy and pyverbs are tried in processes of their own."""
    return Packages(
        {package.name: _version(package.name) for package in PACKAGES},
        cupy=library(ask([sys.executable, "-c", CUPY_PROGRAM], environment)),
        pyverbs=library(ask([sys.executable, "-c", PYVERBS_PROGRAM], environment)),
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def library(reply: Reply) -> Library:
    """Read what a probe said; one that said nothing did not even import."""
    if reply.answers:
        return Library(**reply.answers[0])
    is_absent = "ModuleNotFoundError" in reply.complaint
    return Library(error="" if is_absent else reply.complaint or f"it ended with status {reply.status}")


def judge(seen: Packages) -> list[Finding]:
    """Say what is there and what is missing."""
    findings = [_judge(package, seen.versions.get(package.name)) for package in PACKAGES]
    verbs = "pip install 'r2cc-mpi[verbs]' (wants libibverbs-dev), or apt install python3-pyverbs"
    return [
        *findings,
        _judge_library("cupy", seen.cupy, "GPU", "arrays in GPU memory", "pip install 'r2cc-mpi[cuda]'"),
        _judge_library("pyverbs", seen.pyverbs, "RDMA device", "RDMA NICs", verbs),
    ]


def _judge(package: Package, version: str | None) -> Finding:
    bad = Status.PROBLEM if package.is_needed else Status.MISSING
    if version is None:
        return Finding(package.name, bad, f"not installed, for {package.use}", package.get)
    if numbers(version) < package.least:
        least = ".".join(map(str, package.least))
        return Finding(
            package.name, bad, f"{version} is too old, {least} is needed", f"{package.get} --upgrade"
        )
    return Finding(package.name, Status.OK, version)


def _judge_library(name: str, seen: Library, device: str, use: str, get: str) -> Finding:
    if seen.version is None:
        text = f"does not import: {seen.error}" if seen.error else "not installed"
        return Finding(name, Status.MISSING, f"{text}, for {use}", get)
    count = f"{seen.devices} {device}{'' if seen.devices == 1 else 's'}"
    if seen.devices:
        return Finding(name, Status.OK, f"{seen.version}, {count}")
    text = f"{seen.version}, but it sees no {device}" + (f": {seen.error}" if seen.error else "")
    return Finding(name, Status.NOTE, text)


def numbers(version: str) -> tuple[int, ...]:
    """Read the leading numbers of a version: `2.1rc1` gives (2, 1)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
