"""Data parallelism by one process with a first GPU (DataParallel) and by equals (DDP): what crosses, in bytes."""

from dataclasses import dataclass, fields

from course_lib.accounting import communication, models


@dataclass(frozen=True)
class Flows:
    """Bytes of a step of DataParallel between GPU 0 and the others. out: what GPU 0 sends; the rest comes to it."""

    weights_out: int
    inputs_out: int
    outputs_in: int
    output_gradients_out: int
    gradients_in: int

    @property
    def into_first(self) -> int:
        return self.outputs_in + self.gradients_in

    @property
    def out_of_first(self) -> int:
        return self.weights_out + self.inputs_out + self.output_gradients_out

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


def data_parallel(weights: int, inputs: int, outputs: int, ranks: int) -> Flows:
    """weights: bytes of the weights, and of their gradients; inputs, outputs: of the whole batch, on GPU 0 at first and
    at last; the batch is divided evenly, and one share needs no wire. Gradients go straight to GPU 0, as PyTorch does
    without NCCL; with it they are added up on their way, and one set comes in (torch/nn/parallel/comm.py, reduce_add).
    """
    away = outputs * (ranks - 1) // ranks
    return Flows(
        weights_out=(ranks - 1) * weights,
        inputs_out=inputs * (ranks - 1) // ranks,
        outputs_in=away,
        output_gradients_out=away,
        gradients_in=(ranks - 1) * weights,
    )


def gpt2(batch: int, tokens: int, ranks: int) -> tuple[Flows, int]:
    """Flows of DataParallel for a step of GPT-2 small in fp32, and bytes that each rank of a ring sends, and receives, with DDP."""
    model = models.load("gpt2")
    weights = 4 * int(model.parameters())
    flows = data_parallel(weights, 8 * batch * tokens, 4 * batch * tokens * model.vocab, ranks)
    ring = communication.all_reduce(nbytes=weights, ranks=ranks, bandwidth=1e9)
    return flows, int(ring.bytes_per_rank)


def step(torch, net, inputs, targets, ranks: int):
    """A training step as DataParallel does it, on one processor, every tensor that crosses counted: Flows, gradients.

    net: a module whose output has a row for each row of `inputs`; the loss is the mean of squares, on GPU 0.
    """
    import copy

    crossed = dict.fromkeys((field.name for field in fields(Flows)), 0)

    def cross(name, tensor):
        crossed[name] += tensor.numel() * tensor.element_size()
        return tensor.detach().clone()

    others = [copy.deepcopy(net) for _ in range(ranks - 1)]
    for other in others:
        for mine, theirs in zip(other.parameters(), net.parameters(), strict=True):
            mine.data = cross("weights_out", theirs)
    first, *rest = inputs.chunk(ranks)
    rest = [cross("inputs_out", part) for part in rest]
    own, away = net(first), [other(part) for other, part in zip(others, rest, strict=True)]
    gathered = [own.detach().clone(), *(cross("outputs_in", output) for output in away)]
    for output in gathered:
        output.requires_grad_()
    (torch.cat(gathered) - targets).square().mean().backward()
    own.backward(gathered[0].grad)
    for output, seen in zip(away, gathered[1:], strict=True):
        output.backward(cross("output_gradients_out", seen.grad))
    gradients = [parameter.grad.clone() for parameter in net.parameters()]
    for other in others:
        for total, parameter in zip(gradients, other.parameters(), strict=True):
            total += cross("gradients_in", parameter.grad)
    return Flows(**crossed), gradients
