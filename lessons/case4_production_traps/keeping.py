"""What a list of losses keeps alive: bytes that torch's allocator has given and not taken back after some steps."""

from collections.abc import Callable

LAYERS, WIDTH, CLASSES, ROWS, STEPS = 4, 512, 10, 64, 60
HABITS = ("item", "detach", "graph", "after-backward", "outputs", "outputs-no-grad", "count")


def network(torch):
    torch.manual_seed(0)
    blocks = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]
    net = torch.nn.Sequential(*blocks, torch.nn.Linear(WIDTH, CLASSES))
    return net, torch.randn(ROWS, WIDTH)


def saved(rows: int = ROWS) -> int:
    """Bytes that the graph of one loss keeps, in fp32: input and output of each GELU, the outputs."""
    return 4 * (2 * LAYERS * rows * WIDTH + rows * CLASSES)


def predicted(habit: str, steps: int = STEPS) -> int:
    """Bytes kept after so many steps, without what the allocator is not asked for (Python's own objects)."""
    logits, loss = 4 * ROWS * CLASSES, 4
    each = {
        "item": 0,
        "detach": loss,
        "graph": saved() + loss,
        "after-backward": loss,
        "outputs": saved(),
        "outputs-no-grad": logits,
        "count": 0,
    }[habit]
    return steps * each


def keep(torch, habit: str, steps: int = STEPS) -> Callable[[], object]:
    """A function that runs the steps and returns what it keeps."""
    net, x = network(torch)
    labels = torch.zeros(ROWS, dtype=torch.int64)
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)

    def run():
        kept, right = [], 0
        for _ in range(steps):
            if habit in ("outputs-no-grad", "count"):
                with torch.no_grad():
                    outputs = net(x)
                    if habit == "count":
                        right += int((outputs.argmax(1) == labels).sum())
                    else:
                        kept.append(outputs)
                continue
            outputs = net(x)
            if habit == "outputs":
                kept.append(outputs)
                continue
            loss = outputs.square().mean()
            if habit == "after-backward":
                loss.backward()
            kept.append({"item": loss.item, "detach": loss.detach}.get(habit, lambda loss=loss: loss)())
        return kept, right

    return run
