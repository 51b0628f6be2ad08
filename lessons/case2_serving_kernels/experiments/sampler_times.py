"""One token for each of 64 sequences from a vocabulary of 50,257: the time of six samplers, and of random numbers alone."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

ROWS, VOCABULARY, KEPT, MASS = 64, 50_257, 50, 0.9
WAYS = ("multinomial", "two logs", "race", "inverse", "top-k", "top-p", "exponential", "uniform")
SOON = ("multinomial", "race", "inverse", "exponential")


def sampler(torch, way: str, logits):
    """A call that gives tokens [rows], or draws nothing but the random numbers."""
    noise = torch.empty_like(logits)

    def two_logs():
        return (logits - noise.uniform_().log_().neg_().log_()).argmax(-1)

    def race():
        return logits.softmax(-1).div_(noise.exponential_()).argmax(-1)

    def inverse():
        return torch.searchsorted(logits.softmax(-1).cumsum(-1), torch.rand(len(logits), 1))

    def top_k():
        values, tokens = logits.topk(KEPT)
        return tokens.gather(1, torch.multinomial(values.softmax(-1), 1))

    def top_p():
        shares, tokens = logits.softmax(-1).sort(descending=True)
        shares[shares.cumsum(-1) - shares > MASS] = 0
        return tokens.gather(1, torch.multinomial(shares, 1))

    return {
        "multinomial": lambda: torch.multinomial(logits.softmax(-1), 1),
        "two logs": two_logs,
        "race": race,
        "inverse": inverse,
        "top-k": top_k,
        "top-p": top_p,
        "exponential": lambda: noise.exponential_(),
        "uniform": lambda: noise.uniform_(),
    }[way]


def _observe(bench, seconds: float, way: str, repeats: int) -> list[float]:
    torch = bench.torch
    with timing.single_thread(torch), torch.inference_mode(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        call = sampler(torch, way, 2 * torch.randn(ROWS, VOCABULARY))
        call()
        return [clocked(call) for _ in range(repeats)]


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four of them three times; in full all of them ten times."""
    return tuple(
        Case(
            say("cases", way),
            say("calls", way),
            observe=partial(_observe, way=way, repeats=3 if quick else 10),
            facts={"way": way},
        )
        for way in (SOON if quick else WAYS)
    )


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "s", way="str", hidden=("way",)),
    method={"rows": ROWS, "vocabulary": VOCABULARY},
)
