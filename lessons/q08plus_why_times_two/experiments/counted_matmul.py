"""FLOPs counted by the numbers themselves: a number that notes every multiplication and addition that it goes through.

2·m·k·n is a convention. The k products of one result need k − 1 additions, so a product of matrices takes m·n·(2k − 1)
operations on real numbers, one more for each result if the sum starts from 0. Complex numbers and Strassen's algorithm
have counts of their own. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969.
"""

from collections.abc import Callable, Sequence

from course_lib.accounting import flops, hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)


class Tally:
    """How many multiplications and additions (subtractions are additions) its numbers went through."""

    def __init__(self):
        self.multiplications = self.additions = 0

    @property
    def total(self) -> int:
        return self.multiplications + self.additions


class Number:
    """A real number that notes in its tally what is done with it."""

    __slots__ = ("tally", "value")

    def __init__(self, value: float, tally: Tally):
        self.value, self.tally = value, tally

    def __mul__(self, other: "Number") -> "Number":
        self.tally.multiplications += 1
        return Number(self.value * other.value, self.tally)

    def __add__(self, other: "Number") -> "Number":
        self.tally.additions += 1
        return Number(self.value + other.value, self.tally)

    def __sub__(self, other: "Number") -> "Number":
        self.tally.additions += 1
        return Number(self.value - other.value, self.tally)


class Complex:
    """A complex number of two Numbers; its product takes 4 multiplications and 2 additions, or with Gauss's trick 3
    and 5.
    """

    __slots__ = ("gauss", "im", "re")

    def __init__(self, re: Number, im: Number, gauss: bool = False):
        self.re, self.im, self.gauss = re, im, gauss

    def __mul__(self, other: "Complex") -> "Complex":
        a, b, c, d = self.re, self.im, other.re, other.im
        if not self.gauss:
            return Complex(a * c - b * d, a * d + b * c)
        shared = c * (a + b)
        return Complex(shared - b * (c + d), shared + a * (d - c), gauss=True)

    def __add__(self, other: "Complex") -> "Complex":
        return Complex(self.re + other.re, self.im + other.im, self.gauss)


Matrix = Sequence[Sequence]


def product(a: Matrix, b: Matrix, zero=None) -> Matrix:
    """a @ b by its definition; every sum starts with the first product, or from `zero`."""

    def dot(row, column):
        terms = [x * y for x, y in zip(row, column, strict=True)]
        total, rest = (terms[0], terms[1:]) if zero is None else (zero, terms)
        for term in rest:
            total = total + term
        return total

    columns = list(zip(*b, strict=True))
    return [[dot(row, column) for column in columns] for row in a]


def strassen(a: Matrix, b: Matrix) -> Matrix:
    """a @ b of an even side with one level of Strassen's algorithm: 7 products of halves, by definition, and 18 sums of
    halves.
    """
    (a11, a12), (a21, a22) = _quarters(a)
    (b11, b12), (b21, b22) = _quarters(b)
    m1 = product(_plus(a11, a22), _plus(b11, b22))
    m2 = product(_plus(a21, a22), b11)
    m3 = product(a11, _minus(b12, b22))
    m4 = product(a22, _minus(b21, b11))
    m5 = product(_plus(a11, a12), b22)
    m6 = product(_minus(a21, a11), _plus(b11, b12))
    m7 = product(_minus(a12, a22), _plus(b21, b22))
    top = zip(_plus(_minus(_plus(m1, m4), m5), m7), _plus(m3, m5), strict=True)
    bottom = zip(_plus(m2, m4), _plus(_plus(_minus(m1, m2), m3), m6), strict=True)
    return [[*left, *right] for left, right in (*top, *bottom)]


def _quarters(matrix: Matrix):
    half = len(matrix) // 2
    rows = matrix[:half], matrix[half:]
    return [[[row[:half] for row in part], [row[half:] for row in part]] for part in rows]


def _plus(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def _minus(a: Matrix, b: Matrix) -> Matrix:
    return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def strassen_flops(n: int) -> int:
    """FLOP of one level: 7 products of the side n/2, exactly counted, and 18 sums of (n/2)² numbers."""
    return 7 * flops.matmul(n // 2, n // 2, n // 2, exact=True) + 18 * (n // 2) ** 2


# ---------------------------------------------------------------- cases


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The same on every device, as nothing is timed; full adds larger k and one larger side for Strassen."""
    inner, halved = ((1, 4, 16, 64), (2, 8, 16)) if quick else ((1, 4, 16, 64, 256), (2, 8, 16, 32))
    return (
        *(
            _case(f"8×{k}×8", say("calls", "first"), (8, k, 8), flops.matmul(8, k, 8, exact=True), product)
            for k in inner
        ),
        _case("8×16×8, from 0", say("calls", "zero"), (8, 16, 8), flops.matmul(8, 16, 8), _from_zero),
        _case("complex 4×4×4", say("calls", "complex"), (4, 4, 4), _complex_flops(4, 4, 2), _complex),
        _case("complex 4×4×4, Gauss", say("calls", "gauss"), (4, 4, 4), _complex_flops(4, 3, 5), _gauss),
        *(
            _case(f"Strassen {n}×{n}×{n}", say("calls", "strassen"), (n, n, n), strassen_flops(n), strassen)
            for n in halved
        ),
    )


def _case(name: str, call: str, shape: tuple[int, int, int], expected: int, multiply: Callable) -> Case:
    m, k, n = shape

    def observe(bench, seconds):
        return [float(count(bench, m, k, n, multiply).total)]

    facts = {
        "exact": flops.matmul(m, k, n, exact=True),
        "convention": flops.matmul(m, k, n),
        "share": expected / flops.matmul(m, k, n),
    }
    return Case(name, call, observe=observe, expect=lambda device: float(expected), facts=facts)


def count(bench, m: int, k: int, n: int, multiply: Callable) -> Tally:
    """What the numbers of a random [m×k] @ [k×n] went through under `multiply`."""
    tally = Tally()
    a, b = ([[Number(x, tally) for x in row] for row in bench.random(*size).tolist()] for size in ((m, k), (k, n)))
    multiply(a, b)
    return tally


def _from_zero(a: Matrix, b: Matrix) -> Matrix:
    return product(a, b, zero=Number(0.0, a[0][0].tally))


def _complex(a: Matrix, b: Matrix, gauss: bool = False) -> Matrix:
    """The product of the complex matrices whose real and imaginary parts are equal to `a` and to `b`."""
    a, b = ([[Complex(x, x, gauss) for x in row] for row in matrix] for matrix in (a, b))
    return product(a, b)


def _gauss(a: Matrix, b: Matrix) -> Matrix:
    return _complex(a, b, gauss=True)


def _complex_flops(n: int, multiplications: int, additions: int) -> int:
    """Real FLOP of a complex n×n×n product: n³ products and n²(n − 1) sums of two additions."""
    return n**3 * (multiplications + additions) + n**2 * (n - 1) * 2


def plot(result):
    """Counted and predicted FLOPs of every product."""
    title = say("title")
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "", exact="int", convention="int", share="float ×"),  # no unit, so that every digit shows
    timed=False,
)
