"""tokenizer.json and tokenizers in memory, of every kind that the tokenizers package makes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from guided.errors import VocabularyError
from guided.vocabulary.roundtrip import TEXTS
from guided.vocabulary.vocabulary import Vocabulary
from tests.vocabulary.made import byte_fallback_bpe, byte_level_bpe, unigram

KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level_bpe,
    "byte-level, prefix space": lambda: byte_level_bpe(add_prefix_space=True),
    **{
        f"byte fallback, {kind}": lambda kind=kind: byte_fallback_bpe(kind)
        for kind in ("prepend", "never", "metaspace-always", "metaspace-first", "metaspace-never")
    },
    "unigram": unigram,
}


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return KINDS[request.param]()


def saved(tokenizer: Tokenizer | dict[str, Any], folder: Path) -> Path:
    path = folder / "any name"
    path.write_text(tokenizer.to_str() if isinstance(tokenizer, Tokenizer) else json.dumps(tokenizer))
    return path


def document(tokenizer: Tokenizer) -> dict[str, Any]:
    return json.loads(tokenizer.to_str())


def test_every_token_spells_the_bytes_that_its_tokenizer_decodes(tokenizer: Tokenizer) -> None:
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert len(vocabulary) == vocabulary.size == tokenizer.get_vocab_size()
    for token, data in enumerate(vocabulary):
        # Why a token before it: decoders strip the space at the start of a text.
        around = tokenizer.encode("a", add_special_tokens=False).ids
        before, both = (tokenizer.decode(ids, skip_special_tokens=True) for ids in (around, [*around, token]))
        assert (vocabulary.decode(around) + (data or b"")).decode("utf-8", "replace").removeprefix(" ") == both.lstrip(
            " "
        )
        assert before.lstrip(" ") == "a"


# Why not "▁": it is SentencePiece's sign for a space, which its tokenizers read both as the same token.
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁")))
def test_texts_are_the_bytes_of_their_tokens(text: str) -> None:
    for tokenizer in LOSSLESS if text else ():
        data = Vocabulary.from_tokenizer(tokenizer).decode(tokenizer.encode(text, add_special_tokens=False).ids)
        assert data in (text.encode(), b" " + text.encode())


LOSSLESS = [byte_level_bpe(300), byte_fallback_bpe("prepend", 420)]


def test_the_file_and_the_tokenizer_say_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_file(saved(tokenizer, tmp_path))
    assert vocabulary == Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary == Vocabulary.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def test_without_the_package_the_content_is_the_same_without_a_proof(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved = Vocabulary.from_tokenizer(tokenizer)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert Vocabulary.from_file(saved(tokenizer, tmp_path)) == proved


def test_special_tokens_by_name_and_ends() -> None:
    vocabulary = Vocabulary.from_tokenizer(byte_fallback_bpe("prepend"), size=1000)
    assert dict(vocabulary.special) == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert vocabulary.eos == (2,)
    assert vocabulary.size == 1000
    assert [vocabulary[token] for token in range(3)] == [None] * 3
    assert vocabulary[3] == b"\x00"


def test_the_bytes_of_a_byte_fallback_vocabulary_have_two_tokens() -> None:
    vocabulary = Vocabulary.from_tokenizer(byte_fallback_bpe("never"))
    assert vocabulary.missing_bytes == ()
    assert any(vocabulary[group[0]] == b"a" for group in vocabulary.duplicates)


def test_added_tokens_spell_their_text_unless_special() -> None:
    tokenizer = byte_level_bpe(300)
    plain = ["<tool_call>", "   ", "ñandú", "Ġ", "x" * 2000]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in plain])
    tokenizer.add_special_tokens(["<|im_end|>", "<|tool|>"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for text in plain[:3] + plain[4:]:
        assert vocabulary[tokenizer.token_to_id(text)] == text.encode()
    # Why a space: this id is the model's own, and there the letter stands for a space.
    assert vocabulary[tokenizer.token_to_id("Ġ")] == b" "
    assert set(vocabulary.special) == {"<|endoftext|>", "<|im_end|>", "<|tool|>"}
    assert vocabulary.eos == (0, vocabulary.special["<|im_end|>"])
    assert vocabulary[vocabulary.special["<|tool|>"]] is None
    assert vocabulary.trie.max_depth == 2000


def test_ids_without_a_token_spell_nothing(tmp_path: Path) -> None:
    file = document(byte_level_bpe(300))
    file["added_tokens"].append({**file["added_tokens"][0], "id": 310, "content": "<|far|>"})
    vocabulary = Vocabulary.from_file(saved(file, tmp_path))
    assert len(vocabulary) == 311
    assert [vocabulary[token] for token in range(300, 311)] == [None] * 11


def test_the_settings_of_transformers_are_taken_over() -> None:
    inner = byte_level_bpe(300, special=["<|endoftext|>", "<|done|>", "<|pad|>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|done|>", pad_token="<|pad|>")
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.eos == (0, 1)
    assert dict(vocabulary.special) == {"<|endoftext|>": 0, "<|done|>": 1, "<|pad|>": 2}
    assert Vocabulary.from_tokenizer(tokenizer, eos=[1]).eos == (1,)
    assert Vocabulary.from_tokenizer(tokenizer, eos=[1])[0] is None


def test_an_end_token_that_is_not_special_in_the_file_has_no_bytes() -> None:
    inner = byte_level_bpe(300)
    inner.add_tokens(["<done>"])
    token = inner.token_to_id("<done>")
    assert Vocabulary.from_tokenizer(inner)[token] == b"<done>"
    vocabulary = Vocabulary.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<done>"))
    assert vocabulary[token] is None
    assert token in vocabulary.eos


def test_truncation_and_padding_of_the_user_stay_and_do_not_matter() -> None:
    tokenizer = byte_level_bpe()
    plain = Vocabulary.from_tokenizer(tokenizer)
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(pad_token="a", pad_id=65, length=7)
    assert Vocabulary.from_tokenizer(tokenizer) == plain
    assert tokenizer.truncation["max_length"] == 2
    assert tokenizer.padding["length"] == 7


def test_truncation_in_the_file_does_not_matter(tmp_path: Path) -> None:
    tokenizer = byte_level_bpe()
    plain = Vocabulary.from_tokenizer(tokenizer)
    tokenizer.enable_truncation(2)
    assert Vocabulary.from_file(saved(tokenizer, tmp_path)) == plain


@pytest.mark.parametrize("eos", ["<|done|>", {"content": "<|done|>", "lstrip": False}])
def test_the_configuration_beside_the_file_names_the_end(eos: Any, tmp_path: Path) -> None:
    path = saved(byte_level_bpe(300, special=["<|done|>"]), tmp_path)
    assert Vocabulary.from_file(path).eos == ()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos}))
    assert Vocabulary.from_file(path).eos == (0,)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": None}))
    assert Vocabulary.from_file(path).eos == ()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "tokenizer_config.json beside it: the JSON is truncated or damaged"),
        ("[]", "tokenizer_config.json beside it: the JSON must be an object, not an array"),
        ('{"eos_token": 5}', "tokenizer_config.json beside it: eos_token must be a string, not 5"),
        ('{"eos_token": {}}', "tokenizer_config.json beside it: eos_token has no member 'content'"),
        ('{"eos_token": "<x>"}', "tokenizer_config.json names '<x>' as eos_token, but no token has this name"),
    ],
)
def test_a_wrong_configuration_is_reported(config: str, message: str, tmp_path: Path) -> None:
    path = saved(byte_level_bpe(300), tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_file(path)


def test_a_tokenizer_that_changes_texts_is_read() -> None:
    tokenizer = byte_level_bpe()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    assert Vocabulary.from_tokenizer(tokenizer).missing_bytes == ()


def word_level(separate: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({c: i for i, c in enumerate(["?", *CHARACTERS])}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace() if separate else pre_tokenizers.Split("", "isolated")
    return tokenizer


CHARACTERS = sorted({*"".join(TEXTS), "The", "quick"} - {"?"})


def test_a_tokenizer_of_characters_needs_no_decoder() -> None:
    assert "你".encode() in Vocabulary.from_tokenizer(word_level(separate=False)).tokens


def test_texts_that_the_encoder_refuses_prove_nothing() -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    assert Vocabulary.from_tokenizer(tokenizer).tokens == (b"a", b"b")


def test_a_tokenizer_that_drops_spaces_fails_the_round_trip() -> None:
    with pytest.raises(VocabularyError, match=r"the tokens of 'The quick .* do not spell it: token \d+ \(number 1\)"):
        Vocabulary.from_tokenizer(word_level(separate=True))


def test_wordpiece_is_refused() -> None:
    tokenizer = Tokenizer(models.WordPiece({"a": 0, "##b": 1, "[UNK]": 2}))
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(VocabularyError, match="decoder WordPiece is not supported"):
        Vocabulary.from_tokenizer(tokenizer)
    tokenizer.decoder = decoders.Fuse()
    with pytest.raises(VocabularyError, match="continuing_subword_prefix '##' is not supported"):
        Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("thing", [None, "gpt2", 5, {"vocab": {}}, object()])
def test_tokenizers_that_are_not_fast(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"needs a fast Hugging Face tokenizer .* guided\.Vocabulary\.from_file"):
        Vocabulary.from_tokenizer(thing)


def test_a_size_that_is_too_small() -> None:
    with pytest.raises(VocabularyError, match="size 10 is less than the 300 tokens"):
        Vocabulary.from_tokenizer(byte_level_bpe(300), size=10)


def damaged(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    file = document(byte_level_bpe(300))
    change(file)
    return file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.update(model=5), "the document: 'model' must be an object, not an integer"),
        (lambda file: file["model"].pop("vocab"), "model: 'vocab' must be an object"),
        (lambda file: file["model"]["vocab"].update(zz="1"), "the id of 'zz' must be an integer, not '1'"),
        (lambda file: file["model"]["vocab"].update(zz=True), "the id of 'zz' must be an integer, not True"),
        (lambda file: file["model"]["vocab"].update(zz=5), "model: id 5 is given twice, to .* and to 'zz'"),
        (lambda file: file["model"]["vocab"].update(zz=10**9), "id 1000000000 is out of range"),
        (lambda file: file["model"]["vocab"].update(zz=-1), "id -1 is out of range"),
        (lambda file: file["model"].update(vocab=[["a", 0], 5]), r"model: vocab\[1\] must be a pair of text and score"),
        (lambda file: file["model"].update(end_of_word_suffix="</w>"), "end_of_word_suffix '</w>' is not supported"),
        (lambda file: file.update(added_tokens=5), "'added_tokens' must be an array, not 5"),
        (lambda file: file["added_tokens"].append(5), r"added_tokens\[1\] must be an object, not an integer"),
        (lambda file: file["added_tokens"][0].pop("id"), r"added_tokens\[0\] has no member 'id'"),
        (lambda file: file["added_tokens"][0].update(id="1"), r"added_tokens\[0\]: 'id' must be an integer, not a str"),
        (lambda file: file["added_tokens"].append({**file["added_tokens"][0], "id": 9}), "is given twice, as id 0"),
        (lambda file: file["model"].update(merges=5), "the tokenizers package refuses it"),
    ],
)
def test_errors_in_a_file_are_reported_with_their_place(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    path = saved(damaged(change), tmp_path)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_the_round_trip_finds_a_wrong_file(tmp_path: Path) -> None:
    file = document(byte_level_bpe(300))
    file["decoder"] = {"type": "Sequence", "decoders": [{"type": "Fuse"}]}
    file["pre_tokenizer"]["use_regex"] = False
    # This decoder would leave "Ġ" in texts, and so does what the tokens spell: that is consistent, and no error.
    assert "Ġ".encode() in Vocabulary.from_file(saved(file, tmp_path)).tokens
    file["decoder"] = None
    file["pre_tokenizer"] = {"type": "Whitespace"}
    with pytest.raises(VocabularyError, match="do not spell it"):
        Vocabulary.from_file(saved(file, tmp_path))
