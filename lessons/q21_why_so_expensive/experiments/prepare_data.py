"""Preparing text on one core: learning a tokenizer, tokenising, looking for what stands in it twice."""

import os
from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import shakespeare
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q21_why_so_expensive import data_bill
from course_lib.words import words

say = words(__file__)

STEPS = ("learn", "tokenise", "repeats")
VOCABULARY, PIECE = 8_000, 10_000  # tokens; characters that are handed over at a time


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three steps over a megabyte of text; full repeats them more often."""
    return tuple(
        Case(
            say("cases", step),
            say("calls", step),
            observe=partial(_observe, step=step, repeats=(1 if step == "learn" else 2) if quick else 7),
            facts={"step": step},
        )
        for step in STEPS
    )


def pieces() -> list[str]:
    """The text, cut into pieces."""
    text = shakespeare.text()
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _tokenizers():
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import tokenizers
    except ImportError:
        raise Unavailable(say("missing")) from None
    return tokenizers


def learn():
    """A tokenizer of `VOCABULARY` tokens, learned from the text by merging what stands together most often."""
    tokenizers = _tokenizers()
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(pieces(), trainer)
    return made


_learned = cache(learn)


def _call(step: str):
    if step == "learn":
        return learn
    if step == "repeats":
        return lambda: data_bill.repeated(shakespeare.text())
    made, text = _learned(), pieces()
    return lambda: [made.encode(piece) for piece in text]


def _observe(bench, seconds: float, step: str, repeats: int) -> list[float]:
    """B/s of one core, of the quickest repeat: other programs disturb that least."""
    call = _call(step)
    return [shakespeare.COUNT / min(clocked(call) for _ in range(repeats))]


def plot(result):
    """Bytes a second of each step."""
    rate = {row["step"]: row["measured"] for row in result.rows}
    return dots(result, title=say("title", rate=rate["tokenise"] / 1e6), axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "B/s", step="str", hidden=("step",)), method={"vocabulary": VOCABULARY}
)
