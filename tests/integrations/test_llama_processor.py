"""The processor of llama-cpp-python, shown what the binding shows it; llama.cpp itself is not needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.integrations.llama_processor import LlamaProcessor

VOCABULARY = guided.Vocabulary([b"a", b"b", b"ab", None], eos=[3], size=40)


def index(pattern: str) -> guided.Index:
    return guided.compile(guided.Regex(pattern), VOCABULARY)


def allowed(processor: LlamaProcessor, tokens: list[int]) -> list[int]:
    """What is left finite of logits that lie as the binding's do: fields of a record."""
    record = np.zeros(40, np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True))
    record["logit"] = np.arange(40)
    found = processor(np.array(tokens, np.intc), record["logit"])
    kept = np.flatnonzero(np.isfinite(found)).tolist()
    assert found.dtype == np.single
    assert found[kept].tolist() == kept
    return kept


@given(st.data())
def test_every_call_is_as_if_read_anew(data: st.DataObject) -> None:
    made = index("(ab|b)*a?")
    processor = LlamaProcessor(made)
    for _ in range(data.draw(st.integers(1, 3))):
        prompt, state = data.draw(st.lists(st.integers(0, 39), min_size=1, max_size=3)), made.initial
        processor.reset()
        for _ in range(data.draw(st.integers(1, 8))):
            found = allowed(processor, prompt)
            assert found == made.allowed(state).tolist()
            token = data.draw(st.sampled_from(found))
            if token == 3:
                break
            state = made.next(state, token)
            prompt = [*prompt, token]


def test_a_new_prompt_begins_a_new_run_without_a_reset() -> None:
    processor = LlamaProcessor(index("aab|bba"))
    assert allowed(processor, [9, 8]) == [0, 1]
    assert allowed(processor, [9, 8, 0]) == [0, 2]
    assert allowed(processor, [9, 8]) == [0, 1]  # the same prompt again, whose tokens are known
    assert allowed(processor, [9, 8, 7]) == [0, 1]  # longer by a token that the index does not allow
    assert allowed(processor, [5]) == [0, 1]


def test_prefix_and_budget() -> None:
    processor = LlamaProcessor(index("[ab]{2,9}"), prefix="a", max_tokens=2)
    assert allowed(processor, [9]) == [0, 1, 2]
    assert allowed(processor, [9, 0]) == [0, 1, 2, 3]
    processor = LlamaProcessor(index("a[ab]*b"), max_tokens=2)
    assert allowed(processor, [9]) == [0, 2]
    assert allowed(processor, [9, 0]) == [1, 2]
    with pytest.raises(ValueError, match="prefix 'c' is not a prefix of any text of the index: it fails at byte 0"):
        LlamaProcessor(index("a"), prefix="c")
    with pytest.raises(guided.LimitError, match="max_tokens: 3 needed, 2 allowed"):
        LlamaProcessor(index("aaa"), max_tokens=2)


def test_an_error_ends_the_text() -> None:
    """It can not pass through C, where the binding calls from: the logits must not stay as they are."""
    processor = LlamaProcessor(index("a+"))
    scores = np.arange(41, dtype=np.single)
    with pytest.raises(guided.ModelError, match=r"logits of shape \(41,\); the index needs \(40,\)") as caught:
        processor(np.array([9], np.intc), scores)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == [3]
    assert processor.error is caught.value
    assert allowed(processor, [9]) == [0]
    assert processor.error is None


def test_it_says_from_where_the_budget_steered() -> None:
    """For every budget, a greedy text is the model's own, or the processor says where it stops being so."""
    made, script = index("(ab|b)*a"), [2, 1, 1, 0, 3]
    for budget in range(1, 7):
        processor, tokens = LlamaProcessor(made, max_tokens=budget), [9]
        while tokens[-1] != 3:
            logits = np.zeros(40, np.single)
            logits[script[min(len(tokens) - 1, 4)]] = 1
            tokens.append(int(processor(np.array(tokens, np.intc), logits).argmax()))
        said = tokens[1:]
        differing = [place for place, (one, own) in enumerate(zip(said, script, strict=False)) if one != own]
        assert processor.steered == (differing[0] if differing else None)
        assert (said == script) == (budget >= 4)
