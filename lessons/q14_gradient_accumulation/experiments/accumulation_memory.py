"""The peak of allocated memory in a training step of a small GPT-2 whose batch goes through in parts."""

from functools import partial

from course_lib.accounting import hardware, memory
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation, timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

CONTEXT, VOCAB = 128, 8192
LARGE, SHORT = (16, 128), (4, 16)  # sequences and their tokens
QUICK = ((LARGE, 1), (LARGE, 4), (LARGE, 16), (SHORT, 1), (SHORT, 4))
MORE = ((LARGE, 2), (LARGE, 8), (SHORT, 2))


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """A large batch and a short one, in several numbers of parts; full has more of these."""
    model = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=VOCAB, context=CONTEXT)
    found = []
    for (batch, seq), parts in QUICK if quick else (*QUICK, *MORE):
        how = {"batch": batch, "seq": seq, "parts": parts}
        found.append(
            Case(
                say("case", **how),
                say("calls", each=batch // parts, **how),
                observe=partial(_observe, model=model, batch=batch, seq=seq, parts=parts),
                expect=partial(_expected, model=model, batch=batch, seq=seq, parts=parts),
                facts={"parts": parts},
            )
        )
    return tuple(found)


def _expected(device: hardware.Device, model, batch: int, seq: int, parts: int) -> float:
    """On a GPU AdamW updates all tensors at once, which is PyTorch's default there."""
    foreach = device.kind == "gpu"
    peak = memory.accumulated_peak(model, batch=batch, parts=parts, seq=seq, attention="sdpa", foreach=foreach)
    return float(int(peak))


def _observe(bench, seconds: float, model, batch: int, seq: int, parts: int) -> list[float]:
    """Bytes at the worst instant of a step in which the optimizer's state exists and gradients are None at first."""
    with timing.single_thread(bench.torch):
        net = tiny_gpt.build(bench, model, "sdpa")
        optimizer = bench.torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=bench.on == "cuda")
        tokens = tiny_gpt.tokens(bench, model, batch, seq)
        tiny_gpt.training_step(net, optimizer, tokens[:1, :2])  # makes the optimizer's state
        optimizer.zero_grad(set_to_none=True)
        lasting = allocation.bytes_of([*allocation.state_of(net, optimizer), tokens])

        def step():
            for part in tokens.chunk(parts):
                output = net(part, labels=part)
                (output.loss / parts).backward()
            optimizer.step()
            return output

        return [lasting + allocation.rise(bench, step)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "B", parts="int"),
    timed=False,
    method={"vocab": VOCAB},
)
