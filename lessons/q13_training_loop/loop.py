"""A small training loop with all that a run consists of, and the file that it survives in.

Digits, one hidden layer with dropout, AdamW, a cosine schedule, fp16 products with a loss scaler. A run is its weights
and five more pieces (`PIECES`); whoever forgets one in a checkpoint trains on, but another run.
"""

import hashlib
import io
import math
from pathlib import Path

from course_lib import atomic
from course_lib.experiments.nets import digits

STEPS, EVERY, BATCH, HIDDEN, RATE = 100, 20, 64, 128, 3e-3
TRAIN = 1280  # digits; the others are the test
BATCHES = TRAIN // BATCH  # of an epoch
PIECES = ("optimizer", "schedule", "scaler", "generator", "position")
KEPT = 2  # checkpoints
_DIGEST = hashlib.sha256().digest_size


def cosine(step: int) -> float:
    """The learning rate of a step, over the first: half a cosine, from 1 to 0."""
    return (1 + math.cos(math.pi * step / STEPS)) / 2


class Trainer:
    """A run on one thread of the processor. It draws dropout from torch's own generator, as programs do."""

    def __init__(self, torch):
        self.torch = torch
        images, self.classes = digits.tensors(torch)
        self.images = images.flatten(1)
        torch.manual_seed(0)
        nn = torch.nn
        self.model = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Dropout(0.2), nn.Linear(HIDDEN, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)
        # from the count of steps alone: CosineAnnealingLR goes on from the rate before, which stands in the optimizer
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, cosine)
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=10)
        self.position = 0  # batches that were taken

    def batch(self):
        """Indices of the next batch: each epoch has an order of its own, drawn from its number."""
        epoch, place = divmod(self.position, BATCHES)
        order = self.torch.randperm(TRAIN, generator=self.torch.Generator().manual_seed(1000 + epoch))
        self.position += 1
        return order[place * BATCH : (place + 1) * BATCH]

    def step(self) -> float:
        """One step; gives its loss."""
        torch, chosen = self.torch, self.batch()
        with torch.autocast("cpu", torch.float16):
            scores = self.model(self.images[chosen])
        loss = torch.nn.functional.cross_entropy(scores.float(), self.classes[chosen])
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()
        return loss.item()

    def state(self) -> dict:
        """All that the run consists of."""
        return {
            "weights": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "generator": self.torch.get_rng_state(),
            "position": self.position,
        }

    def restore(self, state: dict, forgotten=()) -> None:
        """Go on from `state`, but for the pieces that were `forgotten`: those stay as a new run has them."""
        self.model.load_state_dict(state["weights"])
        for piece in set(PIECES[:3]) - set(forgotten):
            getattr(self, piece).load_state_dict(state[piece])
        if "generator" not in forgotten:
            self.torch.set_rng_state(state["generator"])
        if "position" not in forgotten:
            self.position = state["position"]

    def accuracy(self) -> float:
        """% of the test digits."""
        self.model.eval()
        with self.torch.no_grad():
            found = self.model(self.images[TRAIN:]).argmax(1)
        self.model.train()
        return 100 * (found == self.classes[TRAIN:]).float().mean().item()


def pack(torch, state: dict) -> bytes:
    """A checkpoint as bytes: the digest of what follows, and what torch.save writes."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    payload = buffer.getvalue()
    return hashlib.sha256(payload).digest() + payload


def unpack_payload(content: bytes) -> bytes:
    """What torch.save wrote, as it is found."""
    return content[_DIGEST:]


def unpack(torch, content: bytes) -> dict:
    """The state in a checkpoint; ValueError where a single bit of it is not as it was written."""
    payload = unpack_payload(content)
    if hashlib.sha256(payload).digest() != content[:_DIGEST]:
        raise ValueError(f"a checkpoint of {len(content)} B does not have the digest that it was written with")
    return torch.load(io.BytesIO(payload), weights_only=True)


def name(step: int) -> str:
    return f"step-{step:06d}.pt"


def save(torch, folder: Path, state: dict) -> None:
    """Write a checkpoint in one step, then delete all but the newest `KEPT`."""
    atomic.replace(folder / name(state["position"]), pack(torch, state), alone=True)
    for old in sorted(folder.glob("step-*.pt"))[:-KEPT]:
        old.unlink()


def newest(torch, folder: Path) -> dict | None:
    """The newest checkpoint that is whole, None where there is none."""
    for path in sorted(folder.glob("step-*.pt"), reverse=True):
        try:
            return unpack(torch, path.read_bytes())
        except ValueError:
            continue
    return None
