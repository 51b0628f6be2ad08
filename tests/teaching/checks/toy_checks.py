"""Small checks that the tests of `check` share."""

import numpy as np

from course_lib.teaching.checks.check import EXACT, Check, Close


def a_check(**changes) -> Check:
    values = {
        "id": "q99.intensity",
        "points": 2,
        "signature": "intensity(flops, nbytes)",
        "public": [(10, 4), (9.0, 2)],
        "generate": lambda rng: (rng.randint(100, 999), rng.randint(2, 9)),
        "reference": lambda flops, nbytes: flops / nbytes,
        "wrong": {
            "upside down": lambda flops, nbytes: nbytes / flops,
            "doubled": lambda flops, nbytes: 2 * flops / nbytes,
        },
        "messages": {"upside down": "You divided bytes by FLOPs.", "doubled": "A `FLOP` counts once."},
    }
    if "wrong" in changes and "messages" not in changes:
        changes = {**changes, "messages": dict.fromkeys(changes["wrong"], "No.")}
    return Check(**(values | changes))


CHECKS = (
    a_check(),
    a_check(
        id="q99.table",
        signature="table(rows)",
        public=[([1, 2],), ([5],)],
        reference=lambda rows: {"sum": sum(rows), "each": [{"row": r, "even": r % 2 == 0} for r in rows], "unit": None},
        wrong={},
    ),
    a_check(id="q99.names", signature="names(n)", public=[(2,)], reference=lambda n: ["a"] * n, wrong={}, same=EXACT),
    a_check(id="q99.mean", signature="mean(x, axis)", public=[{"x": np.arange(6.0).reshape(2, 3), "axis": 0}],
            reference=lambda x, axis: x.mean(axis), wrong={}),
    a_check(id="q99.count", signature="count(n)", public=[(10**15,)], reference=lambda n: n, wrong={}, same=EXACT),
    a_check(id="q99.sort", signature="ordered(values)", public=[([3, 1],), ([3, 1],)], reference=sorted, wrong={}),
    a_check(id="q99.zero", signature="zero(x)", public=[(1,)], reference=lambda x: 0.0, wrong={}, same=Close(abs=1e-9)),
)  # fmt: skip
