"""The serving engine against the plain loop, which has no cache, and its pages against a count of who holds them."""

import random
from collections import Counter
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.accounting import memory
from course_lib.units.case2_serving_kernels.engine import Engine, Model, Pages, Request, Shape, pick, plain

SHAPE = Shape(vocab=11, width=16, layers=2, heads=4, kv_heads=2, ff=24)
QUIET = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def model() -> Model:
    return Model(torch, SHAPE, torch.float64, seed=3)


@cache
def alone(request: Request) -> tuple[int, ...]:
    return tuple(plain(model(), request))


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# few letters and few beginnings: many requests have a common beginning, and many a stop
tokens = st.integers(0, 2)
requests = st.builds(
    Request,
    prompt=st.lists(tokens, min_size=1, max_size=14).map(tuple),
    new=st.integers(1, 9),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    seed=st.integers(0, 5),
    stop=st.sampled_from([None, 0, 4]),
)


def consistent(engine: Engine) -> None:
    """No page is leaked, counted wrongly, free while held, or written by one and held by another."""
    holders = Counter(page for s in engine.running for page in s.pages)
    assert [holders[page] for page in range(len(engine.pages.holders))] == engine.pages.holders
    assert set(engine.pages.free) == {page for page, count in enumerate(engine.pages.holders) if count == 0}
    for sequence in engine.running:
        assert len(set(sequence.pages)) == len(sequence.pages)
        assert sequence.stored == len(sequence.tokens) - 1  # all but the newest
        assert (len(sequence.pages) - 1) * engine.page < len(sequence.tokens)
        for place, page in enumerate(sequence.pages):
            if holders[page] > 1:  # shared: full, and found under the very tokens that it holds
                end = (place + 1) * engine.page
                assert end <= sequence.stored
                assert engine.pages.named[page] == sequence.tokens[:end]
    assert all(not s.pages and not s.stored for s in engine.waiting)
    assert {page: key for key, page in engine.pages.known.items()} == engine.pages.named
    numbers = [s.number for s in (*engine.running, *engine.waiting)]
    assert numbers == sorted(numbers)  # first come, first served


def least_pages(asked, page: int) -> int:
    return max(-(-(len(r.prompt) + r.new - 1) // page) for r in asked)


@pytest.mark.slow  # many engines, many plain loops
@QUIET
@given(
    st.lists(requests, min_size=1, max_size=9), st.integers(1, 5), st.integers(0, 6), st.integers(1, 5), st.booleans()
)
def test_every_request_gets_the_tokens_of_the_plain_loop(asked, page, spare, most, reuse):
    engine = Engine(model(), least_pages(asked, page) + spare, page, most, reuse, poison=True)
    for request in asked:
        engine.add(request)
    steps = 0
    while engine.running or engine.waiting:
        before = engine.counts.preempted
        engine.step()
        consistent(engine)
        assert engine.waiting or engine.counts.preempted == before  # nobody leaves and comes back in one step
        steps += 1
        assert steps < 2000  # somebody always gets on
    assert engine.answers == {number: list(alone(request)) for number, request in enumerate(asked)}
    assert engine.pages.held == 0


@pytest.mark.slow  # many engines, many plain loops
@QUIET
@given(
    st.lists(st.tuples(st.integers(0, 6), requests, st.integers(1, 12)), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 5),
)
def test_requests_that_come_late_and_go_early(plan, page, spare, most):
    """Each comes at a step and is cancelled some steps later, if it is not done: what it made is a beginning."""
    engine = Engine(model(), least_pages([r for _, r, _ in plan], page) + spare, page, most, poison=True)
    numbers, given, cut = {}, {}, {}
    for clock in range(400):
        for place, (comes, request, stays) in enumerate(plan):
            if comes == clock:
                numbers[place] = engine.add(request)
            elif clock == comes + stays and place % 2:
                made = engine.cancel(numbers[place])
                if made is not None:
                    cut[numbers[place]] = list(made)
        for number, token in engine.step():
            given.setdefault(number, []).append(token)
        consistent(engine)
        if clock > 20 and not engine.running and not engine.waiting:
            break
    assert engine.pages.held == 0
    for place, (_, request, _) in enumerate(plan):
        number, right = numbers[place], list(alone(request))
        if number in cut:
            assert cut[number] == right[: len(cut[number])] == given.get(number, [])
            assert number not in engine.answers
        else:
            assert engine.answers[number] == right == given[number]  # streamed once each, also after a preemption


@pytest.mark.slow  # many engines, many plain loops
@QUIET
@given(st.lists(requests, min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_the_order_makes_no_difference(asked, rng):
    order = list(range(len(asked)))
    rng.shuffle(order)
    engine = Engine(model(), least_pages(asked, 2) + 3, 2, 3)
    where = {engine.add(asked[place]): place for place in order}
    for number, made in engine.run().items():
        assert made == list(alone(asked[where[number]]))


def test_the_paged_way_differs_by_rounding_only():
    """Slots in any order, and NaN in all that is not written."""
    rng = random.Random(0)
    for length in (1, 5, 13):
        ids = torch.tensor([[rng.randrange(11) for _ in range(length)]])
        cache = torch.full((2, 2, 40, 2, 4), float("nan"), dtype=torch.float64)
        places = torch.tensor([rng.sample(range(40), length)])
        logits = model().paged(ids, torch.tensor([0]), cache, places)
        assert (logits - model().full(ids)[:, -1]).abs().max() < 1e-12


def test_a_batch_of_unequal_lengths_sees_only_its_own():
    """Two sequences, one token each, in one call: the logits of each alone."""
    texts = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10]]
    cache = torch.full((2, 2, 12, 2, 4), float("nan"), dtype=torch.float64)
    places = torch.tensor([[3, 1, 2, 3, 3, 3, 3], [4, 5, 6, 7, 8, 9, 10]])
    for text, slots in zip(texts, places, strict=True):
        model().paged(torch.tensor([text[:-1]]), torch.tensor([0]), cache, slots[None, : len(text) - 1])
    new, starts = torch.tensor([[text[-1]] for text in texts]), torch.tensor([len(text) - 1 for text in texts])
    logits = model().paged(new, starts, cache, places)
    for row, text in zip(logits, texts, strict=True):
        assert (row - model().full(torch.tensor([text]))[0, -1]).abs().max() < 1e-12


def test_parameters_and_cache_are_what_the_calculator_counts():
    described = SHAPE.describe(context=40)
    assert sum(w.numel() for w in model().weights()) == int(described.parameters())
    engine = Engine(model().to(torch.float32), pages=5, page=8)
    counted = int(memory.kv_cache(described, batch=1, tokens=40, dtype="fp32"))
    assert engine.cache.untyped_storage().nbytes() == counted


def test_a_common_beginning_is_held_once():
    """Two whole pages in common, then own tokens: by hand 2 + 3 · 2 pages."""
    engine = Engine(model(), pages=20, page=4, most=8)
    for own in range(3):
        engine.add(Request((0, 1) * 4 + (own,) * 3, new=6))
    engine.step()
    assert engine.pages.held == 2 + 3 * 1
    assert engine.counts.found == 2 * 8
    engine.step()
    engine.step()
    assert engine.pages.held == 2 + 3 * 2
    assert sorted(engine.pages.holders)[-2:] == [3, 3]


def test_a_prompt_that_is_all_known_computes_its_last_page_again():
    engine = Engine(model(), pages=9, page=4)
    for _ in range(2):
        engine.add(Request((0, 1, 2, 3) * 2, new=1))
    engine.run()
    assert engine.counts.found == 4  # the second page too is known, but its last token has to give logits


def test_who_came_last_leaves_first_and_comes_back_with_the_right_tokens():
    engine = Engine(model(), pages=4, page=2, most=2)
    first, second = Request((1, 2, 3), new=5), Request((4, 5, 6), new=5)
    engine.add(first)
    engine.add(second)
    engine.step()
    engine.step()
    engine.step()
    assert [s.number for s in engine.running] == [0]
    assert engine.waiting[0].made == list(alone(second))[: len(engine.waiting[0].made)]
    assert engine.run() == {0: list(alone(first)), 1: list(alone(second))}
    assert engine.counts.preempted >= 1


def test_cancelling_frees_the_pages_of_one_and_not_what_others_read():
    engine = Engine(model(), pages=20, page=2, most=8, poison=True)
    shared = (0, 1, 2, 3)
    keeps, goes = (engine.add(Request((*shared, own), new=6)) for own in (4, 5))
    engine.step()
    held = engine.pages.held
    assert engine.cancel(goes) == list(alone(Request((*shared, 5), new=6)))[:1]
    assert engine.pages.held == held - 1
    for _ in range(4):
        engine.add(Request((9,) * 7, new=2, seed=1))  # takes the free pages, and fills them with NaN first
    answers = engine.run()
    assert answers[keeps] == list(alone(Request((*shared, 4), new=6)))
    assert engine.cancel(goes) is None
    assert engine.cancel(99) is None


def test_what_can_never_fit_is_refused_at_once():
    engine = Engine(model(), pages=2, page=4)
    engine.add(Request((1,) * 6, new=3))  # 8 positions; the last token's keys and values are never needed
    with pytest.raises(ValueError, match="3 pages"):
        engine.add(Request((1,) * 6, new=4))
    assert len(engine.run()[0]) == 3
    assert engine.counts.preempted == 0  # it fills both pages to the last slot, and asks for no third


def test_an_empty_request_is_refused():
    for prompt, new in (((), 3), ((1,), 0)):
        with pytest.raises(ValueError, match="at least 1"):
            Request(prompt, new)


def test_pages_are_taken_in_the_order_in_which_they_were_let_go():
    pages = Pages(3)
    first, second = pages.take(), pages.take()
    pages.name(first, (1, 2))
    pages.let_go(second)
    pages.let_go(first)
    assert pages.find((1, 2, 3), page=2) == [first]
    assert [pages.take(), pages.take()] == [2, second]
    assert pages.find((1, 2, 3), page=2) == [first]  # nobody holds it, and it is still there
    assert pages.take() == first
    assert pages.find((1, 2, 3), page=2) == []


def test_the_noise_of_a_token_depends_on_request_and_index_only():
    request = Request((1,), new=4, temperature=1.0, seed=7)
    logits = torch.zeros(50, dtype=torch.float64)
    drawn = [pick(torch, logits, request, index) for index in range(40)]
    assert drawn == [pick(torch, logits, request, index) for index in range(40)]
    assert len(set(drawn)) > 15


def test_a_request_ends_with_its_stop_or_with_its_last_token():
    """The plain loop without a stop, cut by hand."""
    for seed in range(12):
        free = Request((1, 2), new=9, temperature=1.5, seed=seed)
        made = list(alone(free))
        assert len(made) == 9
        for stop in range(11):
            ends = made.index(stop) + 1 if stop in made else 9
            assert plain(model(), Request((1, 2), 9, 1.5, seed, stop)) == made[:ends]


def test_tokens_are_drawn_from_softmax_at_the_temperature():
    logits, draws = torch.tensor([1.0, 0.0, -1.0, 0.5], dtype=torch.float64), 4000
    drawn = [pick(torch, logits, Request((1,), 1, 0.5, seed), index=3) for seed in range(draws)]
    expected = draws * (logits / 0.5).softmax(0)
    counts = torch.tensor(drawn).bincount(minlength=4)
    assert ((counts - expected).square() / expected).sum() < 16.3  # three degrees of freedom, once in a thousand
    assert pick(torch, logits, Request((1,), 1), index=0) == 0


def test_of_a_text_that_is_over_the_end_is_taken_before_the_beginning():
    engine = Engine(model(), pages=3, page=2)
    engine.add(Request((1, 2, 3, 4, 5, 6), new=1))
    engine.run()
    engine.add(Request((9,), new=1))  # takes one page
    engine.run()
    assert len(engine.pages.find((1, 2, 3, 4, 5, 6, 7), page=2)) == 2
