from __future__ import annotations

import socket
import sys

import pytest

from r2cc_mpi.errors import MachineError, UsageError
from r2cc_mpi.pinning import (
    Place,
    find_place,
    pin,
    rail_environment,
    require_matching_library,
    transport_environment,
)
from r2cc_mpi.protocol.header import HEADER_BYTES
from r2cc_mpi.protocol.settings import MAX_PACED_CHUNK_BYTES

HYDRA = {"PMI_RANK": "5", "PMI_SIZE": "9", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "3"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "9",
    "OMPI_COMM_WORLD_LOCAL_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
    "PMIX_RANK": "5",
}
SLURM = {
    "SLURM_PROCID": "5",
    "SLURM_STEP_NUM_TASKS": "9",
    "SLURM_LOCALID": "2",
    "SLURM_STEP_TASKS_PER_NODE": "3(x3)",
}


@pytest.mark.parametrize("environment", [HYDRA, OPEN_MPI, SLURM])
def test_place_in_a_job(environment):
    """Each launcher's variables give rank and size, in the world and on the host."""
    assert find_place({"HOME": "/", **environment}) == Place(5, 9, 2, 3)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PMI_RANK": "", "PMI_SIZE": "9"},
        {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0"},
        {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
    ],
)
def test_no_job(environment):
    """Outside a launcher there is no place, also not in a shell inside a Slurm allocation."""
    assert find_place(environment) is None


def test_launcher_that_does_not_tell_the_size():
    """A launcher that speaks only PMIx gives a rank and nothing else."""
    assert find_place({"PMIX_RANK": "3"}) == Place(3)


def test_uneven_slurm_hosts_have_no_local_size():
    """Where hosts have different numbers of tasks, the local size is not known."""
    place = find_place({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "3,2(x3)"})
    assert place == Place(5, 9, 2, None)


def test_only_the_wheel_is_told_to_take_tcp():
    """The MPICH wheel gets its network settings, any other MPI is left alone."""
    assert transport_environment(mpich_wheel=True) == {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
    assert transport_environment(mpich_wheel=False) == {}


def test_rank_is_tied_to_the_interface_of_its_rail():
    """The rank of rail 1 gets the second interface, in the words of every MPI."""
    assert rail_environment(1, ["rail0", "rail1"]) == {
        "FI_TCP_IFACE": "rail1",
        "OMPI_MCA_btl_tcp_if_include": "rail1",
        "UCX_NET_DEVICES": "rail1",
    }


@pytest.mark.parametrize("rail", [-1, 2])
def test_rail_without_interface_is_refused(rail):
    """A rail beyond the interfaces is told how many there are."""
    with pytest.raises(UsageError, match=rf"rail {rail} .*there are 2 \(rail0, rail1\)"):
        rail_environment(rail, ["rail0", "rail1"])


def test_launcher_of_another_mpi_is_refused():
    """Open MPI's launcher and MPICH's library do not go together, and the error says what to do."""
    with pytest.raises(MachineError, match=r"started by Open MPI.*start it with .*/mpiexec"):
        require_matching_library(OPEN_MPI, mpich_wheel=True)


@pytest.mark.parametrize(
    ("environment", "wheel"),
    [(HYDRA, True), (OPEN_MPI, False), ({**OPEN_MPI, "MPI4PY_LIBMPI": "libmpi.so"}, True)],
)
def test_matching_launcher_passes(environment, wheel):
    """A launcher of the same MPI is fine, and so is a library that the user chose."""
    require_matching_library(environment, mpich_wheel=wheel)


@pytest.fixture
def two_interfaces(monkeypatch):
    """Give a host with two interfaces on which MPI has not started."""
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "rail0"), (2, "rail1")])
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)


@pytest.mark.usefixtures("two_interfaces")
def test_pinning_goes_by_the_world_rank():
    """Of nodes with two ranks, rank 5 owns rail 1; what was set before is replaced, but for tuning."""
    environment = {**HYDRA, "FI_TCP_IFACE": "eth0"}
    pin(["rail0", "rail1"], environment=environment)
    name, at_least = "OMPI_MCA_btl_tcp_eager_limit", MAX_PACED_CHUNK_BYTES + HEADER_BYTES
    assert int(environment.pop(name)) >= at_least
    assert environment == {**HYDRA, **rail_environment(1, ["rail0", "rail1"])}
    pin(["rail0", "rail1"], environment=(own := {**HYDRA, name: "1000"}))
    assert own[name] == "1000"


@pytest.mark.parametrize(
    ("place", "interfaces", "ranks_per_node"),
    [({}, ["rail0", "rail1"], None), (HYDRA, ["rail0", "eth7"], None), (HYDRA, ["rail0", "rail1"], 3)],
    ids=["no job", "interface missing", "owns no rail"],
)
@pytest.mark.usefixtures("two_interfaces")
def test_not_pinned(place, interfaces, ranks_per_node):
    """Without a job, or an interface of its own that is there, MPI keeps its choice."""
    environment = dict(place)
    pin(interfaces, ranks_per_node, environment)
    assert environment == place


@pytest.mark.usefixtures("two_interfaces")
def test_pinning_too_late(monkeypatch):
    """Once MPI has started it does not change its network any more."""
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", object())
    with pytest.raises(UsageError, match="before MPI starts"):
        pin(["rail0", "rail1"], environment=dict(HYDRA))
