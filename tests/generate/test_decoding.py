"""The loop of one sequence, and the drivers, with models that need no weights."""

import re
from collections.abc import Iterator
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.engine.compile import compile  # noqa: A004
from guided.engine.specs import Choice, Regex
from guided.errors import LimitError
from guided.events import Event, Text
from guided.generate.decoding import Decoding, Feed, TextCoroutine
from guided.generate.drivers import alone, together
from guided.generate.sampler import Sampler, unpack
from guided.generate.steering import FreeGuide
from guided.guide.end_tokens import token_mask
from tests.generate.models import ASCII, ascii_model
from tests.oracles import SlowIndex


def decoding_of(spec: Regex | Choice, max_tokens: int = 50, context_length: int | None = None) -> Decoding:
    guide = compile(spec, ASCII).guide()
    return Decoding(guide, Sampler(), ASCII, [1, 2, 3], max_tokens, context_length)


def run(decoding: Decoding, logits: np.ndarray) -> Iterator[tuple[int | None, list[tuple[int, ...]]]]:
    """Every token, with what the model was asked for it."""
    while True:
        asked, script = [], decoding.next()
        try:
            request = next(script)
            while True:
                asked.append(request.tokens)
                request = script.send(logits)
        except StopIteration as end:
            yield end.value, asked
            if end.value is None:
                return


def liking(text: str) -> np.ndarray:
    """Logits that prefer the characters of a text, the first ones most."""
    logits = np.zeros(ASCII.size, np.float32)
    for rank, character in enumerate(text):
        logits[ord(character)] = 10 - rank
    return logits


def test_forced_tokens_cost_no_forward_pass() -> None:
    decoding = decoding_of(Regex("ab[cd]ef"))
    steps = list(run(decoding, liking("d")))
    assert [chr(token) for token, _ in steps[:-1]] == list("abdef")
    # The prompt and the forced tokens before the choice are read in one pass; what follows needs none.
    assert [asked for _, asked in steps] == [[], [], [(1, 2, 3, 97, 98)], [], [], []]
    assert (decoding.forward_passes, decoding.finish_reason) == (1, "stop")
    assert decoding.pending == [ord("d"), ord("e"), ord("f")]
    assert bytes(decoding.tokens) == b"abdef"


def test_the_end_is_chosen_where_more_may_follow() -> None:
    decoding = decoding_of(Regex("a+"))
    logits = liking("a")
    logits[128] = 20
    assert [token for token, _ in run(decoding, logits)] == [97, None]
    assert (decoding.finish_reason, decoding.forward_passes) == ("stop", 1)
    assert 128 not in decoding.tokens


def test_after_the_end_no_token_is_allowed() -> None:
    decoding = decoding_of(Choice(["ab"]))
    list(run(decoding, liking("")))
    assert list(run(decoding, liking(""))) == [(None, [])]


@pytest.mark.parametrize(
    ("pattern", "liked", "max_tokens", "text", "reason"),
    [
        ("a*", "a", 3, b"aaa", "length"),
        ("a{3}", "a", 3, b"aaa", "stop"),
        ("(aa)*", "a", 3, b"aa", "length"),
        ("a*b", "a", 3, b"aab", "stop"),
        ("(a|bcd)*", "b", 2, b"aa", "length"),
        ("(bcd)*", "b", 2, b"", "length"),
        ("", "a", 1, b"", "stop"),
    ],
)
def test_T28_finish_reason_says_whether_more_could_follow(
    pattern: str, liked: str, max_tokens: int, text: bytes, reason: str
) -> None:
    decoding = decoding_of(Regex(pattern), max_tokens)
    logits = liking(liked)
    logits[128] = -5
    list(run(decoding, logits))
    assert (bytes(decoding.tokens), decoding.finish_reason) == (text, reason)


def test_T28_a_budget_below_the_shortest_text_is_refused_at_once() -> None:
    with pytest.raises(LimitError) as caught:
        decoding_of(Regex("a{5}b*"), max_tokens=4)
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("max_tokens", 5, 4)
    assert str(caught.value) == "max_tokens: 5 needed, 4 allowed; the shortest text that can be accepted is longer"
    decoding_of(Regex("a{5}b*"), max_tokens=5)


def test_the_context_is_a_budget_too() -> None:
    decoding = decoding_of(Regex("a*b"), max_tokens=50, context_length=6)
    list(run(decoding, liking("a")))
    # 3 of the prompt; the last token is never read.
    assert bytes(decoding.tokens) == b"aaab"
    with pytest.raises(LimitError) as caught:
        decoding_of(Regex("a{5}"), context_length=6)
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("context", 5, 4)
    with pytest.raises(LimitError, match="context: 3 needed, 2 allowed"):
        decoding_of(Regex("a"), context_length=2)


def test_inserted_tokens_are_read_and_not_counted() -> None:
    decoding = decoding_of(Regex("[ab]{3}"), max_tokens=3, context_length=30)
    first = run(decoding, liking("a"))
    assert next(first) == (97, [(1, 2, 3)])
    decoding.replace(decoding.place, [7, 8])
    assert next(first) == (97, [(97, 7, 8)])
    assert decoding.left == 1
    with pytest.raises(LimitError, match="context"):
        decoding.replace(decoding.place, [9] * 30)


@pytest.mark.parametrize("seed", range(20))
def test_T27_the_end_only_where_the_text_is_accepted(seed: int) -> None:
    index = compile(Regex(r"(ab?|c{2}){1,3}"), ASCII)
    slow = SlowIndex(index.tables.automaton, ASCII)
    random = np.random.default_rng(seed)
    guide, text = index.guide(), b""
    while not guide.is_finished:
        allowed = np.flatnonzero(unpack(guide.mask(), ASCII.size)).tolist()
        assert allowed == slow.allowed(guide.state)
        assert (128 in allowed) == (re.fullmatch(rb"(ab?|c{2}){1,3}", text) is not None) == guide.is_accepting
        token = int(random.choice(allowed))
        guide.advance(token)
        text += ASCII[token] or b""


def test_free_text_is_everything_that_spells_something() -> None:
    guide = FreeGuide(ASCII)
    assert np.flatnonzero(unpack(guide.mask(), ASCII.size)).tolist() == list(range(129))
    guide.advance(5)
    assert guide.remaining == 0
    assert guide.mask_within(1) is guide.mask()


@given(st.integers(1, 100), st.data())
def test_token_mask_sets_the_bits_of_its_tokens(size: int, data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.sampled_from(range(size))))
    mask = token_mask(tokens, size)
    assert (mask.dtype, mask.shape) == (np.int32, (-(-size // 32),))
    assert set(np.flatnonzero(unpack(mask, size))) == set(tokens)


def two_part_coroutine(first: list[int], second: list[int], keep: int | None, said: list[np.ndarray]) -> TextCoroutine:
    yield Text("begin")
    said.append((yield Feed(tuple(first))))
    yield Text("middle")
    said.append((yield Feed(tuple(second), keep)))
    yield Text("end")


def test_drivers_answer_requests_and_pass_events_on() -> None:
    said: list[np.ndarray] = []
    model = ascii_model()
    events = list(alone(model, two_part_coroutine([1, 2], [3], None, said)))
    assert events == [Text("begin"), Text("middle"), Text("end")]
    assert model.asked == [(1, 2), (1, 2, 3)]


def test_a_request_may_forget_first() -> None:
    model = ascii_model()
    list(alone(model, two_part_coroutine([1, 2, 3], [4], 1, [])))
    assert model.asked == [(1, 2, 3), (1, 4)]
    coroutines = [two_part_coroutine([1, 2, 3], [4], 1, []), two_part_coroutine([7], [8], None, [])]
    list(together(model, enumerate(coroutines), 2))
    assert model.asked[2:] == [(1, 2, 3), (7,), (1, 4), (7, 8)]


def test_coroutines_in_a_batch_get_the_logits_they_get_alone() -> None:
    def script(prompt: list[int], n_requests: int, said: list[np.ndarray]) -> TextCoroutine:
        for place in range(n_requests):
            logits = yield Feed(tuple(prompt))
            said.append(logits)
            prompt = [int(logits[:128].argmax()), place]
            yield Text(f"{place}")

    prompts = [([1], 3), ([2, 3], 0), ([4], 5), ([5, 6], 1)]
    separately: list[list[np.ndarray]] = [[] for _ in prompts]
    in_step: list[list[np.ndarray]] = [[] for _ in prompts]
    events: list[list[Event]] = [
        list(alone(ascii_model(), script(*prompt, said))) for prompt, said in zip(prompts, separately, strict=True)
    ]
    scripts = [script(*prompt, said) for prompt, said in zip(prompts, in_step, strict=True)]
    assert sorted(together(ascii_model(), enumerate(scripts), 4), key=itemgetter(0)) == list(enumerate(events))
    assert [[x.tolist() for x in said] for said in in_step] == [[x.tolist() for x in said] for said in separately]


def test_nothing_to_do_together() -> None:
    assert list(together(ascii_model(), [], 2)) == []


def test_a_closed_stream_returns_its_session() -> None:
    model = ascii_model()
    events = alone(model, two_part_coroutine([1] * 70, [3], None, []))
    assert [next(events), next(events)] == [Text("begin"), Text("middle")]
    events.close()
    assert len(model._idle) == 1
