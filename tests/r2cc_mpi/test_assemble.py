from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.cli.assemble import (
    Known,
    Moved,
    RankRecord,
    affected_nodes,
    iteration_records,
    joined,
    size_record,
    verdict,
)
from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.cli.report import Measurement, RailBytes
from r2cc_mpi.job import Iteration
from r2cc_mpi.layout import Layout

LAYOUT = Layout(2, 2)
DEAD = Nic(1, 1)


def options(*words):
    """Read a command line for two nodes with two rails at a megabyte per second."""
    line = ["run", "allreduce", "--nodes", "2", "--rails", "2", "--rail-rate", "1MB/s", "-b", "1M", *words]
    return read_options(build_parser().parse_args(line), None)


def iteration(number, **changes):
    """Make an iteration that ends at the second of its number."""
    plain = Iteration(
        collective=number,
        time_s=0.5,
        network_s=0.25,
        strategy="ring",
        wrong=0,
        ended_at=float(number),
        down=[],
    )
    return replace(plain, **changes)


def rank(iterations, **changes):
    """Make what a rank reports of its iterations."""
    carried = tuple(RailBytes(10 * number, number) for number in range(len(iterations)))
    return replace(RankRecord(tuple(iterations), carried, (), (), (), ()), **changes)


def healthy_ranks(iterations):
    """Let all four ranks report that many plain iterations."""
    return [rank([iteration(number) for number in range(1, iterations + 1)]) for _ in range(4)]


def moved(at, source=0, resent=100):
    """Make the repair of a channel that used the dead NIC."""
    return Moved(DEAD, source, at, resent, (Hop(0, 1 - source),))


def failing_ranks():
    """Let node 1 lose rail 1 at 1.5 s, in the second of three iterations; both ends move a channel."""
    story = [iteration(1), *(iteration(number, strategy="hot-repair", down=[[1, 1]]) for number in (2, 3))]
    ranks = [rank(story) for _ in range(4)]
    ranks[1] = replace(ranks[1], moved=(moved(1.75, resent=300),), known=(Known(DEAD, 1.75, "news"),))
    ranks[3] = replace(
        ranks[3],
        moved=(moved(1.625, source=1),),
        known=(Known(DEAD, 1.625, "event"),),
        fired=((DEAD, 1.5),),
    )
    return ranks


def test_slowest_rank_counts():
    """An iteration lasts as long as on the slowest rank, and wrong elements are added up."""
    ranks = healthy_ranks(1)
    ranks[2] = rank([iteration(1, time_s=2.0, wrong=3)])
    ranks[3] = rank([iteration(1, network_s=1.0, wrong=4)])
    (record,) = iteration_records(options("-n", "1"), ranks)
    assert (record.time_s, record.network_s, record.wrong) == (2.0, 1.0, 7)


def test_rail_bytes_belong_to_the_rank_that_owns_the_nic():
    """Every NIC has the bytes of its own rank, iteration by iteration."""
    ranks = healthy_ranks(2)
    ranks[2] = replace(ranks[2], rail_bytes=(RailBytes(1, 2), RailBytes(3, 4)))
    records = iteration_records(options("-n", "2"), ranks)
    assert [record.rail_bytes[Nic(1, 0)] for record in records] == [RailBytes(1, 2), RailBytes(3, 4)]
    assert set(records[0].rail_bytes) == set(LAYOUT)


def test_kernel_bytes_are_those_of_interfaces():
    """A NIC has the kernel's bytes of its own rank, iteration by iteration; a virtual one has none."""
    ranks = healthy_ranks(2)
    ranks[2] = replace(ranks[2], kernel_bytes=(RailBytes(1, 2), RailBytes(3, 4)))
    records = iteration_records(options("-n", "2"), ranks)
    assert [record.kernel_bytes for record in records] == [
        {Nic(1, 0): RailBytes(1, 2)},
        {Nic(1, 0): RailBytes(3, 4)},
    ]


def test_cause_that_the_kernel_told():
    """What a netlink event says is the cause, in its own words; both ends knew at a time of day."""
    ranks = failing_ranks()
    ranks[3] = replace(ranks[3], known=(Known(DEAD, 1.625, "netlink event: set down"),))
    (failover,) = iteration_records(options("-n", "3"), ranks)[1].failovers
    assert (failover.cause, failover.known_at) == ("netlink event: set down", 1.75)


def test_strategy_is_that_of_the_last_rank():
    """Ranks that were through before the failure still name the plan from before it."""
    ranks = healthy_ranks(1)
    ranks[2] = rank([iteration(1, strategy="hot-repair", ended_at=1.5)])
    assert iteration_records(options("-n", "1"), ranks)[0].strategy == "hot-repair"


def test_prediction_of_a_healthy_ring():
    """Two nodes: every rail carries half of the mebibyte once each way, at a megabyte per second."""
    (record,) = iteration_records(options("-n", "1"), healthy_ranks(1))
    assert record.predicted_s == (1 << 20) / 2e6


def test_prediction_after_a_failure():
    """With a rail down from the start the backup rail carries twice as much."""
    ranks = [rank([iteration(1, strategy="hot-repair", down=[[1, 1]])]) for _ in range(4)]
    (record,) = iteration_records(options("-n", "1", "--fail", "1:1"), ranks)
    assert record.predicted_s == (1 << 20) / 1e6
    assert record.bound_s == (1 << 20) / 1e6  # all of the data, over the one rail that is left


@pytest.mark.parametrize(
    ("planned_without", "down", "seconds"),
    [([], [[1, 1]], 2), ([[1, 1]], [[1, 1]], 1.5), ([[1, 1]], [], 1.5), ([[1, 1]], [[0, 0]], None)],
)
def test_prediction_of_a_replay(planned_without, down, seconds):
    """A replayed ring follows what is down, Balance what was down for its plan; else no form is known."""
    line = ["--nodes", "3", "--rails", "3", "--rail-rate", "1MB/s", "-b", "2359296", "-n", "1"]
    words = ["run", "allreduce", *line, "--strategy", "balance", "--persistent"]
    replay = replace(iteration(1, strategy="balance", down=down), planned_without=planned_without)
    (record,) = iteration_records(read_options(build_parser().parse_args(words), None), [rank([replay])] * 9)
    healthy_s = 2359296 / 3e6 * 4 / 3
    assert record.predicted_s == (None if seconds is None else pytest.approx(seconds * healthy_s))


def test_prediction_with_a_slow_rail():
    """A rail that is slow from the start counts: half the rate, twice the time; T* is 4/3 of the healthy."""
    (record,) = iteration_records(options("-n", "1", "--slow", "1:1=0.5"), healthy_ranks(1))
    assert record.predicted_s == (1 << 20) / 1e6
    assert record.bound_s == pytest.approx((1 << 20) / 1.5e6)


def test_no_prediction_while_a_rail_slows_down():
    """A rail that slows down on the way leaves nothing to predict."""
    (record,) = iteration_records(options("-n", "1", "--slow", "1:1=0.5@0.1s"), healthy_ranks(1))
    assert (record.predicted_s, record.bound_s) == (None, None)


def test_no_prediction_without_a_rate():
    """Rails that are not paced have no predicted time."""
    line = ["run", "allreduce", "--nodes", "2", "--rails", "2", "-n", "1"]
    unpaced = read_options(build_parser().parse_args(line), None)
    assert iteration_records(unpaced, healthy_ranks(1))[0].predicted_s is None


def test_failover_is_told_once():
    """A NIC that both ends lost is one failover: first cause, last repair, all bytes, both routes."""
    records = iteration_records(options("-n", "3", "--fail", "1:1@1.5s"), failing_ranks())
    assert [len(record.failovers) for record in records] == [0, 1, 0]
    (failover,) = records[1].failovers
    assert (failover.node, failover.rail, failover.cause) == (1, 1, "announced")
    assert (failover.detected_s, failover.resent_bytes) == (0.25, 400)
    assert failover.path == "node 0 -(rail 0)-> node 1; node 1 -(rail 0)-> node 0"
    assert [record.predicted_s is None for record in records] == [False, True, False]


def test_news_is_never_the_cause():
    """A rank that dates the news before the event, because it was not running in between, changes nothing."""
    ranks = failing_ranks()
    ranks[1] = replace(ranks[1], known=(Known(DEAD, 1.5625, "news"),))
    records = iteration_records(options("-n", "3", "--fail", "1:1@1.5s"), ranks)
    assert records[1].failovers[0].cause == "announced"


def test_probed_failure_has_another_cause():
    """A silent failure was found by probing; when it happened is known from the fault plan."""
    ranks = failing_ranks()
    ranks[3] = replace(ranks[3], known=(Known(DEAD, 1.625, "probe"),))
    records = iteration_records(options("-n", "3", "--fail", "1:1@1.5s"), ranks)
    assert records[1].failovers[0].cause == "stalled, probed"


def test_failure_that_nobody_planned_has_no_delay():
    """Without a fault plan it is not known how long it took to notice."""
    ranks = failing_ranks()
    ranks[3] = replace(ranks[3], fired=())
    records = iteration_records(options("-n", "3"), ranks)
    assert records[1].failovers[0].detected_s is None


def test_channel_without_a_route_is_named():
    """A channel that has no route left says so."""
    ranks = failing_ranks()
    ranks[1] = replace(ranks[1], moved=(replace(moved(1.75), route=None),))
    records = iteration_records(options("-n", "3"), ranks)
    assert "node 0 has none" in records[1].failovers[0].path


def test_failure_after_the_last_iteration_belongs_to_it():
    """What happens while results are gathered is told with the last iteration."""
    ranks = healthy_ranks(2)
    ranks[1] = replace(ranks[1], moved=(moved(99.0),), known=(Known(DEAD, 99.0, "event"),))
    records = iteration_records(options("-n", "2"), ranks)
    assert [len(record.failovers) for record in records] == [0, 1]


def test_rank_that_slept_through_down_and_up():
    """A rank that learns of failure and return at once moves its channels without having known of either."""
    ranks = healthy_ranks(2)
    ranks[1] = replace(ranks[1], moved=(moved(1.5),))
    ranks[3] = replace(ranks[3], known=(Known(DEAD, 0.5, "event"),))
    records = iteration_records(options("-n", "2"), ranks)
    assert [len(record.failovers) for record in records] == [0, 1]
    assert (records[1].failovers[0].cause, records[1].failovers[0].detected_s) == ("news", None)


def size_records(asked, ranks):
    """Give all rows; each is made from the ranks' iterations of its own size."""
    rows = len(asked.counts) * asked.method.cycles
    length = len(ranks[0].iterations) // rows
    return [
        size_record(
            asked,
            index,
            [replace(one, iterations=one.iterations[index * length : (index + 1) * length]) for one in ranks],
        )
        for index in range(rows)
    ]


def times_of(row):
    """Give a row's two times."""
    return row.out_of_place.time_s, row.in_place.time_s


def test_sizes_average_their_iterations():
    """Out of place come first, then in place, for each size; a size's time is the mean of its iterations."""
    ranks = [rank([iteration(number, time_s=float(number)) for number in range(1, 9)]) for _ in range(4)]
    asked = options("-n", "2", "-e", "2M")
    rows = size_records(asked, ranks)
    assert [row.size_bytes for row in rows] == [1 << 20, 2 << 20]
    assert [times_of(row) for row in rows] == [(1.5, 3.5), (5.5, 7.5)]


def test_runs_with_failures_have_no_in_place_part():
    """A run with failures measures out of place alone."""
    asked = options("-n", "3", "--fail", "1:1@1.5s")
    ranks = failing_ranks()
    (row,) = size_records(asked, ranks)
    assert row.in_place is None
    assert row.out_of_place == Measurement(0.5, 0, ((0.5, 0.5, 0.5),) * 4)


@pytest.mark.parametrize(("average", "time_s"), [("0", 2.0), ("1", 3.5), ("2", 1.5), ("3", 7.5)])
def test_reported_time(average, time_s):
    """`-a` picks rank 0, the mean, the fastest or the slowest of ranks that took 2, 3, 1.5 and 7.5 s."""
    times = [(1.0, 3.0), (2.0, 4.0), (1.0, 2.0), (7.0, 8.0)]
    ranks = [rank([iteration(1, time_s=one), iteration(2, time_s=two)]) for one, two in times]
    asked = options("-n", "2", "--fail", "1:1", "-a", average)
    records = iteration_records(asked, ranks)
    (row,) = size_records(asked, ranks)
    assert row.out_of_place is not None
    assert row.out_of_place.time_s == time_s
    assert row.out_of_place.process_times_s == tuple(times)
    assert [record.time_s for record in records] == [7.0, 8.0]


def test_cycles_repeat_all_sizes():
    """With `-N 2` there are two rows for each size, cycle by cycle, with iterations of their own."""
    story = [iteration(number, time_s=float(number)) for number in range(1, 9)]
    ranks = [rank(story, finished_at=10.0), *(rank(story, finished_at=99.0) for _ in range(3))]
    asked = options("-n", "1", "-e", "2M", "-N", "2")
    records = iteration_records(asked, ranks)
    rows = size_records(asked, ranks)
    assert [(row.cycle, row.size_bytes) for row in rows] == [
        (cycle, size << 20) for cycle in (1, 2) for size in (1, 2)
    ]
    assert [times_of(row) for row in rows] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert [row.finished_at for row in rows] == [10] * 4
    predicted = [record.predicted_s for record in records]
    assert predicted[0] == predicted[1] == predicted[4] == predicted[5] == (1 << 20) / 2e6
    assert predicted[2] == predicted[3] == predicted[6] == predicted[7] == (2 << 20) / 2e6


def test_parts_are_joined():
    """Sizes come one after the other; failures are reported anew each time, and the last word counts."""
    first, second = (
        [rank([iteration(n)], missed=(word,)) for _ in range(4)] for n, word in [(1, "a"), (2, "b")]
    )
    ranks = joined([first, second])
    assert [[one.collective for one in view.iterations] for view in ranks] == [[1, 2]] * 4
    assert [len(view.rail_bytes) for view in ranks] == [2] * 4
    assert [view.missed for view in ranks] == [("b",)] * 4


def test_rows_name_type_and_operation():
    """Rows have nccl-tests' names for both, and carry the iterations that statistics leave out."""
    asked = options("-n", "3", "-K", "2", "-d", "half", "-o", "max", "--fail", "1:1")
    ranks = healthy_ranks(3)
    (row,) = size_records(asked, ranks)
    assert row.out_of_place is not None
    assert (row.datatype, row.op, row.count, row.out_of_place.skipped) == ("half", "max", 1 << 19, 2)


def judged(ranks, *words):
    """Give the verdict on a run."""
    asked = options(*words)
    return verdict(asked, iteration_records(asked, ranks), ranks)


def test_pass():
    """A run in which everything was right passes, and says what was repaired."""
    assert judged(healthy_ranks(2), "-n", "2").exit_code == 0
    ended = judged(failing_ranks(), "-n", "3", "--fail", "1:1@1.5s")
    assert (ended.exit_code, ended.reason) == (
        0,
        "3 iterations, every element exact on every rank, 1 failure repaired in flight",
    )


def test_unchecked_run_says_so():
    """Without a check nothing is claimed about the results."""
    ranks = [rank([iteration(1, wrong=None)]) for _ in range(4)]
    assert "results not checked" in judged(ranks, "-n", "1", "-c", "0").reason


def test_wrong_elements_fail():
    """Wrong elements of any rank fail the run, and the iterations are named."""
    ranks = healthy_ranks(3)
    ranks[3] = rank([iteration(1), iteration(2, wrong=5), iteration(3, wrong=1)])
    ended = judged(ranks, "-n", "3")
    assert (ended.exit_code, ended.reason) == (2, "6 wrong elements, in iteration 2, 3")


def test_missed_failure_fails():
    """A failure that hit nothing fails the run, though every result is right."""
    ranks = healthy_ranks(1)
    ranks[2] = replace(ranks[2], missed=("this did not hit",))
    ranks[3] = replace(ranks[3], missed=("nor did that",))
    ended = judged(ranks, "-n", "1", "--fail", "1:1@9s")
    assert ended.exit_code == 3
    assert ended.reason == "this did not hit; nor did that; so the run proves nothing about it"


def test_wrong_result_counts_more_than_a_missed_failure():
    """If both are so, the wrong result is the verdict."""
    ranks = [rank([iteration(1, wrong=1)], missed=("--fail 1:1@9s",)) for _ in range(4)]
    assert judged(ranks, "-n", "1").exit_code == 2


@pytest.mark.parametrize(
    ("declared", "nodes"), [([], {1}), ([Nic(0, 0)], {0, 1})], ids=["repaired only", "declared too"]
)
def test_affected_nodes(declared, nodes):
    """All NICs of nodes that lost one are shown, and no others."""
    records = iteration_records(options("-n", "3"), failing_ranks())
    shown = affected_nodes(Layout(3, 2), records, declared)
    assert shown == [Nic(node, rail) for node in sorted(nodes) for rail in range(2)]
