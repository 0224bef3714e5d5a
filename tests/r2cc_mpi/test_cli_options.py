from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import FaultKind
from r2cc_mpi.layout import Layout
from r2cc_mpi.pinning import Place

MIB = 1024**2


def read(line="", place=None):
    """Read the options of `r2cc run`; the collective is allreduce unless it comes first."""
    collective = "allreduce" if line.startswith("-") or not line else ""
    return read_options(build_parser().parse_args(["run", *f"{collective} {line}".split()]), place)


def test_defaults_are_those_of_nccl_tests():
    """Without options it is 32M of floats, 1 + 20 iterations, checked, on 2 x 2 ranks."""
    options = read()
    assert options.layout == Layout(2, 2)
    assert (options.counts, options.datatype.name, options.op) == ((8 * MIB,), "float", "sum")
    assert (options.iterations, options.warmup_iterations, options.check) == (20, 1, True)
    assert (options.backend, options.strategy, options.rail_rate_bytes_per_s) == ("auto", "auto", None)
    assert (options.faults, options.corrupt, options.input, options.output, options.json) == ((), *[None] * 4)
    assert (options.isolation_timeout_s, options.root, options.place) == (10, 0, None)


def test_everything_said():
    """Every option arrives, converted to bytes, seconds and bytes per second."""
    options = read(
        "--nodes 3 --rails 4 --backend virtual --rail-rate 20MB/s --strategy hot-repair "
        "-b 1M -e 4M -f 2 -n 7 -w 0 -c 0 -o sum -d double -r 3 --isolation-timeout 2.5 --json -"
    )
    assert (options.layout, options.backend, options.strategy) == (Layout(3, 4), "virtual", "hot-repair")
    assert (options.rail_rate_bytes_per_s, options.isolation_timeout_s) == (20e6, 2.5)
    assert options.counts == (MIB // 8, 2 * MIB // 8, 4 * MIB // 8)
    assert (options.iterations, options.warmup_iterations, options.check, options.root) == (7, 0, False, 3)
    assert options.json == "-"


def test_faults_arrive():
    """Failures are read with their flags."""
    options = read("--rail-rate 1MB/s --fail 1:1@iter=3,40% --silent --slow 0:0=0.5 --recover 1:1@9s")
    assert [fault.kind for fault in options.faults] == [FaultKind.FAIL, FaultKind.SLOW, FaultKind.RECOVER]
    assert [fault.silent for fault in options.faults] == [True, False, False]


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("-b 16M", [16 * MIB // 4]),
        ("-b 1M -e 3M", [MIB // 4, 2 * MIB // 4, 3 * MIB // 4]),
        ("-b 1K -e 3K -i 512", [256, 384, 512, 640, 768]),
        ("-b 4 -e 100 -f 5", [1, 5, 25]),
        ("-b 7", [1]),
        ("-b 10 -e 15 -i 5 -d double", [1, 1]),
    ],
)
def test_sizes(words, counts):
    """Sizes go from -b to -e by -i or -f, in whole elements; without -e there is one."""
    assert list(read(words).counts) == counts


@pytest.mark.parametrize(
    ("words", "layout"),
    [("--rails 3", (3, 3)), ("--nodes 1", (1, 9)), ("--nodes 9 --rails 1", (9, 1)), ("", (3, 3))],
)
def test_layout_inside_a_launcher(words, layout):
    """Inside a launcher the number of ranks is given, and a host is a node unless the user says otherwise."""
    assert read(words, place=Place(4, 9, 1, 3)).layout == Layout(*layout)


def test_layout_inside_a_launcher_that_tells_nothing():
    """Where the launcher does not tell the number of ranks, the user must."""
    assert read("--nodes 2 --rails 3", place=Place(0)).layout == Layout(2, 3)
    with pytest.raises(UsageError, match="give both --nodes and --rails"):
        read("--rails 3", place=Place(0))


def test_ranks_of_one_host_need_a_division():
    """Ranks of one host are one node only if the user says so."""
    with pytest.raises(UsageError, match=r"all 4 ranks are on one host.*--rails 2"):
        read(place=Place(0, 4, 0, 4))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("broadcast", "COLLECTIVE 'broadcast' is unknown: it has allreduce"),
        ("--backend verbs", "--backend 'verbs' is not available in this version: it has auto, virtual"),
        ("--backend x", "--backend 'x' is unknown: it has auto, virtual"),
        (
            "--strategy optcc",
            "--strategy 'optcc' is not available in this version: it has auto, ring, hot-repair",
        ),
        ("-o max", "-o 'max' is not available in this version: it has sum"),
        ("-d half", "-d 'half' is unknown: it has float, double, int32, int64"),
        ("-b 64X", "-b '64X' is not a size: write bytes or K, M, G, for example 64M"),
        ("-b 2", "-b 2 is less than one float (4 bytes): give at least that"),
        ("-e 16M", "-e 16M is smaller than -b 32M: give a -b of at most 16M"),
        ("-b 1M -e 2M -i 0", "-i 0 never gets past -b: give a step above zero, for example -i 1M"),
        ("-b 1M -e 1G -i 4", "-b, -e and -i ask for more than 10000 sizes: give a larger -i, or -f 2"),
        ("-f 1", "-f '1' is not a whole number from 2 on: write for example -f 3"),
        ("-n 0", "-n '0' is not a whole number from 1 on: write for example -n 3"),
        ("-w -1", "-w '-1' is not a whole number from 0 on: write for example -w 3"),
        ("-r 4", "-r 4: there is no rank 4 (ranks are 0 to 3)"),
        ("--nodes x", "--nodes 'x' is not a whole number from 1 on: write for example --nodes 3"),
        ("--rails 0", "--rails '0' is not a whole number from 1 on: write for example --rails 3"),
        ("--rail-rate 5", "--rail-rate '5' is not a rate: write for example 50MB/s, 50MiB/s or 1Gbit/s"),
        (
            "--isolation-timeout 0",
            "--isolation-timeout '0' is not a number of seconds above zero: write for example 10 or 0.5",
        ),
        ("--silent", "--silent says how a --fail happens: give one, for example --fail 1:1@40%"),
        ("--late", "--late says how a --fail happens: give one, for example --fail 1:1@40%"),
        (
            "--slow 0:0=0.5",
            "--slow is a fraction of the rails' rate: give one, for example --rail-rate 50MB/s",
        ),
        ("--fail 2:0", "--fail 2:0: there is no node 2 (nodes are 0 to 1)"),
        ("--corrupt 0", "--corrupt '0' is not a whole number from 1 on: write for example --corrupt 3"),
        ("--corrupt 21", "--corrupt 21: there is no such iteration, use 1 to 20, or a larger -n"),
        (
            "--corrupt 1 -c 0",
            "--corrupt shows that the check works, but -c 0 turns it off: leave one of them out",
        ),
        ("--output x", "--output writes the results of your own arrays: give --input too"),
        ("--input /nowhere", "--input /nowhere: there is no such folder"),
        ("--json /nowhere/x", "--json /nowhere/x: there is no folder /nowhere, make it first"),
        ("--json /", "--json /: that is a folder, name a file"),
    ],
)
def test_bad_option_is_refused(words, message):
    """Each bad option gives one line that names it and says what to write."""
    with pytest.raises(UsageError) as error:
        read(words)
    assert str(error.value) == message


@pytest.mark.parametrize("words", ["--rail", "--nope", "-n", "--fail", "allreduce allreduce", "--iter 3"])
def test_words_that_argparse_refuses(words):
    """What argparse does not understand, also an abbreviation, is a UsageError that points to the help."""
    with pytest.raises(UsageError, match=r"see r2cc (run )?--help"):
        read(words)


def test_own_arrays_give_size_and_type(tmp_path):
    """With --input there is one size, that of the arrays."""
    for rank in range(4):
        np.save(tmp_path / f"rank{rank}.npy", np.zeros((2, 5), np.int32))
    options = read(f"--input {tmp_path} --output {tmp_path}/out")
    assert options.input is not None
    assert (options.counts, options.datatype.name, options.output) == ((10,), "int32", tmp_path / "out")
    for option in ("-b", "-e", "-i", "-f", "-d"):
        with pytest.raises(UsageError, match=f"{option} and --input"):
            read(f"--input {tmp_path} {option} 4")


def test_output_that_is_a_file_is_refused(tmp_path):
    """Results cannot go into a file."""
    for rank in range(4):
        np.save(tmp_path / f"rank{rank}.npy", np.zeros(1, np.int32))
    with pytest.raises(UsageError, match=r"rank0\.npy: that is a file"):
        read(f"--input {tmp_path} --output {tmp_path}/rank0.npy")
