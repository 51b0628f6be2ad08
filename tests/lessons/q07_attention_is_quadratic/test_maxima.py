"""Softmax in pieces: whoever takes another number away than the largest score so far earns no points."""

import functools
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib.grading.results.scoring import calls_for
from course_lib.teaching.checks.check import check
from course_lib.teaching.checks.check_form import HIDDEN, decode_arguments, expected
from course_lib.teaching.checks.check_values import plain
from tools.source import load_checks

ROOT = Path(__file__).resolve().parents[3]
UNIT = ROOT / "lessons" / "q07_attention_is_quadratic"
CHECKS = {each.id: each for each in load_checks(UNIT, ROOT)}
SEEDS = 50
TAKEN = {
    "the largest so far": lambda old, scores: np.maximum(old, scores.max(-1, keepdims=True)),
    "the first": lambda old, scores: np.maximum(old, scores[..., :1]),
    "the last": lambda old, scores: np.maximum(old, scores[..., -1:]),
    "the mean": lambda old, scores: np.maximum(old, scores.mean(-1, keepdims=True)),
    "the largest of this piece": lambda old, scores: scores.max(-1, keepdims=True),
    "nothing": lambda old, scores: np.zeros_like(old),
}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """No answer is late on a busy machine."""
    monkeypatch.setattr(sys.modules[check.__module__], "SECONDS", 60.0)


def running(pieces, taken, rows, width):
    """Attention of some rows over pieces of (scores, values), with `taken` in the place of the running maximum."""
    old, total, result = np.full((rows, 1), -np.inf), np.zeros((rows, 1)), np.zeros((rows, width))
    for scores, values in pieces:
        new = taken(old, scores)
        weights, rescale = np.exp(scores - new), np.exp(old - new)
        total, result = total * rescale + weights.sum(1, keepdims=True), result * rescale + weights @ values
        old = new
    return result / total


def online(taken, pieces):
    rows = [(np.array([scores]), np.array(values)[:, None]) for scores, values in pieces]
    return float(running(rows, taken, 1, 1)[0, 0])


def blocked(taken, q, k, v, block):
    starts, d = range(0, len(k), block), q.shape[1]
    pieces = [(q @ k[at : at + block].T / math.sqrt(d), v[at : at + block]) for at in starts]
    return {"result": running(pieces, taken, len(q), d), "moved": 2 * q.size + 2 * q.size * len(starts)}


def all_right(a_check, function, seed):
    """Whether the hidden inputs of one seed alone would earn the points."""
    cases = [call.arguments for call in calls_for(a_check, seed, HIDDEN) if not call.public]
    answers = [plain(function(*decode_arguments(case)[0])) for case in cases]
    wanted = [expected(a_check, case) for case in cases]
    return all(a_check.same.distance(got, want) <= 1 for got, want in zip(answers, wanted, strict=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize(("id", "form"), [("q07.online", online), ("q07.blocked", blocked)])
def test_only_the_largest_score_so_far_earns_points(id, form, name):
    right, function = name == "the largest so far", functools.partial(form, TAKEN[name])
    assert check(id, function).passed == right
    earned = sum(all_right(CHECKS[id], function, seed) for seed in range(SEEDS))
    assert earned == SEEDS if right else earned <= SEEDS / 10
