# ruff: noqa: E501  (lines of tables are compared as they are)

from __future__ import annotations

from dataclasses import replace

from algorithms.nic import Nic
from r2cc_mpi.cli.description import reported_environment
from r2cc_mpi.cli.method import Method
from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.cli.preamble import device_info, layout_lines, preamble
from r2cc_mpi.cli.sizes import Sweep
from r2cc_mpi.pinning import Place
from tests.r2cc_mpi.reports import JOB


def test_preamble_is_that_of_nccl_tests():
    """Parameters and devices are written as nccl-tests writes them, to the character."""
    assert preamble(JOB) == [
        "# r2cc-mpi version 1.2.3",
        "# Collective test starting: allreduce",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 2 iters: 3 agg iters: 4 validation: 1 graph: 0 unalign: 0",
        "# Per-Iteration Report: host clock timing; i_* uses max over process rows; summary skips first 1 iterations",
        "#",
        "# Using devices",
        "#  Rank  0 Group  0 Pid    123 on       here device  0 [0000:00:00] virtual rail 0 of node 0, 20 MB/s",
        "#  Rank  1 Group  0 Pid  45678 on a-longer-name device  0 [0001:00:00] virtual rail 0 of node 1, 20 MB/s",
        "#",
    ]


def test_plain_preamble():
    """Without `-I` nothing is said about iterations, and without `-f` the step is in bytes."""
    job = replace(JOB, method=Method(check=False), sweep=Sweep(8, 8, 1048576, None, (2,)))
    assert preamble(job)[2:4] == [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 1048576(bytes) warmup iters: 1 iters: 20 agg iters: 1 validation: 0 graph: 0 unalign: 0",
        "#",
    ]


def test_iterations_without_a_skip():
    """With `-I 1` alone all iterations are summed up."""
    job = replace(JOB, method=Method(per_iteration=True))
    assert preamble(job)[3] == "# Per-Iteration Report: host clock timing; i_* uses max over process rows"


def options(*words):
    """Read a command line of one rank of three nodes with two rails."""
    line = ["run", "allreduce", "--nodes", "3", "--rails", "2", *words]
    return read_options(build_parser().parse_args(line), Place(0, 6))


def test_device_says_what_it_is():
    """A virtual NIC is described by rail, node and rate, a real one by its interface."""
    assert device_info(options("--rail-rate", "20MB/s"), Nic(0, 1)) == "virtual rail 1 of node 0, 20 MB/s"
    assert device_info(options(), Nic(2, 0)) == "virtual rail 0 of node 2, unpaced"
    assert device_info(options(), Nic(2, 2)) == "owns no rail"
    real = options("--interfaces", "eth0,ib0", "--rail-rate", "100Mbit/s")
    assert device_info(real, Nic(2, 1)) == "interface ib0, 12.5 MB/s"
    assert device_info(real.at_rate(None), Nic(0, 0)) == "interface eth0, rate not known"


def test_line_about_the_rails():
    """It says what the rails are, how fast, and of interfaces that do not say what is missing without it."""
    assert layout_lines(options())[1] == "# virtual rails, unpaced; strategy auto"
    real = options("--interfaces", "eth0,ib0").at_rate(125e6)
    assert layout_lines(real)[1] == "# interfaces eth0, ib0, 125 MB/s each way; strategy auto"
    assert layout_lines(real.at_rate(None))[1] == (
        "# interfaces eth0, ib0, rate not known (no driver says it, or they differ; predictions need --rail-rate); strategy auto"
    )


def test_secrets_of_the_environment_stay_there():
    """Only variables about MPI and this package are reported, and none that looks like a secret."""
    environment = {
        "UCX_TLS": "tcp",
        "R2CC_X": "1",
        "HOME": "/home/me",
        "MY_PASSWORD": "1234",
        "SLURM_JWT": "secret",
        "SLURM_JOB_ID": "7",
        "OMPI_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    assert reported_environment(environment) == ("R2CC_X=1", "SLURM_JOB_ID=7", "UCX_TLS=tcp")


def test_layout_says_that_plans_are_replayed():
    """The line about the strategy says whether calls are planned one by one."""
    line = ["run", "allreduce", "--nodes", "2", "--rails", "2"]
    lines = [
        layout_lines(read_options(build_parser().parse_args([*line, *more]), None))[1]
        for more in ([], ["--persistent"])
    ]
    plain = "# virtual rails, unpaced; strategy auto"
    assert lines == [plain, f"{plain}, planned once and replayed"]
