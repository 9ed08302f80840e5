"""Sessions, batches and leases, with models that need no weights."""

import threading
from typing import Any

import numpy as np
import pytest

from guided.errors import LimitError, ModelError
from guided.generate.function_model import FunctionModel
from guided.generate.model import LanguageModel, Logits, Session, check_messages, common_prefix
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ASCII, ascii_model


class BlockModel(LanguageModel):
    """Logits that depend on how tokens are cut into forward passes, as those of real models do in their last bits."""

    def __init__(self, block: int, context_length: int | None = None) -> None:
        super().__init__(ASCII, block, context_length)

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def session(self) -> "BlockSession":
        return BlockSession(ASCII.size, self.block, self.context_length)


class BlockSession(Session):
    def __init__(self, size: int, block: int, context_length: int | None) -> None:
        super().__init__(size, block, context_length)
        self.passes: list[int] = []
        self.cache: list[tuple[int, int]] = []

    def _forward(self, tokens: Any) -> Logits:
        self.passes.append(len(tokens))
        self.cache += [(token, len(tokens)) for token in tokens]
        seed = [number for pair in self.cache for number in pair]
        return np.random.default_rng(seed).normal(size=ASCII.size).astype(np.float32)

    def _truncate(self, n_kept: int) -> None:
        del self.cache[n_kept:]


@pytest.mark.parametrize("block", [1, 4, 7])
def test_a_prompt_is_read_independently_of_earlier_prompts(block: int) -> None:
    prompts = [[1] * 10, [1] * 10, [1] * 4 + [2] * 9, [1] * 4 + [2] * 9 + [3], [1, 2], [1] * 30, [1] * 12]
    used = BlockModel(block).session()
    for prompt in prompts:
        fresh = BlockModel(block).session()
        assert np.array_equal(used.start(prompt), fresh.start(prompt))
        for token in (5, 6):
            assert np.array_equal(used.feed([token]), fresh.feed([token]))
        assert used.tokens == fresh.tokens == (*prompt, 5, 6)


def test_whole_blocks_are_read_once() -> None:
    session = BlockModel(4).session()
    session.start([1] * 10)
    session.feed([7])
    assert session.passes == [4, 4, 2, 1]
    session.start([1] * 9 + [2])
    assert session.passes[4:] == [2]
    session.start([1] * 8)
    assert session.passes[5:] == [4]
    # The tokens 4 to 10 are now read one at a time, which makes no block.
    session.rewind(4)
    for _ in range(6):
        session.feed([1])
    session.start([1] * 10)
    assert session.passes[-2:] == [4, 2]


def test_rewind_forgets() -> None:
    session = BlockModel(4).session()
    session.start([1, 2, 3])
    kept = session.feed([4])
    session.feed([5, 6])
    session.rewind(3)
    assert session.tokens == (1, 2, 3)
    assert np.array_equal(session.feed([4]), kept)
    session.rewind(4)
    session.rewind(0)
    assert session.tokens == ()


@pytest.mark.parametrize("n_kept", [-1, 4])
def test_rewind_checks_its_argument(n_kept: int) -> None:
    session = BlockModel(4).session()
    session.start([1, 2, 3])
    with pytest.raises(ValueError, match=f"n_kept must be from 0 to 3, not {n_kept}"):
        session.rewind(n_kept)


def test_an_empty_list_of_tokens_is_not_a_request() -> None:
    session = BlockModel(4).session()
    with pytest.raises(ValueError, match="feed needs at least one token"):
        session.feed([])
    with pytest.raises(ValueError, match="a prompt needs at least one token"):
        session.start([])


def test_context_is_a_limit_before_the_model_is_asked() -> None:
    session = BlockModel(4, context_length=5).session()
    with pytest.raises(LimitError, match="context: 6 needed, 5 allowed"):
        session.start([1] * 6)
    session.start([1] * 4)
    session.feed([1])
    with pytest.raises(LimitError) as caught:
        session.feed([1])
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("context", 6, 5)
    assert session.passes == [4, 1]


def test_leases_reuse_the_session_that_has_most_of_the_prompt() -> None:
    model = BlockModel(4)
    sessions = {}
    for name, prompt in {"a": [1] * 8, "b": [2] * 8}.items():
        with model.lease(prompt) as sessions[name]:
            sessions[name].start(prompt)
    assert sessions["a"] is not sessions["b"]
    for name, prompt in {"a": [1] * 5, "b": [2] * 20}.items():
        with model.lease(prompt) as session:
            assert session is sessions[name]


def test_leases_keep_few_sessions() -> None:
    model = BlockModel(4)
    seen = set()
    for first in range(10):
        with model.lease([first] * 8) as session:
            session.start([first] * 8)
            seen.add(id(session))
    assert len(seen) == 2


def test_sessions_in_use_are_not_shared() -> None:
    model = BlockModel(4)
    with model.lease([1] * 8) as first, model.lease([1] * 8) as second:
        assert first is not second
    found = []

    def work() -> None:
        with model.lease([1] * 8) as session:
            found.append(session)
            barrier.wait(10)

    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(session) for session in found}) == 3


def test_a_session_that_failed_is_dropped() -> None:
    model = BlockModel(4)

    def broken() -> None:
        with model.lease([1] * 8) as session:
            found.append(session)
            raise RuntimeError("in the middle of a forward pass")

    found: list[Session] = []
    with pytest.raises(RuntimeError):
        broken()
    with model.lease([1] * 8) as session:
        assert session is not found[0]


def test_a_batch_of_any_model_is_its_sessions() -> None:
    model = BlockModel(4)
    batch, prompts = model.batch(), [[1] * 5, [2] * 6, [3]]
    alone = [model.session() for _ in prompts]
    for got, expected in zip(
        batch.start(prompts), [s.start(p) for s, p in zip(alone, prompts, strict=True)], strict=True
    ):
        assert np.array_equal(got, expected)
    answers = batch.feed([[1], [], [2, 3]])
    assert answers[1] is None
    assert np.array_equal(answers[0], alone[0].feed([1]))
    assert np.array_equal(answers[2], alone[2].feed([2, 3]))
    batch.rewind(2, 1)
    alone[2].rewind(1)
    batch.keep([0, 2])
    last = batch.feed([[4], [5]])
    assert np.array_equal(last[0], alone[0].feed([4]))
    assert np.array_equal(last[1], alone[2].feed([5]))


def test_rows_of_a_batch_are_reordered_and_copied() -> None:
    model = ascii_model()
    batch = model.batch()
    batch.start([[1, 2, 3], [4]])
    batch.keep([1, 0, 1, 1])
    batch.feed([[5], [], [6], []])
    # A row that was copied twice before it is read, and truncated between.
    batch.keep([3, 1, 2, 0, 3, 3])
    batch.rewind(5, 0)
    batch.rewind(1, 2)
    histories = [[4], [1, 2], [4, 6], [4, 5], [4], []]
    answers = batch.feed([[10 + row] for row in range(6)])
    for row, (found, history) in enumerate(zip(answers, histories, strict=True)):
        assert found is not None
        assert np.array_equal(found, model.session().feed([*history, 10 + row]))


def test_rows_of_a_batch_give_way_to_new_prompts() -> None:
    model = BlockModel(4)
    batch = model.batch()
    batch.start([[1] * 9, [2] * 6, [3]])
    batch.feed([[7], [], [8]])
    prompts = [[1] * 8 + [5], [4, 4]]
    for found, prompt in zip(batch.refill([1], prompts), prompts, strict=True):
        assert np.array_equal(found, model.session().start(prompt))
    answers = batch.feed([[9], [], [6]])
    assert answers[1] is None
    for found, prompt, token in ((answers[0], [2] * 6, 9), (answers[2], [4, 4], 6)):
        session = model.session()
        session.start(prompt)
        assert np.array_equal(found, session.feed([token]))


def test_a_function_is_a_model() -> None:
    model = ascii_model()
    with model.lease([1, 2]) as session:
        assert session.start([1, 2]).dtype == np.float32
        session.feed([3])
    assert model.asked == [(1, 2), (1, 2, 3)]
    assert model.encode("ab") == [97, 98]
    assert model.decode([97, 128, 98]) == "ab"
    assert FunctionModel(lambda _: [0], ASCII, list, lambda ids: f"{ids}").decode([1, 2]) == "[1, 2]"


@pytest.mark.parametrize(
    ("given_logits", "message"),
    [
        (np.zeros(7), r"logits of shape \(7,\); its vocabulary needs \(130,\)"),
        (np.zeros((1, 130)), r"logits of shape \(1, 130\)"),
        (None, r"logits of shape \(\)"),
        ("logits", "must return an array of numbers, not str"),
        ([[1], [1, 2]], "must return an array of numbers, not list"),
    ],
)
def test_invalid_logits_are_an_error(given_logits: Any, message: str) -> None:
    session = FunctionModel(lambda _: given_logits, ASCII, list).session()
    with pytest.raises(ModelError, match=message):
        session.feed([1])


def test_a_model_without_template_takes_no_messages() -> None:
    model = ascii_model()
    assert model.prompt_tokens("ab") == [97, 98]
    with pytest.raises(ModelError, match="no chat template: give the prompt as one str"):
        model.prompt_tokens([{"role": "user", "content": "hello"}])


@pytest.mark.parametrize(
    ("prompt", "kind", "message"),
    [
        (7, ValueError, "a prompt must be a str or a list of messages, not int"),
        (b"hello", ValueError, "not bytes"),
        ({"role": "user", "content": "hello"}, ValueError, "not dict"),
        ([], ValueError, "a list of messages needs at least one message"),
        (["hello"], ValueError, r"prompt\[0\] must be a dict with 'role' and 'content', not str"),
        ([{"role": "user", "content": ""}, {"role": "user"}], ValueError, r"prompt\[1\] has no 'content'"),
        ([{}], ValueError, r"prompt\[0\] has no 'content' and no 'role'"),
    ],
)
def test_messages_are_checked(prompt: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        check_messages(prompt)


def test_common_prefix() -> None:
    assert common_prefix([], [1]) == 0
    assert common_prefix([1, 2, 3], [1, 2]) == 2
    assert common_prefix((1, 2, 3), [1, 4, 3]) == 1


def test_decode_replaces_invalid_utf_8() -> None:
    vocabulary = Vocabulary([b"\xe2\x82", b"\xac", b"a"], eos=[3], size=4)
    model = FunctionModel(lambda _: np.zeros(4), vocabulary, lambda _: [])
    assert model.decode([0, 1, 2, 3]) == "€a"
    assert model.decode([0, 2]) == "�a"
