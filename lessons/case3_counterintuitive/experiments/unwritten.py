"""What is not computed: dropout that drops nothing, a copy of what is there, logits that nobody reads."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

NUMBERS = 1_000_000
TOKENS, WIDTH, WORDS = 512, 256, 16_384  # positions; of a hidden state; in the vocabulary
MASKED = 77  # positions with a label, 15 %
GROUPS = {
    "a million numbers": ("dropout", "dropout-zero", "dropout-eval", "copy", "same-type"),
    "logits": ("all", "eight", "last"),
    "masked loss": ("loss-all", "loss-masked"),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Ten calls in three groups; full has more rounds."""
    makers = {"a million numbers": dropouts, "logits": heads, "masked loss": losses}
    heats = {group: Heat(make, 5 if quick else 15) for group, make in makers.items()}
    return tuple(
        Case(
            say("cases", form),
            say("calls", form),
            observe=partial(heats[group].seconds, name=form),
            facts={"group": group},
        )
        for group, forms in GROUPS.items()
        for form in forms
    )


def dropouts(bench):
    torch, functional = bench.torch, bench.torch.nn.functional
    x = torch.rand(NUMBERS)
    return {
        "dropout": lambda: functional.dropout(x, p=0.1, training=True),
        "dropout-zero": lambda: functional.dropout(x, p=0.0, training=True),
        "dropout-eval": lambda: functional.dropout(x, p=0.1, training=False),
        "copy": x.clone,
        "same-type": lambda: x.to(torch.float32),
    }


def _head(torch):
    draw = torch.Generator().manual_seed(0)
    return torch.randn(TOKENS, WIDTH, generator=draw), torch.randn(WORDS, WIDTH, generator=draw) / WIDTH**0.5, draw


def heads(bench):
    """Logits of all positions, of eight and of the last."""
    torch = bench.torch
    hidden, head, _ = _head(torch)
    out = {rows: torch.empty(rows, WORDS) for rows in (TOKENS, 8, 1)}
    return {
        name: partial(torch.mm, hidden[-rows:], head.T, out=out[rows])
        for name, rows in (("all", TOKENS), ("eight", 8), ("last", 1))
    }


def losses(bench):
    """The same loss of a masked language model: logits of all positions, or of those with a label."""
    torch, functional = bench.torch, bench.torch.nn.functional
    hidden, head, draw = _head(torch)
    labels = torch.randint(WORDS, (TOKENS,), generator=draw)
    chosen = torch.randperm(TOKENS, generator=draw)[:MASKED]
    ignored = torch.full_like(labels, -100)
    ignored[chosen] = labels[chosen]
    return {
        "loss-all": lambda: functional.cross_entropy(hidden @ head.T, ignored),
        "loss-masked": lambda: functional.cross_entropy(hidden[chosen] @ head.T, labels[chosen]),
    }


def plot(result):
    """Time of each call."""
    taken = {row["case"]: row["measured"] for row in result.rows}
    title = say("title", times=taken[say("cases", "all")] / taken[say("cases", "last")], rows=TOKENS)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", group="str", hidden=("group",)),
    method={"numbers": NUMBERS, "tokens": TOKENS, "width": WIDTH, "words": WORDS, "masked": MASKED},
)
