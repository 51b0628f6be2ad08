"""The truth of each prediction card of Q20, computed when a learner reveals it."""

from course_lib.accounting import communication, models, parallelism

_MODEL = models.Transformer("any", 2, 128, 2, 512, 64, bias=False, norm="rmsnorm", positions="rotary", tied_head=False)


def more_cards(n, fast, m, slow, added, count) -> float:
    return parallelism.synchronous_rate([fast] * n + [slow] * m) / parallelism.synchronous_rate([fast] * n)


def zero_bytes(m, thrice) -> float:
    """Of a model that divides evenly over four ranks."""
    sharded, plain = (
        int(
            parallelism.traffic(_MODEL, parallelism.Plan(data=4, zero_stage=stage, microbatches=m), batch=4 * m, seq=64)
        )
        for stage in (3, 0)
    )
    return sharded / plain


def bubble(p, m, over, one) -> float:
    return 100 * parallelism.pipeline_bubble(stages=p, microbatches=m)


def school() -> float:
    return communication.all_reduce(nbytes=4 * 350_000_000, ranks=40, bandwidth=1e9 / 8).seconds
