"""Expert, sequence and context parallelism in their smallest forms, on real ranks.

Each function gives what the ranks handed over; `sequence` and `context` also how far their result is from that of one
rank.
"""

from course_lib.units.q20_design_a_framework import ranks

RANKS, TOKENS, WIDTH = 4, 256, 64


def experts(skew: float) -> tuple[list[int], int, int]:
    """(tokens that reach each of four experts, bytes that all ranks send to others, tokens that one gets from others).

    The last is the most that any rank gets.

    Every rank has 256 tokens of width 64; expert 0 is drawn `skew` times as often as each of the others.
    """
    import torch

    def job(rank):
        draw = torch.Generator().manual_seed(rank.place)
        odds = torch.tensor([skew] + [1.0] * (RANKS - 1))
        chosen = torch.multinomial(odds, TOKENS, replacement=True, generator=draw).sort().values
        counts = torch.bincount(chosen, minlength=RANKS)
        got = rank.dispatch(torch.ones(TOKENS, WIDTH), counts)
        return len(got), rank.payload["expert"], len(got) - int(counts[rank.place])

    found = ranks.run(RANKS, job)
    return [tokens for tokens, *_ in found], sum(sent for _, sent, _ in found), max(others for *_, others in found)


def sequence(divided: bool) -> tuple[int, int, float]:
    """(bytes that a rank sends forward, numbers between the halves that it holds, largest difference from one rank).

    An MLP on tensor ranks. divided: an all-gather before it and a reduce-scatter after it, in place of an all-reduce.
    """
    import torch

    draw = torch.Generator().manual_seed(0)
    x, up, down = (torch.randn(*shape, generator=draw) / 8 for shape in ((TOKENS, WIDTH), (WIDTH, 256), (256, WIDTH)))
    whole = torch.relu(x @ up) @ down

    def job(rank):
        columns, rows = up.chunk(RANKS, 1)[rank.place], down.chunk(RANKS, 0)[rank.place]
        mine = x.chunk(RANKS)[rank.place] if divided else x
        entered = rank.all_gather(mine).view(TOKENS, WIDTH) if divided else mine
        left = torch.relu(entered @ columns) @ rows
        if divided:
            left, right = rank.reduce_scatter(left.flatten()).view(-1, WIDTH), whole.chunk(RANKS)[rank.place]
        else:
            left, right = rank.all_reduce(left), whole
        return rank.payload["data"], mine.numel(), (left - right).abs().max().item()

    found = ranks.run(RANKS, job)
    return found[0][0], found[0][1], max(off for *_, off in found)


def context() -> tuple[int, float]:
    """(bytes that a rank sends, largest difference from one rank): attention over keys that go round a ring of ranks."""
    import torch

    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(TOKENS, WIDTH, generator=draw) for _ in range(3))
    whole = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    def job(rank):
        here, mine = rank.place, q.chunk(RANKS)[rank.place]
        passing = torch.cat([k.chunk(RANKS)[here], v.chunk(RANKS)[here]])
        top = torch.full((len(mine), 1), -torch.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(mine)
        for hop in range(RANKS):
            keys, values = passing.chunk(2)
            scores = mine @ keys.T / WIDTH**0.5
            highest = torch.maximum(top, scores.amax(1, keepdim=True))
            weights, old = (scores - highest).exp(), (top - highest).exp()
            total, mixed, top = total * old + weights.sum(1, keepdim=True), mixed * old + weights @ values, highest
            if hop < RANKS - 1:
                passing = _passed_on(rank, passing, hop)
        return rank.payload["context"], (mixed / total - whole.chunk(RANKS)[here]).abs().max().item()

    found = ranks.run(RANKS, job)
    return found[0][0], max(off for _, off in found)


def _passed_on(rank, tensor, hop: int):
    """What the rank before this one has. Even ranks send first, so nobody waits for somebody who waits."""
    after, before, back = (rank.place + 1) % rank.size, (rank.place - 1) % rank.size, tensor.new_empty(tensor.shape)
    steps = [lambda: rank.send(tensor, after, hop, "context"), lambda: rank.receive(back, before, hop)]
    for step in steps if rank.place % 2 == 0 else reversed(steps):
        step()
    return back
