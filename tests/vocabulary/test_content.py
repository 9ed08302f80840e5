"""The rules that all readers share: who ends a sequence, what spells nothing, which ids are refused."""

import pytest

from guided.errors import VocabularyError
from guided.vocabulary.content import END_NAMES, assemble


def test_holes_and_special_tokens_spell_nothing() -> None:
    content = assemble([(0, b"a"), (3, b"d"), (4, b"<s>"), (5, b"")], [(4, "<s>"), (6, "<x>")])
    assert content.tokens == [b"a", None, None, b"d", None, None, None]
    assert content.special == {"<s>": 4, "<x>": 6}
    assert content.eos == ()


def test_ids_that_only_a_size_knows() -> None:
    assert assemble([(0, b"a")], [], least_size=3).tokens == [b"a", None, None]
    assert assemble([], []).tokens == []


def test_declared_ends_spell_nothing_even_if_they_have_bytes() -> None:
    content = assemble([(0, b"a"), (1, b"</s>")], [], [1])
    assert content.tokens == [b"a", None]
    assert content.eos == (1,)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["<|begin_of_text|>", "<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"], (1, 2, 3)),  # Llama 3
        (["<|endoftext|>", "<|im_start|>", "<|im_end|>"], (0, 2)),  # Qwen, SmolLM
        (["<unk>", "<s>", "</s>"], (2,)),  # Llama 2, Mistral
        (["<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>"], (0, 3)),  # Phi
        (["<|return|>", "<|channel|>", "<|end|>", "<|call|>"], (0, 3)),  # gpt-oss: <|end|> ends one message of several
        (["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"], (1, 4)),  # Gemma
        (["<|im_start|>", "<|fim_prefix|>"], ()),
    ],
)
def test_special_tokens_that_end_a_turn_end_the_sequence(names: list[str], ends: tuple[int, ...]) -> None:
    assert assemble([], enumerate(names)).eos == ends


def test_a_token_that_is_not_special_ends_nothing() -> None:
    assert assemble([(0, b"</s>")], []).eos == ()
    assert all(name == name.strip() for name in END_NAMES)


def test_equal_tokens_may_be_repeated() -> None:
    assert assemble([(0, b"a"), (0, b"a")], [(1, "<s>"), (1, "<s>"), (1, "<t>")]).special == {"<s>": 1, "<t>": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0, b"a"), (0, b"b")], []), "id 0 is given twice, as b'a' and as b'b'"),
        (([], [(0, "<s>"), (1, "<s>")]), "special token '<s>' is given twice, as id 0 and as id 1"),
        (([], [(0, "")]), "special token 0 has an empty name"),
        (([(1 << 24, b"a")], []), "id 16777216 is out of range: no tokenizer has 16,777,216 ids"),
        (([], [(10**12, "<s>")]), "id 1000000000000 is out of range"),
        (([(-1, b"a")], []), "id -1 is out of range"),
        (([(0, b"a")], [], [1]), "end of sequence id 1 is out of range: the ids are 0 to 0"),
        (([(0, b"a")], [], [-1]), "end of sequence id -1 is out of range"),
    ],
)
def test_contradictions_are_refused(arguments: tuple[list[object], ...], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        assemble(*arguments)
