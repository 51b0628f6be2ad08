"""Ranks that are threads: a real gloo process group in each, on loopback, with every byte handed over counted.

`run(size, job)` starts them, calls job(rank) in each and gives what the jobs returned. A group has a timeout, the ranks
meet in memory (no port is chosen, no file left), and every group is gone when `run` returns or raises: a rank that
raises closes its sockets, and the others stop waiting for it.
"""

import os
import socket
import struct
import threading
import time
from collections import Counter
from datetime import timedelta

from course_lib.experiments.running.errors import Unavailable

TIMEOUT = 20  # s that a rank waits for the others
_SENT = {  # bytes that one of n ranks sends of a buffer of N, by rings: what `Rank.payload` counts
    "all_reduce": lambda N, n: 2 * (n - 1) * -(-N // n),
    "reduce_scatter": lambda N, n: (n - 1) * -(-N // n),
    "all_gather": lambda N, n: (n - 1) * -(-N // n),
    "all_to_all": lambda N, n: (n - 1) * -(-N // n),
    "send": lambda N, n: N,
}


class Group:
    """Some of the ranks, which call collectives together. `place` is this rank's own place among them.

    Every call adds to `payload[kind]` what a ring makes this rank send of the buffer that is handed over.
    """

    def __init__(self, group, place: int, size: int, payload: Counter):
        self._group, self.place, self.size, self.payload = group, place, size, payload

    def _count(self, name: str, tensor, kind: str) -> None:
        if self.size > 1:
            self.payload[kind] += _SENT[name](tensor.nbytes, self.size)

    def all_reduce(self, tensor, kind: str = "data", largest: bool = False):
        """The sum (or the largest) over all ranks, in place."""
        import torch

        self._count("all_reduce", tensor, kind)
        if self.size > 1:
            options = torch.distributed.AllreduceOptions()
            options.reduceOp = torch.distributed.ReduceOp.MAX if largest else torch.distributed.ReduceOp.SUM
            self._group.allreduce([tensor], options).wait()
        return tensor

    def start_all_reduce(self, tensor, kind: str = "data"):
        """The same sum, under way: something to `wait()` for."""
        self._count("all_reduce", tensor, kind)
        return self._group.allreduce([tensor])

    def all_gather(self, shard, kind: str = "data"):
        """The shards of all ranks in one flat tensor."""
        whole = shard.new_empty(shard.numel() * self.size)
        self._count("all_gather", whole, kind)
        if self.size == 1:
            return whole.copy_(shard.flatten())
        self._group._allgather_base(whole, shard.flatten().contiguous()).wait()
        return whole

    def all_to_all(self, tensor, kind: str = "data"):
        """Equal pieces of a flat tensor: piece i goes to rank i; back come the pieces for this rank."""
        self._count("all_to_all", tensor, kind)
        return self._exchange(tensor)

    def _exchange(self, tensor):
        if self.size == 1:
            return tensor.clone()
        back = tensor.new_empty(tensor.shape)
        self._group.alltoall_base(back, tensor.contiguous(), [], []).wait()
        return back

    def dispatch(self, rows, counts, kind: str = "expert"):
        """Rows of a matrix, sorted by the rank that they go to; counts: how many go to each. Back come those for here."""
        import torch

        counts = torch.as_tensor(counts)
        coming = torch.empty_like(counts)
        self._group.alltoall_base(coming, counts, [], []).wait()
        self.payload[kind] += rows[0].nbytes * int(counts.sum() - counts[self.place])
        back = rows.new_empty(int(coming.sum()), rows.shape[1])
        self._group.alltoall_base(back, rows.contiguous(), coming.tolist(), counts.tolist()).wait()
        return back

    def reduce_scatter(self, tensor, kind: str = "data"):
        """This rank's share of the sum of flat tensors. Exchanged and added up here: gloo's own sends twice as much."""
        self._count("reduce_scatter", tensor, kind)
        return self._exchange(tensor).view(self.size, -1).sum(0)

    def gloos_reduce_scatter(self, tensor):
        """The same by gloo's own call; counts nothing."""
        share = tensor.new_empty(tensor.numel() // self.size)
        self._group._reduce_scatter_base(share, tensor).wait()
        return share

    def broadcast(self, tensor):
        """What rank 0 has, in place; counts nothing."""
        import torch

        options = torch.distributed.BroadcastOptions()
        options.rootRank = 0
        self._group.broadcast([tensor], options).wait()
        return tensor

    def send(self, tensor, to: int, tag: int, kind: str = "pipeline") -> None:
        self._count("send", tensor, kind)
        self._group.send([tensor.contiguous()], to, tag).wait()

    def receive(self, tensor, sender: int, tag: int):
        self._group.recv([tensor], sender, tag).wait()
        return tensor

    def barrier(self) -> None:
        if self.size > 1:
            self._group.barrier().wait()


class Rank(Group):
    """One of the ranks of a run, among all of them; `split` makes smaller groups."""

    def __init__(self, store, place: int, size: int, timeout: float):
        self._store, self._wait, self._groups = store, timedelta(seconds=timeout), []
        super().__init__(_gloo(store, place, size, self._wait), place, size, Counter())

    def split(self, name: str, members) -> Group:
        """The group of these ranks, this one among them; every member calls it with the same name and members."""
        from torch import distributed

        members = list(members)
        place = members.index(self.place)
        store = distributed.PrefixStore(name, self._store)
        group = _gloo(store, place, len(members), self._wait) if len(members) > 1 else None
        self._groups.append(Group(group, place, len(members), self.payload))
        return self._groups[-1]

    def close(self) -> None:
        """Let go of every gloo group: its sockets are closed, and whoever waits for this rank stops waiting."""
        for group in (*self._groups, self):
            group._group = None


def _gloo(store, place: int, size: int, wait: timedelta):
    from torch import distributed

    return distributed.ProcessGroupGloo(store, place, size, wait)


def run(size: int, job, timeout: float = TIMEOUT) -> list:
    """[job(rank) of each rank], each in a thread of its own. What the first rank raised is raised here.

    Unavailable where this torch has no gloo, or the machine lets the ranks not meet.
    """
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        raise Unavailable("this torch has no gloo")
    store, found, raised = torch.distributed.HashStore(), [None] * size, []

    def work(place: int) -> None:
        rank = None
        try:
            rank = _joined(store, place, size, timeout)
            found[place] = job(rank)
        except BaseException as problem:
            raised.append(problem.with_traceback(None))  # before the others hear of it: theirs only follow from it
        finally:
            if rank is not None:
                rank.close()

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    return found


def _joined(store, place: int, size: int, timeout: float) -> Rank:
    try:
        return Rank(store, place, size, timeout)
    except RuntimeError as problem:
        raise Unavailable(f"ranks could not meet over gloo here: {str(problem).splitlines()[0][:120]}") from None


# ---------------------------------------------------------------- what the sockets say

_TCP_INFO, _UNACKED, _ACKED = 11, 24, 120  # Linux: option, and places of tcpi_unacked, tcpi_bytes_acked in its answer
_ESTABLISHED = 1  # tcpi_state, the first byte


def socket_bytes() -> dict[str, int] | None:
    """Socket of this process → bytes that it has sent and seen acknowledged since it was opened (TCP only); None where
    the system does not tell. The counter of the loopback interface would count other programs too.
    """
    found = _sockets()
    return None if found is None else {inode: acked for inode, (acked, _) in found.items()}


def _sockets() -> dict[str, tuple[int, int]] | None:
    """Socket of this process → (bytes acknowledged, segments sent that are not acknowledged yet)."""
    if not os.path.isdir("/proc/self/fd"):
        return None
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            inode = os.readlink(f"/proc/self/fd/{name}")
            if not inode.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as copy:
                if copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM:
                    info = copy.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 256)
                    if len(info) >= _ACKED + 8:
                        waits = struct.unpack_from("I", info, _UNACKED)[0] if info[0] == _ESTABLISHED else 0
                        found[inode] = struct.unpack_from("Q", info, _ACKED)[0], waits
        except OSError:
            continue
    return found


def measured(rank: Rank, call):
    """(what call() gave, bytes that the sockets of all ranks sent meanwhile): on rank 0, where all ranks are threads.

    All ranks call it together. On the others, and where the system does not tell, the bytes are None. A socket of an
    earlier run that closes meanwhile counts nothing.
    """
    rank.barrier()
    before = _settled() if rank.place == 0 else None
    rank.barrier()
    given = call()
    rank.barrier()
    after = _settled() if rank.place == 0 else None
    rank.barrier()
    if before is None or after is None:
        return given, None
    return given, sum(sent - before.get(inode, 0) for inode, sent in after.items())


_DELAYED, _LONGEST = 0.05, 2  # s; a receiver may wait so long before it acknowledges, on a busy machine longer


def _settled() -> dict[str, int] | None:
    """The sockets' bytes once all are acknowledged and stand still; that comes some moments after the call."""
    last, since, begin = _sockets(), time.monotonic(), time.monotonic()
    while last is not None and time.monotonic() < begin + _LONGEST:
        if time.monotonic() >= since + _DELAYED and not any(waits for _, waits in last.values()):
            break
        time.sleep(0.005)
        now = _sockets()
        if now != last:
            last, since = now, time.monotonic()
    return None if last is None else {inode: acked for inode, (acked, _) in last.items()}
