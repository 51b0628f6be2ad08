"""A long signal and a kernel: every product, or three Fourier transforms."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.case3_counterintuitive import counted
from course_lib.words import words

say = words(__file__)

SIGNAL = 16_384
KERNELS = (3, 63, 255, 1023, 4095)
WAYS = ("direct", "fft")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Both ways for each kernel; full has more rounds."""
    found = []
    for kernel in KERNELS:
        heat = Heat(partial(forms, kernel=kernel), 3 if quick else 9)
        for way in WAYS:
            work = counted.direct(SIGNAL, kernel) if way == "direct" else counted.by_fft(SIGNAL, kernel)
            found.append(
                Case(
                    say("case", way, kernel=kernel),
                    say("calls", way),
                    observe=partial(heat.seconds, name=way),
                    facts={"way": way, "kernel": kernel, "flops": round(work)},
                )
            )
    return tuple(found)


def forms(bench, kernel: int):
    """Both give all sums in which signal and kernel overlap."""
    torch = bench.torch
    draw = torch.Generator().manual_seed(0)
    x, w = (torch.randn(1, 1, n, generator=draw) for n in (SIGNAL, kernel))
    length, longest = SIGNAL + kernel - 1, counted.padded_length(SIGNAL, kernel)

    def fft():
        product = torch.fft.rfft(x, longest) * torch.fft.rfft(w.flip(-1), longest)
        return torch.fft.irfft(product, longest)[..., :length]

    return {"direct": lambda: torch.nn.functional.conv1d(x, w, padding=kernel - 1), "fft": fft}


def plot(result):
    """Both times over the length of the kernel."""
    taken = {(row["way"], row["kernel"]): row["measured"] for row in result.rows}
    near, far = (taken["direct", kernel] / taken["fft", kernel] for kernel in (KERNELS[0], KERNELS[-1]))
    title = say("title", near=1 / near, far=far)
    return curves(result, x="kernel", by="way", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", way="str", kernel="int", flops="int FLOP", hidden=("way", "kernel")),
    method={"signal": SIGNAL},
)
