from __future__ import annotations

import pytest

from r2cc_mpi.doctor.findings import Status
from r2cc_mpi.doctor.network import Interface, Network, RdmaPort, judge, look


def make_interface(sys_class, name, *folders, **files):
    """Write what the kernel shows of an interface."""
    folder = sys_class / "net" / name
    folder.mkdir(parents=True)
    for one in folders:
        (folder / one).mkdir()
    for file, text in files.items():
        (folder / file).write_text(f"{text}\n")


@pytest.fixture
def sys_class(tmp_path):
    """A machine with four interfaces, of which two could be rails, and an RDMA device of two ports."""
    make_interface(tmp_path, "lo", type=772, operstate="unknown", carrier=1)
    make_interface(tmp_path, "docker0", "bridge", type=1, operstate="up", carrier=1)
    make_interface(tmp_path, "eth0", "device", type=1, operstate="up", carrier=1, speed=100_000)
    make_interface(tmp_path, "veth7", type=1, operstate="down", carrier=0, speed=-1)
    make_interface(tmp_path, "ib0", "device", type=32, operstate="up", carrier=1)
    for port, state in ((1, "4: ACTIVE"), (2, "1: DOWN")):
        folder = tmp_path / "infiniband/mlx5_0/ports" / str(port)
        folder.mkdir(parents=True)
        (folder / "state").write_text(f"{state}\n")
        (folder / "rate").write_text("400 Gb/sec (4X NDR)\n")
    return tmp_path


def test_look(sys_class):
    """Loopback and bridges are left out; state, speed and hardware are read; ports of RDMA devices too."""
    assert look(sys_class) == Network(
        (
            Interface("eth0", is_up=True, mbit_per_s=100_000, has_hardware=True),
            Interface("ib0", is_up=True, mbit_per_s=None, has_hardware=True),
            Interface("veth7", is_up=False, mbit_per_s=None, has_hardware=False),
        ),
        (
            RdmaPort("mlx5_0", 1, "ACTIVE", "400 Gb/sec (4X NDR)"),
            RdmaPort("mlx5_0", 2, "DOWN", "400 Gb/sec (4X NDR)"),
        ),
    )


def test_look_at_nothing(tmp_path):
    """A machine without any of it, or another system, has none."""
    assert look(tmp_path) == Network((), ())


def test_findings(sys_class):
    """All are listed; each interface that is up would be a rail, with the settings of every MPI."""
    interfaces, first, second, rdma = judge(look(sys_class))
    assert interfaces.text == "eth0 (100 Gbit/s), ib0, veth7 (down, virtual)"
    assert (first.name, second.name) == ("rail 0", "rail 1")
    assert first.text.startswith(
        "eth0, if asked for by --interfaces eth0,ib0: FI_TCP_IFACE=eth0 OMPI_MCA_btl"
    )
    assert "UCX_NET_DEVICES=ib0" in second.text
    assert rdma.text.startswith("mlx5_0 port 1 (ACTIVE, 400 Gb/sec (4X NDR)), mlx5_0 port 2 (DOWN")


def test_findings_of_nothing():
    """A machine without networks has none to report, which is no problem: rails are software."""
    assert [finding.status for finding in judge(Network((), ()))] == [Status.MISSING] * 2
