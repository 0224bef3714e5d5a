"""Network interfaces and RDMA devices that rails could be, and how ranks would be tied to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from r2cc_mpi import pinning
from r2cc_mpi.doctor.findings import Finding, Status

SYS = Path("/sys/class")
ETHERNET, INFINIBAND = "1", "32"
"""What the kernel writes into `type` of an interface (ARPHRD_ETHER, ARPHRD_INFINIBAND)."""


@dataclass(frozen=True)
class Interface:
    """A network interface.

    Attributes:
        name: Its name.
        is_up: Whether it is up and has a carrier.
        mbit_per_s: Its speed; None if it does not say.
        has_hardware: Whether a device of the machine is behind it, rather than a bridge or a tunnel.
    """

    name: str
    is_up: bool
    mbit_per_s: int | None
    has_hardware: bool

    def __str__(self) -> str:
        notes = [] if self.is_up else ["down"]
        notes += [] if self.mbit_per_s is None else [f"{self.mbit_per_s / 1000:g} Gbit/s"]
        notes += [] if self.has_hardware else ["virtual"]
        return f"{self.name} ({', '.join(notes)})" if notes else self.name


@dataclass(frozen=True)
class RdmaPort:
    """A port of an RDMA device.

    Attributes:
        device: Name of the device.
        port: Number of the port, from 1.
        state: `ACTIVE`, `DOWN` and so on, as the kernel says it.
        rate: Its rate, as the kernel says it.
    """

    device: str
    port: int
    state: str
    rate: str

    def __str__(self) -> str:
        return f"{self.device} port {self.port} ({self.state}, {self.rate})"


@dataclass(frozen=True)
class Network:
    """What was seen of the network."""

    interfaces: tuple[Interface, ...]
    rdma_ports: tuple[RdmaPort, ...]


def look(sys_class: Path = SYS) -> Network:
    """List what could be rails.

    Args:
        sys_class: Where the kernel shows its devices by class.
    """
    interfaces = [_interface(folder) for folder in sorted((sys_class / "net").glob("*")) if _is_rail(folder)]
    ports = [
        RdmaPort(
            folder.parent.parent.name,
            int(folder.name),
            _read(folder / "state").rpartition(": ")[2],  # "4: ACTIVE"
            _read(folder / "rate") or "rate unknown",
        )
        for folder in sorted((sys_class / "infiniband").glob("*/ports/*"))
    ]
    return Network(tuple(interfaces), tuple(ports))


def _is_rail(folder: Path) -> bool:
    """Leave out loopback, tunnels and bridges, which no cable belongs to."""
    return _read(folder / "type") in {ETHERNET, INFINIBAND} and not (folder / "bridge").exists()


def _interface(folder: Path) -> Interface:
    speed = _read(folder / "speed")
    is_up = _read(folder / "operstate") in {"up", "unknown"} and _read(folder / "carrier") != "0"
    known_speed = int(speed) if speed.isdigit() and int(speed) > 0 else None
    return Interface(folder.name, is_up, known_speed, (folder / "device").exists())


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:  # no such file, or the driver does not answer
        return ""


def judge(seen: Network) -> list[Finding]:
    """Say what could be rails. Reference runs have rails in software, so nothing here is a problem."""
    return [
        _judge_interfaces(seen.interfaces),
        *_judge_pinning(seen.interfaces),
        _judge_rdma(seen.rdma_ports),
    ]


def _judge_interfaces(interfaces: Sequence[Interface]) -> Finding:
    if not interfaces:
        return Finding("interfaces", Status.MISSING, "none but loopback; virtual rails need none")
    return Finding("interfaces", Status.OK, ", ".join(map(str, interfaces)))


def _judge_pinning(interfaces: Sequence[Interface]) -> list[Finding]:
    """Say how the ranks of a node would be tied to its interfaces, one rail for each that is up."""
    names = [one.name for one in interfaces if one.is_up]
    findings = []
    for rail, name in enumerate(names):
        settings = pinning.rail_environment(rail, names)
        pins = " ".join(f"{key}={value}" for key, value in settings.items())
        text = f"{name}, if asked for by --interfaces {','.join(names)}: {pins}"
        findings.append(Finding(f"rail {rail}", Status.NOTE, text))
    return findings


def _judge_rdma(ports: Sequence[RdmaPort]) -> Finding:
    if not ports:
        remedy = "a NIC with its driver; rdma link add rxe0 type rxe netdev eth0 makes one of an interface"
        return Finding(
            "RDMA", Status.MISSING, "no InfiniBand or RoCE device; virtual rails need none", remedy
        )
    return Finding("RDMA", Status.OK, ", ".join(map(str, ports)))
