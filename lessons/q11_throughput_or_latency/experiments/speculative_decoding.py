"""A small network writes Shakespeare alone, and with a table of letter pairs that drafts for it: letters a call.

The network predicts a letter from the sixteen before it; the draft knows the last one. A round drafts γ letters, the
network judges all of them in one call and adds a letter of its own (Leviathan, Kalman, Matias 2023). Counted are calls
of the network: on a processor a call with several rows costs more than one with one row, so there is no time to gain.
"""

from typing import Any

from course_lib.accounting import hardware, inference
from course_lib.experiments.nets import shakespeare
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

SEEN, WIDTH, EACH = 16, 128, 16  # letters that the network sees, its hidden units, numbers for a letter
STEPS, BATCH, RATE = 300, 128, 3e-3
DRAFTS = (1, 2, 4, 8)
CLASSES = shakespeare.CHARACTERS


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Drafts of 1, 2, 4 and 8 letters; 400 letters are written with each, in full five times."""
    pair = Pair()
    return tuple(_case(pair, drafted, 400, 1 if quick else 5) for drafted in DRAFTS)


def _case(pair: "Pair", drafted: int, letters: int, repeats: int) -> Case:
    facts = {"drafted": drafted, "acceptance": 0.0, "overlap": 0.0}  # until it has run

    def observe(bench, seconds):
        with timing.single_thread(bench.torch):
            pair.learn(bench.torch)
            rounds = [pair.write(drafted, letters, seed) for seed in range(repeats)]
        facts["acceptance"] = sum(kept for _, kept, _ in rounds) / sum(judged for _, _, judged in rounds)
        facts["overlap"] = pair.agreement()
        return [gain for gain, _, _ in rounds]

    def expect(device):  # known when both have learnt
        if facts["overlap"]:
            return inference.speculative_speedup(acceptance=facts["overlap"], draft_tokens=drafted, cost_ratio=0)
        return None

    return Case(
        say("cases", "one" if drafted == 1 else "many", drafted=drafted),
        say("call"),
        observe=observe,
        expect=expect,
        facts=facts,
    )


class Pair:
    """The network and its draft, trained when they are first used."""

    def __init__(self):
        self.torch: Any = None

    def learn(self, torch) -> None:
        if self.torch is not None:
            return
        self.torch, generator = torch, torch.Generator().manual_seed(0)
        self.text = shakespeare.tensor(torch)
        held = len(self.text) * 9 // 10
        self.seen, self.unseen = self.text[:held], self.text[held:]
        pairs = torch.full((CLASSES, CLASSES), 0.05)
        pairs.index_put_((self.seen[:-1], self.seen[1:]), torch.ones(held - 1), accumulate=True)
        self.draft = pairs / pairs.sum(1, keepdim=True)
        sizes = ((CLASSES, EACH), (SEEN * EACH, WIDTH), (WIDTH,), (WIDTH, CLASSES), (CLASSES,))
        scale = (1.0, (SEEN * EACH) ** -0.5, 0.0, WIDTH**-0.5, 0.0)
        self.weights = [
            (torch.randn(size, generator=generator) * by).requires_grad_()
            for size, by in zip(sizes, scale, strict=True)
        ]
        optimizer = torch.optim.AdamW(self.weights, lr=RATE)
        offsets = torch.arange(SEEN + 1)
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
            rows = self.seen[torch.randint(held - SEEN, (BATCH, 1), generator=generator) + offsets]
            loss = torch.nn.functional.cross_entropy(self._logits(rows[:, :-1]), rows[:, -1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def _logits(self, rows):
        table, first, bias, last, shift = self.weights
        hidden = table[rows].flatten(1) @ first + bias
        return self.torch.relu(hidden) @ last + shift

    def judge(self, rows):
        """The network's distributions of the next letter, one for each row of `SEEN` letters."""
        with self.torch.no_grad():
            return self._logits(rows).softmax(1)

    def agreement(self) -> float:
        """Mean Σ min(p, q) over text that neither has learnt from: the acceptance that the formula takes."""
        generator = self.torch.Generator().manual_seed(1)
        starts = self.torch.randint(len(self.unseen) - SEEN, (2000, 1), generator=generator)
        rows = self.unseen[starts + self.torch.arange(SEEN)]
        return self.torch.minimum(self.judge(rows), self.draft[rows[:, -1]]).sum(1).mean().item()

    def write(self, drafted: int, letters: int, seed: int) -> tuple[float, int, int]:
        """Write at least `letters`: letters a call of the network, drafted letters that were kept, and judged."""
        torch, generator = self.torch, self.torch.Generator().manual_seed(seed)
        text, calls, kept, judged = self.unseen[:SEEN].tolist(), 0, 0, 0
        while len(text) < SEEN + letters:
            tail = text[-SEEN:]
            for _ in range(drafted):
                tail.append(int(torch.multinomial(self.draft[tail[-1]], 1, generator=generator)))
            rows = torch.tensor([tail[i : i + SEEN] for i in range(drafted + 1)])
            calls += 1
            for place, p in enumerate(self.judge(rows)):
                if place == drafted:  # all were kept
                    text.append(int(torch.multinomial(p, 1, generator=generator)))
                    break
                q, letter = self.draft[tail[SEEN + place - 1]], tail[SEEN + place]
                judged += 1
                if torch.rand((), generator=generator) < p[letter] / q[letter]:
                    text.append(letter)
                    kept += 1
                else:
                    text.append(int(torch.multinomial((p - q).clamp(min=0), 1, generator=generator)))
                    break
        return (len(text) - SEEN) / calls, kept, judged


def plot(result):
    """Letters a call, by the number that was drafted."""
    best = max(result.measured.values())
    return dots(result, title=say("title", best=best), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "", drafted="int", acceptance="float", overlap="float", hidden=("drafted",)),
    timed=False,
    method={"steps": STEPS},
)
