"""What a command line of `r2cc run` asks for, checked as a whole before any MPI starts."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from r2cc_mpi.cli.arrays import DATA_TYPES, DataType, InputArrays, inspect_inputs
from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.cli.parser import DEFAULT_LAYOUT
from r2cc_mpi.cli.sizes import sweep
from r2cc_mpi.cli.units import parse_rate, parse_seconds
from r2cc_mpi.cli.values import convert, one_of, whole_number
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Fault, parse_faults
from r2cc_mpi.layout import Layout
from r2cc_mpi.pinning import Place

COLLECTIVES = ("allreduce",)
STRATEGIES = ("auto", "ring", "hot-repair")
LATER_STRATEGIES = ("balance", "r2cc-allreduce", "optcc", "nested-optcc")
BACKENDS = ("auto", "virtual")
LATER_BACKENDS = ("netdev", "verbs")
LATER_OPS = ("prod", "min", "max", "avg", "all")


@dataclass(frozen=True)
class RunOptions:
    """One job.

    Attributes:
        collective: One of COLLECTIVES.
        layout: Nodes and rails.
        place: Where this process stands in the job; None before it is started.
        backend: One of BACKENDS.
        rail_rate_bytes_per_s: Rate of each direction of each rail; None: not paced.
        strategy: One of STRATEGIES.
        isolation_timeout_s: Seconds without an answer by any route until the collective is given up.
        faults: What is to happen to which rail, in the order fail, slow, recover.
        datatype: Type of the elements.
        op: Reduction, always `sum`.
        root: Root rank; means nothing to a collective without one.
        counts: Elements of each data size, in the order to run them.
        iterations: Timed iterations, at least 1.
        warmup_iterations: Iterations before those.
        check: Whether every element of every iteration is checked.
        corrupt: Iteration (from 1) in which one element is to be spoiled before the check, or None.
        input: The user's own arrays, or None for made-up data.
        output: Folder for the results of `input`, or None.
        json: File for the report, `-` for standard output, or None.
    """

    collective: str
    layout: Layout
    place: Place | None
    backend: str
    rail_rate_bytes_per_s: float | None
    strategy: str
    isolation_timeout_s: float
    faults: tuple[Fault, ...]
    datatype: DataType
    op: str
    root: int
    counts: tuple[int, ...]
    iterations: int
    warmup_iterations: int
    check: bool
    corrupt: int | None
    input: InputArrays | None
    output: Path | None
    json: str | None


def read_options(words: Namespace, place: Place | None) -> RunOptions:
    """Turn the words of a command line into a job.

    Args:
        words: What the parser found.
        place: Where this process stands in the job of a launcher; None outside one.

    Returns:
        The job, in which everything fits together. Input arrays were looked at, nothing was written.

    Raises:
        UsageError: At the first thing that does not fit, naming the option.
    """
    layout = _layout(words, place)
    arrays = None if words.input is None else inspect_inputs(Path(words.input), layout.ranks)
    datatype = _datatype(words, arrays)
    counts = sweep(words, datatype) if arrays is None else (arrays.count,)
    iterations = whole_number("-n", words.iters, least=1)
    check = whole_number("-c", words.check) > 0
    rate = None if words.rail_rate is None else convert("--rail-rate", words.rail_rate, parse_rate)
    return RunOptions(
        collective=one_of("COLLECTIVE", words.collective, COLLECTIVES),
        layout=layout,
        place=place,
        backend=one_of("--backend", words.backend, BACKENDS, LATER_BACKENDS),
        rail_rate_bytes_per_s=rate,
        strategy=one_of("--strategy", words.strategy, STRATEGIES, LATER_STRATEGIES),
        isolation_timeout_s=convert("--isolation-timeout", words.isolation_timeout, parse_seconds),
        faults=_faults(words, layout, iterations, len(counts)),
        datatype=datatype,
        op=one_of("-o", words.op, ("sum",), LATER_OPS),
        root=_root(words, layout),
        counts=counts,
        iterations=iterations,
        warmup_iterations=whole_number("-w", words.warmup_iters),
        check=check,
        corrupt=_corrupt(words, iterations, check=check),
        input=arrays,
        output=_output(words),
        json=_json(words),
    )


def _layout(words: Namespace, place: Place | None) -> Layout:
    nodes = None if words.nodes is None else whole_number("--nodes", words.nodes, least=1)
    rails = None if words.rails is None else whole_number("--rails", words.rails, least=1)
    if place is None:
        return Layout(nodes or DEFAULT_LAYOUT[0], rails or DEFAULT_LAYOUT[1])
    if place.size is None:
        if nodes is None or rails is None:
            raise UsageError(
                "this launcher does not tell how many ranks there are before MPI starts: "
                "give both --nodes and --rails"
            )
        return Layout(nodes, rails)
    if nodes is None and rails is None:
        rails = place.local_size or place.size
        if rails == place.size:
            raise UsageError(
                f"all {place.size} ranks are on one host, so one node, and nothing crosses a network: "
                "say how many ranks make a node, for example mpiexec -n 4 r2cc run allreduce --rails 2"
            )
    return Layout.from_ranks(place.size, rails=rails, nodes=nodes)


def _datatype(words: Namespace, arrays: InputArrays | None) -> DataType:
    if arrays is None:
        return DATA_TYPES[one_of("-d", words.datatype or "float", tuple(DATA_TYPES))]
    given = {"-b": words.minbytes, "-e": words.maxbytes, "-i": words.stepbytes, "-f": words.stepfactor}
    for option, value in {**given, "-d": words.datatype}.items():
        if value is not None:
            raise UsageError(
                f"{option} and --input: the arrays have their own size and type, leave {option} out"
            )
    return arrays.datatype


def _faults(words: Namespace, layout: Layout, iterations: int, sizes: int) -> tuple[Fault, ...]:
    for option, given in {"--silent": words.silent, "--late": words.late}.items():
        if given and not words.fail:
            raise UsageError(f"{option} says how a --fail happens: give one, for example --fail 1:1@40%")
    if words.slow and words.rail_rate is None:
        raise UsageError("--slow is a fraction of the rails' rate: give one, for example --rail-rate 50MB/s")
    faults = parse_faults(words.fail, words.slow, words.recover, silent=words.silent, late=words.late)
    check_faults(faults, layout, iterations=iterations, sizes=sizes)
    return faults


def _root(words: Namespace, layout: Layout) -> int:
    root = whole_number("-r", words.root)
    if root >= layout.ranks:
        raise UsageError(f"-r {root}: there is no rank {root} (ranks are 0 to {layout.ranks - 1})")
    return root


def _corrupt(words: Namespace, iterations: int, *, check: bool) -> int | None:
    if words.corrupt is None:
        return None
    if not check:
        raise UsageError("--corrupt shows that the check works, but -c 0 turns it off: leave one of them out")
    iteration = whole_number("--corrupt", words.corrupt, least=1)
    if iteration > iterations:
        raise UsageError(
            f"--corrupt {iteration}: there is no such iteration, use 1 to {iterations}, or a larger -n"
        )
    return iteration


def _output(words: Namespace) -> Path | None:
    if words.output is None:
        return None
    if words.input is None:
        raise UsageError("--output writes the results of your own arrays: give --input too")
    output = Path(words.output)
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output {output}: that is a file, name a folder")
    if output.resolve() == Path(words.input).resolve():
        raise UsageError(f"--output {output}: the results would replace the input, name another folder")
    return output


def _json(words: Namespace) -> str | None:
    if words.json in {None, "-"}:
        return None if words.json is None else "-"
    file = Path(words.json)
    if file.is_dir():
        raise UsageError(f"--json {file}: that is a folder, name a file")
    if not file.parent.is_dir():
        raise UsageError(f"--json {file}: there is no folder {file.parent}, make it first")
    return str(file)
