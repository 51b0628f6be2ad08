"""Claims on trial in Q8: each function decides one claim by computing it and returns the verdict with its numbers."""

from dataclasses import replace
from itertools import pairwise

from course_lib.accounting import flops, models, roofline
from course_lib.accounting.models import operations
from course_lib.teaching.cards.verdict import Verdict
from course_lib.units.q08_convolution_or_attention.experiments import im2col

A100 = "a100-40-sxm"
BATCH = 32


def s003_72() -> Verdict:
    """Twice the side: 4 times the FLOPs follow the pixels, 16 times follow their square. Decided at 224 and far above."""
    sides, growth = (224, 896, 7168), {}
    for name in ("resnet-50", "mobilenet-v2", "vit-b16", "vit-ti16"):
        growth[name] = [_growth(name, side) for side in sides]
    follow = all(abs(factor - 4) < 0.1 for name in ("resnet-50", "mobilenet-v2") for factor in growth[name])
    here, far = ([growth[name][place] > 15 for name in ("vit-b16", "vit-ti16")] for place in (0, -1))
    ruling = "fails" if not follow or not all(far) else "holds" if all(here) else "holds-if"
    share = {patch: _share_of_scores(patch) for patch in (16, 4)}
    return Verdict(ruling, growth=growth, share=share)


def _growth(name: str, side: int) -> float:
    return int(flops.forward(models.load(name), image=2 * side)) / int(flops.forward(models.load(name), image=side))


def _share_of_scores(patch: int) -> float:
    count = flops.forward(replace(models.load("vit-b16"), patch=patch))
    return (count["attention.scores"] + count["attention.values"]) / int(count)


def s004_070() -> Verdict:
    """Four layers of ResNet-50: a convolution by its formula, the product of the unfolded image by that of products."""
    more, copies = {}, {}
    for layer in im2col.LAYERS:
        side = layer.out_side
        direct = flops.conv2d(
            in_channels=layer.inputs,
            out_channels=layer.outputs,
            kernel=layer.kernel,
            out_height=side,
            out_width=side,
        )
        product = flops.matmul(layer.outputs, layer.depth, side * side)
        more[layer.name] = product / direct
        copies[layer.name] = layer.depth * side**2 / (layer.inputs * layer.side**2)
    return Verdict(
        "holds" if min(more.values()) > 1.05 else "holds-if" if max(more.values()) > 1.05 else "fails",
        more=more,
        copies=copies,
    )


def s004_071() -> Verdict:
    """Time = work ÷ share of the peak, for the shares and the work that the claim itself states."""
    direct, unfolded = 1 / 0.3, 2 / 0.9
    faster = direct / unfolded
    return Verdict(
        "holds" if abs(faster / 6 - 1) < 0.05 else "fails",
        direct=direct,
        unfolded=unfolded,
        faster=faster,
        equal=0.9 / 0.3,
    )


def s002_04() -> Verdict:
    """ResNet-50 on an A100, each call at the larger of its two times: mixed, if neither bound has nine tenths."""
    resnet, share, total = models.load("resnet-50"), {}, {}
    for dtype in ("fp16", "tf32", "fp32"):
        for fused in (False, True):
            places = [op.on(A100) for op in _calls(resnet, dtype) if not fused or _kept(op)]
            seconds = sum(place.seconds for place in places)
            name = f"{dtype} fused" if fused else dtype
            share[name] = sum(place.seconds for place in places if place.bound == "compute") / seconds
            total[name] = seconds * 1e3
    mixed = [0.1 <= part <= 0.9 for part in share.values()]
    batches = (1, 8, BATCH, 64)
    changed = {f"{few} → {many}": _changes(few, many) for few, many in pairwise(batches)}
    ruling = "fails" if not any(mixed) or not any(changed.values()) else "holds" if all(mixed) else "holds-if"
    return Verdict(
        ruling, share=share, total=total, changed=", ".join(f"{step}: {number}" for step, number in changed.items())
    )


def _calls(network: models.ConvNet, dtype: str) -> list[roofline.Op]:
    """TF32 is what PyTorch's convolutions on an A100 use by default: numbers of 4 bytes, multiplied by tensor cores."""
    calls = operations.forward(network, BATCH, dtype="fp32" if dtype == "tf32" else dtype)
    tensor = ("convolution", "linear") if dtype == "tf32" else ()
    return [replace(op, dtype=dtype) if tensor and op.name.endswith(tensor) else op for op in calls]


def _kept(op: roofline.Op) -> bool:
    """What is left if norms, activations and sums are done inside the convolution before them."""
    return op.name.endswith(("convolution", "linear", "pool"))


def _changes(few: int, many: int) -> int:
    """Calls in fp16 that wait for one thing at a batch and for the other at another: the kinks of their sum."""
    resnet = models.load("resnet-50")
    bounds = [[op.on(A100).bound for op in operations.forward(resnet, batch, dtype="fp16")] for batch in (few, many)]
    return sum(before != after for before, after in zip(*bounds, strict=True))
