"""What years brought: cards of NVIDIA with an hourly list price of one cloud, and two trainings."""

from dataclasses import dataclass

from course_lib.accounting import flops, hardware

CARDS = ("v100-sxm2", "t4", "a100-40-sxm", "a10g", "h100-sxm", "l4", "l40s", "b200-sxm")  # by their year
LINE = ("v100-sxm2", "a100-40-sxm", "h100-sxm", "b200-sxm")  # the large ones, a generation each

# model -> (parameters, tokens of its training, date of its paper)
TRAININGS = {
    "gpt3-175b": (175e9, 300e9, "2020-05"),  # Brown et al. 2020, table 2.1 and table D.1
    "llama3.1-405b": (405e9, 15.6e12, "2024-07"),  # Llama Team 2024, section 3
}


@dataclass(frozen=True)
class Card:
    """A card and what it has, over what a V100 has: FLOP/s and B/s, the price of an hour, FLOP and bytes for a dollar.

    year: when its peak was printed. priced: when its price was.
    """

    id: str
    name: str
    year: float
    priced: str
    peak: float
    bandwidth: float
    price: float
    flops: float
    bytes: float


def years(date: str) -> float:
    """ "2017-08" as a number of years."""
    year, month = date.split("-")
    return int(year) + (int(month) - 1) / 12


def versus(id: str, base: str = "v100-sxm2") -> Card:
    """One card over `base`, in fp16."""
    new, old = hardware.load(id), hardware.load(base)
    bought, before = hardware.per_dollar(new, "fp16"), hardware.per_dollar(old, "fp16")
    return Card(
        id=id,
        name=new.name.split()[1],
        year=years(new.source("peaks")[1]),
        priced=new.source("price_per_hour")[1],
        peak=new.peak("fp16") / old.peak("fp16"),
        bandwidth=new.memory_bandwidth / old.memory_bandwidth,
        price=new.price_per_hour / old.price_per_hour,
        flops=bought.flops / before.flops,
        bytes=bought.bytes / before.bytes,
    )


def a_year(ratio: float, span: float) -> float:
    """The factor of one year, where `span` years brought `ratio`."""
    return ratio ** (1 / span)


def work() -> float:
    """How many times as much arithmetic the later of the two trainings took, by 6·N·D."""
    first, last = (flops.six_nd(params, tokens) for params, tokens, _ in TRAININGS.values())
    return last / first


def between_trainings() -> float:
    """Years from the one paper to the other."""
    first, last = (years(date) for *_, date in TRAININGS.values())
    return last - first
