"""Many small products, each of its own length: one call for each, or all padded to the longest in one call."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.case3_counterintuitive import padded
from course_lib.words import words

say = words(__file__)

LONGEST = (16, 64, 256)  # rows


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Products of one row, which are all overhead, and both ways for each longest length; full has more rounds."""
    rounds = 7 if quick else 25
    found = []
    for longest in (1, *LONGEST):
        heat = Heat(partial(forms, longest=longest), rounds)
        for way in padded.WAYS if longest > 1 else padded.WAYS[:1]:
            found.append(
                Case(
                    say("case", way, longest=longest),
                    say("calls", way, count=padded.COUNT),
                    observe=partial(heat.seconds, name=way),
                    facts={"way": way, "longest": longest, "flops": padded.flops(longest)[way]},
                )
            )
    return tuple(found)


def forms(bench, longest: int):
    """Both ways, into memory that stays; of padded rows and columns the results are not used."""
    torch = bench.torch
    draw = torch.Generator().manual_seed(0)
    lengths = padded.lengths(longest)
    whole = [torch.randn(padded.COUNT, longest, padded.WIDTH, generator=draw) for _ in range(2)]
    for place, length in enumerate(lengths):
        for side in whole:
            side[place, length:] = 0
    queries, keys = ([side[i, :n].contiguous() for i, n in enumerate(lengths)] for side in whole)
    small = [torch.empty(n, n) for n in lengths]
    large = torch.empty(padded.COUNT, longest, longest)

    def exact():
        for query, key, out in zip(queries, keys, small, strict=True):
            torch.mm(query, key.T, out=out)
        return small

    def at_once():
        return torch.bmm(whole[0], whole[1].transpose(1, 2), out=large)

    return dict(zip(padded.WAYS, (exact, at_once), strict=True))


def plot(result):
    """Both times over the longest length."""
    taken = {(row["way"], row["longest"]): row["measured"] for row in result.rows}
    over = [taken["padded", longest] / taken["exact", longest] for longest in (LONGEST[0], LONGEST[-1])]
    title = say("title", near=over[0], far=over[1], short=LONGEST[0], long=LONGEST[-1])
    return curves(result, x="longest", by="way", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", way="str", longest="int", flops="int FLOP", hidden=("way", "longest")),
    method={"count": padded.COUNT, "width": padded.WIDTH},
)
