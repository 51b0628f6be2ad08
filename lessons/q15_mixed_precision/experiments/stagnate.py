"""A network whose weights are kept in bf16, learning in small steps: with and without something that keeps what rounding drops.

The pass computes in fp32 with the weights as they are kept; between ways in bf16 only the update differs.
"""

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q15_mixed_precision import narrow, training
from course_lib.words import words

say = words(__file__)

HIDDEN, STEPS, RATE, LARGER = 32, 800, 0.002, 10
KEEPERS = ("fp32", "bf16", "bf16 + master", "bf16 + Kahan", "bf16 + stochastic")
SMALL, LARGE = "small steps", "large steps"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five ways to keep weights in small steps, and two of them in ten times fewer, ten times larger steps; from one seed,
    full from five.
    """
    seeds = range(1 if quick else 5)
    listed = [(how, SMALL) for how in KEEPERS] + [(how, LARGE) for how in KEEPERS[:2]]
    return tuple(_case(how, size, seeds) for how, size in listed)


def _case(how: str, size: str, seeds) -> Case:
    times = LARGER if size == LARGE else 1
    steps, rate = STEPS // times, RATE * times

    def observe(bench, seconds):
        with timing.single_thread(bench.torch):
            return [learn(bench.torch, how, steps, rate, seed) for seed in seeds]

    return Case(
        f"{how}, {size}",
        say("calls", steps=steps, rate=rate),
        observe=observe,
        facts={"kept": how, "steps": steps},
    )


def learn(torch, how: str, steps: int, rate: float, seed: int) -> float:
    """% right on unseen digits after so many steps of plain gradient descent."""
    generator = torch.Generator().manual_seed(seed)
    images, classes, *unseen = training.split(torch, seed)
    w = training.weights(torch, HIDDEN, generator)
    chance = torch.Generator().manual_seed(1000 + seed)  # its own, so that all ways see the same batches
    keeper = _Keeper(torch, how, w, chance)
    for _ in range(steps):
        batch = torch.randint(len(images), (training.BATCH,), generator=generator)
        found = training.gradients(torch, keeper.kept, images[batch], classes[batch])
        keeper.move([-rate * gradient for gradient in found])
    return training.right(torch, keeper.kept, *unseen)


class _Keeper:
    """Weights in one format, and what stands beside them. `kept`: the weights, as fp32 tensors of the numbers kept."""

    def __init__(self, torch, how: str, w, generator):
        self.torch, self.how, self.generator = torch, how, generator
        self.kept = w if how == "fp32" else [self._bf16(each) for each in w]
        self._master = [each.clone() for each in self.kept]
        self._lost = [torch.zeros_like(each) for each in self.kept]  # Kahan's: what earlier sums added too much

    def _bf16(self, values):
        return values.bfloat16().float()

    def move(self, updates) -> None:
        for place, update in enumerate(updates):
            self.kept[place] = self._moved(place, update)

    def _moved(self, place: int, update):
        weight = self.kept[place]
        if self.how == "fp32":
            return weight + update
        if self.how == "bf16":
            return self._bf16(weight + update)
        if self.how == "bf16 + master":
            self._master[place] = self._master[place] + update
            return self._bf16(self._master[place])
        if self.how == "bf16 + stochastic":
            return narrow.stochastic(self.torch, weight + update, self.generator)
        wanted = self._bf16(update - self._lost[place])
        total = self._bf16(weight + wanted)
        self._lost[place] = self._bf16(self._bf16(total - weight) - wanted)
        return total


def plot(result):
    """Right answers of each way."""
    found, title = result.measured, say("title", "plain")
    if {f"bf16, {SMALL}", f"bf16 + master, {SMALL}"} <= set(found):
        title = say("title", "found", alone=found[f"bf16, {SMALL}"], master=found[f"bf16 + master, {SMALL}"])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", kept="str", steps="int", hidden=("kept",)),
    timed=False,
    method={"hidden": HIDDEN, "batch": training.BATCH},
)
