"""Calls that several experiments time: each function gives the `build` of a Case."""

from collections.abc import Callable

from course_lib.accounting import precision
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable, in_one_line

Build = Callable[[Bench], Callable[[], object]]

# B; a set of matrices this large is taken in turn so that no cache keeps one for the next pass
BEYOND_CACHE = 256 * 2**20


def beyond_cache(rows: int, columns: int, dtype: str) -> int:
    """How many matrices of this shape make up `BEYOND_CACHE`."""
    return -(-BEYOND_CACHE // precision.nbytes(rows * columns, dtype))


def addition(elements: int, dtype: str) -> Build:
    """a + b into c, arrays of `elements` numbers."""

    def build(bench: Bench):
        a, b, c = (bench.random(elements, dtype=dtype) for _ in range(3))
        return lambda: bench.torch.add(a, b, out=c)

    return build


def gather(table: int, picks: int, shuffled: bool) -> Build:
    """`picks` of `table` fp32 numbers, the first ones in order or any of them at random."""

    def build(bench: Bench):
        torch = bench.torch
        source, out = bench.random(table), bench.empty(picks)
        order = torch.arange(picks, device=bench.on)
        if shuffled:
            order = torch.randint(table, (picks,), generator=bench.generator, device=bench.on)
        return lambda: torch.index_select(source, 0, order, out=out)

    return build


def product(m: int, k: int, n: int, dtype: str) -> Build:
    """[m, k] @ [k, n] into [m, n]."""

    def build(bench: Bench):
        a, b, c = bench.random(m, k, dtype=dtype), bench.random(k, n, dtype=dtype), bench.empty(m, n, dtype=dtype)
        return lambda: bench.torch.mm(a, b, out=c)

    return build


def fp8_product(side: int) -> Build:
    """A square product of fp8 e4m3 operands with one scale each, accumulated in fp32, result in bf16; the right operand
    lies by columns, as the hardware wants it. Unavailable where this torch has none.
    """

    def build(bench: Bench):
        torch = bench.torch
        a, b = (bench.random(side, side, dtype="bf16").to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), dtype=torch.float32, device=bench.on)

        def call():
            return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)

        try:
            call()
        except (AttributeError, TypeError, ValueError, RuntimeError) as problem:
            raise Unavailable(f"This torch multiplies no fp8 matrices here. {in_one_line(problem)}") from None
        return call

    return build


def matrix_times_vector(n: int, dtype: str, matrices: int) -> Build:
    """[n, n] @ [n, 1] into [n, 1], once with each of a set of `matrices`."""

    def build(bench: Bench):
        weights = [bench.random(n, n, dtype=dtype) for _ in range(matrices)]
        x, y = bench.random(n, 1, dtype=dtype), bench.empty(n, 1, dtype=dtype)

        def passes():
            for weight in weights:
                bench.torch.mm(weight, x, out=y)

        return passes

    return build


def linear(rows: int, width: int, dtype: str, layers: int) -> Build:
    """What `nn.Linear(width, width, bias=False)` computes, x @ weight.T, once with each of `layers` weights."""

    def build(bench: Bench):
        weights = [bench.random(width, width, dtype=dtype) for _ in range(layers)]
        x, y = bench.random(rows, width, dtype=dtype), bench.empty(rows, width, dtype=dtype)

        def through_all():
            for weight in weights:
                bench.torch.mm(x, weight.t(), out=y)

        return through_all

    return build


def one_after_another(first: Build, second: Build) -> Build:
    def build(bench: Bench):
        before, after = first(bench), second(bench)

        def both():
            before()
            after()

        return both

    return build


def binary_size(size: int) -> str:
    """A size in bytes as "24 KiB" or "1.5 GiB": caches come in powers of two."""
    for power, prefix in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 2**power:
            return f"{size / 2**power:g} {prefix}"
    return f"{size} B"
