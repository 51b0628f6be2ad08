"""Seven ways to draw a token, 400,000 times each: does chi-square tell the right ones from the wrong ones?"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case2_serving_kernels import sampling
from course_lib.words import words

say = words(__file__)

DRAWS, SHIFT, COLD = 400_000, 20, 0.5
RIGHT = ("multinomial", "race", "shifted")  # predicted: the mean of chi-square with 7 degrees of freedom
ROUNDED = {"bf16": 0, "bf16, shifted": SHIFT}  # predicted by adding up probabilities
WAYS = (*RIGHT, *ROUNDED, "one log", "noise colder")


def drawn(torch, way: str, draws: int):
    """Tokens [draws], drawn with softmax's shares or what should be; of "noise colder", at a temperature of a half."""
    logits = torch.tensor(sampling.LOGITS)

    def gumbel():
        return -torch.empty(draws, len(logits)).exponential_().log_()

    if way == "multinomial":
        return torch.multinomial(logits.softmax(-1), draws, replacement=True)
    if way == "race":
        return (logits + gumbel()).argmax(-1)
    if way == "shifted":
        return (logits + SHIFT + gumbel()).argmax(-1)
    if way in ROUNDED:
        return ((logits + ROUNDED[way]).bfloat16() + gumbel().bfloat16()).argmax(-1)
    if way == "one log":
        return (logits - torch.rand(draws, len(logits)).log_()).argmax(-1)
    return ((logits + gumbel()) / COLD).argmax(-1)


def _observe(bench, seconds, way: str, repeats: int) -> list[float]:
    torch = bench.torch
    logits = [logit / COLD for logit in sampling.LOGITS] if way == "noise colder" else sampling.LOGITS
    with timing.single_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        counts = [torch.bincount(drawn(torch, way, DRAWS), minlength=len(logits)) for _ in range(repeats)]
    return [sampling.chi_square(count.tolist(), logits) for count in counts]


def expected(way: str) -> float | None:
    """The mean of chi-square, where it can be told."""
    if way in RIGHT:
        return float(len(sampling.LOGITS) - 1)
    if way in ROUNDED:
        shares = sampling.rounded_shares(sampling.LOGITS, ROUNDED[way])
        return sampling.expected_chi_square(shares, sampling.LOGITS, DRAWS)
    return None


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each way once; in full ten times."""
    return tuple(
        Case(
            say("cases", way),
            say("calls", way),
            observe=partial(_observe, way=way, repeats=1 if quick else 10),
            expect=lambda device, way=way: expected(way),
            facts={"way": way},
        )
        for way in WAYS
    )


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "", way="str", hidden=("way",)),
    timed=False,
    method={"draws": DRAWS, "limit": sampling.LIMIT},
)
