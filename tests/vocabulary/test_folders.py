"""Folders of models: the tokenizer in them, whatever its kind, and the end tokens that any of their files names."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from guided.cli.vocabularies import read_vocabulary
from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary
from tests.cli.programs import write_ranks
from tests.vocabulary.made import byte_level_bpe, sentencepiece_model

BASE, TURN, IDENTITY, PLAIN = 0, 400, 401, 300
CHAT = '{"name": "a"}<|im_end|>'


def chat_tokenizer() -> Tokenizer:
    """A tokenizer whose end of a turn is an added token that is not special."""
    tokenizer = byte_level_bpe(400, ["<|endoftext|>"])
    tokenizer.add_tokens([AddedToken("<|im_end|>", special=False), AddedToken("<|x|>", special=False)])
    assert tokenizer.encode(CHAT).ids[-1] == TURN
    return tokenizer


def configure(folder: Path, name: str, **content: Any) -> None:
    (folder / name).write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


@pytest.mark.parametrize(
    ("generation", "config", "own", "ends"),
    [
        (None, None, None, (BASE,)),
        (TURN, None, None, (TURN,)),
        ([TURN, BASE], None, None, (BASE, TURN)),
        (TURN, BASE, None, (TURN,)),
        (None, BASE, None, (BASE,)),
        (None, TURN, None, (TURN,)),
        (None, BASE, "<|im_end|>", (BASE, TURN)),
        (BASE, BASE, "<|im_end|>", (BASE, TURN)),
        ([BASE], None, {"content": "<|im_end|>"}, (BASE, TURN)),
        (None, None, "<|im_end|>", (BASE, TURN)),
    ],
)
def test_all_end_tokens_that_the_files_name_end_a_text(
    generation: Any, config: Any, own: Any, ends: tuple[int, ...], tmp_path: Path
) -> None:
    chat_tokenizer().save(str(tmp_path / "tokenizer.json"))
    configure(tmp_path, "generation_config.json", eos_token_id=generation)
    configure(tmp_path, "config.json", eos_token_id=config, vocab_size=512)
    configure(tmp_path, "tokenizer_config.json", eos_token=own)
    vocabulary = Vocabulary.from_file(tmp_path)
    assert vocabulary == read_vocabulary(tmp_path)
    assert (vocabulary.eos, vocabulary.size) == (ends, 512)
    assert vocabulary[TURN] == (None if TURN in ends else b"<|im_end|>")
    assert vocabulary[IDENTITY] == b"<|x|>"
    assert (vocabulary.special.get("<|im_end|>") == TURN) == (TURN in ends)
    assert (
        Vocabulary.from_file(tmp_path, eos=[IDENTITY]).eos == read_vocabulary(tmp_path, [IDENTITY]).eos == (IDENTITY,)
    )
    if own is None:
        # The same tokens as an argument, of the file alone and in memory.
        assert Vocabulary.from_file(tmp_path / "tokenizer.json", 512, eos=ends) == vocabulary
        assert Vocabulary.from_tokenizer(chat_tokenizer(), 512, eos=ends) == vocabulary


def test_ordinary_tokens_end_no_text(tmp_path: Path) -> None:
    chat_tokenizer().save(str(tmp_path / "tokenizer.json"))
    ways: list[Callable[[], Any]] = [
        lambda: Vocabulary.from_file(tmp_path / "tokenizer.json", eos=[PLAIN]),
        lambda: Vocabulary.from_tokenizer(chat_tokenizer(), eos=[PLAIN]),
        lambda: Vocabulary.from_file(tmp_path, eos=[BASE, PLAIN]),
        lambda: Vocabulary.from_file(tmp_path),
    ]
    configure(tmp_path, "generation_config.json", eos_token_id=PLAIN)
    for way in ways:
        with pytest.raises(
            VocabularyError, match=r"id 300 spells .* is neither a special nor an added token: check the id"
        ):
            way()


def of_tekken(folder: Path) -> None:
    vocab = [{"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode()} for i in range(256)]
    special = [{"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(["<unk>", "<s>", "</s>"])]
    config = {"pattern": ".", "default_vocab_size": 259, "default_num_special_tokens": 3, "version": "v11"}
    (folder / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocab, "special_tokens": special}))


def of_ranks(name: str) -> Callable[[Path], None]:
    return lambda folder: write_ranks(folder / name) and None


def of_sentencepiece(folder: Path) -> None:
    (folder / "tokenizer.model").write_bytes(sentencepiece_model())


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "tokenizer.json": (lambda folder: chat_tokenizer().save(str(folder / "tokenizer.json")), "tokenizer.json"),
    "tekken": (of_tekken, "tekken.json"),
    "tiktoken": (of_ranks("tiktoken.model"), "tiktoken.model"),
    "qwen": (of_ranks("qwen.tiktoken"), "qwen.tiktoken"),
    "ranks": (of_ranks("tokenizer.model"), "tokenizer.model"),
    "SentencePiece": (of_sentencepiece, "tokenizer.model"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokenizer_of_a_folder_may_be_of_any_kind(kind: str, tmp_path: Path) -> None:
    make, name = KINDS[kind]
    make(tmp_path)
    alone = Vocabulary.from_file(tmp_path / name)
    assert Vocabulary.from_file(tmp_path) == alone
    n_tokens = len(alone)
    added = {
        str(n_tokens): {"content": "<|user|>", "special": True},
        str(n_tokens + 1): {"content": "<|im_end|>", "special": True},
        str(n_tokens + 2): {"content": "<tool_call>", "special": False},
        str(n_tokens + 9): {"content": "[EOT]", "special": True},
        # The file has this one.
        "5": {"content": "<|five|>", "special": True},
    }
    if kind == "tokenizer.json":
        # It lists all tokens itself.
        added = {}
    configure(tmp_path, "tokenizer_config.json", added_tokens_decoder=added)
    configure(tmp_path, "params.json" if kind == "tekken" else "config.json", vocab_size=n_tokens + 64)
    vocabulary = Vocabulary.from_file(tmp_path)
    assert vocabulary.size == n_tokens + 64
    assert vocabulary.tokens[:n_tokens] == alone.tokens
    if not added:
        return
    assert vocabulary.tokens[n_tokens:] == (None, None, b"<tool_call>", *[None] * 7)
    assert dict(vocabulary.special) == {
        **alone.special, "<|user|>": n_tokens, "<|im_end|>": n_tokens + 1, "[EOT]": n_tokens + 9,
    }  # fmt: skip
    assert vocabulary.eos == (*alone.eos, n_tokens + 1, n_tokens + 9)
    configure(tmp_path, "generation_config.json", eos_token_id=n_tokens + 2)
    configure(tmp_path, "tokenizer_config.json", added_tokens_decoder=added, eos_token="[EOT]")
    assert Vocabulary.from_file(tmp_path).eos == read_vocabulary(tmp_path).eos == (n_tokens + 2, n_tokens + 9)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", "config.json: the JSON is truncated"),
        ("config.json", "[" * 100_000, "config.json: the JSON is nested too deeply"),
        ("config.json", "[]", "config.json: the JSON must be an object"),
        ("config.json", '{"vocab_size": "7"}', "vocab_size must be an integer"),
        ("generation_config.json", '{"eos_token_id": "x"}', "eos_token_id an integer or a list of integers"),
        ("generation_config.json", '{"eos_token_id": [true]}', "eos_token_id an integer or a list of integers"),
        (
            "tokenizer_config.json",
            '{"eos_token": "<|no|>"}',
            "names '<|no|>' as eos_token, but no special or added token",
        ),
        ("tokenizer_config.json", '{"eos_token": 3}', "eos_token must be a string"),
        (
            "tokenizer_config.json",
            '{"added_tokens_decoder": {"x": {"content": "a"}}}',
            r"added_tokens_decoder\['x'\]: an id",
        ),
        (
            "tokenizer_config.json",
            '{"added_tokens_decoder": {"300": {}}}',
            r"added_tokens_decoder\['300'\] has no member",
        ),
        (
            "tokenizer_config.json",
            '{"added_tokens_decoder": {"99999999": {"content": "a"}}}',
            "id 99999999 is out of range",
        ),
    ],
)
def test_folders_that_are_wrong(name: str, content: str, message: str, tmp_path: Path) -> None:
    write_ranks(tmp_path / "tiktoken.model")
    (tmp_path / name).write_text(content)
    with pytest.raises(VocabularyError, match=message.replace("<|no|>", r"<\|no\|>")) as caught:
        Vocabulary.from_file(tmp_path)
    assert str(caught.value).startswith(str(tmp_path)) or "out of range" in message


def test_a_folder_without_a_tokenizer_says_what_is_expected(tmp_path: Path) -> None:
    configure(tmp_path, "config.json", vocab_size=7)
    with pytest.raises(
        VocabularyError, match=r"has no tokenizer: expected tokenizer\.json, tekken\.json, tiktoken\.model"
    ):
        Vocabulary.from_file(tmp_path)
