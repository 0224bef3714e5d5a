"""A report with everything in it, for the tests of what is made from one."""

from __future__ import annotations

from dataclasses import replace

from algorithms.nic import Nic
from r2cc_mpi.cli.description import Description, Device
from r2cc_mpi.cli.method import Method
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    RailBytes,
    Report,
    SizeRecord,
    Verdict,
)
from r2cc_mpi.cli.sizes import Sweep

NOON = 1_700_000_000.0
DEVICES = (
    Device(0, Nic(0, 0), 123, "here", "virtual rail 0 of node 0, 20 MB/s"),
    Device(1, Nic(1, 0), 45678, "a-longer-name", "virtual rail 0 of node 1, 20 MB/s"),
)
METHOD = Method(iterations=3, warmup_iterations=2, calls=4, per_iteration=True, skipped=1, timestamps=True)
JOB = Description(
    "allreduce",
    "1.2.3",
    Sweep(8, 1024, 1048576, 2, (2, 256)),
    METHOD,
    DEVICES,
    NOON,
    ("r2cc", "run", "allreduce"),
    ("FI_PROVIDER=tcp",),
)
OUT_OF_PLACE = Measurement(0.002, 0, ((0.001, 0.002, 0.004), (0.003, 0.001, 0.002)), skipped=1)
IN_PLACE = Measurement(0.001, None, ((0.001, 0.001, 0.001), (0.001, 0.001, 0.001)), skipped=1)
ROW = SizeRecord(1024, 256, "float", 2, OUT_OF_PLACE, IN_PLACE, "sum", cycle=2, finished_at=NOON)
HALF_ROW = replace(ROW, in_place=None, cycle=1)
FAILOVER = FailoverRecord(1, 0, "announced", 0.0125, 4096, "node 1 -(rail 0)-> node 0", NOON)
ITERATION = IterationRecord(
    0.5,
    0.45,
    "hot-repair",
    0.36,
    0,
    {Nic(1, 0): RailBytes(0, 7)},
    (FAILOVER,),
    bound_s=0.18,
    kernel_bytes={Nic(1, 0): RailBytes(1, 9)},
)
REPORT = Report(JOB, 2, 1, (HALF_ROW, ROW), (ITERATION,), Verdict(0, "fine"), dropped_chunks=5)
