"""The truth of each prediction card of Q13, computed when a learner reveals it."""

from course_lib.accounting import economics
from course_lib.units.q13_training_loop import toy

YEAR = 365.25 * 86_400  # s


def next_loss() -> str:
    """The key that names the pieces without which the first loss after the resume is another."""
    right = toy.straight().losses[toy.AT]
    shown = {piece for piece in toy.PIECES if toy.resumed((piece,)).losses[toy.AT] != right}
    keys = {
        frozenset(): "none",
        frozenset({"generator", "position"}): "data",
        frozenset({"optimizer", "schedule"}): "update",
        frozenset(toy.PIECES): "all",
    }
    return keys[frozenset(shown)]


def interval(checkpoint, hours, plain, half) -> float:
    """Minutes of Young's interval; `plain` and `half` are what slips give."""
    return economics.young_interval(checkpoint_seconds=checkpoint, mtbf_seconds=hours * 3600) / 60


def wrong_interval(factor, guess) -> float:
    """% lost at `factor` times Young's interval, with a minute for a checkpoint and a failure every three hours."""
    rates = {"checkpoint_seconds": 60, "mtbf_seconds": 3 * 3600}
    best = economics.young_interval(**rates)
    return 100 * economics.expected_waste(interval_seconds=factor * best, **rates)


def rented_cluster() -> float:
    """% that 256 devices of four years each lose at the best interval, with five minutes for a checkpoint."""
    rates = {"checkpoint_seconds": 300, "mtbf_seconds": 4 * YEAR / 256}
    return 100 * economics.expected_waste(interval_seconds=economics.daly_interval(**rates), **rates)
