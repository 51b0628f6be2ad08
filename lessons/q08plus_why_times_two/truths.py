"""The truth of each prediction card of Q8+, computed when a learner reveals it."""

from itertools import count

from course_lib.accounting import economics, flops, hardware, models
from course_lib.units.q08plus_why_times_two.experiments import counted_matmul as counted

CARDS = {"H100 SXM": "h100-sxm", "A100 SXM": "a100-40-sxm", "L4": "l4"}
NETWORKS = {"ResNet-50": "resnet-50", "ResNet-18": "resnet-18", "ViT-B/16": "vit-b16"}


def data_sheet(card: str, printed: int, net: str, listed: float, one: int, both: int) -> float:
    """Images a second of a dense network at the dense peak; the last two are wrong answers that the slips name."""
    work = flops.forward(models.load(NETWORKS[net])).total
    return hardware.load(CARDS[card]).peak("fp16") / work


def pencil(m: int, k: int, n: int, convention: int, products: int) -> int:
    """Counted by numbers that count themselves; the last two are wrong answers that the card's slips name."""
    tally = counted.Tally()
    a, b = ([[counted.Number(1.0, tally)] * columns for _ in range(rows)] for rows, columns in ((m, k), (k, n)))
    counted.product(a, b)
    return tally.total


def complex_product() -> float:
    """Real operations of a complex product over those of a real one, both counted exactly, at n = 4096."""
    n = 4096
    products, sums = n**3, n**2 * (n - 1)  # of complex numbers
    return ((4 + 2) * products + 2 * sums) / flops.matmul(n, n, n, exact=True)


def first_win() -> int:
    """The smallest even side at which one level of Strassen's algorithm counts fewer operations than the definition."""
    return next(n for n in count(2, 2) if _counted(n, counted.strassen) < _counted(n, counted.product))


def _counted(n: int, multiply) -> int:
    tally = counted.Tally()
    matrix = [[counted.Number(1.0, tally)] * n for _ in range(n)]
    multiply(matrix, matrix)
    return tally.total


def largest_model(gpus: int, days: int, trillions: float, double: int, triple: int) -> float:
    """Billions of parameters; the last two are wrong answers that the card's slips name."""
    tokens, attained = trillions * 1e12, 0.4
    one_parameter = economics.training_seconds(
        flops.six_nd(1, tokens), device="h100-sxm", devices=gpus, mfu=attained, dtype="bf16"
    )
    return days * 86400 / one_parameter / 1e9


def llama2_on_a40() -> float:
    """Days of one card at 40 % of its dense peak."""
    work = flops.six_nd(models.load("llama2-13b").parameters().total, 2.0e12)
    return economics.training_seconds(work, device="a40", mfu=0.4, dtype="bf16") / 86400
