"""Gradients that are made smaller before they are sent: the largest hundredth, or signs with one size."""

KEPT = 0.01  # share of the numbers


def kept(numbers: int) -> int:
    """How many numbers are sent of the largest hundredth."""
    return max(1, int(KEPT * numbers))


def nbytes(what: str, numbers: int) -> int:
    """Bytes of a message: "all" fp32 numbers, the "largest" with their places, or "signs" and one size."""
    return {"all": 4 * numbers, "largest": 8 * kept(numbers), "signs": -(-numbers // 8) + 4}[what]


def compressed(gradient, what: str):
    """The gradient as the others get it, in its own shape."""
    if what == "all":
        return gradient.clone()
    if what == "signs":
        return gradient.sign() * gradient.abs().mean()
    flat = gradient.flatten()
    places = flat.abs().topk(kept(flat.numel())).indices
    sent = flat.new_zeros(flat.shape)
    sent[places] = flat[places]
    return sent.view_as(gradient)
