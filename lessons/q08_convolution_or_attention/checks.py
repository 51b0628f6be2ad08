"""Checks of the exercises of Q8: what is asked, how inputs are drawn, the reference, and the wrong answers that people give."""

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q08.separable -------------------------------------------------------------------------------


def _saving(inputs, outputs, kernel):
    return 1 / (1 / outputs + 1 / kernel**2)


def _saving_wide_depthwise(inputs, outputs, kernel):
    return inputs * outputs * kernel**2 / (outputs * kernel**2 + inputs * outputs)


def _draw_saving(rng):
    inputs, outputs = rng.sample([16, 24, 32, 48, 64, 96, 128, 160, 256, 320, 512], k=2)
    return inputs, outputs, rng.choice([3, 5, 7])


# ---- q08.resnet ----------------------------------------------------------------------------------


def _resnet(blocks, side):
    from course_lib.accounting import flops
    from course_lib.accounting.models.convnet import resnet

    return int(flops.forward(resnet("drawn", list(blocks), "bottleneck"), image=side))


def _walk(blocks, side, shortcut=True, first_stride=False, stem=True, head=True, halving=True):
    """The network step by step, with a fault where one is asked for; first_stride: the 1×1 convolution has the stride."""
    total = 2 * 3 * 64 * 49 * (side // 2) ** 2 if stem else 0
    channels, here = 64, side // 4
    for stage, count in enumerate(blocks):
        width = 64 * 2**stage
        for block in range(count):
            after = here // 2 if halving and stage and not block else here
            total += 2 * channels * width * (after if first_stride else here) ** 2
            total += 2 * (9 * width * width + 4 * width * width) * after**2
            if shortcut and not block:
                total += 2 * channels * 4 * width * after**2
            channels, here = 4 * width, after
    return total + (2 * channels * 1000 if head else 0)


def _draw_resnet(rng):
    return [rng.randrange(1, 9) for _ in range(4)], 32 * rng.randrange(4, 20)


# ---- q08.overtake --------------------------------------------------------------------------------


def _cost(layers, width, patch, side, tokens=None, pairs=4, rest=24, embedding=2):
    patches = (side // patch) ** 2
    tokens = patches + 1 if tokens is None else tokens
    inside = layers * (rest * tokens * width**2 + pairs * tokens**2 * width)
    return embedding * patches * 3 * patch**2 * width + inside


def _first_side(layers, width, patch, flops_per_pixel, *, extra=0, **faults):
    """extra: FLOPs that are counted once and should not be."""
    sides = range(-(-224 // patch) * patch, 4097, patch)
    costs = ((side, extra + _cost(layers, width, patch, side, **faults)) for side in sides)
    return next((side for side, cost in costs if cost > flops_per_pixel * side**2), None)


def _overtake(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel)


def _overtake_no_pairs(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, pairs=0)


def _overtake_half_pairs(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, pairs=2)


def _overtake_no_mlp(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, rest=8)


def _overtake_macs(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, pairs=2, rest=12, embedding=1)


def _overtake_no_class_token(layers, width, patch, flops_per_pixel):
    def cost(side):
        return _cost(layers, width, patch, side, tokens=(side // patch) ** 2)

    sides = range(-(-224 // patch) * patch, 4097, patch)
    return next((side for side in sides if cost(side) > flops_per_pixel * side**2), None)


def _overtake_embedding_macs(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, embedding=1)


def _overtake_no_embedding(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, embedding=0)


def _overtake_one_below(layers, width, patch, flops_per_pixel):
    side = _first_side(layers, width, patch, flops_per_pixel)
    return side if side is None else side - patch


def _overtake_embedded_class_token(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, extra=6 * patch**2 * width)


def _overtake_classifier(layers, width, patch, flops_per_pixel):
    return _first_side(layers, width, patch, flops_per_pixel, extra=2 * width * 1000)


def _overtake_pairs_of_patches(layers, width, patch, flops_per_pixel):
    def cost(side):
        patches = (side // patch) ** 2
        return _cost(layers, width, patch, side) - 4 * layers * width * (2 * patches + 1)

    sides = range(-(-224 // patch) * patch, 4097, patch)
    return next((side for side in sides if cost(side) > flops_per_pixel * side**2), None)


def _overtake_first_only(layers, width, patch, flops_per_pixel):
    first = -(-224 // patch) * patch
    return first if _overtake(layers, width, patch, flops_per_pixel) == first else None


def _overtake_early_end(layers, width, patch, flops_per_pixel):
    side = _overtake(layers, width, patch, flops_per_pixel)
    return None if side is None or side > 4096 - patch else side


def _overtake_from_224(layers, width, patch, flops_per_pixel):
    sides = range(224, 4097, patch)
    return next((side for side in sides if _cost(layers, width, patch, side) > flops_per_pixel * side**2), None)


def _overtake_whole_flops(layers, width, patch, flops_per_pixel):
    sides = range(-(-224 // patch) * patch, 4097, patch)
    return next((side for side in sides if _cost(layers, width, patch, side) // side**2 > flops_per_pixel), None)


def _draw_at_the_ends(rng):
    """The attention overtakes at the first side, or never up to the last one."""
    while True:
        patch, width, layers = rng.choice([20, 32, 64]), 8 * rng.randrange(8, 129), rng.randrange(4, 37)
        side = rng.choice([-(-224 // patch) * patch, 4096 // patch * patch])
        drawn = layers, width, patch, _cost(layers, width, patch, side) // side**2 + rng.choice([-1, 0, 1])
        if _overtake(*drawn) in (-(-224 // patch) * patch, None):
            return drawn


def _draw_last_side(rng):
    """The attention overtakes at the last side, by so little that a token less among the pairs is too late."""
    while True:
        patch, width, layers = rng.choice([20, 32, 64]), 8 * rng.randrange(8, 129), rng.randrange(4, 37)
        side = 4096 // patch * patch
        drawn = layers, width, patch, _cost(layers, width, patch, side) // side**2
        if _overtake(*drawn) == side and _overtake_pairs_of_patches(*drawn) is None:
            return drawn


def _draw_overtake(rng):
    """Half of them the last side. The others are nearly a tie one step below the answer, so narrow that a token or half
    an embedding less is too late, and anything more too early; the patch does not divide 224. Exact ties are public
    only: in floats a right answer that sums in another order may take one for more.
    """
    kind = rng.random()
    if kind < 0.48:
        return _draw_at_the_ends(rng) if kind < 0.03 else _draw_last_side(rng)
    slips = (
        _overtake_no_class_token,
        _overtake_embedding_macs,
        _overtake_embedded_class_token,
        _overtake_classifier,
        _overtake_from_224,
    )
    while True:
        patch, width, layers = rng.choice([20, 24, 30, 36, 40, 48]), 8 * rng.randrange(8, 129), rng.randrange(4, 37)
        side = patch * rng.randrange(224 // patch + 1, 800 // patch)
        cost = _cost(layers, width, patch, side)
        drawn = layers, width, patch, -(-cost // side**2)
        near = drawn[-1] * side**2 - cost > 1e-9 * cost
        if near and _overtake(*drawn) == side + patch and all(slip(*drawn) != side + patch for slip in slips):
            return drawn


# ---- q08.intensity -------------------------------------------------------------------------------


def _ledger(inputs, outputs, kernel, stride, groups, side, size, *, grouped=True, unfolded=False, weighed=True):
    out = side // stride
    flops = 2 * inputs * outputs * kernel**2 * out**2 // (groups if grouped else 1)
    image = inputs * kernel**2 * out**2 if unfolded else inputs * side**2
    weights = outputs * inputs // groups * kernel**2 if weighed else 0
    return flops / (size * (image + weights + outputs * out**2))


def _intensity(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, stride, groups, side, bytes_per_number)


def _intensity_as_given(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, stride, groups, side, bytes_per_number, grouped=False, unfolded=True)


def _intensity_flops_repaired(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, stride, groups, side, bytes_per_number, unfolded=True)


def _intensity_bytes_repaired(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, stride, groups, side, bytes_per_number, grouped=False)


def _intensity_small_image(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, 1, groups, side // stride, bytes_per_number)


def _intensity_no_weights(inputs, outputs, kernel, stride, groups, side, bytes_per_number):
    return _ledger(inputs, outputs, kernel, stride, groups, side, bytes_per_number, weighed=False)


def _draw_intensity(rng):
    groups = rng.choice([2, 4, 8, 16])
    inputs, outputs = (groups * rng.randrange(2, 40) for _ in range(2))
    return (
        inputs,
        outputs,
        rng.choice([3, 5]),
        rng.choice([1, 2, 2, 4]),
        groups,
        4 * rng.randrange(2, 30),
        rng.choice([2, 4]),
    )


# ---- the lesson's own: one line each --------------------------------------------------------------


def _conv_flops(inputs, outputs, kernel, groups, side):
    return 2 * (inputs // groups) * outputs * kernel**2 * side**2


def _draw_conv(rng):
    """Groups that divide both numbers of channels, a kernel that is not 1 and a side that is neither."""
    groups = rng.choice([2, 4, 8, 32])
    inputs, outputs = (groups * rng.randrange(2, 20) for _ in range(2))
    return inputs, outputs, rng.choice([3, 5, 7]), groups, rng.randrange(8, 60)


def _depthwise_times(channels, peak, bandwidth):
    """(arithmetic, memory) seconds of a place, of the plain convolution and of the depthwise one."""
    memory = 4 * channels / bandwidth
    return (18 * channels**2 / peak, memory), (18 * channels / peak, memory)


def _depthwise_speedup(channels, peak, bandwidth):
    plain, depthwise = 2 * 9 * channels**2, 2 * 9 * channels
    moved = 2 * 2 * channels
    return max(plain / peak, moved / bandwidth) / max(depthwise / peak, moved / bandwidth)


def _depthwise_by(of_times):
    """The speed-up of whoever makes one time of the two in another way."""

    def faulty(channels, peak, bandwidth):
        plain, depthwise = _depthwise_times(channels, peak, bandwidth)
        return of_times(plain) / of_times(depthwise)

    return faulty


def _depthwise_one_limit(channels, peak, bandwidth):
    (arithmetic, _), (_, memory) = _depthwise_times(channels, peak, bandwidth)
    return arithmetic / memory


def _draw_depthwise(rng):
    """Few channels, where even the plain one waits for memory, or many; at times a slow machine, where the depthwise
    one waits for arithmetic.
    """
    bandwidth, kind = rng.randrange(300, 4000) * 1e9, rng.choice(["few", "many", "slow"])
    ridge = rng.uniform(1, 4) if kind == "slow" else rng.randrange(100, 300)
    channels = rng.randrange(4, 17) if kind == "few" else rng.randrange(100, 1000)
    return channels, ridge * bandwidth, bandwidth


def _vit_flops(side, patch, layers, width):
    tokens = (side // patch) ** 2 + 1
    return layers * (24 * tokens * width**2 + 4 * tokens**2 * width)


def _vit(rest=24, pairs=4, every_layer=True):
    """A count with a fault."""

    def faulty(side, patch, layers, width):
        tokens = (side // patch) ** 2 + 1
        return (layers if every_layer else 1) * (rest * tokens * width**2 + pairs * tokens**2 * width)

    return faulty


def _draw_vit(rng):
    patch = rng.choice([8, 14, 16, 32])
    return patch * rng.randrange(5, 60), patch, rng.randrange(2, 40), 64 * rng.randrange(2, 20)


CHECKS = [
    Check(
        id="q08.turn-conv",
        points=0,
        signature="conv_flops(inputs, outputs, kernel, groups, side)",
        public=[(64, 64, 3, 1, 56), (256, 256, 3, 256, 28), (96, 24, 1, 1, 14), (128, 256, 5, 4, 13)],
        generate=_draw_conv,
        reference=_conv_flops,
        wrong={
            "multiply-adds": lambda *layer: _conv_flops(*layer) // 2,
            "no groups": lambda inputs, outputs, kernel, groups, side: _conv_flops(inputs, outputs, kernel, 1, side),
            "groups twice": lambda inputs, outputs, kernel, groups, side: _conv_flops(
                inputs, outputs // groups, kernel, groups, side
            ),
            "one place": lambda inputs, outputs, kernel, groups, side: _conv_flops(inputs, outputs, kernel, groups, 1),
            "a row of places": lambda *layer: _conv_flops(*layer) // layer[-1],
            "a row of the window": lambda *layer: _conv_flops(*layer) // layer[2],
        },
    ),
    Check(
        id="q08.turn-depthwise",
        points=0,
        signature="depthwise_speedup(channels, peak, bandwidth)",
        public=[
            (256, 989e12, 3.35e12),
            (16, 989e12, 3.35e12),
            (512, 312e12, 1.555e12),
            (256, 6e10, 3e10),
        ],
        generate=_draw_depthwise,
        reference=_depthwise_speedup,
        wrong={
            "FLOPs": lambda channels, peak, bandwidth: channels,
            "bytes": lambda channels, peak, bandwidth: 1,
            "upside down": lambda *given: 1 / _depthwise_speedup(*given),
            "sums": _depthwise_by(sum),
            "smaller": _depthwise_by(min),
            "one limit each": _depthwise_one_limit,
        },
    ),
    Check(
        id="q08.turn-vit",
        points=0,
        signature="vit_flops(side, patch, layers, width)",
        public=[(224, 16, 12, 192), (448, 16, 12, 768), (224, 32, 24, 384), (1024, 8, 3, 128)],
        generate=_draw_vit,
        reference=_vit_flops,
        same=Close(1e-5),
        wrong={
            "no pairs": _vit(pairs=0),
            "half the pairs": _vit(pairs=2),
            "no MLP": _vit(rest=8),
            "no projections": _vit(rest=16),
            "multiply-adds": _vit(rest=12, pairs=2),
            "one layer": _vit(every_layer=False),
        },
    ),
    Check(
        id="q08.separable",
        points=2,
        signature="separable_saving(inputs, outputs, kernel)",
        public=[(256, 256, 3), (32, 64, 3), (96, 24, 5)],
        generate=_draw_saving,
        reference=_saving,
        wrong={
            "depthwise only": lambda inputs, outputs, kernel: outputs,
            "pointwise only": lambda inputs, outputs, kernel: kernel**2,
            "upside down": lambda inputs, outputs, kernel: 1 / outputs + 1 / kernel**2,
            "wide depthwise": _saving_wide_depthwise,
        },
    ),
    Check(
        id="q08.resnet",
        points=4,
        signature="resnet_flops(blocks, side)",
        public=[([3, 4, 6, 3], 224), ([1, 1, 1, 1], 64), ([3, 4, 23, 3], 256), ([1, 2, 1, 1], 32)],
        generate=_draw_resnet,
        reference=_resnet,
        same=EXACT,
        wrong={
            "multiply-adds": lambda blocks, side: _walk(blocks, side) // 2,
            "no shortcut": lambda blocks, side: _walk(blocks, side, shortcut=False),
            "no shortcut in stage 0": lambda blocks, side: _walk(blocks, side) - 2 * 64 * 256 * (side // 4) ** 2,
            "stride in the 1×1": lambda blocks, side: _walk(blocks, side, first_stride=True),
            "no head": lambda blocks, side: _walk(blocks, side, head=False),
            "no stem": lambda blocks, side: _walk(blocks, side, stem=False),
            "never halved": lambda blocks, side: _walk(blocks, side, halving=False),
        },
    ),
    Check(
        id="q08.overtake",
        points=3,
        signature="overtaking_side(layers, width, patch, flops_per_pixel)",
        public=[
            (12, 192, 16, 162_912),
            (29, 200, 7, 1_290_831),  # attention is one FLOP more at the answer
            (12, 768, 16, 162_912),
            (12, 192, 32, 400_000),
            (12, 384, 16, 300_000),
            (24, 384, 32, 92_552),
            (18, 384, 32, 71_873),
            (16, 504, 24, 179_774),
            (12, 192, 32, 16_741),
            (12, 192, 16, 89_385),
            (12, 192, 32, 158_993),
            (12, 768, 24, 20_000),
            (12, 192, 16, 48_000),
            (12, 192, 32, 158_000),
            (12, 768, 32, 175_633),
            (12, 192, 24, 484_000),
            (24, 512, 32, 937_065),
        ],
        generate=_draw_overtake,
        reference=_overtake,
        same=EXACT,
        wrong={
            "no pairs": _overtake_no_pairs,
            "half the pairs": _overtake_half_pairs,
            "no MLP": _overtake_no_mlp,
            "multiply-adds": _overtake_macs,
            "no class token": _overtake_no_class_token,
            "embedding in multiply-adds": _overtake_embedding_macs,
            "no embedding": _overtake_no_embedding,
            "one below": _overtake_one_below,
            "class token embedded": _overtake_embedded_class_token,
            "classifier": _overtake_classifier,
            "steps from 224": _overtake_from_224,
            "first side only": _overtake_first_only,
            "sides end early": _overtake_early_end,
            "no class token in pairs": _overtake_pairs_of_patches,
            "whole FLOPs a pixel": _overtake_whole_flops,
            "never": lambda layers, width, patch, flops_per_pixel: None,
        },
    ),
    Check(
        id="q08.intensity",
        points=3,
        signature="convolution_intensity(inputs, outputs, kernel, stride, groups, side, bytes_per_number)",
        public=[
            (144, 144, 3, 1, 144, 56, 2),
            (64, 64, 3, 1, 1, 56, 2),
            (128, 256, 3, 2, 4, 28, 4),
            (256, 512, 1, 2, 1, 28, 2),
            (312, 304, 5, 1, 8, 112, 2),
        ],
        generate=_draw_intensity,
        reference=_intensity,
        wrong={
            "as given": _intensity_as_given,
            "bytes left": _intensity_flops_repaired,
            "FLOPs left": _intensity_bytes_repaired,
            "small image": _intensity_small_image,
            "no weights": _intensity_no_weights,
        },
    ),
]
