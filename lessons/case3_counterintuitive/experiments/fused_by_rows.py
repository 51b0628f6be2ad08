"""relu(x · W1) · W2, some rows at a time: the hidden layer stays in a cache, and the weights are read again each time.

And a bias behind a product: in a call of its own, or in the product's call.
"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

SHAPES = {  # rows, width, hidden width
    "large weights": (1024, 768, 3072),
    "small weights": (32_768, 32, 512),
}
CHUNKS = {"large weights": (1024, 256, 64, 8), "small weights": (32_768, 2048, 256, 8)}  # rows at a time
BIAS = ("product", "product, then bias", "bias in the product's call")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Both layers in chunks, as times of the whole at once, and a bias in two ways, as times of the product alone."""
    rounds, found = 3 if quick else 9, []
    for layer, chunks in CHUNKS.items():
        heat = Heat(partial(forms, layer=layer), rounds)
        for chunk in chunks:
            found.append(
                _case(f"{layer}, {chunk:,} rows", heat, str(chunk), str(chunks[0]), say("calls", "rows"), layer, chunk)
            )
    heat = Heat(bias, rounds)
    for name in BIAS:
        found.append(_case(name, heat, name, BIAS[0], say("calls", "bias"), "bias", 0))
    return tuple(found)


def bytes_moved(layer: str, chunk: int) -> int:
    """Weights once for each chunk, x and y once; all rows at once, the hidden layer is written and read twice as well.
    With fewer rows it is taken to stay in a cache.
    """
    rows, width, hidden = SHAPES[layer]
    weights = -(-rows // chunk) * 2 * width * hidden
    return 4 * (weights + 2 * rows * width + (4 * rows * hidden if chunk == rows else 0))


def _case(name: str, heat: Heat, form: str, base: str, call: str, layer: str, chunk: int) -> Case:
    observe = partial(heat.over, name=form, base=base)
    facts = {"layer": layer, "chunk": chunk}
    return Case(name, call, observe=observe, facts=facts)


def forms(bench, layer: str):
    """The layer in chunks of each size, into memory that stays."""
    torch = bench.torch
    rows, width, hidden = SHAPES[layer]
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=draw)
    up, down = (
        torch.randn(width, hidden, generator=draw) / width**0.5,
        torch.randn(hidden, width, generator=draw) / hidden**0.5,
    )
    y = torch.empty(rows, width)

    def in_chunks(chunk):
        between, parts = torch.empty(chunk, hidden), list(zip(x.split(chunk), y.split(chunk), strict=True))

        def run():
            for part, out in parts:
                torch.mm(part, up, out=between)
                between.relu_()
                torch.mm(between, down, out=out)
            return y

        return run

    return {str(chunk): in_chunks(chunk) for chunk in CHUNKS[layer]}


def bias(bench):
    """A product of the large layer alone, with a bias added in a call of its own, and with the bias handed over."""
    torch = bench.torch
    rows, width, hidden = SHAPES["large weights"]
    draw = torch.Generator().manual_seed(0)
    x, up, b = (torch.randn(*shape, generator=draw) for shape in ((rows, width), (width, hidden), (hidden,)))
    out = torch.empty(rows, hidden)
    return {
        BIAS[0]: lambda: torch.mm(x, up, out=out),
        BIAS[1]: lambda: torch.mm(x, up, out=out).add_(b),
        BIAS[2]: lambda: torch.addmm(b, x, up, out=out),
    }


def plot(result):
    """The ratio over the rows of a chunk, for both layers."""
    taken = {(row["layer"], row["chunk"]): row["measured"] for row in result.rows}
    title = say("title", large=taken["large weights", 8], small=taken["small weights", 256])
    return curves(result, x="chunk", by="layer", title=title, axis=say("axis"), only=tuple(SHAPES))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "×", layer="str", chunk="int", hidden=("layer", "chunk"))
)
