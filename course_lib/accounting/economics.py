"""Time, utilisation, scaling laws, failures, energy and money. All in seconds, joules and dollars."""

from dataclasses import dataclass
from math import exp, sqrt

from course_lib.accounting import flops as _flops
from course_lib.accounting import hardware, models, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import root, symbol

# law -> (E, A, B, α, β) of L(N, D) = E + A/N^α + B/D^β, in nats per token
_LAWS = {
    # Hoffmann et al. 2022, "Training compute-optimal large language models", approach 3, as printed (rounded)
    "chinchilla": (1.69, 406.4, 410.7, 0.34, 0.28),
    # Besiroglu et al. 2024, "Chinchilla scaling: a replication attempt", arXiv 2404.10102
    "besiroglu": (1.8172, 482.01, 2085.43, 0.3478, 0.3658),
}
_SIX_ND = "Training costs 6·params·tokens FLOP: attention scores are left out."


# ---------------------------------------------------------------- time and utilisation


def training_seconds(flops, *, device, devices=1, mfu, dtype="bf16") -> float:
    """Seconds for `flops` FLOP on `devices` devices: flops / (devices · peak · mfu). mfu: in (0, 1]."""
    device = hardware.resolve(device)
    work, devices = units.count(flops, "flops"), units.count(devices, "devices")
    return work / (devices * device.peak(dtype) * _positive_fraction(mfu, "mfu"))


def mfu(model=None, *, flops_per_token=None, tokens_per_second, device, devices=1, dtype="bf16", seq=None) -> float:
    """Model FLOPs utilisation: FLOP per token · tokens/s over devices · peak (Chowdhery et al. 2022, PaLM, appendix B).

    Give either a model or flops_per_token, such as 6 · params. For a model a token costs its share of
    `flops.training_step` on one sequence of `seq` tokens (None: the model's context): forward and backward, nothing
    recomputed, all T² pairs of attention. `tokens_per_second`: of all devices together.
    """
    if (model is None) == (flops_per_token is None):
        raise ValueError("Give exactly one of model and flops_per_token: each says what a token costs.")
    if model is None and seq is not None:
        raise ValueError(f"seq={seq!r} belongs to a model; flops_per_token already says what a token costs.")
    per_token = flops_per_token if model is None else _flops_per_token(model, seq, "none")
    return _utilisation("mfu", per_token, tokens_per_second, device, devices, dtype)


def hfu(model, *, tokens_per_second, device, devices=1, dtype="bf16", seq=None, recompute="full") -> float:
    """Hardware FLOPs utilisation: as `mfu`, but recomputed FLOP count too. recompute: as in `flops.training_step`."""
    return _utilisation("hfu", _flops_per_token(model, seq, recompute), tokens_per_second, device, devices, dtype)


def _flops_per_token(model, seq, recompute) -> float:
    model = models.resolve(model)
    if not model.decodes:
        raise ValueError(
            f"model={units.shortly(model)} must be a models.Transformer; for others give flops_per_token of one input."
        )
    seq = model.length(seq, "seq")
    return int(_flops.training_step(model, 1, seq, recompute=recompute)) / seq


def _utilisation(name: str, per_token, tokens_per_second, device, devices, dtype) -> float:
    rate = units.positive(per_token, "flops_per_token") * units.positive(tokens_per_second, "tokens_per_second")
    peak = units.count(devices, "devices") * hardware.resolve(device).peak(dtype)
    if rate > peak * (1 + 1e-9):  # rounding alone must not refuse the peak itself
        raise ValueError(
            f"{name}={rate / peak:.3g} is impossible: {rate:.3g} FLOP/s exceed the dense peak of {peak:.3g} FLOP/s. "
            f"Is tokens_per_second={tokens_per_second!r} that of more than devices={devices}, or another dtype than "
            f"{dtype} in use?"
        )
    return rate / peak


def amdahl(*, fraction, speedup) -> float:
    """Speedup of the whole when `fraction` of its time runs `speedup` times as fast: 1/((1 − f) + f/s).

    speedup may be infinite, for the limit 1/(1 − f); below 1 the part becomes slower. (Amdahl, AFIPS 1967)
    """
    fraction = units.fraction(fraction, "fraction")
    speedup = speedup if speedup == float("inf") else units.positive(speedup, "speedup")
    rest = (1 - fraction) + fraction / speedup
    if rest == 0:
        raise ValueError("fraction=1 with an infinite speedup leaves no time at all; use a finite speedup.")
    return 1 / rest


def speedup_needed(*, fraction, target) -> float:
    """How many times as fast `fraction` of the time must run, for the whole to become `target` times as fast.

    `amdahl` turned round: from 1/target = (1 − f) + f/s follows s = f/(1/target − (1 − f)). target: below 1 the whole
    becomes slower. ValueError where no speedup is enough: even a part that takes no time at all leaves the whole at
    most 1/(1 − f) times as fast.
    """
    fraction, goal = _positive_fraction(fraction, "fraction"), units.positive(target, "target")
    left = 1 / goal - (1 - fraction)  # of the old time, for the part
    if left <= 1e-12:  # rounding must not make zero a tiny positive number
        raise ValueError(
            f"target={target!r} is out of reach of fraction={fraction!r}: however fast that part becomes, the rest "
            f"stays, and the whole gets less than {amdahl(fraction=fraction, speedup=float('inf')):.4g} times as fast. "
            "Take a larger fraction or a lower target."
        )
    return fraction / left


# ---------------------------------------------------------------- scaling laws


@dataclass(frozen=True, repr=False)
class Allocation(Explained):
    """A training budget split between model and data; made by `compute_optimal` and `compute_optimal_fit`."""

    params: int
    tokens: int

    def __post_init__(self):
        super().__post_init__()
        for name in ("params", "tokens"):  # whole ones, at least one, of what the formula gives
            object.__setattr__(self, name, max(1, round(getattr(self, name))))


def compute_optimal(flops, tokens_per_param=20) -> Allocation:
    """The model and the data that use up `flops` at `tokens_per_param` tokens for each parameter.

    From flops = 6·N·D and D = r·N follows N = √(flops/(6·r)). The default of 20 is the rule of thumb drawn from
    Hoffmann et al. 2022 (70 B parameters, 1.4 T tokens).
    """
    budget, ratio = units.count(flops, "flops"), units.positive(tokens_per_param, "tokens_per_param")
    C, r = symbol("C", float(budget), "training FLOP"), symbol("r", ratio, "tokens per parameter")
    return Allocation(
        params=root(C / (6 * r)),
        tokens=root(C * r / 6),
        assumptions=(_SIX_ND, "The ratio of tokens to parameters is the same at every budget."),
        omitted=("What the model costs when it is used.",),
    )


_FIT = {
    "A": "coefficient of the model term",
    "B": "coefficient of the data term",
    "a": "exponent of the parameters",
    "b": "exponent of the tokens",
}


def compute_optimal_fit(flops, law="chinchilla") -> Allocation:
    """The model and the data of the lowest loss under 6·N·D = flops, by a fitted law: "chinchilla" or "besiroglu".

    With L = E + A/N^α + B/D^β and D = flops/(6·N), dL/dN = 0 gives α·A/N^α = β·B/D^β, so
    N = G·(flops/6)^(β/(α + β)) with G = (α·A/(β·B))^(1/(α + β)). (Hoffmann et al. 2022, equation 4) How much the
    fit decides: at 5.76e23 FLOP "chinchilla" says 32 B parameters and "besiroglu" 72 B, close to the paper's other two
    approaches; with α = 0.3392 and β = 0.2849, before they were rounded for print, the first would say 40 B.
    """
    budget = units.count(flops, "flops")
    _, *law = _LAWS[units.choice(law, "law", _LAWS)]
    A, B, a, b = (symbol(letter, value, meaning) for value, (letter, meaning) in zip(law, _FIT.items(), strict=True))
    sixth = symbol("C", float(budget), "training FLOP") / 6
    return Allocation(
        params=(a * A / (b * B)) ** (1 / (a + b)) * sixth ** (b / (a + b)),
        tokens=(b * B / (a * A)) ** (1 / (a + b)) * sixth ** (a / (a + b)),
        assumptions=(
            _SIX_ND,
            "The law holds at this budget: it was fitted to models of 70 million to 16 billion parameters.",
        ),
        omitted=("What the model costs when it is used.",),
    )


def tokens_for_loss(params, loss, law="besiroglu") -> Allocation:
    """The data with which a model of `params` parameters reaches `loss`, in nats per token, by a fitted law.

    From L = E + A/N^α + B/D^β follows D = (B/(L − E − A/N^α))^(1/β). law: "besiroglu", "chinchilla", or five numbers
    (E, A, B, α, β) of a fit of your own. ValueError where no amount of data is enough: however long it is trained, a
    model of N parameters stays above E + A/N^α. (Sardana et al. 2024, arXiv 2401.00448, compare sizes in this way.)
    """
    wanted = units.positive(loss, "loss")
    E, A, B, a, b = _coefficients(law)
    least = loss_limit(params=params, law=law)
    if wanted <= least:
        raise ValueError(
            f"loss={loss!r} is out of reach of params={units.shortly(params)}: with endless data it comes down to "
            f"{least:.4f}. Take a larger model or a higher loss."
        )
    letters = {"E": "loss that no model goes below", **_FIT}
    E, A, B, a, b = (symbol(k, v, letters[k]) for k, v in zip(letters, (E, A, B, a, b), strict=True))
    N, L = symbol("N", float(params), "parameters"), symbol("L", wanted, "loss, nats per token")
    return Allocation(
        params=N,
        tokens=(B / (L - E - A / N**a)) ** (1 / b),
        assumptions=("The law holds for this model and this text, which are seen once.",),
        omitted=("What the model costs when it is used.",),
    )


def loss_limit(*, params=None, tokens=None, law="besiroglu") -> float:
    """Loss in nats per token where model or data, or both, have no end: what a fitted law leaves of E + A/N^α + B/D^β.

    tokens alone: an endless model on so much text, E + B/D^β. params alone: a model of that size on endless text,
    E + A/N^α. Neither: E, below which this fit lets nothing come; it is a fitted number, and no measured entropy of
    text. law: as in `tokens_for_loss`. ValueError for both, where nothing is endless.
    """
    E, A, B, a, b = _coefficients(law)
    if params is not None and tokens is not None:
        raise ValueError(
            f"params={units.shortly(params)} and tokens={units.shortly(tokens)} leave nothing endless. Leave out the "
            "one that shall have no end; for both finite there are `chinchilla_loss` and `besiroglu_loss`."
        )
    if tokens is not None:
        return E + B / units.count(tokens, "tokens") ** b
    return E if params is None else E + A / units.count(params, "params") ** a


def _coefficients(law) -> tuple[float, ...]:
    if isinstance(law, str):
        return _LAWS[units.choice(law, "law", _LAWS)]
    if not isinstance(law, (tuple, list)) or len(law) != 5:
        raise ValueError(f"law={law!r} must be one of {', '.join(_LAWS)}, or five numbers (E, A, B, α, β).")
    return (
        units.number(law[0], "E"),
        *(units.positive(value, name) for value, name in zip(law[1:], "ABαβ", strict=True)),
    )


def lifetime_flops(params, tokens, served) -> Breakdown:
    """FLOP of a model from its first step to its last answer: training 6·N·D, serving 2·N·served.

    tokens (D): those that it learns from; served: those that it reads and writes in use. Both are without attention's
    scores. Serving has done as much work as training when served = 3·D. (Sardana et al. 2024, arXiv 2401.00448)
    """
    parts = {
        "training": _flops.six_nd(params, tokens),
        "serving": 2 * units.count(params, "params") * units.count(served, "served", minimum=0),
    }
    return Breakdown.of(
        "FLOP",
        parts,
        assumptions=("A token that is served costs one forward pass, 2 FLOP a parameter.",),
        omitted=(_SIX_ND,),
    )


def chinchilla_loss(params, tokens) -> float:
    """Loss in nats per token that Hoffmann et al. 2022 fit (their approach 3): 1.69 + 406.4/N^0.34 + 410.7/D^0.28.

    As printed: the paper's rounding biases it, see `besiroglu_loss`. For their data, tokenizer and architecture only.
    """
    return _loss("chinchilla", params, tokens)


def besiroglu_loss(params, tokens) -> float:
    """The same law fitted anew by Besiroglu et al. 2024: 1.8172 + 482.01/N^0.3478 + 2085.43/D^0.3658."""
    return _loss("besiroglu", params, tokens)


def _loss(law: str, params, tokens) -> float:
    E, A, B, alpha, beta = _LAWS[law]
    return E + A / units.count(params, "params") ** alpha + B / units.count(tokens, "tokens") ** beta


# ---------------------------------------------------------------- failures


def young_interval(*, checkpoint_seconds, mtbf_seconds) -> float:
    """Seconds of work between checkpoints that waste least: √(2·δ·M) (Young, CACM 17(9), 1974).

    checkpoint_seconds (δ): what writing one costs. mtbf_seconds (M): mean time between failures of the whole job, that
    of one device over the number of devices. It minimises `wasted_fraction`; good while δ is far below M.
    """
    cost, mtbf = _failures(checkpoint_seconds, mtbf_seconds)
    return sqrt(2 * cost * mtbf)


def daly_interval(*, checkpoint_seconds, mtbf_seconds) -> float:
    """As `young_interval`, to a higher order in x = √(δ/(2·M)): √(2·δ·M)·(1 + x/3 + x²/9) − δ.

    It minimises M·(e^((τ + δ)/M) − 1)/τ: the expected time of a piece of work τ with its checkpoint, over τ, when
    failures come at random and may strike a checkpoint too (Daly, Future Generation Computer Systems 22, 2006, eq. 20).
    """
    cost, mtbf = _failures(checkpoint_seconds, mtbf_seconds)
    x = sqrt(cost / (2 * mtbf))
    return sqrt(2 * cost * mtbf) * (1 + x / 3 + x * x / 9) - cost


def wasted_fraction(*, interval_seconds, checkpoint_seconds, mtbf_seconds) -> float:
    """Time lost to checkpoints and failures over useful time, to first order: δ/τ + τ/(2·M).

    Each interval τ pays one checkpoint δ; a failure, one in M seconds, loses half an interval on average. The time to
    restart is left out. A result of 1 or more lies outside of what the first order can say: ValueError.
    """
    cost, mtbf = _failures(checkpoint_seconds, mtbf_seconds)
    interval = units.positive(interval_seconds, "interval_seconds")
    wasted = cost / interval + interval / (2 * mtbf)
    if wasted >= 1:
        raise ValueError(
            f"interval_seconds={interval_seconds!r} wastes {wasted:.3g} times the useful time, where the first order "
            f"no longer holds: it should lie well above checkpoint_seconds={checkpoint_seconds!r} and well below "
            f"mtbf_seconds={mtbf_seconds!r}. Are all three in seconds?"
        )
    return wasted


def expected_waste(*, interval_seconds, checkpoint_seconds, mtbf_seconds, restart_seconds=0) -> float:
    """Time lost over useful time, expected: M·e^(R/M)·(e^((τ + δ)/M) − 1)/τ − 1 (Daly 2006, of which `wasted_fraction`
    is the first order).

    τ, δ and M as in `daly_interval`. restart_seconds (R): from a failure to the first new step: noticing it, finding a
    machine, loading the checkpoint. Failures come at random, and may strike a checkpoint or a restart too. R does not
    depend on τ, so it moves no optimum. One piece as long as the whole work, τ = work, is a run that saves at its end
    only. ValueError where a piece is so long that hardly any is finished.
    """
    cost, mtbf = _failures(checkpoint_seconds, mtbf_seconds)
    interval, restart = _piece(interval_seconds, cost, mtbf, restart_seconds)
    return mtbf * exp(restart / mtbf) * (exp((interval + cost) / mtbf) - 1) / interval - 1


@dataclass(frozen=True)
class FailingRun:
    """What a run of `work` useful seconds took, in s: work + saving + lost + restarting = seconds.

    saving: checkpoints that were finished. lost: work, and checkpoints half done, that a failure undid. restarting:
    what followed failures, broken restarts included. failures: how many.
    """

    work: float
    saving: float
    lost: float
    restarting: float
    failures: int

    @property
    def seconds(self) -> float:
        return self.work + self.saving + self.lost + self.restarting

    @property
    def waste(self) -> float:
        """Time lost over useful time, as `expected_waste` says it."""
        return self.seconds / self.work - 1


def failing_run(
    *, work_seconds, interval_seconds, checkpoint_seconds, mtbf_seconds, restart_seconds=0, seed=0
) -> FailingRun:
    """A run that is followed failure by failure: `expected_waste` is what it loses in the mean.

    work_seconds: useful work; after each interval_seconds of it, and at the end, comes a checkpoint. What is not in a
    finished checkpoint when a failure strikes is done again, after restart_seconds. Times between failures are
    exponential with the mean mtbf_seconds, drawn from `seed`.
    """
    from random import Random  # costs an import that most callers never need

    cost, mtbf = _failures(checkpoint_seconds, mtbf_seconds)
    interval, restart = _piece(interval_seconds, cost, mtbf, restart_seconds)
    work, draw = units.positive(work_seconds, "work_seconds"), Random(seed)
    saving = lost = restarting = done = 0.0
    failures, left = 0, draw.expovariate(1 / mtbf)  # seconds until the next failure
    while done < work:
        piece = min(interval, work - done)
        if left >= piece + cost:
            left, done, saving = left - piece - cost, done + piece, saving + cost
            continue
        lost, failures = lost + left, failures + 1
        while (left := draw.expovariate(1 / mtbf)) < restart:
            restarting, failures = restarting + left, failures + 1
        left, restarting = left - restart, restarting + restart
    return FailingRun(work, saving, lost, restarting, failures)


def _piece(interval_seconds, cost: float, mtbf: float, restart_seconds) -> tuple[float, float]:
    """The interval and the restart, both in s; ValueError where a piece needs more than a million tries."""
    interval = units.positive(interval_seconds, "interval_seconds")
    restart = units.number(restart_seconds, "restart_seconds")
    if max(interval + cost, restart) > 14 * mtbf:
        raise ValueError(
            f"interval_seconds={interval_seconds!r}, restart_seconds={restart_seconds!r}: with a failure every "
            f"mtbf_seconds={mtbf!r} hardly a piece of this length is ever finished. Are all of them in seconds?"
        )
    return interval, restart


def _failures(checkpoint_seconds, mtbf_seconds) -> tuple[float, float]:
    cost, mtbf = units.positive(checkpoint_seconds, "checkpoint_seconds"), units.positive(mtbf_seconds, "mtbf_seconds")
    if cost >= mtbf:
        raise ValueError(
            f"mtbf_seconds={mtbf_seconds!r} must exceed checkpoint_seconds={checkpoint_seconds!r}, or hardly a "
            "checkpoint is ever finished; is it in hours? 3 hours are 10800 seconds."
        )
    return cost, mtbf


# ---------------------------------------------------------------- energy and money


def energy(*, power, seconds, devices=1, pue=1.0) -> float:
    """Joules: power · seconds · devices · pue. power: W of one device. 3.6e6 J are a kWh.

    pue: power usage effectiveness, the energy of the whole data centre over that of its machines, at least 1.
    """
    overhead = units.number(pue, "pue")
    if not 1 <= overhead <= 10:
        raise ValueError(f"pue={pue!r} must lie between 1 and 10: all energy over that of the machines, such as 1.1.")
    watts = units.positive(power, "power")
    if watts < 1:
        raise ValueError(f"power={power!r} looks like kW; this takes W (0.7 kW is 700).")
    return watts * units.number(seconds, "seconds") * units.count(devices, "devices") * overhead


def carbon(*, joules, kg_per_kwh) -> float:
    """Kilograms of CO2 equivalent of the electricity: joules / 3.6e6 · kg_per_kwh.

    joules: as `energy` gives them, pue included. kg_per_kwh: what the grid emits for a kWh, some 0.01 to 1. Making the
    machines is not in it. (Patterson et al. 2021, arXiv 2104.10350)
    """
    intensity = units.number(kg_per_kwh, "kg_per_kwh")
    if intensity > 2:
        raise ValueError(f"kg_per_kwh={kg_per_kwh!r} looks like grams; this takes kg (429 g are 0.429).")
    return units.number(joules, "joules") / 3.6e6 * intensity


def cost(*, price_per_hour, seconds, devices=1) -> float:
    """Dollars: price_per_hour · hours · devices. price_per_hour: dollars for one device."""
    hours = units.number(seconds, "seconds") / 3600
    return units.number(price_per_hour, "price_per_hour") * hours * units.count(devices, "devices")


def own_price_per_hour(*, price, years, used_fraction, power, price_per_kwh, pue=1.0, energy_in="used hours") -> float:
    """Dollars for an hour of use of a machine that was bought for `price` and lasts so many years of 8,760 hours.

    used_fraction: of all hours, those in which it works. power: W, drawn in the hours of use, or with
    energy_in="all hours" in the others too. pue: as in `energy`.
    """
    used = _positive_fraction(used_fraction, "used_fraction")
    kwh = energy(power=power, seconds=3600, pue=pue) / 3.6e6
    drawn = 1 / used if units.choice(energy_in, "energy_in", ("used hours", "all hours")) == "all hours" else 1.0
    hours = units.positive(years, "years") * 365 * 24 * used
    return units.number(price, "price") / hours + kwh * drawn * units.number(price_per_kwh, "price_per_kwh")


def roi(*, cost, spend_per_hour, saved, seconds, success=1.0) -> float:
    """Expected return on an optimisation over its life: (benefit − cost)/cost; 0.7 is 70 %, −1 loses all of the cost.

    benefit = success · saved · spend_per_hour · hours. cost: dollars, paid whether it works or not; saved: the fraction
    of the running cost that it saves if it works; success: the probability that it does; seconds: how long it is used.
    """
    hourly = _saving_per_hour(spend_per_hour, saved, success)
    return hourly * units.number(seconds, "seconds") / 3600 / units.positive(cost, "cost") - 1


def break_even_seconds(*, cost, spend_per_hour, saved, success=1.0) -> float:
    """Seconds of use after which the expected saving has paid the cost: where `roi`, with the same arguments, is 0."""
    hourly = _saving_per_hour(spend_per_hour, saved, success)
    if hourly == 0:
        raise ValueError(
            f"spend_per_hour={spend_per_hour!r}, saved={saved!r}, success={success!r}: "
            "what saves nothing never pays back."
        )
    return units.positive(cost, "cost") / hourly * 3600


def _saving_per_hour(spend_per_hour, saved, success) -> float:
    spend = units.number(spend_per_hour, "spend_per_hour")
    return spend * units.fraction(saved, "saved") * units.fraction(success, "success")


# ---------------------------------------------------------------- checks


def _positive_fraction(value, name: str) -> float:
    return units.positive(units.fraction(value, name), name)


units.teach(globals())
