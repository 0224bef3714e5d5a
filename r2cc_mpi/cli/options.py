"""What a command line of `r2cc run` asks for, checked as a whole before any MPI starts."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from r2cc_mpi.cli import foreign_options
from r2cc_mpi.cli.arrays import DATA_TYPES, MISSING_TYPES, DataType, InputArrays, inspect_inputs
from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.cli.interfaces import read_interfaces, refuse_virtual
from r2cc_mpi.cli.method import Method, read_method
from r2cc_mpi.cli.run_parser import DEFAULT_LAYOUT
from r2cc_mpi.cli.sizes import Sweep, sweep
from r2cc_mpi.cli.units import parse_rate, parse_seconds
from r2cc_mpi.cli.values import convert, one_of, output_file, whole_number
from r2cc_mpi.cli.wishes import read_wishes
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Declared, Fault, FaultKind, parse_faults
from r2cc_mpi.layout import Layout
from r2cc_mpi.pinning import Place
from r2cc_mpi.planning import Wishes
from r2cc_mpi.reduction import Reduction

COLLECTIVES = ("allreduce",)
OPS = tuple(one.label for one in Reduction)
LATER_OPS = ("mulsum", "all")


@dataclass(frozen=True)
class RunOptions:
    """One job.

    Attributes:
        collective: One of COLLECTIVES.
        layout: Nodes and rails.
        place: Where this process stands in the job; None before it is started.
        interfaces: Names of the network interfaces that are the rails; none: rails are virtual.
        rail_rate_bytes_per_s: Rate of each direction of each rail; None: not paced, or not known.
        wishes: What the plan is made from: strategy, pieces and so on.
        isolation_timeout_s: Seconds without an answer by any route until the collective is given up.
        faults: What is to happen to which rail, in the order fail, slow, recover.
        iteration_table: Whether every iteration is to be shown, failures or not.
        datatype: Type of the elements.
        reduction: What is done with them.
        root: Root rank; means nothing to a collective without one.
        sweep: The data sizes.
        method: How to measure.
        corrupt: Iteration (from 1) in which one element is to be spoiled before the check, or None.
        input: The user's own arrays, or None for made-up data.
        output: Folder for the results of `input`, or None.
        json: File for the report, `-` for standard output, or None.
        csv: The same for the rows of the table.
    """

    collective: str
    layout: Layout
    place: Place | None
    interfaces: tuple[str, ...]
    rail_rate_bytes_per_s: float | None
    wishes: Wishes
    isolation_timeout_s: float
    faults: tuple[Fault, ...]
    iteration_table: bool
    datatype: DataType
    reduction: Reduction
    root: int
    sweep: Sweep
    method: Method
    corrupt: int | None
    input: InputArrays | None
    output: Path | None
    json: str | None
    csv: str | None

    @property
    def strategy(self) -> str:
        """Name of the strategy asked for."""
        return self.wishes.strategy.label

    def at_rate(self, bytes_per_s: float | None) -> RunOptions:
        """Return the same job with the rate that its rails turned out to have; None: not known."""
        rate = None if bytes_per_s is None else Fraction(bytes_per_s)
        return replace(
            self,
            rail_rate_bytes_per_s=bytes_per_s,
            wishes=replace(self.wishes, rail_bytes_per_s=rate),
        )

    @property
    def backend(self) -> str:
        """What the rails are: `virtual` or `netdev`."""
        return "netdev" if self.interfaces else "virtual"

    @property
    def is_story(self) -> bool:
        """Whether its iterations are told one by one: each is an instant that no other one repeats."""
        return bool(self.faults) or self.iteration_table

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of each data size, in the order to run them."""
        return self.sweep.counts


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
    foreign_options.refuse(words)
    layout = _layout(words, place)
    arrays = None if words.input is None else inspect_inputs(Path(words.input), layout.ranks)
    datatype = _datatype(words, arrays)
    sizes = sweep(words, datatype) if arrays is None else Sweep.single(arrays.count, datatype)
    method = read_method(words)
    rate = None if words.rail_rate is None else convert("--rail-rate", words.rail_rate, parse_rate)
    interfaces = read_interfaces(words, layout, place)
    faults = _faults(words, layout, method, len(sizes.counts))
    if interfaces:
        refuse_virtual(faults)
    return RunOptions(
        collective=one_of("COLLECTIVE", words.collective, COLLECTIVES),
        layout=layout,
        place=place,
        interfaces=interfaces,
        rail_rate_bytes_per_s=rate,
        wishes=read_wishes(words, rate, faults),
        isolation_timeout_s=convert("--isolation-timeout", words.isolation_timeout, parse_seconds),
        faults=faults,
        iteration_table=words.iteration_table,
        datatype=datatype,
        reduction=_reduction(words, datatype),
        root=_root(words, layout),
        sweep=sizes,
        method=method,
        corrupt=_corrupt(words, method.iterations, check=method.check),
        input=arrays,
        output=_output(words),
        json=output_file("--json", words.json),
        csv=_csv(words),
    )


def _layout(words: Namespace, place: Place | None) -> Layout:
    nodes = None if words.nodes is None else whole_number("--nodes", words.nodes, least=1)
    rails = None if words.rails is None else whole_number("--rails", words.rails, least=1)
    given = words.ranks_per_node
    ranks_per_node = None if given is None else whole_number("--ranks-per-node", given, least=1)
    if place is None:
        return Layout(nodes or DEFAULT_LAYOUT[0], rails or DEFAULT_LAYOUT[1], ranks_per_node or 0)
    if place.size is None:
        if nodes is None or rails is None:
            raise UsageError(
                "this launcher does not tell how many ranks there are before MPI starts: "
                "give both --nodes and --rails"
            )
        return Layout(nodes, rails, ranks_per_node or 0)
    if nodes is None and rails is None and ranks_per_node is None:
        rails = place.local_size or place.size
        if rails == place.size:
            raise UsageError(
                f"all {place.size} ranks are on one host, so one node, and nothing crosses a network: "
                "say how many ranks make a node, for example mpiexec -n 4 r2cc run allreduce --rails 2"
            )
    return Layout.from_ranks(place.size, rails=rails, nodes=nodes, ranks_per_node=ranks_per_node)


def _datatype(words: Namespace, arrays: InputArrays | None) -> DataType:
    if arrays is None:
        name = words.datatype or "float"
        if name in MISSING_TYPES:
            raise UsageError(f"-d {name}: {MISSING_TYPES[name]}; this version has {', '.join(DATA_TYPES)}")
        return DATA_TYPES[one_of("-d", name, tuple(DATA_TYPES), ("all",))]
    given = {"-b": words.minbytes, "-e": words.maxbytes, "-i": words.stepbytes, "-f": words.stepfactor}
    for option, value in {**given, "-d": words.datatype}.items():
        if value is not None:
            raise UsageError(
                f"{option} and --input: the arrays have their own size and type, leave {option} out"
            )
    return arrays.datatype


def _reduction(words: Namespace, datatype: DataType) -> Reduction:
    reduction = Reduction[one_of("-o", words.op, OPS, LATER_OPS).upper()]
    try:
        reduction.check(datatype.dtype)
    except UsageError as error:
        raise UsageError(f"-o {words.op} -d {datatype.name}: {error}") from None
    return reduction


def _faults(words: Namespace, layout: Layout, method: Method, sizes: int) -> tuple[Fault, ...]:
    for option, given in {"--silent": words.silent, "--late": words.late}.items():
        if given and not words.fail:
            raise UsageError(f"{option} says how a --fail happens: give one, for example --fail 1:1@40%")
    if words.slow and words.rail_rate is None:
        raise UsageError("--slow is a fraction of the rails' rate: give one, for example --rail-rate 50MB/s")
    faults = parse_faults(words.fail, words.slow, words.recover, silent=words.silent, late=words.late)
    check_faults(faults, layout, iterations=method.iterations, sizes=sizes)
    for fault in faults:
        if method.cycles > 1 and (fault.kind is not FaultKind.SLOW or fault.trigger != Declared()):
            raise UsageError(f"{fault.option} happens once, and -N {method.cycles} repeats: leave out -N")
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


def _csv(words: Namespace) -> str | None:
    if words.csv == words.json == "-":
        raise UsageError("--json - and --csv - both want standard output: let one of them write a file")
    return output_file("--csv", words.csv)
