"""Judging MPI: what is right and wrong with library, launcher and job, and which troubles are known."""

from __future__ import annotations

import re
import sys

from r2cc_mpi import pinning
from r2cc_mpi.cli.mpiexec import MPI_CHOICE, Flavour
from r2cc_mpi.doctor.findings import Finding, Status
from r2cc_mpi.doctor.mpi import RANKS, Mpi

SPINNING_OPEN_MPI = 5
"""The first major version of Open MPI that was seen to spin in MPI_Finalize."""


def judge(seen: Mpi) -> list[Finding]:
    """Say what is right and wrong with it."""
    library, others = _library(seen), [_launcher(seen), *_job(seen), *_known_troubles(seen)]
    return [library, *_threads(seen), *_cuda(seen), *others]


def _library(seen: Mpi) -> Finding:
    library = seen.library
    if library is None:
        remedy = "pip install 'r2cc-mpi[mpich]', or install an MPI (Debian: apt install mpich)"
        return Finding("MPI library", Status.PROBLEM, f"MPI does not start: {seen.library_error}", remedy)
    # "MPICH Version:      5.0.2", "Open MPI v4.1.4, package: Debian OpenMPI, ident: ..."
    version = " ".join(library.version.replace("Version:", "").split()).partition(",")[0]
    origin = "PyPI's wheel" if seen.is_wheel else library.file or "file unknown"
    return Finding("MPI library", Status.OK, f"{version}, standard {library.standard}, {origin}")


def _threads(seen: Mpi) -> list[Finding]:
    if seen.library is None:
        return []
    level = f"MPI_{seen.library.thread_level}"
    if level == "MPI_THREAD_MULTIPLE":
        return [Finding("threads", Status.OK, level)]
    text = f"{level}, but the service thread of each rank needs MPI_THREAD_MULTIPLE"
    remedy = "use an MPI that offers it (PyPI's mpich does); leave MPI4PY_RC_THREAD_LEVEL unset"
    return [Finding("threads", Status.PROBLEM, text, remedy)]


def _cuda(seen: Mpi) -> list[Finding]:
    if seen.library is None:
        return []
    if seen.library.cuda:
        return [Finding("CUDA-aware", Status.OK, "MPI takes arrays in GPU memory")]
    text = "no: arrays in GPU memory go through host memory"
    if seen.library.cuda is None:
        text = "this MPI does not say whether it takes arrays in GPU memory"
    remedy = "if these copies matter, an MPI built with CUDA (Open MPI: ./configure --with-cuda)"
    return [Finding("CUDA-aware", Status.MISSING, text, remedy)]


def _launcher(seen: Mpi) -> Finding:
    if seen.launcher is None:
        text, _, remedy = seen.launcher_error.partition("; ")
        return Finding("launcher", Status.PROBLEM, text, remedy)
    text = f"{seen.launcher.path}, of {seen.launcher.flavour.value}"
    if seen.library is None:
        return Finding("launcher", Status.NOTE, text)
    if seen.library.may_belong_to(seen.launcher):
        return Finding("launcher", Status.OK, text)
    text += f", but mpi4py loads {seen.library.flavour.value}: its ranks do not find each other"
    return Finding("launcher", Status.PROBLEM, text, _how_to_match(seen))


def _how_to_match(seen: Mpi) -> str:
    """Say how to get a launcher and a library that belong together."""
    assert seen.library is not None
    if seen.library.flavour is Flavour.OPEN_MPI:
        return f"{MPI_CHOICE}=system takes the Open MPI on PATH; or unset MPI4PY_LIBMPI and MPI4PY_MPIABI"
    if seen.mpich_wheel:
        return (
            f"unset {MPI_CHOICE}, which takes the mpiexec beside Python; or, for Open MPI, "
            "set MPI4PY_LIBMPI=libmpi.so.40, or pip uninstall mpich"
        )
    return f"put the mpiexec that belongs to {seen.library.file or 'this library'} first on PATH"


def _job(seen: Mpi) -> list[Finding]:
    if seen.job is None or seen.launcher is None:
        return []
    if seen.job.error:
        text = f"{RANKS} ranks did not start: {seen.job.error}"
        by_hand = f"{seen.launcher.path} -n {RANKS} {sys.executable} -c 'import mpi4py.MPI'"
        return [Finding("job", Status.PROBLEM, text, f"see what this says: {by_hand}")]
    if seen.job.world_sizes != (RANKS,) * RANKS:
        sizes = ", ".join(map(str, seen.job.world_sizes)) or "nothing"
        text = f"{RANKS} ranks did not find each other, they counted: {sizes}"
        return [Finding("job", Status.PROBLEM, text, _how_to_match(seen))]
    return [Finding("job", Status.OK, f"{RANKS} ranks met, {seen.job.seconds:.1f} s from start to end")]


def _known_troubles(seen: Mpi) -> list[Finding]:
    """Tell what works, and yet has surprised somebody."""
    found = []
    version = re.search(r"Open MPI v?(\d+)\.", seen.library.version) if seen.library else None
    if version is not None and int(version[1]) >= SPINNING_OPEN_MPI:
        text = f"Open MPI {version[1]} may spin in MPI_Finalize for ever once messages went to a dead link"
        found.append(Finding("Finalize", Status.NOTE, text, "if that is seen: MPICH, or Open MPI 4.1"))
    if seen.is_wheel and not seen.netmod:
        text = "PyPI's MPICH prefers UCX; r2cc run sets it to libfabric over TCP"
        settings = pinning.transport_environment(mpich_wheel=True)
        remedy = "for programs of your own: " + " ".join(f"{key}={value}" for key, value in settings.items())
        found.append(Finding("transport", Status.NOTE, text, remedy))
    elif seen.is_wheel and seen.netmod != "ofi":
        text = f"MPIR_CVAR_CH4_NETMOD={seen.netmod} is set; the protocol was tested over libfabric's TCP"
        found.append(Finding("transport", Status.NOTE, text, "unset it: r2cc run sets what it needs"))
    return found
