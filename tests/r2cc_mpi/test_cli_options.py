from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.cli.method import Average, Method
from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.cli.sizes import Sweep
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import FaultKind
from r2cc_mpi.layout import Layout
from r2cc_mpi.pinning import Place
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.strategy import dtype_code

MIB = 1024**2
TYPES = "int8, uint8, int32, uint32, int64, uint64, half, float, double"


def read(line="", place=None):
    """Read the options of `r2cc run`; the collective is allreduce unless it comes first."""
    collective = "allreduce" if line.startswith("-") or not line else ""
    return read_options(build_parser().parse_args(["run", *f"{collective} {line}".split()]), place)


def test_defaults_are_those_of_nccl_tests():
    """Without options it is 32M of floats, 1 + 20 iterations, checked, on 2 x 2 ranks."""
    options = read()
    assert options.layout == Layout(2, 2)
    assert (options.counts, options.datatype.name) == ((8 * MIB,), "float")
    assert (options.reduction, options.csv) == (Reduction.SUM, None)
    assert options.sweep == Sweep(32 * MIB, 32 * MIB, MIB, None, (8 * MIB,))
    assert options.method == Method(20, 1, 1, 1, check=True, average=Average.MEAN)
    assert options.method == Method()
    assert (options.backend, options.strategy, options.rail_rate_bytes_per_s) == ("virtual", "auto", None)
    assert (options.faults, options.corrupt, options.input, options.output, options.json) == ((), *[None] * 4)
    assert (options.isolation_timeout_s, options.root, options.place) == (10, 0, None)


def test_everything_said():
    """Every option arrives, converted to bytes, seconds and bytes per second."""
    options = read(
        "--nodes 3 --rails 4 --backend virtual --rail-rate 20MB/s --strategy hot-repair "
        "-b 1M -e 4M -f 2 -n 7 -w 0 -c 0 -o avg -d double -r 3 --isolation-timeout 2.5 --json - "
        "-m 5 -N 6 -a 3 -I 1 -K 6 -S 1 -T 1.5"
    )
    assert (options.layout, options.backend, options.strategy) == (Layout(3, 4), "virtual", "hot-repair")
    assert (options.rail_rate_bytes_per_s, options.isolation_timeout_s) == (20e6, 2.5)
    assert options.counts == (MIB // 8, 2 * MIB // 8, 4 * MIB // 8)
    assert options.sweep == Sweep(MIB, 4 * MIB, MIB, 2, options.counts)
    assert options.method == Method(
        iterations=7,
        warmup_iterations=0,
        calls=5,
        cycles=6,
        check=False,
        average=Average.LONGEST,
        per_iteration=True,
        skipped=6,
        timestamps=True,
        time_limit_s=1.5,
    )
    assert (options.json, options.root, options.reduction) == ("-", 3, Reduction.AVG)


def test_one_option_under_two_names(tmp_path):
    """nccl-tests' `-J` is `--json`."""
    assert read(f"-J {tmp_path}/x").json == read(f"--json {tmp_path}/x").json == f"{tmp_path}/x"
    assert read("--csv -").csv == "-"


def test_persistent_is_asked_for():
    """Calls are planned one by one unless `--persistent` is given."""
    assert [read(words).method.persistent for words in ("", "--persistent")] == [False, True]


def test_long_names_are_those_of_nccl_tests():
    """Every option of measurement has the long name that it has there."""
    line = (
        "--minbytes 8 --maxbytes 16 --stepfactor 2 --iters 3 --warmup_iters 2 --agg_iters 4 --run_cycles 5 "
        "--op min --datatype int8 --root 1 --check 1 --average 0 --per_iter_timing 1 --per_iter_skip 1 "
        "--report_timestamps 1 --timeout 9 --output_file -"
    )
    options = read(line)
    assert options.method == Method(
        3, 2, 4, 5, average=Average.FIRST, per_iteration=True, skipped=1, timestamps=True, time_limit_s=9
    )
    assert (options.counts, options.reduction, options.json) == ((8, 16), Reduction.MIN, "-")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *[("int8", "int8"), ("uint8", "uint8"), ("int32", "int32"), ("uint32", "uint32"), ("int64", "int64")],
        *[("uint64", "uint64"), ("half", "float16"), ("float", "float32"), ("double", "float64")],
    ],
)
def test_types_have_the_names_of_nccl_tests(name, dtype):
    """Each type is known by its name there, and the engine has a code for it."""
    options = read(f"-d {name}")
    assert options.datatype.dtype == np.dtype(dtype)
    dtype_code(options.datatype.dtype)


@pytest.mark.parametrize("limit", ["", "-T 0"])
def test_no_time_limit(limit):
    """A limit of zero is none, as in nccl-tests."""
    assert read(limit).method.time_limit_s is None


def test_foreign_options_that_ask_for_nothing():
    """Options of nccl-tests that ask for what is the case anyway are accepted."""
    assert read("-t 1 -g 1 -G 0 -C 0 -z 0 -p 0 -R 0 -D 0 -u 0 -M 0").method == Method()


@pytest.mark.parametrize("letter", "tgGCzpRxDVuM")
def test_foreign_options_are_refused_by_name(letter):
    """Options of nccl-tests that mean nothing here are refused, with the reason."""
    with pytest.raises(UsageError, match=f"^-{letter} 7: .+; leave it out"):
        read(f"-{letter} 7")


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


@pytest.mark.parametrize("place", [None, Place(0), Place(0, size=6)])
def test_more_ranks_than_rails(place):
    """Nodes may have more ranks than rails, alone or inside any launcher."""
    assert read("--nodes 2 --rails 2 --ranks-per-node 3", place=place).layout == Layout(2, 2, 3)
    with pytest.raises(UsageError, match="1 ranks per node cannot own 2 rails"):
        read("--nodes 2 --rails 2 --ranks-per-node 1", place=place)


def test_ranks_of_one_host_need_a_division():
    """Ranks of one host are one node only if the user says so."""
    with pytest.raises(UsageError, match=r"all 4 ranks are on one host.*--rails 2"):
        read(place=Place(0, 4, 0, 4))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("broadcast", "COLLECTIVE 'broadcast' is unknown: it has allreduce"),
        (
            "--backend verbs",
            "--backend 'verbs' is not available in this version: it has auto, virtual, netdev",
        ),
        ("--backend x", "--backend 'x' is unknown: it has auto, virtual, netdev"),
        ("--form helper", "--form says how to run r2cc-allreduce or optcc: give that --strategy too"),
        (
            "--strategy optcc --form chain",
            "--form 'chain' is unknown: it has simple, ordering-2, overlay, mixture",
        ),
        (
            "--strategy optcc --partial 1/3",
            "--partial says how to run r2cc-allreduce: give that --strategy too",
        ),
        ("-o mulsum", "-o 'mulsum' is not available in this version: it has sum, prod, min, max, avg"),
        ("-d all", f"-d 'all' is not available in this version: it has {TYPES}"),
        ("-d float32", f"-d 'float32' is unknown: it has {TYPES}"),
        ("-d bfloat16", f"-d bfloat16: NumPy has no such type; this version has {TYPES}"),
        ("-d f8e5m2", f"-d f8e5m2: NumPy has no such type; this version has {TYPES}"),
        (
            "-o avg -d int8",
            "-o avg -d int8: avg of int8: the mean of whole numbers is no whole number; use sum, or a float",
        ),
        ("-g 2", "-g 2: every rank owns one rail and no GPU, start more ranks; leave it out or write -g 1"),
        ("-m 0", "-m '0' is not a whole number from 1 on: write for example -m 3"),
        ("-N 0", "-N 0 would run for ever and never come to a verdict: give a number of cycles"),
        ("-N 2 --fail 1:1@2s", "--fail 1:1@2s happens once, and -N 2 repeats: leave out -N"),
        ("-a 4", "-a '4' is unknown: it has 0, 1, 2, 3"),
        ("-K 20", "-K 20 leaves none of 20 iterations (-n): leave out fewer"),
        ("-T x", "-T 'x' is not a number of seconds above zero: write for example 10 or 0.5"),
        ("-I x", "-I 'x' is neither on nor off: write -I 1 or -I 0"),
        (
            "--json - --csv -",
            "--json - and --csv - both want standard output: let one of them write a file",
        ),
        ("--csv /nowhere/x", "--csv /nowhere/x: there is no folder /nowhere, make it first"),
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


JOB = Place(0, 6)


def test_interfaces():
    """Rails by name are the backend netdev; a rail can be declared dead, or slower than others."""
    line = "--nodes 3 --rails 2 --interfaces eth0,ib0 --fail 1:1 --slow 1:0=0.5 --rail-rate 1Gbit/s"
    options = read(line, JOB)
    assert (options.backend, options.interfaces) == ("netdev", ("eth0", "ib0"))
    assert (options.rail_rate_bytes_per_s, options.is_story) == (125e6, True)
    assert read("--rails 2 --interfaces eth0,ib0 --backend netdev", JOB).rail_rate_bytes_per_s is None


def test_rate_that_was_found():
    """The rate that the interfaces turn out to have is the planner's too."""
    options = read("--rails 2 --interfaces eth0,ib0", JOB).at_rate(125e6)
    assert (options.rail_rate_bytes_per_s, options.wishes.rail_bytes_per_s) == (125e6, 125_000_000)


def test_iteration_table():
    """A run can be told iteration by iteration though nothing is to fail."""
    assert read("--iteration-table").is_story
    assert not read().is_story


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--backend netdev", "--backend netdev: say which interfaces, for example --interfaces eth0,eth1"),
        ("--backend virtual --interfaces a,b", "--interfaces are real rails, --backend virtual has none"),
        ("--interfaces a,", "--interfaces a,: write names with commas between"),
        ("--interfaces a", "--interfaces a: one for each rail, and there are 2 rails"),
        ("--interfaces a,b --fail 1:1@1s", "--fail 1:1@1s: an interface fails when its link does; cut that"),
        ("--interfaces a,b --fail 1:1 --silent", "--silent: an interface fails when its link does"),
        ("--interfaces a,b --fail 1:1 --late", "--late: an interface fails when its link does"),
        ("--interfaces a,b --fail 1:1 --recover 1:1@1s", "--recover 1:1@1s: an interface fails when"),
    ],
)
def test_mistakes_about_interfaces(words, message):
    """Each gets one line that names the option."""
    with pytest.raises(UsageError) as error:
        read(f"--rails 2 {words}", JOB)
    assert str(error.value).startswith(message)


def test_interfaces_alone():
    """Without a launcher all nodes would be on this host."""
    with pytest.raises(UsageError, match="alone, r2cc run starts all nodes on this host"):
        read("--interfaces a,b")
    assert read("--nodes 1 --rails 2 --interfaces a,b").backend == "netdev"
