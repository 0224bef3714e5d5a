from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gradients"
RANKS = 3
WEIGHTS = 32 * 32 + 32 * 16
FLAGS = {np.float32: [], np.float64: ["--double"], np.int64: ["--integer"]}


@pytest.fixture(scope="module")
def gradients():
    """Load the script as a module (its name has no suffix), and make its network small."""
    loader = SourceFileLoader("gradients", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    vars(module).update(INPUTS=32, HIDDEN=32)
    yield module
    del sys.modules[loader.name]


def write(directory, arrays):
    """Write arrays as rank<k>.npy."""
    directory.mkdir(exist_ok=True)
    for rank, array in enumerate(arrays):
        np.save(directory / f"rank{rank}.npy", array)
    return directory


@pytest.fixture(params=FLAGS, ids=lambda dtype: dtype.__name__)
def job(gradients, tmp_path, request):
    """Two folders: gradients as `make` writes them, and their sums as `r2cc run` would."""
    grads = tmp_path / "grads"
    assert gradients.main(["make", str(grads), "--ranks", str(RANKS), *FLAGS[request.param]]) == 0
    arrays = gradients.load(grads)
    assert all(array.dtype == request.param for array in arrays)
    total = np.sum(arrays[::-1], axis=0, dtype=request.param)
    return grads, write(tmp_path / "sums", [total] * RANKS)


def test_gradient_is_the_slope_of_the_loss(gradients):
    """Moving along the gradient changes the loss as the gradient says, to first order."""
    network, samples = gradients.Network.random(7), gradients.shard(0)
    gradient = network.gradient(*samples)
    tiny = 1e-6 / np.abs(gradient).max()
    moved = network.moved(gradient * (tiny / gradients.LEARNING_RATE))
    slope = (network.loss(*samples) - moved.loss(*samples)) / tiny
    assert slope == pytest.approx(float(gradient @ gradient), rel=1e-4)


def test_every_rank_has_samples_of_its_own(gradients, tmp_path):
    """Gradients are the same in every call, and differ between ranks."""
    for name in ("one", "two"):
        gradients.make(tmp_path / name, RANKS, np.float64)
    one, two = gradients.load(tmp_path / "one"), gradients.load(tmp_path / "two")
    assert all(np.array_equal(first, second) for first, second in zip(one, two, strict=True))
    assert not any(np.array_equal(one[0], other) for other in one[1:])


def test_step_improves_the_loss(gradients, job, capsys):
    """Correct sums pass, and one step of training with their mean lowers the loss."""
    capsys.readouterr()
    assert gradients.main(["step", *map(str, job)]) == 0
    found, loss = capsys.readouterr().out.splitlines()
    assert found.startswith(f"{RANKS} ranks hold the same sum of ")
    before, after = (float(number) for number in loss.removeprefix("loss ").split(" -> "))
    assert 0 < after < before


def test_integers_train_like_floats(gradients, tmp_path):
    """The mean of the integer sums, scaled back, is the mean of the floats to nine decimals."""
    means = []
    for dtype, scale in ((np.float64, 1), (np.int64, gradients.INTEGER_SCALE)):
        gradients.make(tmp_path / np.dtype(dtype).name, RANKS, dtype)
        total = np.sum(gradients.load(tmp_path / np.dtype(dtype).name), axis=0)
        means.append(total / (RANKS * scale))
    assert np.abs(means[0] - means[1]).max() <= 0.5 / gradients.INTEGER_SCALE + 1e-15


def test_step_notices_one_spoiled_element(gradients, job, capsys):
    """One element that is wrong on every rank is named, with status 2."""
    grads, sums = job
    total = np.load(sums / "rank0.npy")
    total[17] += 1 if total.dtype.kind == "i" else 1e-3
    write(sums, [total] * RANKS)
    assert gradients.main(["step", str(grads), str(sums)]) == 2
    problem = capsys.readouterr().err
    assert f"1 of {WEIGHTS} elements are not the sum, first element 17" in problem
    assert problem.count("\n") == 1


def test_step_notices_ranks_that_disagree(gradients, job, capsys):
    """A rank that holds other bits than rank 0 is named, also within what rounding allows."""
    grads, sums = job
    total = np.load(sums / "rank2.npy")
    total[5] = np.nextafter(total[5], 1, dtype=total.dtype) if total.dtype.kind == "f" else total[5] + 1
    np.save(sums / "rank2.npy", total)
    assert gradients.main(["step", str(grads), str(sums)]) == 2
    assert "rank 2 and rank 0 hold different sums, first in element 5" in capsys.readouterr().err


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_sum_that_is_no_number_is_wrong(gradients, value):
    """NaN and infinity are within no rounding bound."""
    ones = [np.ones(4, np.float32)] * 2
    total = np.array([2, 2, value, 2], np.float32)
    with pytest.raises(gradients.WrongSumError, match="first element 2"):
        gradients.check_sums(ones, [total, total])


def test_rounding_is_allowed_but_no_more(gradients):
    """Sums may differ by as many rounding errors as there are ranks, not by twice as many."""
    ones = [np.ones(1)] * 4
    bound = 4 * np.finfo(np.float64).eps * 4
    gradients.check_sums(ones, [np.array([4 + bound])] * 4)
    with pytest.raises(gradients.WrongSumError):
        gradients.check_sums(ones, [np.array([4 + 2 * bound])] * 4)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["make", "new", "--ranks", "0"], "--ranks 0: give at least 1"),
        (["make", "new", "--ranks", "many"], "invalid int value"),
        (["make", "few", "--ranks", "1"], "holds gradients of more than 1 ranks"),
        (["make", "file", "--ranks", "1"], "cannot write"),
        (["step", "none", "none"], "has no rank0.npy"),
        (["step", "text", "text"], "no array that NumPy can read"),
        (["step", "mixed", "mixed"], "rank1.npy is not of the same shape and type"),
        (["step", "few", "few"], f"does not hold gradients of {WEIGHTS} weights"),
        (["step", "few"], "required"),
        ([], "required"),
    ],
)
def test_bad_input_ends_with_one_line(gradients, tmp_path, monkeypatch, capsys, arguments, problem):
    """What cannot be used is named in one line, with status 1."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "few", [np.ones(3), np.ones(3)])
    write(tmp_path / "mixed", [np.ones(3), np.ones(4)])
    (tmp_path / "file").write_text("")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "rank0.npy").write_text("no array")
    assert gradients.main(arguments) == 1
    output = capsys.readouterr()
    assert problem in output.err
    assert (output.out, output.err.count("\n")) == ("", 1)


def test_sums_of_another_job_are_bad_input(gradients, job, capsys):
    """Sums of fewer ranks than there are gradients are refused with status 1, not called wrong."""
    grads, sums = job
    (sums / "rank2.npy").unlink()
    assert gradients.main(["step", str(grads), str(sums)]) == 1
    assert "not of the same job" in capsys.readouterr().err
