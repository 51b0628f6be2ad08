"""A gated MLP, a merged q-k-v matrix and a bias, cut into shards in one process: what adds up again, and what does not."""


def problem(torch, seed: int = 0):
    """Inputs and the matrices up [width, hidden], down [hidden, width], bias [width], in fp64."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64) * shape[0] ** -0.5

    return draw(16, 64), draw(64, 96), draw(96, 64), draw(64)


def whole(torch, x, up, down, bias):
    return torch.nn.functional.silu(x @ up) @ down + bias


def pair(torch, x, up, down, bias, ranks: int, biased: str = "first"):
    """Column then row, the sums added up. biased: "first" adds the bias on the first rank, "all" on each."""
    parts = []
    for rank, (columns, rows) in enumerate(zip(up.chunk(ranks, 1), down.chunk(ranks, 0), strict=True)):
        part = torch.nn.functional.silu(x @ columns) @ rows
        parts.append(part + bias if biased == "all" or rank == 0 else part)
    return sum(parts)


def too_early(torch, x, up, ranks: int):
    """The first matrix by rows, and SiLU before the sums are added up."""
    pieces = zip(x.chunk(ranks, 1), up.chunk(ranks, 0), strict=True)
    return sum(torch.nn.functional.silu(some @ rows) for some, rows in pieces)


def input_gradients(torch, x, up, down, ranks: int):
    """The gradient of the inputs as each rank has it, for the sum of all results."""
    found = []
    for columns, rows in zip(up.chunk(ranks, 1), down.chunk(ranks, 0), strict=True):
        own = x.clone().requires_grad_()
        (torch.nn.functional.silu(own @ columns) @ rows).sum().backward()
        found.append(own.grad)
    return found


def queries(torch, merged, sizes, ranks: int, across: bool):
    """Queries [width, all heads] put together from the ranks' shards of a merged [q, k, v] matrix.

    across: each rank takes an equal piece of the merged matrix, and calls the first part of it its queries.
    """
    shares = [size // ranks for size in sizes]
    if across:
        shards = merged.chunk(ranks, 1)
    else:
        parts = [part.chunk(ranks, 1) for part in merged.split(list(sizes), 1)]
        shards = [torch.cat([part[rank] for part in parts], 1) for rank in range(ranks)]
    return torch.cat([shard[:, : shares[0]] for shard in shards], 1)
