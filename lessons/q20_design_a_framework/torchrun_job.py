"""What `torchrun --nproc-per-node 2` runs: DistributedDataParallel on one digit network, an honest step, and out.

Rank 0 prints one line of JSON: ranks, bytes handed to all-reduces in a step, and how far the ranks' weights differ.
"""

import json
import os


def main() -> None:
    from datetime import timedelta

    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", timeout=timedelta(seconds=30))  # rank and meeting place: from torchrun
    try:
        told = _step(torch, distributed)
        if distributed.get_rank() == 0:
            print(json.dumps(told), flush=True)
    finally:
        distributed.destroy_process_group()


def _step(torch, distributed) -> dict:
    torch.manual_seed(distributed.get_rank())  # DDP sends rank 0's weights to all
    layers = [torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)]
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    handed: list[int] = []

    def count(state, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        handed.append(bucket.buffer().nbytes)
        sums = distributed.all_reduce(bucket.buffer().div_(distributed.get_world_size()), async_op=True)
        return sums.get_future().then(lambda done: done.value()[0])

    net.register_comm_hook(None, count)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(32, 64)  # another on each rank
    net(x).square().mean().backward()
    optimizer.step()
    own = torch.cat([parameter.detach().flatten() for parameter in net.parameters()])
    everyone = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(everyone, own)
    apart = max((other - own).abs().max().item() for other in everyone)
    return {"ranks": len(everyone), "bytes": sum(handed), "apart": apart}


if __name__ == "__main__":
    main()
    # DDP keeps the group, and gloo's threads, past `destroy_process_group` (PyTorch 2.13). On a busy machine they aborted
    # some runs of this script in a hundred while the interpreter ended, all work done: so end without its clean-up.
    os._exit(0)
