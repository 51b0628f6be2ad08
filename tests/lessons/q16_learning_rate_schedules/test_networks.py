"""The lesson's descent: that its counts do not hang on rounding, and its sharpness against the Hessian."""

import pytest
import torch

from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from course_lib.units.q16_learning_rate_schedules import networks, schedules
from course_lib.units.q16_learning_rate_schedules.schedules import rates


@pytest.mark.slow
def test_the_title_holds_with_shaken_weights():
    for nudge in (0.0, 1e-9, -1e-9):
        found = networks.descend(0.2, nudge=nudge)
        assert (found.rises, len(found.losses)) == (460, networks.STEPS + 1)
        assert found.fall == pytest.approx(50, rel=0.01)
        gone = networks.descend(0.25, nudge=nudge)
        assert (gone.rises, len(gone.losses)) == (10, 16)
        assert networks.descend(0.1, nudge=nudge).rises == 0
    assert networks.descend(0.1, steps=2400).sharpness[-1][1] == pytest.approx(20, rel=0.01)
    assert not networks.descend(0.25).losses[-1] < networks.GONE


def test_sharpness_is_the_largest_eigenvalue_of_the_hessian():
    draw = torch.Generator().manual_seed(3)
    root = torch.randn(6, 6, generator=draw, dtype=torch.float64)
    bowl = root @ root.T
    w = [torch.randn(6, generator=draw, dtype=torch.float64, requires_grad=True)]
    found = networks.sharpness(torch, lambda: w[0] @ bowl @ w[0] / 2, w, rounds=200)
    assert found == pytest.approx(torch.linalg.eigvalsh(bowl)[-1].item(), rel=1e-6)


def test_rises_and_fall_of_a_descent():
    found = networks.Descent(losses=(8.0, 4.0, 5.0, 5.0, 2.0), sharpness=())
    assert (found.rises, found.fall) == (1, 4.0)


def test_a_branch_goes_on_where_its_trunk_is():
    trunk = networks.Characters(torch, 0).train([0.01] * 3)
    branch = trunk.branch(seed=5)
    assert branch.tested() == trunk.tested()
    before = trunk.tested()
    branch.train([0.01] * 2)
    assert trunk.tested() == before != branch.tested()
    alone = networks.Characters(torch, 0).train([0.01] * 5)
    assert trunk.train([0.01] * 2).tested() == alone.tested()  # weights and averages of the trunk are its own


def test_a_seed_decides_everything():
    follows = rates("wsd", 5, 0.01)
    assert networks.characters_loss(torch, follows, 1) == networks.characters_loss(torch, follows, 1)
    assert networks.characters_loss(torch, follows, 1) != networks.characters_loss(torch, follows, 2)


def test_parameters_of_the_language_model_are_those_that_multiply():
    made = networks.Characters(torch, 0).weights
    assert sum(w.numel() for w in made[1:]) == networks.PARAMETERS


@pytest.mark.parametrize("answer", [..., None])
def test_an_unwritten_rule_is_not_defended(answer):
    assert networks.defend(lambda step, total, peak: answer, against=lambda step, total, peak: peak, peak=0.01) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_smaller_peak_does_what_the_warm_up_does(seed):
    bench = Bench.on_device(torch, "cpu")
    slower, warmed = networks.gpt_loss(bench, 0.005, "none", seed), networks.gpt_loss(bench, 0.01, "warm-up", seed)
    assert slower == pytest.approx(warmed, abs=0.08)


@pytest.mark.slow
def test_about_half_of_the_warm_ups_worth_is_its_lower_peak():
    bench = Bench.on_device(torch, "cpu")
    starts = ((0.01, "none"), (0.0087, "none"), (0.01, "warm-up"))
    none, lower, warm = (
        sum(networks.gpt_loss(bench, peak, start, seed) for seed in range(6)) for peak, start in starts
    )
    assert 0.35 < (none - lower) / (none - warm) < 0.65  # with kernels of other processors too


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_radam_ends_where_a_small_rate_does(seed):
    """Its rectification, of Liu et al. 2020, grows with the step and is below a third at the last."""
    beta2, limit, last = 0.999, 2 / (1 - 0.999) - 1, networks.GPT_STEPS
    rho = limit - 2 * last * beta2**last / (1 - beta2**last)
    factor = ((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)) ** 0.5
    assert factor == pytest.approx(0.307, abs=0.001)
    bench = Bench.on_device(torch, "cpu")
    radam, small = networks.gpt_loss(bench, 0.01, "radam", seed), networks.gpt_loss(bench, 0.0016, "none", seed)
    assert radam == pytest.approx(small, abs=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["step", "cosine", "linear"])
def test_no_peak_beyond_the_recorded_ones_is_better(kind):
    recorded, larger = (networks.characters_loss(torch, rates(kind, networks.ROUNDS, peak), 0) for peak in (0.03, 0.05))
    assert larger > recorded + 0.01


@pytest.mark.slow
def test_the_sharpness_rises_by_itself_until_the_limit_holds_it():
    """Twice the steps at half the rate bring it as far; at 2 ÷ rate it is held, below that it goes on."""
    full, half = networks.descend(0.1, steps=6000), networks.descend(0.05, steps=9600)
    reached = dict(full.sharpness)[2400]
    assert (reached, dict(half.sharpness)[4800]) == pytest.approx((20, 20), rel=0.01)
    assert half.sharpness[-1][1] > 20.8
    assert half.rises == 0 < full.rises
    assert all(abs(found - 20) < 0.5 for step, found in full.sharpness if step > 2400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_from_sixteen_on_the_batch_buys_little_rate(seed, monkeypatch):
    monkeypatch.setattr(networks, "LOOKS", 1)
    monkeypatch.setattr(networks, "MOST", 100)

    def steps(batch, rate):
        with timing.single_thread(torch):
            return networks._steps_to_target(torch, batch, rate, seed)

    assert steps(networks.LEARN, 1.2) < steps(networks.LEARN, 0.8) < steps(networks.LEARN, 2.4)
    assert steps(16, 1.2) > 1.5 * steps(16, 0.8)


def steepest(after: int, rate: float, count: int = 7) -> list[float]:
    """The largest curvatures after so many steps, by subspace iteration on products of the whole Hessian."""
    images, classes = digits.tensors(torch)
    x = images[: networks.IMAGES].flatten(1).double()
    y = torch.nn.functional.one_hot(classes[: networks.IMAGES], digits.CLASSES).double()
    start = networks._layers(torch, (64, 32, 10), torch.Generator().manual_seed(0), torch.float64)

    def loss(flat):
        parts = flat.split([part.numel() for part in start])
        w = [part.view(own.shape) for part, own in zip(parts, start, strict=True)]
        return ((networks._tanh(torch, w, x) - y) ** 2).sum(1).mean() / 2

    slope = torch.func.grad(loss)
    flat = torch.cat([part.detach().flatten() for part in start])
    assert len(flat) == 2410
    for _ in range(after):
        flat = flat - rate * slope(flat)
    turn = torch.func.vmap(lambda v: torch.func.jvp(slope, (flat,), (v,))[1])
    rows = torch.randn(16, len(flat), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for _ in range(60):
        rows = turn(torch.linalg.qr(rows.T).Q.T)
    basis = torch.linalg.qr(rows.T).Q.T
    values, turns = torch.linalg.eigh(turn(basis) @ basis.T)
    found = (turns.T @ basis).flip(0)[:count]
    largest = values.flip(0)[:count]
    assert torch.dist(turn(found), largest[:, None] * found) < 1e-2
    return largest.tolist()


@pytest.mark.slow
def test_five_directions_are_too_steep_and_four_come_to_the_limit():
    begun, there, ended = (steepest(after, 0.2) for after in (0, 600, 1200))
    assert begun[0] == pytest.approx(20.55, abs=0.01)
    assert begun[4] > 10 > begun[5]
    for found in (there, ended):
        assert all(abs(one - 10) < 0.35 for one in found[:4])
        assert found[4] < 9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_at_their_best_peaks_branches_of_short_runs_end_lower_than_cosines(seed):
    def branch(steps, peak):
        stable = round((1 - schedules.DECAY) * steps)
        trunk = networks.Characters(torch, seed).train([peak] * stable)
        return trunk.branch(1000 + seed).train(rates("linear", steps - stable, peak)).tested()

    def cosine(steps, peak):
        return networks.characters_loss(torch, rates("cosine", steps, peak), seed)

    with timing.single_thread(torch):
        assert 0.01 < cosine(200, 0.03) - branch(200, 0.02) < 0.04
        assert 0 < cosine(400, 0.02) - branch(400, 0.02) < 0.025
        assert cosine(800, 0.02) == pytest.approx(branch(800, 0.01), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "held", "straight"), [(200, 0.02, 0.03), (400, 0.02, 0.02), (800, 0.01, 0.02)])
def test_a_straight_line_all_the_way_does_no_worse_than_a_late_decay(steps, held, straight):
    """In the mean of three seeds; a cosine of 200 steps does."""

    def mean(kind, peak):
        return sum(networks.characters_loss(torch, rates(kind, steps, peak), seed) for seed in range(3)) / 3

    assert mean("linear", straight) < mean("wsd", held) + 0.01
    if steps == 200:
        assert mean("cosine", straight) > mean("wsd", held) + 0.015
