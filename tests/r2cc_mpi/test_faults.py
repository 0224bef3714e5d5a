from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import (
    AtBytes,
    AtChunk,
    AtTime,
    Declared,
    Fault,
    FaultKind,
    parse_fault,
    parse_faults,
)

numbers = st.integers(0, 10**6)
iterations = st.integers(1, 10**6)
decimals = st.integers(0, 10**15).map(lambda digits: Fraction(digits, 10**9))
triggers = st.one_of(
    st.builds(AtBytes, iterations, st.integers(0, 10**9).map(lambda part: Fraction(part, 10**9))),
    st.builds(AtChunk, iterations, st.integers(1, 10**6)),
    st.builds(AtTime, decimals),
)
sometimes_declared = st.one_of(st.just(Declared()), triggers)
nics = st.builds(Nic, numbers, numbers)
factors = st.fractions(0, 1, max_denominator=10**9).filter(bool)
faults = st.one_of(
    st.builds(
        Fault, st.just(FaultKind.FAIL), nics, sometimes_declared, silent=st.booleans(), late=st.booleans()
    ),
    st.builds(Fault, st.just(FaultKind.SLOW), nics, sometimes_declared, factors),
    st.builds(Fault, st.just(FaultKind.RECOVER), nics, triggers),
)


@given(faults)
def test_written_fault_reads_back(fault):
    """The text of a fault, read again, is the same fault."""
    assert parse_fault(fault.kind, str(fault), silent=fault.silent, late=fault.late) == fault


@given(st.sampled_from(FaultKind), st.text("0123456789:@=,%./ siterchunk", max_size=30))
def test_any_text_is_a_fault_or_a_usage_error(kind, text):
    """No text makes the reader fail in any other way; what it accepts it can write and read again."""
    try:
        fault = parse_fault(kind, text)
    except UsageError:
        return
    assert parse_fault(kind, str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("1:2", Declared()),
        ("1:2@40%", AtBytes(1, Fraction(2, 5))),
        ("1:2@iter=3,12.5%", AtBytes(3, Fraction(1, 8))),
        ("1:2@chunk=7", AtChunk(1, 7)),
        ("1:2@iter=3,chunk=7", AtChunk(3, 7)),
        ("1:2@2.5s", AtTime(Fraction(5, 2))),
        ("1:2@2 s", AtTime(Fraction(2))),
    ],
)
def test_moments_of_a_failure(text, trigger):
    """Every form of WHEN is understood, and the iteration is 1 if not given."""
    fault = parse_fault(FaultKind.FAIL, text)
    assert (fault.nic, fault.trigger) == (Nic(1, 2), trigger)


def test_iteration_of_a_fault():
    """A fault knows the iteration it names, and that it names none."""
    texts = ("0:0@iter=4,1%", "0:0@chunk=3", "0:0@1s", "0:0")
    assert [parse_fault(FaultKind.FAIL, text).iteration for text in texts] == [4, 1, None, None]


@pytest.mark.parametrize(("text", "factor"), [("0.25", Fraction(1, 4)), ("1/3", Fraction(1, 3)), ("1", 1)])
def test_slow_takes_decimals_and_fractions(text, factor):
    """The part of the rate that is left may be written as a decimal or as a fraction."""
    fault = parse_fault(FaultKind.SLOW, f"0:1={text}@iter=2,50%")
    assert (fault.factor, fault.trigger) == (factor, AtBytes(2, Fraction(1, 2)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1:",
        "a:b",
        "-1:0",
        "1:1@",
        "1:1@40",
        "1:1@iter=3",
        "1:1@iter=3,2s",
        "1:1@iter=,40%",
        "1:1@40%,iter=3",
        "1:1@chunk=",
        "1:1@s",
        "1:1 @40%",
        "1:1=0.5",
        "1.0:1",
        "1:1@-4%",
        "1:1@1e1%",
        "\u0661:1",
    ],
)
def test_malformed_failure_is_refused(text):
    """A text outside the grammar is named in the error, with the grammar and an example that parses."""
    with pytest.raises(UsageError) as error:
        parse_fault(FaultKind.FAIL, text)
    assert str(error.value).startswith(f"--fail {text}: write NODE:RAIL[@WHEN]")
    assert "\n" not in str(error.value)
    example = str(error.value).rpartition("for example --fail ")[2]
    assert parse_fault(FaultKind.FAIL, example).nic == Nic(1, 1)


@pytest.mark.parametrize("kind", FaultKind)
def test_example_in_the_error_parses(kind):
    """The example that an error offers is accepted by the same option."""
    with pytest.raises(UsageError) as error:
        parse_fault(kind, "nonsense")
    assert parse_fault(kind, str(error.value).rpartition(f"--{kind.value} ")[2]).nic == Nic(1, 1)


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (FaultKind.FAIL, "1:1@iter=0,4%", "no iteration 0"),
        (FaultKind.FAIL, "1:1@100.5%", "more than all"),
        (FaultKind.FAIL, "1:1@chunk=0", "no chunk 0"),
        (FaultKind.SLOW, "1:1=0", "above 0 and at most 1"),
        (FaultKind.SLOW, "1:1=1.5", "above 0 and at most 1"),
        (FaultKind.SLOW, "1:1=1/00", "above 0 and at most 1"),
        (FaultKind.SLOW, "1:1", "NODE:RAIL=F"),
        (FaultKind.RECOVER, "1:1", "NODE:RAIL@WHEN"),
    ],
)
def test_numbers_out_of_range_are_refused(kind, text, problem):
    """Numbers that make no sense are refused, with the option and its text."""
    with pytest.raises(UsageError, match=problem) as error:
        parse_fault(kind, text)
    assert str(error.value).startswith(f"--{kind.value} {text}: ")


def test_whole_command_line():
    """Options are read kind by kind, and --silent and --late belong to the failures alone."""
    found = parse_faults(["0:0@5%", "1:1"], ["2:0=0.5"], ["0:0@3s"], silent=True, late=True)
    assert [(fault.kind.value, str(fault.nic)) for fault in found] == [
        ("fail", "node 0 rail 0"),
        ("fail", "node 1 rail 1"),
        ("slow", "node 2 rail 0"),
        ("recover", "node 0 rail 0"),
    ]
    assert [(fault.silent, fault.late) for fault in found] == [(True, True), (True, True)] + [
        (False, False)
    ] * 2


def test_option_text_for_messages():
    """A fault can say which option asked for it."""
    assert parse_fault(FaultKind.FAIL, "1:1@40%").option == "--fail 1:1@iter=1,40%"
